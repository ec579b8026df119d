"""Information-directed sampling with an ensemble for a posterior (Russo & Van Roy 2018)."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ensample import _core
from ensample.arms import Arms, ChangingArms, Offer
from ensample.calibration import AUTO
from ensample.checks import boolean
from ensample.errors import InvalidArgument
from ensample.models import FreshEnsemble, LinearEnsemble
from ensample.policies.policy import Policy, listed
from ensample.policies.recipe import EnsembleRecipe
from ensample.types import Auto, FloatArray

Pair = tuple[int, int, float]  # two arms, and the probability of the first


class InformationDirectedPolicy(Policy):
    """Information-directed sampling at work."""

    _paired: tuple[int, int, Offer, Pair] | None = None  # round and version, and what they have

    def _choose(self, round: int, offer: Offer) -> tuple[int, int | None, FloatArray]:
        if offer.rows is None:
            return 0, *offer.best(self.mean)  # which says what is missing
        first, second, share = self._pair(round, offer)
        arm = first if self._address.uniform(round) < share else second
        return 0, arm, offer.rows[arm]

    def _weights(self, round: int, offer: Offer) -> FloatArray:
        weights = np.zeros(len(listed(offer)))
        first, second, share = self._pair(round, offer)
        weights[first] += share
        weights[second] += 1.0 - share
        return weights

    def _pair(self, round: int, offer: Offer) -> Pair:
        """The distribution of a round, kept until the next update."""
        version = self._ledger.version
        if self._paired is None or self._paired[:3] != (round, version, offer):
            model = self._ledger.model.at(round)
            assert isinstance(model, LinearEnsemble | FreshEnsemble)
            pair = _core.informed_pair(model.thetas(), model.in_known_units(offer).by_coordinate)
            self._paired = round, version, offer, pair
        return self._paired[3]


@dataclass(frozen=True)
class InformationDirected(EnsembleRecipe):
    """Play the arms that cost least regret for what they tell about which arm is best.

    Members theta^j as in `EnsembleSampling` stand for the posterior. p(k) is the share of members whose best arm is k, mu_k
    their mean, mu the mean of all, rho = sum_k p(k) x_k'mu_k. Arm k has the gap Delta_k = rho - x_k'mu and the gain
    v_k = sum_l p(l) (x_k'(mu_l - mu))^2. Each round draws its arm from the distribution on at most two arms that minimises
    (expected gap)^2 / expected gain; where all members agree it plays the arm with the largest x_k'mu.

    `scale` and `regularization` are as in `EnsembleSampling`. With `fresh=True` members are drawn anew each round, at sigma if
    the scale is learned: with `size=60` a rule for long runs, if a decision may cost O(m d^2). Finite and changing arms
    only. No single member acts: a decision's `member` is 0. O(m d + K m d + K^2) a round.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.information_directed import InformationDirected
    >>> policy = InformationDirected(size=30, scale=0.3).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), bool((policy.propensities() > 0).sum() <= 2)
    (1, True)

    Proved for the exact posterior: Bayesian regret at most sqrt(d H T / 2) for rewards that vary by at most 1, H the entropy
    of the best arm. Nothing is proved for a posterior made of members.

    Reference: D. Russo and B. Van Roy, "Learning to Optimize via Information-Directed Sampling", Operations Research 66 (2018),
    the variance-based form.
    """

    size: int = 100
    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    fresh: bool = field(default=False, kw_only=True)
    policy_type: ClassVar[type[Policy]] = InformationDirectedPolicy

    def __post_init__(self) -> None:
        self.check_fields()
        object.__setattr__(self, "fresh", boolean("fresh", self.fresh))

    @property
    def draws_fresh(self) -> bool:
        return self.fresh

    @property
    def boldness(self) -> float:  # type: ignore[override]
        return 1.0 if self.fresh else super().boldness

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if arms.rows is None and not isinstance(arms, ChangingArms):
            raise InvalidArgument(
                "arms", arms, "FiniteArms or ChangingArms for InformationDirected"
            )
