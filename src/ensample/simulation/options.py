"""Options of kernels that follow from a recipe, and why a kernel cannot simulate a recipe."""

from typing import Any, NamedTuple

from ensample.calibration import NO_INFLATION, Inflation
from ensample.member_rules import (
    MemberRule,
    OptimisticMember,
    RoundRobin,
    StickyMember,
    UniformMember,
    as_member_rule,
)
from ensample.perturbations import (
    CenteredBinomial,
    Gaussian,
    InitialLaw,
    Rademacher,
    Sphere,
    Uniform,
)
from ensample.policies.recipe import PerturbationRecipe, Recipe

Options = dict[str, Any]


class Law(NamedTuple):
    """Law of perturbations, as the core takes it."""

    kind: int  # of `LawKind` in cpp/simulate/state.hpp
    trials: int
    scale: float


LAWS: dict[type[InitialLaw], int] = {
    Gaussian: 0,
    Uniform: 1,
    Rademacher: 2,
    CenteredBinomial: 2,
    Sphere: 3,
}
RULES: dict[type[MemberRule], int] = {  # numbers of `MemberRule` in cpp/simulate/state.hpp
    UniformMember: 0,
    StickyMember: 0,
    RoundRobin: 1,
    OptimisticMember: 2,
}


def law_of(law: InitialLaw) -> Law:
    return Law(LAWS[type(law)], law.trials if isinstance(law, CenteredBinomial) else 1, law.scale)


def law_options(recipe: PerturbationRecipe) -> Options:
    """Return the options that say how perturbations are drawn."""
    return {"initial": law_of(recipe.initial_law), "reward": law_of(recipe.reward_law)}


def member_options(recipe: PerturbationRecipe) -> Options:
    """Return the options that say how many members there are and who acts."""
    rule = as_member_rule(recipe.member)
    stay = rule.rounds if isinstance(rule, StickyMember) else 1
    return {"size": recipe.size, "rule": RULES[type(rule)], "stay": stay}


def ensemble_options(recipe: PerturbationRecipe) -> Options:
    """Return the options of members with perturbations."""
    return member_options(recipe) | law_options(recipe)


def factor_of(recipe: Recipe) -> Inflation:
    """Return what multiplies the perturbations of a recipe."""
    return Inflation(recipe.boldness, learned=True) if recipe.calibrates else NO_INFLATION


# --- Reasons why a kernel cannot simulate a recipe; empty texts where there is none


def why_not_fading(recipe: Recipe) -> str:
    forgets = recipe.half_life is not None
    return f"this kernel does not know half_life={recipe.half_life:g}" if forgets else ""


def why_not_stored(recipe: PerturbationRecipe) -> str:
    reason = "this kernel keeps its members, and fresh=True draws them anew each round"
    return reason if recipe.draws_fresh else ""


def why_not_fresh(recipe: PerturbationRecipe) -> str:
    reason = "this kernel draws its members anew each round, and fresh=False keeps them"
    return "" if recipe.draws_fresh else reason


def why_not_laws(recipe: PerturbationRecipe) -> str:
    laws = type(recipe.initial_law), type(recipe.reward_law)
    unknown = (f"kernels do not know the law {law.__name__}" for law in laws if law not in LAWS)
    return next(unknown, "")


def why_not_sums(recipe: PerturbationRecipe) -> str:
    """Return why sums cannot be drawn: without standing arms only Gaussian ones can."""
    reason = f"without standing arms {recipe.reward_law!r} has no sums to draw"
    return "" if type(recipe.reward_law) is Gaussian else reason


def why_not_members(recipe: PerturbationRecipe) -> str:
    if recipe.intercept and not recipe.calibrates:
        return 'kernels know an intercept only where scale="auto"'
    known = type(as_member_rule(recipe.member)) in RULES
    return why_not_laws(recipe) or ("" if known else f"kernels do not know {recipe.member!r}")


def why_not_lazy(recipe: PerturbationRecipe) -> str:
    """Return why a kernel that computes only the acting member cannot run a recipe."""
    optimistic = type(recipe.member) is OptimisticMember
    reason = "the optimistic rule looks at every member" if optimistic else ""
    return why_not_members(recipe) or reason


def why_not_moving(recipe: PerturbationRecipe) -> str:
    """Return why a kernel without standing arms cannot run a recipe."""
    reason = "kernels know an intercept only where finitely many arms stand"
    return why_not_fading(recipe) or (reason if recipe.intercept else why_not_lazy(recipe))
