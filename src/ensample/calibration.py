"""Calibration: the scales of noise and parameter, learned from the rewards themselves.

Ensemble sampling needs the size of its perturbations, sigma, and how strongly estimates are pulled
to 0, lam = sigma^2/tau^2 for a parameter of size tau. Both are those under which the rewards seen
so far are the most likely (the evidence; empirical Bayes), given two weak opinions: that each scale
is about as large as the rewards allow, a = 1 observation's worth.

With G = sum x x', b = sum x y, yy = sum y^2 over n observations, features divided by their root
mean squares, m2 = yy/n and x2 = sum |x|^2 / n, the fixed point is

    lam = sigma^2 / tau^2, kept within 1e-6 .. 1e6          theta_hat = (G + lam I)^-1 b
gamma = sum_i e_i / (lam + e_i), e the eigenvalues of G  RSS = yy - 2 theta_hat'b + theta_hat'G
theta_hat
sigma^2 = (RSS + a m2) / (n - gamma + a)                 tau^2 = (|theta_hat|^2 + a m2/x2) / (gamma
+ a)

twenty steps of it from the last values (the first time from sigma^2 = tau^2 = m2), or until nothing
changes; and tau^2 is at least m2/x2, so that a parameter that looks small is not taken for nothing.
It is computed at n = 1, 2, 3, ... and then whenever n has grown by a quarter. The members follow:
theta^j = V^-1 (b + f sigma (sqrt(lam) w^j + sum x z^j)) with unit perturbations, Algorithm 1 with
the laws of the moment.

With an intercept a last feature, the constant 1, is not pulled to anything (its entry of V's prior
is 1e-15 of an observation), and G, b, yy and n are those about the means: G - n xbar xbar', b - n
xbar ybar, yy - n ybar^2 and n - 1. x2 stays as it is: an arm that is played all the time would
leave next to nothing of it. Rewards are taken relative to the first one, so that no digits are
lost, and a number added to all of them changes no decision.

So no decision changes when all rewards, or a feature, are multiplied by a constant. The features'
root mean squares are those of the standing arms or, where none stand, of what was played; a feature
that was never played has the unit of the round's offer.

No theorem covers this.

Reference: D. J. C. MacKay, "Bayesian Interpolation", Neural Computation 4 (1992).
"""

from dataclasses import dataclass
from typing import NamedTuple

from ensample.types import Auto, FloatArray

AUTO: Auto = "auto"
AGEING = 0.07
"""The gain of a perturbation's variance, over sigma^2, when the observations double."""


@dataclass(frozen=True)
class Calibration:
    """Learned scales. sigma is in the units of the rewards; lam and tau are for features of size
    1.
    """

    sigma: float  # of the noise; 1 before the first reward that is not 0
    tau: float  # of the parameter
    lam: float  # the regularization, sigma^2 / tau^2
    effective: float | None  # gamma, parameters that count, without the intercept; None of networks
    count: int  # observations when this was computed
    sizes: FloatArray  # the root mean squares by which features are divided [d]


class Unknown(NamedTuple):
    """The scales that a model is to learn."""

    sizes: FloatArray | None  # of the features [d]; None: those of the arms that are played
    lam: float  # kept if > 0; else learned
    intercept: bool = False  # whether the last feature is the constant 1, which is not pulled to 0


GROWS_FROM = 100.0
"""Number of observations from which a growing base grows about as the logarithm."""


class Inflation(NamedTuple):
    """Factor of a perturbation when a member acts: a number, or a confidence radius that grows.

    It is base + width sqrt(information + tail), or sigma sqrt(base^2 + growth log(1 + t / 100)) if
    sigma is learned.
    """

    base: float
    width: float = 0.0
    tail: float = 0.0
    determinant: bool = False  # information log(det V / lam^d) instead of d log(1 + t/(d lam))
    learned: bool = False  # whether the rewards' noise multiplies the base
    growth: float = 0.0  # of the squared base, with the logarithm of t


NO_INFLATION = Inflation(1.0)
"""Factor 1: the scale is that of the perturbations."""
