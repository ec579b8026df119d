"""Numbers as they are."""

from dataclasses import dataclass

from ensample.errors import InvalidArgument
from ensample.experiments.features.encoder import MISSING, Encoder, Items, named
from ensample.experiments.features.names import field_names, found_at
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import PlainDict


@dataclass(frozen=True, init=False)
class Columns(Encoder):
    """These numbers or booleans of a context, as they are; an indicator where one is missing.

    A name may lead into dicts, "user.age"; a number counts the entries of an array.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], features=es.Disjoint(es.Columns("age", "visits")))
    >>> decision = experiment.decide({"age": 31, "visits": 2, "device": "phone"})
    >>> experiment.columns
    ['[sport]', 'age x [sport]', 'visits x [sport]', '[culture]', 'age x [culture]', 'visits x [culture]']
    """

    names: tuple[str, ...]

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]") -> None:
        object.__setattr__(self, "names", field_names(names))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names:
            value = found_at(values, name)
            if value is None:
                found.add(name + MISSING)
            elif isinstance(value, int | float):
                found.add(name, float(value))
            else:
                raise InvalidArgument(
                    f"context.{name}", value, "a number or a boolean, as Columns asks"
                )
        return found
