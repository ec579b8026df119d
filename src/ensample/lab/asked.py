"""What an argument may be, by its type: what an error says of words that stand for nothing."""

from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, get_args, get_type_hints

from ensample.arms import Arms
from ensample.members import MemberRule
from ensample.models import RewardModel
from ensample.perturbations import InitialLaw
from ensample.problems import Noise
from ensample.registry import one_of, public_classes
from ensample.theory import Setting

PARTS = (InitialLaw, MemberRule, Noise, RewardModel)  # what options may be, by name
INNER = (*PARTS, Arms, Setting)  # what they may be as tables


class ArgumentType(NamedTuple):
    """What is known of the type of an argument."""

    parts: tuple[type, ...]  # of INNER that it may be, where some of them are ours
    number: bool

    def expected(self, words: str, units: Iterable[str]) -> str:
        """What a text could have been that was understood as nothing."""
        number = f"a number, or one with a unit ({', '.join(units)})" if units else "a number"
        if not self.parts:
            return number if units else f"{number} or the name of a law"
        names = one_of(words, list(public_classes(*self.parts)))
        return f"{number}, or {names}" if self.number else names


ANYTHING = ArgumentType((), True)


@cache
def asked_of(make: Any, name: str) -> ArgumentType:
    """What a class or a function says of one of its arguments.

    >>> import ensample as es
    >>> asked_of(es.EnsembleSampling, "model").expected("Logistik", ())
    "one of Linear, Logistic, Neural, TorchModel (did you mean 'Logistic'?)"
    """
    plain = isinstance(make, type) and not is_dataclass(make)
    try:
        hint = get_type_hints(make.__init__ if plain else make).get(name)
    except Exception:  # somebody else's may say anything
        return ANYTHING
    types = get_args(hint) or (hint,)
    parts: list[type] = [
        item for item in types if isinstance(item, type) and issubclass(item, INNER)
    ]
    return ArgumentType(
        tuple(item for item in parts if public_classes(item)), float in types or int in types
    )


def kind_expected(table: dict[str, Any], bases: tuple[type, ...]) -> str:
    """What a table could have had as its kind; one without is shown how it is written, by a kind that has its fields.

    >>> kind_expected({"fit": "exact"}, (RewardModel,))
    'the kind that this table lacks, { kind = "Logistic", ... }: one of Linear, Logistic, Neural, TorchModel'
    """
    there, name = public_classes(*bases), table.get("kind")
    if "kind" in table:
        return one_of(str(name), list(there))
    like = next(
        (kind for kind, make in there.items() if table.keys() <= signature(make).parameters.keys()),
        next(iter(there)),
    )
    return f'the kind that this table lacks, {{ kind = "{like}", ... }}: one of {", ".join(there)}'
