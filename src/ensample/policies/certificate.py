"""A bound on the regret of a live policy so far, computed from what it has seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ensample.arms import ChangingArms
from ensample.errors import AssumptionError
from ensample.member_rules import OptimisticMember
from ensample.models import LinearEnsemble, LinearModel
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.linucb import LinUCB, OptimisticModel
from ensample.theory import Setting, sharp_share
from ensample.theory.radii import determinant_radius, perturbation_scale, spread
from ensample.types import FloatArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy


CERTIFICATE = "a certificate"
Width = Callable[[LinearModel, "Policy", FloatArray], float]
"""What a round's regret is at most, by the state before it and the features that it played."""


@dataclass(frozen=True)
class Certificate:
    """The regret over the first `rounds` rounds is at most `bound`, for all numbers of rounds at
    once with this probability.

    It is the sum over rounds of what the analysis proves of each, at the realised V (before the
    round), its determinant and the realised X_t, where a bound that is known in advance must assume
    the worst of them. Write |x| for |x|_{V^-1}, L = log(det V / lam^d), b = sigma sqrt(L + 2
    log(1/delta)) + sqrt(lam) S and g(n) = s (sqrt(L + 2 log(2n/delta)) + sqrt(d) + sqrt(2
    log(2n/delta))), s the perturbations' scale (for other laws g has their own tails). Each term is
    at most 2S, since |x| <= 1 and |theta*| <= S; `unclipped` is the sum without that.

    LinUCB: (beta_t + b) |X_t|, with probability 1 - delta. One event: |theta_hat - theta*|_V <= b
    for all t. On it x*'theta* <= x*'theta_hat + beta_t |x*| <= X_t'theta_hat + beta_t |X_t| <=
    X_t'theta* + (beta_t + b) |X_t|, as b <= beta_t.

    Optimistic rule: (b + g(m)) |X_t|, with probability 1 - 3 delta: the ridge event; some member is
    optimistic in every round, by a union over pull counts; all m members have |theta~^j|_V <= g(m)
    for all t, by a union over members. On them x*'theta* <= X_t'theta_t <= X_t'theta* + (b + g(m))
    |X_t|.

    Uniform rule: c |X_t| + (2c/p) mean_j |x^j| with c = b + g(T), x^j member j's greedy arm and p
    the share of optimistic members that its size is proved to keep (`theory.sharp_share`), with
    probability 1 - 3 delta: the ridge event; in every round a share p of the members is optimistic
    and has |theta~^j|_V <= g(T), by a union over pull counts, given which V is fixed and each
    member fails with probability delta/T; the member that acts has it too, by a union over rounds,
    as it is drawn independently of all members. Let theta- minimise J(theta) = max_x x'theta over
    |theta - theta*|_V <= c. Then J(theta-) <= J(theta_t), so that J(theta-) - X_t'theta* <= c
    |X_t|; and J(theta*) - J(theta-) <= J(theta^j) - J(theta-) <= 2c |x^j| for every member of that
    share, hence <= (2c/p) mean_j |x^j|. No martingale is needed: the mean is known, and its
    deviations cost Theorem 1 the fourth delta.

    Where nothing is proved, `AssumptionError`: for recipes that are not at a theorem's constants,
    after more than T rounds of an ensemble, where arms change (a log has no offers), and unless the
    log is that of a policy which learned each reward before it decided again. Every decision is
    made again on the way: rewards that came late, in another order or for arms that were not its
    own choice are known by a decision that would have been another. If every decision is the same,
    then so is the run, and the bound holds. It is a function of recipe, arms, seed and log, so that
    snapshots and replays have the same. It costs as much as the rounds did, and for the uniform
    rule the votes of all members in each.

    >>> import numpy as np, ensample as es
    >>> setting = es.Setting(dim=2, arms=2, horizon=2000, noise=0.1, norm=1)
    >>> policy = es.LinUCB.from_theorem(setting).start(es.FiniteArms(np.eye(2)))
    >>> for _ in range(2000):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.9, 0.1][decision.arm])
    >>> known = policy.certificate()
    >>> known.rounds, round(known.bound), round(known.a_priori), known.probability
    (2000, 246, 2355, 0.95)

    Reference: the lemmas of Lee & Oh 2024; put together here.
    """

    rounds: int
    bound: float
    unclipped: float
    probability: float
    a_priori: float  # what `guarantee` says of all T rounds
    theorem: str  # whose constants and lemmas these are


def certify(policy: "Policy") -> Certificate:
    """Play the log again, and add up what each round's regret is at most."""
    recipe, setting = certifiable(policy)
    proved, terms = recipe.guarantee(setting), round_bounds(policy)
    return Certificate(
        rounds=terms.size,
        bound=float(np.minimum(terms, 2.0 * setting.norm).sum()),
        unclipped=float(terms.sum()),
        probability=1.0 - width_of(recipe, setting)[1] * setting.delta,
        a_priori=proved.bound,
        theorem=proved.theorem,
    )


def certifiable(policy: "Policy") -> tuple[EnsembleSampling | LinUCB, Setting]:
    """Return the recipe and its setting, or `AssumptionError` where nothing is proved of them."""
    recipe, setting = policy.recipe, policy.recipe.setting
    if setting is None or not isinstance(recipe, EnsembleSampling | LinUCB):
        raise AssumptionError(
            CERTIFICATE, "EnsembleSampling.from_theorem or LinUCB.from_theorem", f"{recipe!r}"
        )
    recipe.guarantee(setting)
    if isinstance(policy.arms, ChangingArms):
        raise AssumptionError(
            CERTIFICATE,
            "one set of arms, which the log can be compared with",
            f"arms = {policy.arms!r}",
        )
    rounds = len(policy.log().round)
    if isinstance(recipe, EnsembleSampling) and rounds > setting.horizon:
        raise AssumptionError(
            CERTIFICATE, f"at most the {setting.horizon} rounds of its setting", f"{rounds} rounds"
        )
    return recipe, setting


def round_bounds(policy: "Policy") -> FloatArray:
    """Return what the regret of each round is at most, not yet clipped at 2S: the log is played
    again. [rounds]"""
    recipe, setting = certifiable(policy)
    width, _ = width_of(recipe, setting)
    log, again = policy.log(), recipe.start(policy.arms, policy.seed, log=None)
    terms = np.empty(len(log.round))
    for t in range(terms.size):
        decision = again.decide()
        if log.round[t] != t or not np.array_equal(decision.features, log.features[t]):
            raise AssumptionError(
                CERTIFICATE,
                "that each reward was learned before the next decision",
                f"observation {t} of the log, of round {log.round[t]}, is not what the policy "
                "would have played then",
            )
        model = again.model
        assert isinstance(model, LinearModel)
        terms[t] = width(model, again, decision.features)
        again.update(decision, log.reward[t])
    return terms


def width_of(recipe: EnsembleSampling | LinUCB, setting: Setting) -> tuple[Width, int]:
    """Return the bound of a round, and how many times delta all of them together fail with."""
    if isinstance(recipe, LinUCB):
        return lambda model, policy, x: linucb_width(setting, model, x), 1
    if recipe.member == OptimisticMember():
        return (
            lambda model, policy, x: (
                member_radius(recipe, setting, recipe.size, model) * length(model, x)
            ),
            3,
        )
    share = sharp_share(setting, recipe.size, recipe.reward_law)
    return lambda model, policy, x: uniform_width(recipe, setting, share, model, policy, x), 3


def linucb_width(setting: Setting, model: LinearModel, x: FloatArray) -> float:
    """Return (beta_t + b) |X_t|."""
    assert isinstance(model, OptimisticModel)
    return (model.beta + determinant_radius(setting, model.information)) * length(model, x)


def uniform_width(
    recipe: EnsembleSampling,
    setting: Setting,
    share: float,
    model: LinearModel,
    policy: "Policy",
    x: FloatArray,
) -> float:
    """Return c |X_t| + (2c/p) mean_j |x^j|."""
    assert isinstance(model, LinearEnsemble) and policy.arms.rows is not None
    c = member_radius(recipe, setting, setting.horizon, model)
    votes, _ = model.votes_in(policy.round, policy.arms)
    counts = np.bincount(votes, minlength=len(policy.arms.rows))
    mean = (
        sum(n * length(model, policy.arms.rows[k]) for k, n in enumerate(counts) if n) / model.size
    )
    return c * length(model, x) + 2.0 * c / share * float(mean)


def member_radius(recipe: EnsembleSampling, setting: Setting, n: int, model: LinearModel) -> float:
    """Return b + g(n): how far a member is from theta*, in determinant form."""
    known, law = max(0.0, model.information), recipe.reward_law
    log_failure = math.log(setting.delta) - math.log(2.0 * n)
    return determinant_radius(setting, known) + perturbation_scale(setting, law) * spread(
        setting, log_failure, law, known
    )


def length(model: LinearModel, x: FloatArray) -> float:
    """Return |x|_{V^-1}."""
    return math.sqrt(max(0.0, float(x @ model.inverse @ x)))
