"""Information-directed sampling with an ensemble for a posterior (Russo & Van Roy 2018)."""

from dataclasses import dataclass

import numpy as np

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.errors import InvalidArgument, PropensityError
from ensample.kernels.information import best_pair, gaps_and_gains, member_scores
from ensample.policies.ensemble_sampling import EnsemblePolicy
from ensample.policies.recipe import EnsembleRecipe
from ensample.types import FloatArray

__all__ = ["InformationDirected", "InformationDirectedPolicy"]

Pair = tuple[int, int, float]  # two arms, and the probability of the first


@dataclass(frozen=True)
class InformationDirected(EnsembleRecipe):
    """Play the arms that cost least regret for what they tell about which arm is best.

    Members theta^j as in `EnsembleSampling` stand for the posterior. p(k) is the share of members whose best arm is k, mu_k
    their mean, mu the mean of all, rho = sum_k p(k) x_k'mu_k. Arm k has the gap Delta_k = rho - x_k'mu and the gain
    v_k = sum_l p(l) (x_k'(mu_l - mu))^2. Each round draws its arm from the distribution on at most two arms that minimises
    (expected gap)^2 / expected gain; where all members agree it plays the arm with the largest x_k'mu.

    Finite and changing arms only. No single member acts: a decision's `member` is 0. O(m d + K m d + K^2) a round.

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

    size: int
    scale: float = 1.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        self.check_fields()

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if not isinstance(arms, FiniteArms | ChangingArms):
            raise InvalidArgument("arms", arms, "FiniteArms or ChangingArms for InformationDirected")

    def start(self, arms: Arms, seed: int = 0) -> "InformationDirectedPolicy":
        return InformationDirectedPolicy(self, arms, seed)


class InformationDirectedPolicy(EnsemblePolicy):
    """Information-directed sampling at work."""

    recipe: InformationDirected
    _paired: tuple[int, Arms, Pair] | None = None

    def _choose(self, round: int, offered: Arms) -> tuple[int, int | None, FloatArray]:
        if not isinstance(offered, FiniteArms):
            return 0, *offered.best(self.mean)  # which says what is missing
        first, second, share = self._pair(offered)
        arm = first if self._address.uniform(round) < share else second
        return 0, arm, offered.features[arm]

    def _weights(self, round: int, offered: Arms) -> FloatArray:
        if not isinstance(offered, FiniteArms):
            raise PropensityError(f"propensities need finitely many arms, here {offered!r}; give the features of the round")
        first, second, share = self._pair(offered)
        weights = np.zeros(len(offered))
        weights[first] += share
        weights[second] += 1.0 - share
        return weights

    def _pair(self, offered: FiniteArms) -> Pair:
        """The distribution of a round, kept until the next update."""
        if self._paired is None or self._paired[:2] != (self.version, offered):
            scores = member_scores(self._thetas(), offered.by_coordinate)
            self._paired = self.version, offered, best_pair(*gaps_and_gains(scores))
        return self._paired[2]
