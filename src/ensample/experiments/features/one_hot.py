"""Indicators of values."""

from dataclasses import dataclass

from ensample.checks import whole
from ensample.experiments.features.encoder import MISSING, Encoder, Items, named
from ensample.experiments.features.names import field_names, found_at
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import Plain, PlainDict


@dataclass(frozen=True, init=False)
class OneHot(Encoder):
    """An indicator for each value of these fields, in order of first sight.

    The first `most` values of a field have one each, all others share one. A list of strings sets several. A field that is
    missing has an indicator of its own. Without names it is every field of the context.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport"], features=es.Disjoint(es.OneHot("device", most=2)))
    >>> for device in ["phone", "tablet", "watch", None]:
    ...     decision = experiment.decide({"device": device})
    >>> experiment.columns[1:]
    ['device=phone x [sport]', 'device=tablet x [sport]', 'device=(other) x [sport]', 'device is missing x [sport]']
    """

    names: tuple[str, ...]
    most: int

    def __init__(self, *names: "str | int | tuple[str, ...] | list[str]", most: int = 32) -> None:
        object.__setattr__(
            self, "names", field_names(names) if names and names != ((),) and names != ([],) else ()
        )
        object.__setattr__(self, "most", whole("most", most, 1, 100_000))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        values, found = named(values), Items([], [])
        for name in self.names or values:
            value = found_at(values, name)
            if value is None:
                found.add(name + MISSING)
            for text in texts(value):
                found.add(seen.category(name, text, self.most))
        return found


def texts(value: Plain) -> list[str]:
    """Each value as text; a dict is what it looks like, which keeps values apart."""
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
