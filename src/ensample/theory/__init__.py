"""The paper's constants and bounds as functions of a `Setting`.

Radii and sizes: `radius` (beta_t), `perturbation_scale`, `perturbation_radius` (gamma~_T),
`estimator_radius` (gamma_T), `ensemble_size` (m), `elliptical_potential_bound`. Bounds on the
regret: `regret_bound` (the general theorem), `theorem_bound`, `phe_bound`, `ucb_bound`, and for the
optimistic member rule `optimistic_size`, `optimistic_radius`, `optimistic_bound`; a recipe at a
theorem's constants has a `Guarantee`. With fewer members and the same bounds: `sharp_size`,
`sharp_bound`, `sharp_share`, `sharp_optimistic_size`; what a smaller share of optimistic members
saves and costs: `frontier`. What to make of them: `informative_horizon`, `sublinear_horizon`,
`prior_work`. The general theorem as an instrument: `measure`, for any recipe.

Where a perturbation may be given, a non-Gaussian law brings the generalised constants of the
appendix: scale 3 beta_T, p = 0.01. A theorem called outside its assumptions raises
`AssumptionError`.

Reference: H. Lee and M. Oh, "Improved Regret of Linear Ensemble Sampling", NeurIPS 2024.
"""

from importlib import import_module
from typing import Any

from ensample.perturbations import P_N
from ensample.theory.bounds import (
    optimistic_bound,
    optimistic_radius,
    optimistic_size,
    phe_bound,
    regret_bound,
    theorem_bound,
    ucb_bound,
)
from ensample.theory.guarantee import Guarantee, Measurement
from ensample.theory.horizons import informative_horizon, sublinear_horizon
from ensample.theory.prior import Work, prior_work
from ensample.theory.radii import (
    elliptical_potential_bound,
    ensemble_size,
    estimator_radius,
    perturbation_radius,
    perturbation_scale,
    radius,
)
from ensample.theory.setting import Setting
from ensample.theory.sharp import (
    Tradeoff,
    frontier,
    sharp_bound,
    sharp_optimistic_size,
    sharp_share,
    sharp_size,
)

__all__ = [
    "P_N",
    "Guarantee",
    "Measurement",
    "Setting",
    "Tradeoff",
    "Work",
    "elliptical_potential_bound",
    "ensemble_size",
    "estimator_radius",
    "frontier",
    "informative_horizon",
    "measure",
    "optimistic_bound",
    "optimistic_radius",
    "optimistic_size",
    "perturbation_radius",
    "perturbation_scale",
    "phe_bound",
    "prior_work",
    "radius",
    "regret_bound",
    "sharp_bound",
    "sharp_optimistic_size",
    "sharp_share",
    "sharp_size",
    "sublinear_horizon",
    "theorem_bound",
    "ucb_bound",
]


def __getattr__(name: str) -> Any:
    """`measure` plays policies, which import the theory: it is imported on its first use."""
    if name != "measure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("ensample.simulation.measuring").measure
