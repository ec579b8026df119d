"""Quantities of the analysis on a live policy, and propensities from a sample of votes."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensample.arms import ChangingArms, Offer
from ensample.checks import instance, vector
from ensample.errors import InvalidArgument, PropensityError
from ensample.memory import check_memory
from ensample.models import FreshEnsemble
from ensample.models.base import listed
from ensample.randomness import Stream
from ensample.theory import Setting, perturbation_radius, radius
from ensample.theory.radii import spread
from ensample.types import ArrayLike, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy


@dataclass(frozen=True)
class Diagnostics:
    """The state before the next round, in the paper's terms. The last four need the true parameter.

    Models without a theta, such as networks, have neither norms nor a condition: both are None.
    With an intercept the true parameter has d + 1 entries, the constant last. The events are judged
    by beta_t and gamma~_T of a setting: the one given, else that of `from_theorem`. If none is
    known, beta is the recipe's own scale, and gamma~ follows from its perturbations' scale, the
    rounds so far and delta = 0.05.
    """

    round: int
    perturbation_norms: FloatArray | None  # |theta~^j|_V of each member [m]
    disagreement: float | None  # entropy of the members' votes in nats; None without votes
    condition: float | None  # of V
    ridge_error: float | None = None  # |theta_hat - theta*|_V
    e_hat: bool | None = None  # E^: ridge_error <= beta_t
    e_1: BoolArray | None = None  # E~1, were j drawn: |theta~^j|_V <= gamma~ [m]
    optimism_share: float | None = None  # of members with x*'theta~^j >= beta_t |x*|_{V^-1} and E~1


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
            expected = f"None: {policy.recipe.model!r} has no parameter to compare with"
            raise InvalidArgument("theta_star", theta_star, expected)
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
        expected = "None: without standing arms there is no best arm to compare with"
        raise InvalidArgument("theta_star", truth, expected)
    beta, gamma = radii(policy, setting)
    error = math.sqrt((theta_hat - truth) @ V @ (theta_hat - truth))
    _, best = policy.arms.best(truth[: policy.arms.dim])
    best = np.append(best, np.ones(truth.size - best.size))  # the constant of an intercept
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
    """Return True if its model is one of theta, unlike networks."""
    try:
        return policy.model.gram is not None
    except AttributeError:
        return False


def radii(policy: "Policy", setting: Setting | None) -> tuple[float, float]:
    """Return (beta_t, gamma~_T) to judge the events by."""
    recipe = policy.recipe
    setting = setting or recipe.setting
    if setting is not None:
        return radius(setting, policy.version), perturbation_radius(setting, recipe.reward_law)
    own = Setting(policy.arms.dim, None, max(1, policy.round), 0.0, 0.0, recipe.lam)
    log_failure = math.log(own.delta) - math.log(2.0 * own.horizon)
    inflated = policy.inflation * recipe.reward_law.scale
    gamma = inflated * spread(own, log_failure, recipe.reward_law)
    return policy.inflation * recipe.unit_scale, gamma


def vote_entropy(votes: IntArray | None) -> float | None:
    """Return the entropy of votes in nats."""
    if votes is None:
        return None
    shares = np.unique(votes, return_counts=True)[1] / votes.size
    return float(-np.sum(shares * np.log(shares)) + 0.0)


class SampledPropensities(NamedTuple):
    """The probability of each arm, estimated from the votes of `members` members.

    A share p of n members has the standard error sqrt(p (1 - p) / n). For an arm that none of them
    likes that is 0: all that is known of its probability is that it is at most 3/n, with a
    confidence of 95%. If as many members are asked for as there are, all of them are asked, and
    nothing is estimated. The draw is a function of (seed, round), apart from the policy's own; of
    fresh members, which are exchangeable, the first are asked, and the one that acts is among them.

    >>> import numpy as np, ensample as es
    >>> policy = es.EnsembleSampling(size=1000).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> found = policy.sampled_propensities(members=100)
    >>> bool(np.all(np.abs(found.shares - policy.propensities()) <= 4 * found.errors))
    True
    """

    shares: FloatArray  # [K]
    errors: FloatArray  # [K]
    members: int


def sampled(policy: "Policy", offer: Offer, members: int) -> SampledPropensities:
    """Return propensities from as many members. A rule that looks at all of them gains nothing."""
    model, round = policy.model, policy.round
    size, rule = model.size, model.rule
    if size is None or rule is None or members >= size:
        shares = policy.chooser.propensities(round, offer)
        return SampledPropensities(shares, np.zeros(len(shares)), size or members)
    count = len(listed(offer))
    if policy.chooser is not model or rule.looks:
        words = "are not those of members drawn without looking"
        raise PropensityError(f"the propensities of {policy.recipe!r} {words}")
    if isinstance(model, FreshEnsemble):  # members are exchangeable: the first will do
        check_memory("members", members, model.numbers_drawn(members))
        votes, _ = model.at(round).first(members).votes(offer)
        shares = np.bincount(votes, minlength=count) / members
    else:
        weights = model.member_weights(round, offer)
        rng = model.address.generator(Stream.SAMPLE, round)
        chosen = rng.choice(size, members, p=weights / weights.sum())
        asked, counts = np.unique(chosen, return_counts=True)
        votes = np.array([model.best(int(member), offer)[0] for member in asked])
        shares = np.bincount(votes, counts, count) / members
    return SampledPropensities(shares, np.sqrt(shares * (1.0 - shares) / members), members)
