"""What the analysis watches, measured on a live policy."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ensample.arms import ChangingArms
from ensample.checks import instance, vector
from ensample.errors import InvalidArgument
from ensample.theory import Setting, perturbation_radius, radius
from ensample.theory.radii import spread
from ensample.types import ArrayLike, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy


@dataclass(frozen=True)
class Diagnostics:
    """The state before the next round, in the paper's terms. The last four need the true parameter.

    Models without a theta, such as networks, have neither norms nor a condition: both are None.

    With an intercept the true parameter has d + 1 entries, the constant last. The events are judged by beta_t and gamma~_T of a
    setting: the one given, else that of `from_theorem`. Where none is known, beta is the recipe's own scale, and gamma~ follows
    from its perturbations' scale, the rounds so far and delta = 0.05.
    """

    round: int
    perturbation_norms: FloatArray | None  # |theta~^j|_V of each member [m]
    disagreement: (
        float | None
    )  # entropy of the members' votes in nats; None where there are none to count
    condition: float | None  # of V
    ridge_error: float | None = None  # |theta_hat - theta*|_V
    e_hat: bool | None = None  # E^: ridge_error <= beta_t
    e_1: BoolArray | None = None  # E~1, were j drawn: |theta~^j|_V <= gamma~ [m]
    optimism_share: float | None = (
        None  # I_t: share of members with x*'theta~^j >= beta_t |x*|_{V^-1} and E~1
    )


def diagnose(
    policy: "Policy", theta_star: ArrayLike | None, setting: Setting | None
) -> Diagnostics:
    """Measure a policy; see `Diagnostics`."""
    if setting is not None:
        instance("setting", setting, Setting, "a Setting")
        if setting.dim != policy.arms.dim:
            raise InvalidArgument("setting", setting, f"a Setting of dim {policy.arms.dim}")
    if not has_parameter(policy):
        if theta_star is not None:
            raise InvalidArgument(
                "theta_star",
                theta_star,
                f"None: {policy.recipe.model!r} has no parameter to compare with",
            )
        return Diagnostics(policy.round, None, vote_entropy(policy.votes()), None)
    V, theta_hat = policy.gram, policy.mean
    truth = None if theta_star is None else vector("theta_star", theta_star, theta_hat.size)
    theta_tilde = policy.estimates - theta_hat
    norms = np.sqrt(np.maximum(0.0, np.einsum("ji,ik,jk->j", theta_tilde, V, theta_tilde)))
    smallest, *_, largest = np.linalg.eigvalsh(V)[[0, 0, -1]]
    plain = Diagnostics(
        round=policy.round,
        perturbation_norms=norms,
        disagreement=vote_entropy(policy.votes()),
        condition=float(largest / smallest) if smallest > 0.0 else math.inf,
    )
    if truth is None:
        return plain
    if isinstance(policy.arms, ChangingArms):
        raise InvalidArgument(
            "theta_star", truth, "None: without standing arms there is no best arm to compare with"
        )
    beta, gamma = radii(policy, setting)
    error = math.sqrt((theta_hat - truth) @ V @ (theta_hat - truth))
    _, best = policy.arms.best(truth[: policy.arms.dim])
    best = np.append(
        best, np.ones(truth.size - best.size)
    )  # the constant, where there is an intercept
    width = math.sqrt(max(0.0, float(best @ policy.model.inverse @ best)))
    concentrated = norms <= gamma
    return replace(
        plain,
        ridge_error=error,
        e_hat=error <= beta,
        e_1=concentrated,
        optimism_share=float(np.mean((theta_tilde @ best >= beta * width) & concentrated)),
    )


def has_parameter(policy: "Policy") -> bool:
    """Whether its model is one of theta: of networks, and of some models of users' own, there is none."""
    try:
        return policy.model.gram is not None
    except AttributeError:
        return False


def radii(policy: "Policy", setting: Setting | None) -> tuple[float, float]:
    """(beta_t, gamma~_T) to judge the events by."""
    recipe = policy.recipe
    setting = setting or recipe.setting
    if setting is not None:
        return radius(setting, policy.version), perturbation_radius(setting, recipe.reward_law)
    own = Setting(policy.arms.dim, None, max(1, policy.round), 0.0, 0.0, recipe.lam)
    log_failure = math.log(own.delta) - math.log(2.0 * own.horizon)
    inflated = policy.inflation * recipe.reward_law.scale
    return policy.inflation * recipe.unit_scale, inflated * spread(
        own, log_failure, recipe.reward_law
    )


def vote_entropy(votes: IntArray | None) -> float | None:
    if votes is None:
        return None
    shares = np.unique(votes, return_counts=True)[1] / votes.size
    return float(-np.sum(shares * np.log(shares)) + 0.0)
