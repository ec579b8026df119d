"""Information-directed sampling with an ensemble for a posterior (Russo & Van Roy 2018)."""

from dataclasses import dataclass, field

import numpy as np

from ensample import _core
from ensample.arms import Arms, ChangingArms, Offer
from ensample.calibration import AUTO
from ensample.checks import boolean
from ensample.errors import InvalidArgument
from ensample.models import Chooser, FreshEnsemble, LinearEnsemble, Model
from ensample.models.base import Choice, listed
from ensample.policies.recipe import PerturbationRecipe
from ensample.types import Auto, FloatArray

Pair = tuple[int, int, float]  # two arms, and the probability of the first


@dataclass(frozen=True)
class InformationDirected(PerturbationRecipe):
    """Play the arms that cost least regret for what they tell about which arm is best.

    Members theta^j as in `EnsembleSampling` stand for the posterior. p(k) is the share of members
    whose best arm is k, mu_k their mean, mu the mean of all, rho = sum_k p(k) x_k'mu_k. Arm k has
    the gap Delta_k = rho - x_k'mu and the gain v_k = sum_l p(l) (x_k'(mu_l - mu))^2. Each round
    draws its arm from the distribution on at most two arms that minimises (expected gap)^2 /
    expected gain; where all members agree it plays the arm with the largest x_k'mu.

    `scale` and `regularization` are as in `EnsembleSampling`. With `fresh=True` members are drawn
    anew each round, at sigma if the scale is learned: with `size=60` a rule for long runs, if a
    decision may cost O(m d^2). Finite and changing arms only. No single member acts: a decision's
    `member` is 0. O(m d + K m d + K^2) a round.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.information_directed import InformationDirected
    >>> policy = InformationDirected(size=30, scale=0.3).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), bool((policy.propensities() > 0).sum() <= 2)
    (1, True)

    Proved for the exact posterior: Bayesian regret at most sqrt(d H T / 2) for rewards that vary by
    at most 1, H the entropy of the best arm. Nothing is proved for a posterior made of members.

    Reference: D. Russo and B. Van Roy, "Learning to Optimize via Information-Directed Sampling",
    Operations Research 66 (2018), the variance-based form.
    """

    size: int = 100
    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    fresh: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self.check_fields()
        self.set_fields(fresh=boolean("fresh", self.fresh))

    @property
    def draws_fresh(self) -> bool:
        return self.fresh

    @property
    def boldness(self) -> float:  # type: ignore[override]
        return 1.0 if self.fresh else super().boldness

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if arms.rows is None and not isinstance(arms, ChangingArms):
            expected = "FiniteArms or ChangingArms for InformationDirected"
            raise InvalidArgument("arms", arms, expected)

    def chooser(self, model: Model) -> "InformationDirectedChooser":
        return InformationDirectedChooser(model)


class InformationDirectedChooser(Chooser):
    """Draw one of at most two arms."""

    def __init__(self, model: Model) -> None:
        assert isinstance(model, LinearEnsemble | FreshEnsemble)
        self.model = model
        self._kept: tuple[int, int, Offer, Pair] | None = None  # round, count, offer and their pair

    def choose(self, round: int, offer: Offer) -> Choice:
        if offer.rows is None:
            return 0, *offer.best(self.model.mean)  # which says what is missing
        first, second, share = self._pair(round, offer)
        arm = first if self.model.address.uniform(round) < share else second
        return 0, arm, offer.rows[arm]

    def propensities(self, round: int, offer: Offer) -> FloatArray:
        shares = np.zeros(len(listed(offer)))
        first, second, share = self._pair(round, offer)
        shares[first] += share
        shares[second] += 1.0 - share
        return np.minimum(shares, 1.0)

    def _pair(self, round: int, offer: Offer) -> Pair:
        """Return the distribution of a round, kept until the next observation."""
        count = self.model.count
        if self._kept is None or self._kept[:3] != (round, count, offer):
            acting = self.model.at(round)
            known = acting.in_known_units(offer)
            self._kept = (
                round,
                count,
                offer,
                _core.informed_pair(acting.thetas(), known.by_coordinate),
            )
        return self._kept[3]
