"""Ensemble sampling with a random sign each round (Janz et al. 2024)."""

from dataclasses import dataclass

import numpy as np

from ensample.arms import Arms
from ensample.models import LinearEnsemble
from ensample.policies.recipe import PerturbationRecipe
from ensample.randomness import Address
from ensample.types import FloatArray


@dataclass(frozen=True)
class SymmetrizedEnsembleSampling(PerturbationRecipe):
    """Act greedily on the estimate plus or minus a member's perturbation, at random.

    theta_t = theta_hat + xi_t scale V^-1 S^J with S^j = W^j + sum_i X_i Z_i^j, W ~ N(0, lam I), Z ~
    N(0, 1), and xi_t = -1 or +1 with equal probability. So there are 2m signed models: `estimates`,
    `votes` and a decision's `member` count those with a plus first, then those with a minus.

    >>> import numpy as np, ensample as es
    >>> from ensample.policies.symmetrized import SymmetrizedEnsembleSampling
    >>> recipe = SymmetrizedEnsembleSampling(size=20, scale=0.3)
    >>> policy = recipe.start(es.FiniteArms(np.eye(3)), seed=0)
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> int(policy.propensities().argmax()), policy.estimates.shape
    (1, (40, 3))

    Proved, for any arms in the unit ball: with size of order d log T and a scale of the order of
    the confidence radius the regret is of order (d log T)^(5/2) sqrt(T). The paper's scale changes
    with the round: r_t, a multiple of the radius sigma sqrt(log(det V / lam^d) + 2 log(1/delta)) +
    sqrt(lam) S of the moment. Here it is one number, `scale`; for r_t = scale at its largest,
    beta_T (`theory.radius`), the first rounds are perturbed more than the paper's.
    `SharpEnsembleSampling` has a scale that grows with the radius. The constants are not prescribed
    here.

    Reference: D. Janz, A. E. Litvak and C. Szepesvari, "Ensemble sampling for linear bandits: small
    ensembles suffice", NeurIPS 2024.
    """

    size: int
    scale: float = 1.0
    regularization: float = 1.0

    def __post_init__(self) -> None:
        self.check_fields()

    def build(self, arms: Arms, address: Address) -> "SymmetrizedEnsemble":
        return SymmetrizedEnsemble(self, arms.dim, address)


class SymmetrizedEnsemble(LinearEnsemble):
    """Every member is there twice, with both signs."""

    def __init__(self, recipe: SymmetrizedEnsembleSampling, dim: int, address: Address) -> None:
        super().__init__(recipe, dim, recipe.lam, address)
        self.size = 2 * recipe.size
        self.sums = np.hstack((self.sums, -self.sums))

    def _block(self, block: int) -> FloatArray:
        half = super()._block(block)
        return np.hstack((half, -half))
