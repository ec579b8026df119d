"""The identities of Phi, Z and U on which the optimism argument rests."""

import math

import numpy as np

from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import identity
from ensample.claims.recorded import History, record, relative_error
from ensample.types import FloatArray

ID = "perturbation-identities"
TOLERANCE = 1e-9


def measure(scale: Scale, seed: int, rooted: bool = True) -> Judge:
    rounds = scale.choose(150, 1000, 5000)
    histories = [
        record(seed, ID, part, rounds=rounds, lam=lam) for part, lam in enumerate((0.5, 1.0, 9.0))
    ]
    times = range(0, rounds, max(1, rounds // 40))

    def judge(f: float) -> Outcome:
        errors = [
            error
            for history in histories
            for t in times
            for error in identities(history, t, rooted, f)
        ]
        return identity(
            max(errors), TOLERANCE, len(errors), f"relative error, tolerance {TOLERANCE:g}"
        )

    return judge


def identities(history: History, t: int, rooted: bool, f: float) -> list[float]:
    """Relative errors of V = Phi Phi', theta~ = V^-1 Phi Z, U'Z = x*'theta~ and |U| = |x*|_{V^-1} after t rounds."""
    V, best = history.V[t], history.best
    Phi, Z = history.phi(t), history.perturbation(t)
    Phi[:, : best.size] *= f if rooted else f * math.sqrt(history.lam)
    U: FloatArray = np.linalg.solve(V, Phi).T @ best
    width = np.array(math.sqrt(best @ np.linalg.solve(V, best)))
    return [
        relative_error(Phi @ Phi.T, V),
        relative_error(np.linalg.solve(V, Phi @ Z).T, history.theta_tilde[t]),
        relative_error(U @ Z, history.theta_tilde[t] @ best),
        relative_error(np.array(np.linalg.norm(U)), width),
    ]


CLAIM = Claim(
    id=ID,
    title="What Phi, Z and U say",
    statement="V = Phi Phi', theta~ = V^-1 Phi Z, U'Z = x*'theta~ and |U| = |x*| in the norm of V^-1",
    latex=r"V_t = \Phi_t\Phi_t^\top,\quad \tilde\theta_t = V_t^{-1}\Phi_t \mathbf{Z}_{t+1},\quad "
    r"U_t^\top \mathbf{Z}_{t+1} = x^{*\top}\tilde\theta_t,\quad \|U_t\|_2 = \|x^*\|_{V_t^{-1}}",
    reference="lma:optimism lemma",
    section=Section.ESTIMATES,
    assumptions=("lam > 0",),
    kind=Kind.IDENTITY,
    faults=(Fault("the first block of Phi, sqrt(lam) I, multiplied by f", measure),),
    broken=Broken(
        "Phi begins with lam I in place of sqrt(lam) I",
        lambda scale, seed: measure(scale, seed, rooted=False)(SOUND),
    ),
    note="The table of notations gives Phi_t the shape d + t; it is d x (d + t). A transpose is missing in one line "
    "of the proof: U'Z, not U Z.",
    costs={Scale.QUICK: Cost(0.2), Scale.STANDARD: Cost(1), Scale.PAPER: Cost(10, 300)},
)
