"""Freeze saved policies, and what they decide next, in `snapshots.npz`.

The file was written by the release before snapshots were read with the library of the format:
`snapshots.py` is not meant to be run again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ensample as es
from golden.runs import ARMS, Fields, Rewards, offered, takes_clicks, write

PLAYED, FOLLOWING = 30, 20  # rounds before the file is written, and after it
CASES: dict[str, tuple[str, str]] = {
    f"{recipe} on {arms}": (recipe, arms)
    for recipe, arms in (
        *(("default of 12", arms) for arms in ("finite", "changing", "ball", "box", "oracle")),
        ("stored", "finite"),
        ("scale", "changing"),
        ("Rademacher", "finite"),
        ("own rule", "finite"),
        ("intercept", "finite"),
        ("refreshed", "finite"),
        ("PHE, Rademacher", "finite"),
        ("Thompson, adaptive", "ball"),
        ("LinUCB, watched norm", "finite"),
        ("SupLinUCB", "finite"),
        ("Kveton", "finite"),
        ("bootstrap", "finite"),
        ("Ensemble++", "ball"),
        ("information", "finite"),
        ("epsilon-greedy", "finite"),
        ("half life", "changing"),
        ("logistic", "finite"),
        ("logistic, exact", "finite"),
        ("networks, two layers", "finite"),
    )
}


def after(policy: es.Policy) -> Fields:
    """Return what a saved policy decides next, and the arrays of its model after that."""
    reward = Rewards(policy.arms, PLAYED + FOLLOWING, takes_clicks(policy.recipe))
    early, _ = policy.open_decisions
    policy.update(early, reward(early))
    chosen = []
    for t in range(policy.round, PLAYED + FOLLOWING):
        decision = policy.decide(offered(policy.arms, t))
        policy.update(decision, reward(decision))
        chosen.append([decision.member, *decision.features])
    arrays = {f"state/{name}": np.array(values) for name, values in policy.model.arrays().items()}
    return {"decisions": np.array(chosen), **arrays}


def frozen(recipe: es.Recipe, arms: str, folder: Path) -> Fields:
    """Return a snapshot as bytes, and what follows."""
    policy = recipe.start(ARMS[arms](), seed=3)
    reward = Rewards(policy.arms, PLAYED, takes_clicks(recipe))
    for t in range(PLAYED):
        decision = policy.decide(offered(policy.arms, t))
        policy.update(decision, reward(decision))
    for t in (PLAYED, PLAYED + 1):
        policy.decide(offered(policy.arms, t), propensity=t > PLAYED and propensity_known(policy))
    path = folder / "policy.safetensors"
    policy.save(path)
    return {"file": np.frombuffer(path.read_bytes(), np.uint8), **after(policy)}


def propensity_known(policy: es.Policy) -> bool:
    """Return True if arms are listed and propensities have a closed form."""
    try:
        policy.propensities(offered(policy.arms, 0))
    except es.EnsampleError:
        return False
    return True


if __name__ == "__main__":
    from golden.runs import RECIPES

    with TemporaryDirectory() as name:
        found = {
            case: frozen(RECIPES[recipe], arms, Path(name))
            for case, (recipe, arms) in CASES.items()
        }
    write("snapshots.npz", found)
