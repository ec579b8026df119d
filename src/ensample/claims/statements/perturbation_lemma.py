"""The perturbation lemma: what holds of the perturbations alone is enough for the general theorem."""

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Fault, Judge, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_least, generator, weakest
from ensample.claims.watched import Round, watch
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem, problem
from ensample.randomness import RunStream

ID = "perturbation-lemma"
SIZE = 40


def measure(scale: Scale, seed: int) -> Judge:
    """In every round, with the least beta that the lemma allows, the ridge error: members that reach beta |U| with
    |theta~|_V <= gamma~ are optimistic with |theta - theta*|_V <= gamma~ + beta."""
    runs = scale.choose(15, 100, 1000)
    found = [(look, best) for part in range(runs) for look, best in rounds(seed, part)]

    def judge(f: float) -> Outcome:
        gaps = np.array([missing(look, best, f) for look, best in found])
        detail = f"{len(found):,} rounds of {SIZE} members, {int(gaps[:, 2].sum()):,} members that meet the premise"
        return weakest(
            [
                always_at_least(round(float(gaps[:, 0].min()), 12), 0.0, len(found), detail),
                always_at_least(round(float(gaps[:, 1].min()), 12), 0.0, len(found)),
            ]
        )

    return judge


def rounds(seed: int, part: int) -> list[tuple[Round, float]]:
    """Rounds of a run of the library, and the best mean."""
    world = problem("sphere", dim=3, arms=2 + part % 5, noise=1.0).draw(
        generator(seed, ID, part, RunStream.PROBLEM)
    )
    assert isinstance(world, LinearProblem)
    return [
        (look, world.best_mean())
        for look in watch(EnsembleSampling(SIZE, 1.5), world, 30, seed, ID, part)
    ]


def missing(look: Round, best: float, f: float) -> tuple[float, float, float]:
    """The least surplus of a promise over x*'theta*, and of the radius over the error, among members that meet the premise.

    gamma~ is the median norm, so that half of the members violate it. With a fault the premise asks for beta / f only.
    """
    beta, gamma = look.ridge_error, float(np.median(look.norms))
    premise = (look.reach >= beta / f) & (look.norms <= gamma)
    if not premise.any():
        return 0.0, 0.0, 0.0
    surplus = float((look.promises[premise] - best).min())
    return (
        min(0.0, surplus),
        float((gamma + beta - look.errors[premise]).min()),
        float(premise.sum()),
    )


CLAIM = Claim(
    id=ID,
    title="Properties of the perturbations suffice",
    statement="if a perturbation reaches beta |U| and stays within gamma~, the round is optimistic and within gamma~ + beta",
    latex=r"U_{t-1}^\top\mathbf{Z}_t \ge \beta\|U_{t-1}\|_2,\ \|\tilde\theta_{t-1}\|_{V_{t-1}} \le \tilde\gamma,\ "
    r"\|\hat\theta_{t-1}-\theta^*\|_{V_{t-1}} \le \beta\ \Rightarrow\ x^{*\top}\theta^* \le X_t^\top\theta_t,\ "
    r"\|\theta_t - \theta^*\|_{V_{t-1}} \le \tilde\gamma + \beta",
    reference="lma:rpe result",
    section=Section.ESTIMATES,
    assumptions=("the ridge error is at most beta", "X_t maximises x'theta_t"),
    kind=Kind.INEQUALITY,
    faults=(Fault("the reach beta divided by f", measure),),
    broken=Broken("a reach of half of beta", 2.0),
    note="Hence the probability of an optimistic and concentrated round is at least that of a perturbation that is large "
    "in one direction and not too large in all: the conditions of the general theorem, with gamma = gamma~ + beta_T "
    "and the same p.",
    costs={Scale.QUICK: Cost(0.3), Scale.STANDARD: Cost(2), Scale.PAPER: Cost(20)},
)
