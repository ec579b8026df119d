"""A bound on the regret of a live policy so far, computed from what it has seen."""

import math
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


@dataclass(frozen=True)
class Certificate:
    """A bound on the regret over the first `rounds` rounds, for all numbers of rounds at once.

    It holds with probability `probability`, and is the sum over rounds of what the analysis proves
    of each, at the realised V (before the round), its determinant and the realised X_t, where a
    bound that is known in advance must assume the worst of them. Write |x| for |x|_{V^-1}, L =
    log(det V / lam^d), b = sigma sqrt(L + 2 log(1/delta)) + sqrt(lam) S and g(n) = s (sqrt(L + 2
    log(2n/delta)) + sqrt(d) + sqrt(2 log(2n/delta))), s the perturbations' scale (for other laws g
    has their own tails). Each term is at most 2S, since |x| <= 1 and |theta*| <= S; `unclipped` is
    the sum without that.

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
    failures = 1 if isinstance(recipe, LinUCB) else 3
    return Certificate(
        rounds=terms.size,
        bound=float(np.minimum(terms, 2.0 * setting.norm).sum()),
        unclipped=float(terms.sum()),
        probability=1.0 - failures * setting.delta,
        a_priori=proved.bound,
        theorem=proved.theorem,
    )


def certifiable(policy: "Policy") -> tuple[EnsembleSampling | LinUCB, Setting]:
    """Return the recipe and its setting, or `AssumptionError` where nothing is proved of them."""
    recipe, setting = policy.recipe, policy.recipe.setting
    if setting is None or not isinstance(recipe, EnsembleSampling | LinUCB):
        recipes = "EnsembleSampling.from_theorem or LinUCB.from_theorem"
        raise AssumptionError(CERTIFICATE, recipes, f"{recipe!r}")
    recipe.guarantee(setting)
    if isinstance(policy.arms, ChangingArms):
        one = "one set of arms, which the log can be compared with"
        raise AssumptionError(CERTIFICATE, one, f"arms = {policy.arms!r}")
    rounds = len(policy.log().round)
    if isinstance(recipe, EnsembleSampling) and rounds > setting.horizon:
        most = f"at most the {setting.horizon} rounds of its setting"
        raise AssumptionError(CERTIFICATE, most, f"{rounds} rounds")
    return recipe, setting


def round_bounds(policy: "Policy") -> FloatArray:
    """Play the log again; return a bound on the regret of each round, not clipped at 2S."""
    recipe, setting = certifiable(policy)
    log, again = policy.log(), recipe.start(policy.arms, policy.seed, log=None)
    share = None
    if isinstance(recipe, EnsembleSampling) and recipe.member != OptimisticMember():
        share = sharp_share(setting, recipe.size, recipe.reward_law)
    terms = np.empty(len(log.round))
    for t in range(terms.size):
        decision = again.decide()
        if log.round[t] != t or not np.array_equal(decision.features, log.features[t]):
            found = f"observation {t} of the log, of round {log.round[t]}"
            raise AssumptionError(
                CERTIFICATE,
                "that each reward was learned before the next decision",
                f"{found}, is not what the policy would have played then",
            )
        terms[t] = round_bound(again, setting, decision.features, share)
        again.update(decision, log.reward[t])
    return terms


def round_bound(policy: "Policy", setting: Setting, x: FloatArray, share: float | None) -> float:
    """Return what the regret of playing x is at most; see `Certificate`.

    `share`: p, of optimistic members under the uniform rule; None for other recipes.
    """
    recipe, model, rows = policy.recipe, policy.model, policy.arms.rows
    assert isinstance(model, LinearModel)
    if isinstance(model, OptimisticModel):
        b = determinant_radius(setting, model.information)
        return (model.beta + b) * length(model, x)
    assert isinstance(recipe, EnsembleSampling)
    if share is None:
        return member_radius(recipe, setting, recipe.size, model) * length(model, x)
    assert isinstance(model, LinearEnsemble) and rows is not None
    c = member_radius(recipe, setting, setting.horizon, model)
    votes, _ = model.votes_in(policy.round, policy.arms)
    counts = np.bincount(votes, minlength=len(rows))
    mean = sum(n * length(model, rows[k]) for k, n in enumerate(counts) if n) / model.size
    return c * length(model, x) + 2.0 * c / share * float(mean)


def member_radius(recipe: EnsembleSampling, setting: Setting, n: int, model: LinearModel) -> float:
    """Return b + g(n): how far a member is from theta*, in determinant form."""
    known, law = max(0.0, model.information), recipe.reward_law
    log_failure = math.log(setting.delta) - math.log(2.0 * n)
    g = perturbation_scale(setting, law) * spread(setting, log_failure, law, known)
    return determinant_radius(setting, known) + g


def length(model: LinearModel, x: FloatArray) -> float:
    """Return |x|_{V^-1}."""
    return math.sqrt(max(0.0, float(x @ model.inverse @ x)))
