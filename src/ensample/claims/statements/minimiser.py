"""Every member minimises a perturbed least-squares problem."""

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

ID = "minimiser-form"
TOLERANCE = 1e-9
REGULARIZATIONS = (0.1, 1.0, 30.0)


def measure(scale: Scale, seed: int, centred: bool = True) -> Judge:
    """The library's incremental estimates against a fresh least-squares solution, by a QR that forms no V."""
    rounds = scale.choose(150, 1000, 10_000)
    histories = [
        record(seed, ID, part, rounds=rounds, lam=lam) for part, lam in enumerate(REGULARIZATIONS)
    ]
    times = np.unique(np.linspace(0, rounds, 16).astype(int))
    detail = f"lam = {', '.join(f'{lam:g}' for lam in REGULARIZATIONS)}; relative error, tolerance {TOLERANCE:g}"

    def judge(f: float) -> Outcome:
        errors = [
            relative_error(h.estimates[t], minimisers(h, t, centred, f))
            for h in histories
            for t in times
        ]
        return identity(max(errors), TOLERANCE, len(errors) * 10, detail)

    return judge


def minimisers(history: History, t: int, centred: bool, f: float) -> FloatArray:
    """argmin lam |theta - W/lam|^2 + sum (X'theta - Y - f Z)^2 for each member: [m, d]."""
    centre = history.W / history.lam if centred else history.W
    rows = history.phi(t).T
    targets = np.vstack([np.sqrt(history.lam) * centre.T, history.Y[:t, None] + f * history.Z[:t]])
    return np.asarray(np.linalg.lstsq(rows, targets, rcond=None)[0].T)


CLAIM = Claim(
    id=ID,
    title="Members minimise perturbed least squares",
    statement="each member minimises lam |theta - W/lam|^2 plus the squared errors on perturbed rewards",
    latex=r"\theta_t^j = \arg\min_\theta\ \lambda \|\theta - W^j/\lambda\|_2^2"
    r" + \sum_{i=1}^t \big(X_i^\top\theta - (Y_i + Z_i^j)\big)^2",
    reference="eq:minimization problem",
    section=Section.ALGORITHM,
    assumptions=("lam > 0",),
    kind=Kind.IDENTITY,
    faults=(Fault("the reward perturbations multiplied by f", measure),),
    broken=Broken(
        "shrunk towards W in place of W / lam",
        lambda scale, seed: measure(scale, seed, centred=False)(SOUND),
    ),
    note="This is the form that generalises to models without a closed form, such as logistic or neural ones.",
    costs={Scale.QUICK: Cost(0.2), Scale.STANDARD: Cost(1), Scale.PAPER: Cost(20, 300)},
)
