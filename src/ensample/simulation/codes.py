"""Laws and member rules as kernels know them."""

from ensample.kernels.draws import BINOMIAL_LAW, GAUSSIAN_LAW, SPHERE_LAW, UNIFORM_LAW, Law, Laws
from ensample.kernels.inflation import NO_INFLATION, Inflation
from ensample.kernels.turns import EVERY_ROUND, IN_TURN, OPTIMISTIC, Ensemble
from ensample.members import MemberRule, OptimisticMember, RoundRobin, StickyMember, UniformMember, as_member_rule
from ensample.perturbations import CenteredBinomial, Gaussian, InitialLaw, Rademacher, Sphere, Uniform
from ensample.policies.recipe import EnsembleRecipe, PerturbationRecipe, Recipe

__all__ = [
    "code_of",
    "ensemble_of",
    "factor_of",
    "laws_of",
    "looks_at_all",
    "no_constant",
    "remembers_all",
    "unknown_laws",
    "unknown_parts",
    "why_not_fresh",
    "why_not_stored",
]

LAWS: dict[type[InitialLaw], int] = {
    Gaussian: GAUSSIAN_LAW,
    Uniform: UNIFORM_LAW,
    Rademacher: BINOMIAL_LAW,
    CenteredBinomial: BINOMIAL_LAW,
    Sphere: SPHERE_LAW,
}
RULES: dict[type[MemberRule], int] = {UniformMember: EVERY_ROUND, RoundRobin: IN_TURN, OptimisticMember: OPTIMISTIC}


def code_of(law: InitialLaw) -> Law:
    return Law(LAWS[type(law)], law.trials if isinstance(law, CenteredBinomial) else 1, law.scale)


def laws_of(recipe: PerturbationRecipe) -> Laws:
    return Laws(code_of(recipe.initial_law), code_of(recipe.reward_law))


def ensemble_of(recipe: EnsembleRecipe) -> Ensemble:
    rule = as_member_rule(recipe.member)
    return Ensemble(recipe.size, rule.rounds if isinstance(rule, StickyMember) else RULES[type(rule)], laws_of(recipe))


def factor_of(recipe: Recipe) -> Inflation:
    """What multiplies its perturbations."""
    return Inflation(recipe.boldness, learned=True) if recipe.calibrates else NO_INFLATION


def remembers_all(recipe: Recipe) -> str:
    """That the past fades, which a kernel does not know."""
    return "" if recipe.half_life is None else f"this kernel does not know half_life={recipe.half_life:g}"


def why_not_stored(recipe: EnsembleRecipe) -> str:
    """Return why a kernel of stored members cannot run a recipe; empty if it can."""
    return "this kernel keeps its members, and fresh=True draws them anew each round" if recipe.draws_fresh else ""


def why_not_fresh(recipe: EnsembleRecipe) -> str:
    """Return why a kernel of fresh members cannot run a recipe; empty if it can."""
    return "" if recipe.draws_fresh else "this kernel draws its members anew each round, and fresh=False keeps them"


def unknown_laws(recipe: PerturbationRecipe) -> str:
    """Which of its laws kernels do not know; empty if they know both."""
    laws = type(recipe.initial_law), type(recipe.reward_law)
    return next((f"kernels do not know the law {law.__name__}" for law in laws if law not in LAWS), "")


def unknown_parts(recipe: EnsembleRecipe) -> str:
    """Which of its laws, or that its member rule, kernels do not know; empty if they know all."""
    rule = type(as_member_rule(recipe.member))
    if recipe.intercept and not recipe.calibrates:
        return 'kernels know an intercept only where scale="auto"'
    return unknown_laws(recipe) or ("" if rule in (*RULES, StickyMember) else f"kernels do not know {recipe.member!r}")


def no_constant(recipe: EnsembleRecipe) -> str:
    """As `looks_at_all`, or that it adds a constant to features that are not standing."""
    return "kernels know an intercept only where finitely many arms stand" if recipe.intercept else looks_at_all(recipe)


def looks_at_all(recipe: EnsembleRecipe) -> str:
    """As `unknown_parts`, or that its member rule looks at every member."""
    optimistic = type(recipe.member) is OptimisticMember
    return unknown_parts(recipe) or ("the optimistic rule looks at every member" if optimistic else "")
