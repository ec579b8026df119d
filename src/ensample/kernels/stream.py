"""Generalised linear models one observation at a time: an implicit step, and then linear code.

With P = V^-1, q = x'P x and u = x'theta_hat, an observation (x, y) moves the centre to

    theta_new = argmin_theta A(x'theta) - y x'theta + |theta - theta_hat|_V^2 / 2 = theta_hat - (A'(v) - y) P x,

where v = x'theta_new solves v + q (A'(v) - y) = u, an equation of one variable: its left side grows at least as fast as v, and
the root is between u and u - q (A'(u) - y). With w = A''(v), V_new = V + w x x' and b = V theta_hat this is

    b_new = b + sqrt(w) x r,   r = sqrt(w) v - (A'(v) - y) / sqrt(w):

what ridge regression does with features sqrt(w) x and reward r, the working response of iterated least squares. Where the past
fades, V and b are those after fading.

In the manner of L. Faury, M. Abeille, K.-S. Jun and C. Calauzenes, "Jointly Efficient and Optimal Algorithms for Logistic
Bandits", AISTATS 2022.
"""

import numpy as np

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.fading import fades, fading_rate, kept_share
from ensample.kernels.links import curve_at
from ensample.kernels.ridge import invert, view
from ensample.kernels.rows import dot, sum_rows
from ensample.types import FloatArray

__all__ = ["LEAST_WEIGHT", "implicit", "outlook", "respond"]

LEAST_WEIGHT = 1e-16  # of an observation: less would change nothing but the size of its working response
STEPS = 100  # kept between two brackets; it needs one to three
LAST = 3e-6  # a step of third order that is as short as this leaves an error of its cube


@kernel
def respond(state: FloatArray, link: int, x: FloatArray, y: float) -> tuple[float, float]:
    """(sqrt(w), r): the observation (sqrt(w) x, r) of ridge regression that is this one's."""
    u, q = outlook(state, x)
    v = implicit(link, u, q, y)
    surplus, slope, _ = curve_at(link, v, y)
    root = np.sqrt(max(slope, LEAST_WEIGHT))
    return root, root * v - surplus / root


@kernel
def outlook(state: FloatArray, x: FloatArray) -> tuple[float, float]:
    """(x'theta_hat, x'V^-1 x), after fading where the past fades."""
    ridge = view(state)
    gain = np.empty(x.size)
    if fades(state):
        kept = kept_share(fading_rate(state))
        faded = kept * ridge.gram
        for i in range(x.size):
            faded[i, i] += (1.0 - kept) * ridge.prior[i]
        inverse = invert(faded)
        if inverse.size > 0:
            sum_rows(gain, inverse, x)
            return kept * dot(gain, ridge.target), dot(gain, x)
    sum_rows(gain, ridge.inverse, x)
    return dot(ridge.mean, x), max(dot(gain, x), 0.0)


@embedded
def implicit(link: int, u: float, q: float, y: float) -> float:
    """v with v + q (A'(v) - y) = u: Halley's method, by halves where it would leave the bracket.

    |A'''| <= A'' of clicks makes its error less than the cube of the last step.
    """
    surplus, slope, bend = curve_at(link, u, y)
    v, excess, end = u, q * surplus, u - q * surplus
    low, high = min(u, end), max(u, end)
    for _ in range(STEPS):
        rise = 1.0 + q * slope
        following = v - excess * rise / (rise * rise - 0.5 * excess * q * bend)
        if abs(following - v) <= LAST:
            return following
        v = following if low < following < high else 0.5 * (low + high)
        surplus, slope, bend = curve_at(link, v, y)
        excess = v - u + q * surplus
        if excess > 0.0:
            high = v
        else:
            low = v
    return v
