"""What is known of every array that a linear model has beside its ridge regression: each is checked here or in `sound_state`.

What follows from the log, or from V, is compared with it. What was drawn only a replay can draw again: it is believed where
chance may have come to it, which is to say within a hundred standard deviations.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.checks import LARGEST_REWARD
from ensample.models import FreshEnsemble, LinearEnsemble, LinearModel, Model
from ensample.models.exact import ExactFit
from ensample.models.fresh import AGE_OF_PRIOR, AGED_AT
from ensample.models.intercept import WithIntercept
from ensample.models.network_ensemble import NetworkEnsemble
from ensample.perturbations import InitialLaw
from ensample.policies.ensemble_plus_plus import DirectionsModel
from ensample.policies.generalized import Rooted, StreamLeader
from ensample.policies.kveton_phe import PseudoRewardModel
from ensample.policies.linucb import OptimisticModel
from ensample.policies.multiplier_bootstrap import ReweighedModel
from ensample.policies.perturbed_history import HistoryModel
from ensample.policies.policy import Policy
from ensample.policies.refreshed import RefreshedEnsemble
from ensample.policies.sound_networks import NETWORK_CHECKS
from ensample.policies.soundness import ROUNDING
from ensample.policies.sums_of_log import (
    aged_gram_of_log,
    counts_of_log,
    gram_of_log,
    others_of_log,
    pulls_of_log,
    totals_of_log,
)
from ensample.policies.sup_linucb import StagedModel
from ensample.policies.symmetrized import SymmetrizedEnsemble
from ensample.policies.thompson_sampling import ThompsonModel
from ensample.registry import is_ours
from ensample.types import BoolArray, FloatArray

LARGEST_STATE = (
    1e307  # what sums of products and squares of `checks.LARGEST` and `LARGEST_REWARD` come to
)
STIFF = 1e10  # while V is less than this times its prior, V^-1 is known to several digits however it was computed
SEVERAL = 1e-3  # what is asked of them
LAST_DIGIT = 1e-15  # of a double
LEAST = 1e-300  # below it digits are lost
FARTHEST = 100.0  # standard deviations: that a sum of subGaussian terms is out there has probability exp(-5000)

Findings = Iterator[tuple[BoolArray, str]]
"""For every entry of an array whether it is good, and what was expected."""

Check = Callable[[Policy, NDArray[Any]], Findings]


def checks_of(model: Model) -> dict[str, Check]:
    """What is known of a model's arrays, by name: of those that its class brings, and of those that it inherits."""
    return {
        name: check
        for kind in reversed(type(model).__mro__)
        for name, check in CHECKS.get(kind, {}).items()
    }


def elsewhere(policy: Policy, values: NDArray[Any]) -> Findings:
    """Of `ridge` and `scales`, which `sound_state` looks at before anything else."""
    yield from ()


def linear(policy: Policy) -> LinearModel:
    assert isinstance(policy.model, LinearModel)
    return policy.model


def lengths(policy: Policy) -> FloatArray:
    """sqrt(V_ii): [d]. At least the length of each feature's column in the log, where none is forgotten."""
    return np.asarray(np.sqrt(np.diag(linear(policy).parts.gram)))


def reward_length(policy: Policy) -> float:
    """|y|, from the sum of squares that was compared with the log."""
    return math.sqrt(max(0.0, float(linear(policy).parts.squares[0, 0])))


def deviations(law: InitialLaw) -> float:
    """What a draw's multiples do not exceed; no bound for a law of somebody else's, who may be wrong about it."""
    return FARTHEST * law.subgaussian if is_ours(type(law)) else math.inf


def check_sums(policy: Policy, sums: NDArray[Any]) -> Findings:
    """LinearEnsemble: S^j, older terms and newer, and W^j where the prior is learned."""
    model = linear(policy)
    assert isinstance(model, LinearEnsemble)
    d = model.dim
    drawn = deviations(model.initial) * np.maximum(1.0, np.sqrt(model.parts.prior))
    within = drawn + deviations(model.law) * lengths(policy)
    limits = np.concatenate([within, within, drawn])[: len(sums)]
    expected = f"a sum of draws: within {FARTHEST:g} standard deviations"
    yield np.abs(sums) <= (limits * (1.0 + ROUNDING) * math.sqrt(d))[:, None], expected


def check_mirrored(policy: Policy, sums: NDArray[Any]) -> Findings:
    """SymmetrizedEnsemble: every member twice."""
    yield from check_sums(policy, sums)
    half = sums.shape[1] // 2
    yield (
        sums == -np.hstack((sums[:, half:], sums[:, :half])),
        "the second half of the members the first with a minus",
    )


def check_directions(policy: Policy, directions: NDArray[Any]) -> Findings:
    """Ensemble++: S', draws of length at most 1 for each observation."""
    yield (
        np.abs(directions) <= FARTHEST * lengths(policy),
        f"a sum of draws: within {FARTHEST:g} standard deviations",
    )


def check_pulls(policy: Policy, pulls: NDArray[Any]) -> Findings:
    """PerturbedHistory, KvetonPHE, MultiplierBootstrap."""
    yield (pulls >= 0) & (pulls <= policy.version), "how often the arm was played"
    if policy._ledger.keeps_log:
        yield pulls == pulls_of_log(policy), "how often the arm is in the log"
    elif policy.recipe.standing_only:
        yield np.full(pulls.shape, pulls.sum() == policy.version), f"{policy.version} in all"


def check_root(policy: Policy, root: NDArray[Any]) -> Findings:
    """R with R'R = V, or V less its prior, or of what is not weighed as V's terms are."""
    yield (root == 0.0) | np.triu(np.ones(root.shape, np.bool_)), "0 below the diagonal"
    model = linear(policy)
    V, squared = model.parts.gram, np.einsum("ki,kj->ij", root, root)
    if isinstance(model, StreamLeader):
        if not policy._ledger.keeps_log:
            return
        expected = model.link.spread**2 * gram_of_log(policy)
        width = np.sqrt(np.diag(expected))
    else:
        expected = V if isinstance(model, ThompsonModel) else V - np.diag(model.parts.prior)
        width = lengths(policy)
    good = np.abs(squared - expected) <= ROUNDING * np.outer(width, width) + LEAST
    yield good | good.T, "a root of the sum of x x'"


def check_fresh_root(policy: Policy, root: NDArray[Any]) -> Findings:
    """FreshEnsemble: R with R'R = G + E, E at least 0 and at most what the oldest observation has aged."""
    yield (root == 0.0) | np.triu(np.ones(root.shape, np.bool_)), "0 below the diagonal"
    model = linear(policy)
    assert isinstance(model, FreshEnsemble)
    gram, squared = (
        model.parts.gram - np.diag(model.parts.prior),
        np.einsum("ki,kj->ij", root, root),
    )
    slack, oldest = (
        ROUNDING * np.outer(lengths(policy), lengths(policy)) + LEAST,
        largest_age(model),
    )
    if model.ageing == 0.0 or (policy._ledger.keeps_log and not model.weighted):
        aged = gram if model.ageing == 0.0 else aged_gram_of_log(policy, model.ageing)
        yield (
            np.abs(squared - aged) <= (1.0 + oldest) * slack,
            "a root of the sum of x x', of which old terms are larger",
        )
    low, high, squares = np.diag(gram), (1.0 + oldest) * np.diag(gram), np.diag(squared)
    good = (squares >= low - np.diag(slack)) & (squares <= high + np.diag(slack))
    yield (
        np.broadcast_to(good, root.shape),
        "a root of the sum of x x', of which old terms are larger",
    )


def largest_age(model: FreshEnsemble) -> float:
    """Return a bound on what an observation has aged: as the prior has, of which a half-life forgets."""
    aged, count = max(model.ages[AGE_OF_PRIOR], 0.0), max(model.ages[AGED_AT], 0.0)
    if model.rate == 0.0:
        return float(aged)
    return (
        float(count) * model.ageing * math.log2(2.25)
    )  # in `add_observed` a step is at most 1.25 n_eff


def check_gram_root(policy: Policy, root: NDArray[Any]) -> Findings:
    """FreshEnsemble: L with L'L = G, if observations age."""
    yield (
        (root == 0.0) | np.triu(np.ones(root.shape, np.bool_), 0)[: len(root)],
        "0 below the diagonal",
    )
    if len(root):
        gram = linear(policy).parts.gram - np.diag(linear(policy).parts.prior)
        slack = ROUNDING * np.outer(lengths(policy), lengths(policy)) + LEAST
        yield (
            np.abs(np.einsum("ki,kj->ij", root, root) - gram) <= slack,
            "a root of the sum of x x'",
        )


def check_ages(policy: Policy, ages: NDArray[Any]) -> Findings:
    """FreshEnsemble: what ageing has added to the prior, and the number of observations at the last ageing."""
    model = linear(policy)
    assert isinstance(model, FreshEnsemble)
    aged, count = ages
    known = (
        0.0 <= count <= policy.version
        and count == np.floor(count)
        and (count > 0.0) == (policy.version * model.ageing > 0.0)
    )
    most = model.ageing * math.log2(max(count, 1.0))
    total = (
        0.0 <= aged <= most + SEVERAL
        if model.rate > 0.0
        else abs(aged - most) <= SEVERAL * (1.0 + most)
    )
    yield np.array([total, known]), "the ageing of the prior by the number of observations"


def check_rewards(policy: Policy, moments: NDArray[Any]) -> Findings:
    """ThompsonSampling: number, mean and sum of squared deviations."""
    count, mean, squares = moments
    rewards = np.array(policy._ledger.rewards)
    largest = (
        np.abs(rewards).max(initial=0.0) * (1.0 + ROUNDING)
        if policy._ledger.keeps_log
        else LARGEST_REWARD
    )
    good = (
        count == policy.version,
        abs(mean) <= largest,
        0.0 <= squares <= 4.0 * policy.version * largest**2,
    )
    yield np.array(good), "the number, mean and spread of the rewards in the log"
    if rewards.size and largest > 0.0:
        own = rewards / largest
        spread = float(np.square(own - own.mean()).sum())
        close = (
            abs(mean / largest - own.mean()),
            abs(squares / largest / largest - spread) / (1.0 + spread),
        )
        yield (
            np.array([True, close[0] <= ROUNDING, close[1] <= ROUNDING]),
            "the mean and spread of the rewards in the log",
        )


def check_largest(policy: Policy, largest: NDArray[Any]) -> Findings:
    """LinUCB: the largest |theta_hat| so far. Of one prior |y| / (2 sqrt(lam)) is a bound; another makes theta_hat anew."""
    model = linear(policy)
    yield (
        (largest >= 0.0) & ((largest == 0.0) | (policy.version > 0)),
        "a norm, 0 before the first reward",
    )
    if model.unknown is None:
        yield (
            largest >= float(np.linalg.norm(model.parts.mean)) * (1.0 - ROUNDING),
            "at least the norm of theta_hat",
        )
    if model.unknown is None and not model.weighted and model.rate == 0.0:
        most = 0.5 * reward_length(policy) / math.sqrt(float(model.parts.prior.min()))
        yield largest <= most * (1.0 + SEVERAL), "a norm that theta_hat can have had"


def check_origin(policy: Policy, origin: NDArray[Any]) -> Findings:
    """EnsembleSampling(intercept=True): the first reward."""
    yield (origin == 0.0) | (policy.version > 0), "0 before the first reward"
    if policy._ledger.keeps_log:
        yield origin == np.array(policy._ledger.rewards[:1] or [0.0]), "the first reward of the log"
    yield np.abs(origin) <= LARGEST_REWARD, f"a reward of at most {LARGEST_REWARD:g}"


def check_last(policy: Policy, last: NDArray[Any]) -> Findings:
    """RefreshedEnsembleSampling: log(det V / lam^d) at the last refresh, and its number."""
    known, number = last
    model = linear(policy)
    assert isinstance(model, RefreshedEnsemble)
    reached = model.information * (1.0 + ROUNDING) + ROUNDING
    possible = (
        number == np.floor(number)
        and (number > 0.0) == (known != 0.0)
        and number * model.threshold <= known + ROUNDING
    )
    good = (-ROUNDING <= known <= reached, 0.0 <= number <= policy.version and possible)
    yield np.array(good), "a refresh that can have been: (log(det V / lam^d), number)"


def check_arm_counts(policy: Policy, counts: NDArray[Any]) -> Findings:
    """The exact fit: how often each standing arm was seen, or what that still counts for."""
    model = linear(policy)
    assert isinstance(model, ExactFit)
    yield counts >= 0.0, "how often the arm was seen"
    if policy._ledger.keeps_log:
        known = counts_of_log(policy)
        yield (
            np.abs(counts - known) <= (ROUNDING * known if model.rate else 0.0),
            "how often the arm is in the log",
        )
    elif model.rate == 0.0:
        whole = (counts == np.floor(counts)) & (
            counts.sum() + model.other_count[0] == policy.version
        )
        yield whole, f"whole numbers, with those of others {policy.version} in all"
    else:
        most = -math.expm1(-model.rate * policy.version) / -math.expm1(-model.rate)
        yield (
            np.full(counts.shape, counts.sum() <= most * (1.0 + ROUNDING)),
            f"at most {most:.6g} in all",
        )


def check_arm_totals(policy: Policy, totals: NDArray[Any]) -> Findings:
    """The exact fit: the sum of each standing arm's rewards, or what is left of it."""
    model = linear(policy)
    assert isinstance(model, ExactFit)
    counts, (low, high) = model.arm_counts, model.link.reward_range
    slack = ROUNDING * counts
    within = np.where(
        counts > 0.0,
        (totals >= low * counts - slack) & (totals <= high * counts + slack),
        totals == 0.0,
    )
    yield within, "a sum of possible rewards"
    if policy._ledger.keeps_log:
        known = totals_of_log(policy)
        size = np.abs(np.array(policy._ledger.rewards)).max(initial=0.0)
        yield (
            np.abs(totals - known) <= ROUNDING * counts * size,
            "the sum of the arm's rewards in the log",
        )


def check_other_count(policy: Policy, count: NDArray[Any]) -> Findings:
    """The exact fit: how many observations were no standing arm's."""
    yield (
        (count >= 0.0) & (count <= policy.version) & (count == np.floor(count)),
        f"a number from 0 to {policy.version}",
    )
    if policy._ledger.keeps_log:
        yield count == others_of_log(policy), "how many are in the log"


def check_grams(policy: Policy, grams: NDArray[Any], most: FloatArray) -> Findings:
    """V of several regressions: [n, d, d]; `most` are the largest entries that a diagonal may have."""
    lam, diagonals = policy.recipe.lam, np.einsum("sii->si", grams)
    yield np.abs(grams - grams.transpose(0, 2, 1)) <= ROUNDING * np.abs(grams), "symmetric matrices"
    good = (diagonals >= lam * (1.0 - ROUNDING)) & (diagonals <= most * (1.0 + ROUNDING))
    yield (
        np.broadcast_to(good[:, :, None], grams.shape),
        "diagonals from the prior's to what was seen",
    )
    width = np.sqrt(np.abs(diagonals))
    yield (
        np.abs(grams) <= (1.0 + ROUNDING) * width[:, :, None] * width[:, None, :],
        "positive definite matrices",
    )


def check_stages(policy: Policy, grams: NDArray[Any]) -> Findings:
    """SupLinUCB: V of each stage, whose observations are some of all."""
    lam, seen = policy.recipe.lam, lengths(policy) ** 2
    yield from check_grams(policy, grams, seen)
    together = (np.einsum("sii->si", grams) - lam).sum(axis=0)
    good = together <= seen - lam + ROUNDING * len(grams) * seen
    yield (
        np.broadcast_to(good[:, None], grams.shape),
        "stages that have not learned more than there was",
    )


def check_inverses(policy: Policy, inverses: NDArray[Any]) -> Findings:
    """SupLinUCB: V^-1 of each stage."""
    model = linear(policy)
    assert isinstance(model, StagedModel)
    diagonals = np.einsum("sii->si", inverses)
    positive = (diagonals > 0.0) & (diagonals <= (1.0 + ROUNDING) / policy.recipe.lam)
    yield (
        np.broadcast_to(positive[:, :, None], inverses.shape),
        "diagonals above 0, and at most the prior's",
    )
    for s, gram in enumerate(model.grams):
        if np.diag(gram).sum() > STIFF * policy.recipe.lam:
            continue
        fresh = np.linalg.inv(gram)
        width, good = np.sqrt(np.diag(fresh)), np.ones(inverses.shape, np.bool_)
        good[s] = np.abs(inverses[s] - fresh) <= SEVERAL * np.outer(width, width)
        yield good, "the inverse of V"


def check_targets(policy: Policy, targets: NDArray[Any]) -> Findings:
    """SupLinUCB: b of each stage; |sum x y| <= |x| |y|."""
    model = linear(policy)
    assert isinstance(model, StagedModel)
    own = np.sqrt(
        np.maximum(0.0, np.einsum("sii->si", model.grams) - policy.recipe.lam)
    ) + ROUNDING * lengths(policy)
    yield (
        np.abs(targets) <= own * reward_length(policy) * (1.0 + ROUNDING),
        "a sum x y of observations that were learned",
    )


def check_means(policy: Policy, means: NDArray[Any]) -> Findings:
    """SupLinUCB: theta_hat of each stage."""
    model = linear(policy)
    assert isinstance(model, StagedModel)
    terms = np.abs(model.inverses) @ np.abs(model.targets)[:, :, None]
    expected = model.inverses @ model.targets[:, :, None]
    yield np.abs(means - expected[:, :, 0]) <= ROUNDING * terms[:, :, 0] + LEAST, "V^-1 b"


def check_weighed_grams(policy: Policy, grams: NDArray[Any]) -> Findings:
    """MultiplierBootstrap: every observation with weights that are drawn."""
    model, lam = linear(policy), policy.recipe.lam
    assert isinstance(model, ReweighedModel)
    weight = (1.0 + 2.0 * model.pseudo) * (1.0 + FARTHEST * model.spread)
    yield from check_grams(
        policy, grams, lam + weight * (lengths(policy) ** 2 - lam) + ROUNDING * lam
    )


def check_weighed_targets(policy: Policy, targets: NDArray[Any]) -> Findings:
    """MultiplierBootstrap: sum x (w y + pseudo w'')."""
    model = linear(policy)
    assert isinstance(model, ReweighedModel)
    rewards = reward_length(policy) + model.pseudo * math.sqrt(policy.version)
    most = (1.0 + FARTHEST * model.spread) * rewards * lengths(policy)
    yield np.abs(targets) <= most * (1.0 + ROUNDING), "a sum of weighed rewards that can have been"


CHECKS: dict[type[Any], dict[str, Check]] = {
    LinearModel: {"ridge": elsewhere, "scales": elsewhere},
    LinearEnsemble: {"sums": check_sums},
    SymmetrizedEnsemble: {"sums": check_mirrored},
    FreshEnsemble: {"root": check_fresh_root, "gram_root": check_gram_root, "ages": check_ages},
    WithIntercept: {"origin": check_origin},
    ExactFit: {
        "arm_counts": check_arm_counts,
        "arm_totals": check_arm_totals,
        "other_count": check_other_count,
    },
    HistoryModel: {"root": check_root, "pulls": check_pulls},
    ThompsonModel: {"root": check_root, "rewards": check_rewards},
    Rooted: {"root": check_root},
    RefreshedEnsemble: {"root": check_root, "last": check_last},
    PseudoRewardModel: {"pulls": check_pulls},
    OptimisticModel: {"largest": check_largest},
    DirectionsModel: {"directions": check_directions},
    StagedModel: {
        "grams": check_stages,
        "inverses": check_inverses,
        "targets": check_targets,
        "means": check_means,
    },
    ReweighedModel: {
        "grams": check_weighed_grams,
        "targets": check_weighed_targets,
        "pulls": check_pulls,
    },
    NetworkEnsemble: NETWORK_CHECKS,
}
"""Of the class that brings an array."""
