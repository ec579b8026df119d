"""Every member minimises a perturbed least-squares problem."""

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import identity
from ensample.claims.recorded import History, record, relative_error
from ensample.types import FloatArray

__all__ = ["CLAIM"]

ID = "minimiser-form"
TOLERANCE = 1e-9
REGULARIZATIONS = (0.1, 1.0, 30.0)


def check(scale: Scale, seed: int, centred: bool = True) -> Outcome:
    """The library's incremental estimates against a fresh least-squares solution, by a QR that forms no V."""
    rounds = scale.choose(150, 1000, 10_000)
    errors = []
    for part, lam in enumerate(REGULARIZATIONS):
        history = record(seed, ID, part, rounds=rounds, lam=lam)
        times = np.unique(np.linspace(0, rounds, 16).astype(int))
        errors += [relative_error(history.estimates[t], minimisers(history, t, centred)) for t in times]
    detail = f"lam = {', '.join(f'{lam:g}' for lam in REGULARIZATIONS)}; relative error, tolerance {TOLERANCE:g}"
    return identity(max(errors), TOLERANCE, len(errors) * 10, detail)


def minimisers(history: History, t: int, centred: bool) -> FloatArray:
    """argmin lam |theta - W/lam|^2 + sum (X'theta - Y - Z)^2 for each member: [m, d]."""
    centre = history.W / history.lam if centred else history.W
    rows = history.phi(t).T
    targets = np.vstack([np.sqrt(history.lam) * centre.T, history.Y[:t, None] + history.Z[:t]])
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
    check=check,
    broken=Broken("shrunk towards W in place of W / lam", lambda scale, seed: check(scale, seed, centred=False)),
    note="This is the form that generalises to models without a closed form, such as logistic or neural ones.",
    costs={Scale.QUICK: Cost(0.2), Scale.STANDARD: Cost(1), Scale.PAPER: Cost(20, 300)},
)
