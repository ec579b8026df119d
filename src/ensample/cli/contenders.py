"""Who races where nobody is named: those that the rewards of the problem suit, and those that they do not."""

from typing import NamedTuple

from ensample.arms import ChangingArms
from ensample.cli.policies import USUAL
from ensample.problems import Family, Problem, example_of
from ensample.problems.logistic import ContextualLogisticProblem, LogisticProblem


class Race(NamedTuple):
    """What `ensample race` does unless told otherwise."""

    policies: tuple[str, ...]
    horizon: int
    runs: int


LINEAR = Race(USUAL, 10_000, 100)
CLICKS = Race(
    ("logistic", "glm-tsl", "glm-fpl", "ucb-glm", "greedy-logistic", "auto", "LinUCB", "epsilon"),
    10_000,
    20,
)
OFFERED_CLICKS = (
    Race(  # the exact fit looks at the whole history there, round after round: too slow to be usual
        ("logistic", "thompson-logistic", "greedy-logistic", "auto", "LinUCB", "epsilon"),
        10_000,
        20,
    )
)
CURVED = Race(
    ("networks", "networks-3", "epsilon-network", "greedy-network", "auto", "LinUCB", "epsilon"),
    1_000,
    10,
)


def usual_race(problem: Problem | Family) -> Race:
    """The contenders, rounds and runs for a problem: fewer of them where rounds take milliseconds.

    >>> import ensample as es
    >>> usual_race(es.problem("wheel")).policies[:3], usual_race(es.problem("wheel")).horizon
    (('networks', 'networks-3', 'epsilon-network'), 1000)
    """
    example = example_of(problem)
    if not example.linear:
        return CURVED
    if isinstance(example, LogisticProblem | ContextualLogisticProblem):
        return OFFERED_CLICKS if isinstance(example.arms, ChangingArms) else CLICKS
    return LINEAR
