"""Whether a learned state could be that of a policy with this log.

What follows from the log in one step is compared with it; what only a replay can tell is left to `sound_replay`.
"""

import math

import numpy as np

from ensample.calibration import Unknown
from ensample.errors import SnapshotError
from ensample.models import GeneralizedLinear, LinearModel
from ensample.models.ridge import MAX_STRENGTH, MIN_STRENGTH, Ridge, first_prior
from ensample.policies.policy import Policy
from ensample.policies.sound_arrays import (
    LARGEST_STATE,
    LAST_DIGIT,
    LEAST,
    SEVERAL,
    STIFF,
    checks_of,
)
from ensample.policies.soundness import ROUNDING, require
from ensample.policies.sums_of_log import gram_of_log, learned_rewards, shares_of_log, target_of_log
from ensample.types import BoolArray, FloatArray


def check_state(policy: Policy) -> None:
    """Finite numbers, and for every array by its name what is known of it."""
    model = policy.model
    for name, values in model.arrays().items():
        if values.dtype.kind == "f":
            good = np.abs(values) <= LARGEST_STATE  # false for NaN too
            require(f"state.{name}", values, good, f"a finite number of at most {LARGEST_STATE:g}")
    if model.count != policy.version:
        raise SnapshotError.about(
            "state: the number of observations", model.count, f"{policy.version}, as were learned"
        )
    fault = model.fault()
    if fault is not None:
        raise SnapshotError(f"state: {fault}")
    checks = checks_of(model)
    with np.errstate(all="ignore"):  # what cannot be may overflow on the way to its refusal
        if isinstance(model, LinearModel):
            check_ridge(policy, model)
        for name, values in model.arrays().items():
            for good, expected in checks[name](policy, values) if name in checks else ():
                require(f"state.{name}", values, np.broadcast_to(good, values.shape), expected)


def check_ridge(policy: Policy, model: LinearModel) -> None:
    """V = prior + sum x x' and b = sum x y over the log, where there is one, and what follows from them."""
    parts = model.parts
    V, V_low, b, prior = parts.gram, parts.gram_low, parts.target, parts.prior
    if model.unknown is None:
        expect("prior", prior, prior == model.given, "the recipe's regularization")
    else:
        check_scales(policy, model, model.unknown)
    expect("V", V, V == V.T, "a symmetric matrix")
    expect(
        "V's low part",
        V_low,
        (V_low == V_low.T) & low_part(V, V_low),
        "symmetric, and less than V's last digit",
    )
    expect(
        "b's low part", parts.target_low, low_part(b, parts.target_low), "less than b's last digit"
    )
    if model.rate > 0.0:
        expect(
            "rate",
            parts.rate[:, :1],
            parts.rate[:, :1] == model.rate,
            "log 2 / the recipe's half_life",
        )
        expect("sum x_i^2", parts.lengths, parts.lengths >= 0.0, "a sum of squares")
    if model.weighted:
        check_range(policy)
    known = policy._ledger.keeps_log and not model.weighted
    expected = np.diag(prior) + gram_of_log(policy) if known else V
    if known and model.rate > 0.0:
        total = np.square(policy._ledger.log().features).sum(axis=0)
        expect(
            "sum x_i^2",
            parts.lengths,
            np.abs(parts.lengths - total) <= ROUNDING * total,
            "that of the log",
        )
    width = np.sqrt(np.abs(np.diag(expected)))
    expect(
        "V",
        V,
        np.abs(V - expected) <= ROUNDING * np.outer(width, width),
        "its prior + sum x x' over the log",
    )
    expect(
        "V", V, np.abs(V) <= (1.0 + ROUNDING) * np.outer(width, width), "a positive definite matrix"
    )
    expect(
        "V",
        np.diag(V),
        np.diag(V) >= prior * (1.0 - LAST_DIGIT),
        "at least its prior on the diagonal",
    )
    size = norm_of(b / width)
    if known:
        rewards = learned_rewards(policy)
        size = math.sqrt(rewards.size) * float(
            np.abs(rewards).max(initial=0.0)
        )  # >= |y|, and no square of it to underflow
        expect(
            "b",
            b,
            np.abs(b - target_of_log(policy)) <= ROUNDING * width * size,
            "sum x y over the log",
        )
        squares, total = parts.squares[:1, 0], (shares_of_log(policy) * np.square(rewards)).sum()
        expect(
            "sum y^2's low part",
            parts.squares[1, :1],
            low_part(squares, parts.squares[1, :1]),
            "less than its last digit",
        )
        expect(
            "sum y^2", squares, np.abs(squares - total) <= ROUNDING * total, "sum y^2 over the log"
        )
    check_solution(parts, size, policy.recipe.intercept)


def check_range(policy: Policy) -> None:
    """Rewards of the log that the model cannot have learned."""
    link, rewards = policy.recipe.model, np.array(policy._ledger.rewards)
    if isinstance(link, GeneralizedLinear):
        require(
            "log.rewards",
            rewards,
            (rewards >= link.low) & (rewards <= link.high),
            f"a reward of {link!r}",
        )


def check_scales(policy: Policy, model: LinearModel, unknown: Unknown) -> None:
    """What was learned of the scales, and the prior that follows from it."""
    known, n = model.known, policy.version
    strength, calibrated_at, sizes = known.strength[:1], known.calibrated_at[:1], known.sizes
    ranges = {"noise": LARGEST_STATE, "spread": LARGEST_STATE, "effective": float(model.dim)}
    for name, most in ranges.items():
        value = getattr(known, name)[:1]
        require(
            f"state.scales: {name}",
            value,
            (value >= 0.0) & (value <= most),
            f"a number from 0 to {most:g}",
        )
    whole = (
        (calibrated_at >= 0.0) & (calibrated_at <= n) & (calibrated_at == np.floor(calibrated_at))
    )
    require("state.scales: calibrated_at", calibrated_at, whole, f"0 to {n}")
    possible = (
        (strength == unknown.lam)
        if unknown.lam
        else (strength >= MIN_STRENGTH) & (strength <= MAX_STRENGTH)
    )
    require(
        "state.scales: strength",
        strength,
        possible,
        "the recipe's regularization, or one that can be learned",
    )
    given = sizes >= 0.0 if unknown.sizes is None else sizes == unknown.sizes
    require("state.scales: sizes", sizes, given, "the root mean squares of the features")
    prior, wanted = model.parts.prior, first_prior(sizes, float(strength[0]), unknown.intercept)
    expect(
        "prior", prior, np.abs(prior - wanted) <= ROUNDING * wanted, "what follows from the scales"
    )


def check_solution(parts: Ridge, size: float, intercept: bool) -> None:
    """V^-1, theta_hat and log(det V / det prior), unless V is so ill-conditioned that rounding may have decided them.

    A constant has next to no prior, and does not need it: one observation determines it, given the others' coefficients.
    """
    V, inverse, information, prior = parts.gram, parts.inverse, parts.information[:1], parts.prior
    spread = np.sqrt(np.abs(np.diag(inverse)))
    expect(
        "V^-1",
        inverse,
        np.abs(inverse - inverse.T) <= ROUNDING * np.outer(spread, spread),
        "a symmetric matrix",
    )
    expect("log(det V / lam^d)", information, information >= -ROUNDING, "a number >= 0")
    own = slice(-1 if intercept else None)
    if (np.diag(V)[own] / prior[own]).sum() > STIFF or prior[own].max() > STIFF * prior[own].min():
        return
    unit = np.sqrt(prior)
    if intercept:
        unit[-1] = np.sqrt(V[-1, -1])
    scaled = V / np.outer(unit, unit)
    try:
        fresh = np.linalg.inv(scaled) / np.outer(unit, unit)
    except np.linalg.LinAlgError:
        raise SnapshotError.about("state.ridge: V", V, "a positive definite matrix") from None
    width, growth = (
        np.sqrt(np.diag(fresh)),
        np.linalg.slogdet(scaled)[1] + np.log(unit**2 / prior).sum(),
    )
    expect(
        "V^-1",
        inverse,
        np.abs(inverse - fresh) <= SEVERAL * np.outer(width, width),
        "the inverse of V",
    )
    expect(
        "theta_hat",
        parts.mean,
        np.abs(parts.mean - fresh @ parts.target) <= SEVERAL * width * size + LEAST,
        "V^-1 b",
    )
    expect(
        "log(det V / lam^d)",
        information,
        np.abs(information - growth) <= SEVERAL * (1.0 + growth),
        f"{growth:.6g}",
    )


def norm_of(values: FloatArray) -> float:
    """Return the Euclidean norm of numbers whose squares may underflow, as those of faded rewards do."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * float(np.linalg.norm(values / largest)) if largest > 0.0 else 0.0


def expect(part: str, values: FloatArray, good: BoolArray, expected: str) -> None:
    require(f"state.ridge: {part}", values, good, expected)


def low_part(high: FloatArray, low: FloatArray) -> BoolArray:
    """Return True if the pair is a double-double number."""
    return np.asarray(np.abs(low) <= LAST_DIGIT * np.abs(high) + LEAST)
