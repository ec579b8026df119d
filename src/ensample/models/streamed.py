"""Generalised linear models by the stream fit.

Linear models that learn sqrt(w) x and its working response.
"""

import numpy as np

from ensample.arms import Arms
from ensample.models.description import EnsemblePlan
from ensample.models.ensemble import LinearEnsemble
from ensample.models.generalized import GeneralizedLinear
from ensample.models.linear import LinearModel
from ensample.perturbations import Gaussian
from ensample.randomness import Address, Stream
from ensample.types import FloatArray


class Streamed(LinearModel):
    """A linear model that learns by the stream fit: put before the linear model that it changes.

    V = prior + sum_i w_i x_i x_i', and theta_hat is the result of the implicit steps (cpp/glm.hpp).
    """

    weighted = True
    ordinary_feature = (
        1e6  # beyond these, rounding of theta_hat comes back in working responses, and grows
    )
    ordinary_state = 1e20
    link: GeneralizedLinear

    def is_bounded(self) -> bool:
        """Return True for links of the core, whose rewards and slopes are bounded; exp() of another may overflow."""
        return self.link.code is not None

    def _make_views(self) -> None:
        super()._make_views()
        self.link_code = self.link.code

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        self.link.check_reward(y)
        if self.link.code is None:
            x, y = self.link.respond(self.state, x, y)
        super().learn(round, arm, x, y)

    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        return np.asarray(self.link.mean(rows @ self.theta(member)))


class StreamEnsemble(Streamed, LinearEnsemble):
    """theta^j = theta_hat + V^-1 S^j with S^j = W^j + sum_i sqrt(w_i) x_i Z_i^j: a linear ensemble in the features
    sqrt(w) x.
    """

    def __init__(
        self, link: GeneralizedLinear, plan: EnsemblePlan, arms: Arms, address: Address
    ) -> None:
        self.link = link
        self.whitened = (
            plan.initial is None
        )  # whether W is still to be multiplied by the root of the prior
        initial = plan.initial or Gaussian(plan.unit_scale)
        super().__init__(
            arms.dim, plan.prior(arms), plan.size, initial, plan.reward_law, address, rate=plan.rate
        )

    def _vectors(self, stream: Stream, index: int) -> FloatArray:
        W = super()._vectors(stream, index)
        return np.sqrt(self.parts.prior)[:, None] * W if self.whitened else W
