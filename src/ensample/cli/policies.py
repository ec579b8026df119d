"""The policies that `ensample race` knows by name."""

from collections.abc import Callable
from typing import NamedTuple

from ensample.errors import InvalidArgument
from ensample.members import OptimisticMember
from ensample.policies import EnsembleSampling, Greedy, LinUCB, PerturbedHistory, Recipe, ThompsonSampling
from ensample.problems import known
from ensample.theory import Setting

__all__ = ["POLICIES", "Contender", "contender"]


class Contender(NamedTuple):
    """A policy as tables and figures call it, and how a setting makes its recipe."""

    label: str
    recipe: Callable[[Setting], Recipe]


# The practical scale is the noise: what a well-specified posterior would have. Only `theorem` comes with a guarantee.
POLICIES: dict[str, Contender] = {
    "es-10": Contender("ES, m = 10", lambda setting: EnsembleSampling(10, setting.noise)),
    "es-100": Contender("ES, m = 100", lambda setting: EnsembleSampling(100, setting.noise)),
    "es-1000": Contender("ES, m = 1000", lambda setting: EnsembleSampling(1000, setting.noise)),
    "es-optimistic": Contender(
        "ES, m = 100, optimistic", lambda setting: EnsembleSampling(100, setting.noise, member=OptimisticMember())
    ),
    "theorem": Contender("ES, Theorem 1", EnsembleSampling.from_theorem),
    "linphe": Contender("LinPHE", lambda setting: PerturbedHistory(setting.noise)),
    "thompson": Contender("Thompson sampling", lambda setting: ThompsonSampling(setting.noise)),
    "linucb": Contender("LinUCB", lambda setting: LinUCB(2.0 * setting.noise)),
    "greedy": Contender("greedy", lambda setting: Greedy()),
}


def contender(name: str) -> Contender:
    """A policy by its name.

    >>> contender("es-10").label
    'ES, m = 10'
    """
    if name not in POLICIES:
        raise InvalidArgument("policy", name, known(name, list(POLICIES)))
    return POLICIES[name]
