"""Rewards that are clicks: logistic regression."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ensample import _core
from ensample.models.generalized import GeneralizedLinear

LOGISTIC_LINK = 0  # `Link` in cpp/glm.hpp


def logistic_mean(u: float) -> float:
    """Return 1 / (1 + exp(-u)), with the same bits on every machine."""
    return float(_core.link_means(LOGISTIC_LINK, np.array([u]))[0])


@dataclass(frozen=True)
class Logistic(GeneralizedLinear):
    """P(Y = 1 | x) = 1 / (1 + exp(-x'theta)), for clicks and for any reward in [0, 1].

    Member j minimises sum_i [log(1 + exp(x_i'theta)) - y_i x_i'theta] + lam/2 |theta|^2 - theta'S^j with
    S^j = W^j + sum_i x_i s_i Z_i^j, W ~ N(0, scale^2 lam I), Z ~ N(0, scale^2): the loss, perturbed linearly. s_i^2 is the
    variance of the reward under the centre.

    `fit="stream"`: O(d^2 + m d) a round, and no history is kept. The centre moves by one implicit step (cpp/glm.hpp),
    its weight is w = mu (1 - mu) at the new centre, V += w x x' and theta^j = theta_hat + V^-1 S^j, S^j += sqrt(w) x Z^j:
    linear ensemble sampling in the features sqrt(w) x, so that propensities, replay, snapshots, half-lives and lazy kernels
    are those of linear ensembles. The order in which rewards come matters a little, and so does where the centre was at
    first: the weights of the first observations stay what they were.

    `fit="exact"`: each member that acts is minimised by Newton's method to 1e-10 (cpp/newton.hpp), with the S^j of the stream
    fit. O(K d^2) a step on finite standing arms; other features are taken from the whole log, O(n d^2).

    `scale="auto"` is 0.75 and nothing is learned of it: the noise is known. `regularization="auto"` is a quarter of the
    mean squared norm of the arms, so that a typical arm's logit has standard deviation 2 before anything is seen; 1/2 where
    arms change or are an oracle's. Where most arms have about the same mean, a feature that is always 1 says so.

    >>> import numpy as np, ensample as es
    >>> policy = es.EnsembleSampling(model=es.Logistic()).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> clicks = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=clicks.random() < [0.1, 0.6, 0.2][decision.arm])
    >>> int(policy.propensities().argmax()), bool(policy.mean[1] > 0.0 > max(policy.mean[[0, 2]]))
    (1, True)

    Proved of ensembles by this fit: nothing. Of fresh perturbations each round: O(d sqrt(n log K)) regret for GLM-TSL and
    GLM-FPL; for EVILL after a warm-up that no horizon here reaches.

    Reference: D. Janz, S. Liu, A. Ayoub and C. Szepesvari, "Exploration via linearly perturbed loss minimisation", AISTATS
    2024; for the stream fit L. Faury et al., "Jointly Efficient and Optimal Algorithms for Logistic Bandits", AISTATS 2022.
    """

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    spread: ClassVar[float] = 0.5
    code: ClassVar[int] = LOGISTIC_LINK

    def mean(self, u: Any) -> Any:
        predictors = np.asarray(u, float)
        return _core.link_means(LOGISTIC_LINK, np.ascontiguousarray(predictors.ravel())).reshape(
            predictors.shape
        )

    def slope(self, u: Any) -> Any:
        predictors = np.asarray(u, float)
        return _core.link_slopes(LOGISTIC_LINK, np.ascontiguousarray(predictors.ravel())).reshape(
            predictors.shape
        )

    def surplus(self, u: Any, y: Any) -> Any:
        return (1.0 - y) * self.mean(u) - y * self.mean(-u)
