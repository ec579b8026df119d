"""A member is the ridge estimate plus a perturbation that the rewards do not enter."""

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

ID = "decomposition"
TOLERANCE = 1e-9


def measure(scale: Scale, seed: int, shift: int = 0) -> Judge:
    """theta^j against theta_hat from the rewards alone and theta~^j from the perturbations alone, after every round."""
    rounds = scale.choose(150, 1000, 10_000)
    histories = [
        record(seed, ID, part, rounds=rounds, lam=lam) for part, lam in enumerate((0.1, 1.0, 30.0))
    ]

    def judge(f: float) -> Outcome:
        errors = [error for history in histories for error in differences(history, shift, f)]
        return identity(
            max(errors), TOLERANCE, 10 * len(errors), f"relative error, tolerance {TOLERANCE:g}"
        )

    return judge


def differences(history: History, shift: int, f: float) -> list[float]:
    """Relative errors of both parts, with W multiplied by f and Z moved on by some members."""
    rounds, Z, errors = len(history.X), np.roll(history.Z, shift, axis=1), []
    for t in range(0, rounds + 1, max(1, rounds // 50)):
        X = history.X[:t]
        V = history.lam * np.eye(X.shape[1]) + X.T @ X
        ridge = np.asarray(np.linalg.solve(V, X.T @ history.Y[:t]), np.float64)
        perturbed = np.asarray(np.linalg.solve(V, f * history.W.T + X.T @ Z[:t]).T, np.float64)
        errors.append(relative_error(history.estimates[t], ridge + perturbed))
        errors.append(relative_error(history.theta_tilde[t], perturbed))
    return errors


CLAIM = Claim(
    id=ID,
    title="Estimate = ridge + perturbation",
    statement="a member is the ridge estimate on real rewards plus V^-1 (W + sum X Z), free of rewards",
    latex=r"\theta_t^j = \hat\theta_t + \tilde\theta_t^j,\quad \hat\theta_t = V_t^{-1}\sum_i X_i Y_i,\quad"
    r"\tilde\theta_t^j = V_t^{-1}\Big(W^j + \sum_i X_i Z_i^j\Big)",
    reference="eq:theta decomposition",
    section=Section.ESTIMATES,
    assumptions=("lam > 0",),
    kind=Kind.IDENTITY,
    faults=(Fault("the initial perturbations multiplied by f", measure),),
    broken=Broken(
        "the reward perturbations of the next member",
        lambda scale, seed: measure(scale, seed, shift=1)(SOUND),
    ),
    costs={Scale.QUICK: Cost(0.2), Scale.STANDARD: Cost(1), Scale.PAPER: Cost(20, 300)},
)
