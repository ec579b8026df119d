"""From which horizon on a prescription means something."""

from collections.abc import Callable
from dataclasses import replace

from ensample.errors import AssumptionError
from ensample.perturbations import GAUSSIAN, Perturbation
from ensample.theory.bounds import theorem_bound
from ensample.theory.radii import ensemble_size
from ensample.theory.setting import LONGEST, Setting
from ensample.theory.sharp import sharp_size

DOUBLINGS = 99  # 2^99 is within the largest horizon of a Setting


def informative_horizon(
    setting: Setting, bound: Callable[[Setting], float] = theorem_bound
) -> int | None:
    """The horizon from which `bound` is below the trivial 2ST; None if there is none.

    >>> informative_horizon(Setting(dim=2, arms=10, horizon=1000, noise=1, norm=1)) > 10**9
    True
    """
    bound(replace(setting, horizon=LONGEST))  # what fails there fails at every horizon

    def says_something(horizon: int) -> bool:
        return bound(replace(setting, horizon=horizon)) < 2.0 * setting.norm * horizon

    return last_start(says_something)


def sublinear_horizon(
    setting: Setting, perturbation: Perturbation = GAUSSIAN, sharp: bool = False
) -> int | None:
    """The horizon from which Theorem 1, or its sharper size, prescribes no more than T members.

    >>> setting = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    >>> sublinear_horizon(setting), sublinear_horizon(setting, sharp=True)
    (72050, 1484)
    """

    def size(horizon: int) -> int:
        at = replace(setting, horizon=horizon)
        return sharp_size(at, None, perturbation) if sharp else ensemble_size(at, perturbation)

    size(LONGEST)
    return last_start(lambda horizon: size(horizon) <= horizon)


def last_start(holds: Callable[[int], bool]) -> int | None:
    """The least horizon from which `holds` stays true, if it changes at most once a doubling."""

    def certain(horizon: int) -> bool:
        try:
            return holds(horizon)
        except AssumptionError:
            return False

    fails = [k for k in range(DOUBLINGS + 1) if not certain(2**k)]
    if not fails:
        return 1
    if fails[-1] == DOUBLINGS:
        return None
    low, high = 1 << fails[-1], 2 << fails[-1]  # fails at low, holds at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certain(middle) else (middle, high)
    return high
