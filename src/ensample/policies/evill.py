"""EVILL: exploration via linearly perturbed loss minimisation (Janz et al. 2024)."""

from dataclasses import dataclass, field

from numpy.random import Generator

from ensample.arms import Arms
from ensample.calibration import AUTO
from ensample.errors import InvalidArgument
from ensample.models import GeneralizedLinear, Logistic, RewardModel
from ensample.models.glm import EXACT
from ensample.policies.glm import ExactDraw
from ensample.policies.recipe import Recipe
from ensample.randomness import Address
from ensample.types import Auto, FloatArray


@dataclass(frozen=True)
class EVILL(Recipe):
    """Perturb the loss linearly, afresh each round, minimise it and act greedily on the minimiser.

    theta_t = argmin_theta sum_i [A(x_i'theta) - y_i x_i'theta] + lam/2 |theta|^2 - theta'S_t, S_t ~
    N(0, scale^2 H) with H the Hessian of the loss at its own minimiser. Two minimisations a round,
    by Newton's method. It is what `EnsembleSampling(model=Logistic("exact"))` is with a member for
    each round, but for the weights: here they are those of the present centre for the whole past.
    With rewards that are linear it is LinPHE, which is linear Thompson sampling.

    >>> import numpy as np, ensample as es
    >>> policy = es.EVILL().start(es.FiniteArms(np.eye(3)), seed=0)
    >>> clicks = np.random.default_rng(0)
    >>> for _ in range(200):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=clicks.random() < [0.1, 0.6, 0.2][decision.arm])
    >>> int(np.bincount(policy.log().arm).argmax())
    1

    Proved: regret of order d^(3/2) sqrt(T) that scales with the variance at the best arm, after a
    warm-up that no horizon here reaches; this one has none. "auto" is scale 1 and the model's own
    regularization.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss
    minimisation", AISTATS 2024.
    """

    scale: float | Auto = AUTO
    regularization: float | Auto = AUTO
    model: RewardModel = field(default=Logistic(EXACT), kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.check_scale()
        self.check_regularization()
        self.check_model(GeneralizedLinear)
        if isinstance(self.model, GeneralizedLinear) and self.model.fit != EXACT:
            raise InvalidArgument("model", self.model, 'fit="exact": EVILL minimises')
        self.check_half_life()

    def build(self, arms: Arms, address: Address) -> "LinearlyPerturbed":
        return LinearlyPerturbed(self, arms, address)


class LinearlyPerturbed(ExactDraw):
    """The minimiser of a loss that is perturbed by N(0, scale^2 H)."""

    def draw_from(self, rng: Generator) -> FloatArray:
        return self.minimiser(self.shift(rng))
