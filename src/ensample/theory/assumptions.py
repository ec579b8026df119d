"""Assumptions of the theorems, checked where a theorem is invoked."""

from ensample.checks import instance, number
from ensample.errors import AssumptionError
from ensample.perturbations import Gaussian, Perturbation
from ensample.theory.guarantee import COROLLARY, OPTIMISTIC_RULE, THEOREM_ONE
from ensample.theory.setting import Setting


def require_theorem(setting: Setting, perturbation: Perturbation) -> None:
    """Raise unless Theorem 1 applies."""
    require_finite(THEOREM_ONE.name, setting)
    require_regularization(THEOREM_ONE.name, setting)
    THEOREM_ONE.require_confidence(setting)
    require_small_delta(THEOREM_ONE.name, setting, perturbation)


def require_corollary(setting: Setting, perturbation: Perturbation) -> None:
    """Raise unless LinPHE's Corollary applies."""
    require_regularization(COROLLARY.name, setting)
    COROLLARY.require_confidence(setting)
    require_small_delta(COROLLARY.name, setting, perturbation)


def require_optimistic(setting: Setting, perturbation: Perturbation | None = None) -> None:
    """Raise unless the bound of the optimistic member rule applies."""
    require_finite(OPTIMISTIC_RULE.name, setting)
    require_regularization(OPTIMISTIC_RULE.name, setting)
    OPTIMISTIC_RULE.require_confidence(setting)
    if perturbation is not None and type(perturbation) is not Gaussian:
        raise AssumptionError(
            OPTIMISTIC_RULE.name, "Gaussian perturbations", f"perturbation = {perturbation!r}"
        )


def unit_anticoncentration(perturbation: Perturbation) -> tuple[float, float]:
    """(c, p) of the law at scale 1, if the appendix admits the law."""
    instance("perturbation", perturbation, Perturbation, "a perturbation such as Gaussian()")
    unit = perturbation.rescaled(1.0)
    c, p = unit.anticoncentration
    number("c", c, above=0.0)
    number("p", p, most=1.0, above=0.0)
    if unit.variance < 0.5 * unit.subgaussian**2:
        raise AssumptionError(
            "the anti-concentration lemma",
            "variance >= 1/2 of the squared subGaussian constant",
            f"{perturbation!r} has {unit.variance / unit.subgaussian**2:.3g}",
        )
    return c, p


def require_finite(theorem: str, setting: Setting) -> None:
    instance("setting", setting, Setting, "a Setting")
    if setting.arms is None:
        raise AssumptionError(
            theorem, "finitely many arms", "arms = None (LinPHE's Corollary covers infinite sets)"
        )


def require_regularization(theorem: str, setting: Setting) -> None:
    instance("setting", setting, Setting, "a Setting")
    if setting.regularization < 1.0:
        raise AssumptionError(
            theorem, "regularization >= 1", f"regularization = {setting.regularization:g}"
        )


def require_small_delta(theorem: str, setting: Setting, perturbation: Perturbation) -> None:
    _, p = unit_anticoncentration(perturbation)
    if setting.delta / setting.horizon > p / 2.0:
        raise AssumptionError(
            theorem,
            f"delta/horizon <= {p / 2.0:.4g}",
            f"delta/horizon = {setting.delta / setting.horizon:.4g}",
        )
