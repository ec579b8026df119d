"""Ensemble sampling for decisions.

Keep many models of the reward, each trained on slightly perturbed data; each round act greedily on
one of them.

>>> import numpy as np
>>> import ensample as es
>>> policy = es.EnsembleSampling().start(es.FiniteArms(np.eye(3)), seed=0)
>>> decision = policy.decide()
>>> policy.update(decision, reward=1.0)

Recipes: `EnsembleSampling`, `PerturbedHistory` (LinPHE). What the paper prescribes: `theory`,
`Setting`.

The names are in `__init__.pyi`. Each is imported when it is first used.
"""

import sys
from importlib import import_module
from typing import Any

from ensample.names import HOMES, PARTS

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    """A public name, or the module of one, on its first use (PEP 562)."""
    home = HOMES.get(name, __name__)
    if name not in HOMES and name not in PARTS:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    value = (
        import_module(f"{__name__}.{name}")
        if home == __name__
        else getattr(import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names only: what `es.` and the tabulator key show."""
    return __all__
