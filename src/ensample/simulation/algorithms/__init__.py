"""One algorithm a file: the loop over its rounds, and how its recipe is told to it. Importing them fills the registry."""

from importlib import import_module

ALGORITHMS = (
    "eager",
    "ensemble_plus_plus",
    "fresh_stream",
    "greedy",
    "history",
    "information_directed",
    "kveton_phe",
    "lazy",
    "lazy_stream",
    "linucb",
    "moving_ensemble",
    "multiplier_bootstrap",
    "newton_rounds",
    "sup_linucb",
)
for name in ALGORITHMS:
    import_module(f"{__name__}.{name}")
