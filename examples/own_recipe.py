"""A recipe of one's own beside ours, on one problem. Run it: `python examples/own_recipe.py`."""

import warnings
from dataclasses import dataclass

import numpy as np

import ensample as es

PROMISING = es.OptimisticMember()


@dataclass(frozen=True)
class Bolder(es.EnsembleSampling):
    """Ensemble sampling that acts on the member that promises most."""

    member: es.MemberRule = PROMISING


def main(runs: int = 4, horizon: int = 50) -> dict[str, float]:
    """The mean regret of each recipe."""
    family = es.problem("sphere", dim=3, arms=5)
    recipes: dict[str, es.Recipe] = {
        "ours": es.EnsembleSampling(10),
        "bolder": Bolder(10),
        "LinUCB": es.LinUCB(),
    }
    found: dict[str, float] = {}
    for name, recipe in recipes.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", es.LiveSimulationWarning)  # there is no kernel for it
            found[name] = float(np.mean(es.simulate(recipe, family, horizon, runs).regret[:, -1]))
    return found


if __name__ == "__main__":
    print(main())
