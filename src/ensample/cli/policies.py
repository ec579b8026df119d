"""Policies as one types them: short names, or recipes with their fields."""

import inspect
import os
import re
import sys
from typing import Any, NamedTuple

import ensample as es
from ensample.arms import ChangingArms
from ensample.cli.console import as_typed
from ensample.codec import Units, from_text
from ensample.errors import AssumptionError, InvalidArgument
from ensample.problems import Family, Problem, constants_of, example_of, setting_of
from ensample.problems.logistic import ContextualLogisticProblem, LogisticProblem
from ensample.registry import one_of, public_classes

RECIPES = public_classes(es.Recipe)
SIZES = (10, 100, 1000)
UNTOLD = es.Setting(dim=1, arms=1, horizon=1, noise=1.0, norm=1.0)
"""The setting of recipes that are typed where no problem is known: `noise` in them is 1."""


def find_here() -> None:
    """Let modules of the user's own lie in the current folder. Installed ones come first."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def units_of(setting: es.Setting) -> Units:
    """Return the words that stand for numbers in a recipe: sigma, and beta_T of the theorems."""
    return {"noise": lambda: setting.noise, "radius": lambda: es.theory.radius(setting)}


def build(text: str, setting: es.Setting = UNTOLD) -> es.Recipe:
    """Return the recipe that a text describes.

    >>> setting = es.Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1)
    >>> build("EnsembleSampling(size=20, scale=2*noise, member=RoundRobin())", setting).scale
    0.6
    """
    find_here()
    recipe: es.Recipe = from_text("policy", text, "Recipe", units_of(setting), setting)
    return recipe


def fields_of(kind: type[Any]) -> str:
    """Return the fields of a recipe with their defaults, but for the setting.

    >>> fields_of(es.Greedy)
    "regularization='auto', *, half_life=None, model=Linear()"
    """
    empty = inspect.Parameter.empty
    signature = inspect.signature(kind)
    items = [item for item in signature.parameters.values() if item.name != "setting"]
    plain = [item.replace(annotation=empty) for item in items]
    return str(signature.replace(parameters=plain, return_annotation=empty))[1:-1]


class Contender(NamedTuple):
    """A policy of a race: its label in figures, and its recipe as one types it."""

    label: str
    text: str

    def recipe(self, setting: es.Setting) -> es.Recipe:
        return build(self.text, setting)


# The practical scale is the noise: what a well-specified posterior would have. Only `theorem` comes
# with a guarantee.
LINEAR_POLICIES = {
    "auto": Contender("ES, auto", "EnsembleSampling()"),
    **{f"es-{m}": Contender(f"ES, m = {m}", f"EnsembleSampling({m}, noise)") for m in SIZES},
    "es-optimistic": Contender(
        "ES, m = 100, optimistic", "EnsembleSampling(100, noise, member=OptimisticMember)"
    ),
    "theorem": Contender("ES, Theorem 1", "EnsembleSampling.from_theorem"),
    "linphe": Contender("LinPHE", "PerturbedHistory(noise)"),
    "thompson": Contender("Thompson sampling", "ThompsonSampling(noise)"),
    "linucb": Contender("LinUCB", "LinUCB(2*noise)"),
    "greedy": Contender("greedy", "Greedy(1.0)"),
}
USUAL = tuple(LINEAR_POLICIES)  # who races unless somebody is named, where rewards are linear
POLICIES = LINEAR_POLICIES | {
    "epsilon": Contender("epsilon-greedy", "EpsilonGreedy()"),
    "logistic": Contender("ES, logistic", "EnsembleSampling(model=Logistic)"),
    "glm-tsl": Contender("GLM-TSL", "ThompsonSampling(model=Logistic(exact))"),
    "glm-fpl": Contender("GLM-FPL", "PerturbedHistory(model=Logistic(exact))"),
    "ucb-glm": Contender("UCB-GLM", "LinUCB(model=Logistic(exact))"),
    "thompson-logistic": Contender(
        "Thompson sampling, logistic", "ThompsonSampling(model=Logistic)"
    ),
    "greedy-logistic": Contender("greedy, logistic", "Greedy(model=Logistic)"),
    "networks": Contender("ES, 30 networks", "EnsembleSampling(30, model=Neural)"),
    "networks-3": Contender("ES, 3 networks", "EnsembleSampling(3, model=Neural)"),
    "epsilon-network": Contender("epsilon-greedy, a network", "EpsilonGreedy(model=Neural)"),
    "greedy-network": Contender("greedy, a network", "Greedy(model=Neural)"),
}
ANY_SIZE = re.compile(r"es-(0|[1-9][0-9]{0,19})")
OPENING, CLOSING, QUOTES = "([{", ")]}", "\"'"


def contender(text: str) -> Contender:
    """Return a policy by its short name, or by a recipe with its fields.

    >>> contender("es-10").label, contender("es-37").label
    ('ES, m = 10', 'ES, m = 37')
    >>> setting = es.Setting(dim=5, arms=20, horizon=1000, noise=0.3, norm=1)
    >>> contender("ThompsonSampling(scale=2*noise)").recipe(setting).scale
    0.6
    """
    if not text.isprintable():
        raise InvalidArgument("policy", text, "characters that can be shown")
    if text in POLICIES:
        return POLICIES[text]
    if size := ANY_SIZE.fullmatch(text):
        return Contender(f"ES, m = {size[1]}", f"EnsembleSampling({size[1]}, noise)")
    if text in RECIPES or any(sign in text for sign in "(:."):
        return Contender(text, text)
    names = one_of(text, [*POLICIES, *RECIPES])
    raise InvalidArgument("policy", text, f"{names}; see `ensample race --list`")


def split(policies: str) -> list[str]:
    """Return the policies of a list, each once; a comma within brackets or quotes is a recipe's.

    >>> split("es-10, EnsembleSampling(size=20, scale=2), es-10")
    ['es-10', 'EnsembleSampling(size=20, scale=2)']
    """
    found, depth, quote = [""], 0, ""
    for sign in as_typed(policies):
        if sign == "," and depth <= 0 and not quote:
            found.append("")
            continue
        found[-1] += sign
        if quote or sign in QUOTES:
            quote = "" if sign == quote else quote or sign
        else:
            depth += (sign in OPENING) - (sign in CLOSING)
    return list(dict.fromkeys(text.strip() for text in found if text.strip()))


def prepare(
    policies: str, problem: Problem | Family, horizon: int
) -> tuple[dict[str, es.Recipe], dict[str, str]]:
    """Return the recipes of a list for a problem, and why others do not apply.

    Those that are told the noise get its standard deviation where it is not subGaussian; theorems
    do not apply there.
    """
    contenders = {name: contender(name) for name in split(policies)}
    setting, arms = constants_of(problem, horizon), example_of(problem).arms
    recipes: dict[str, es.Recipe] = {}
    skipped: dict[str, str] = {}
    for name, entry in contenders.items():
        try:
            recipe = entry.recipe(setting)
            if recipe.setting is not None:
                setting_of(problem, horizon)  # raises where no theorem applies
            recipe.check(arms)
            recipes[name] = recipe
        except AssumptionError as error:
            skipped[name] = str(error)
    if not recipes:
        reasons = "".join(f"; {name} does not: {reason}" for name, reason in skipped.items())
        expected = f"at least one that applies to the problem{reasons}"
        raise InvalidArgument("policies", policies, expected)
    return recipes, skipped


class Race(NamedTuple):
    """What `ensample race` does unless told otherwise."""

    policies: tuple[str, ...]
    horizon: int
    runs: int


EXACT = ("glm-tsl", "glm-fpl", "ucb-glm")  # fits that go through the whole history every round
OTHERS = ("auto", "LinUCB", "epsilon")
LINEAR = Race(USUAL, 10_000, 100)
CLICKS = Race(("logistic", *EXACT, "greedy-logistic", *OTHERS), 10_000, 20)
OFFERED_CLICKS = Race(("logistic", "thompson-logistic", "greedy-logistic", *OTHERS), 10_000, 20)
CURVED = Race(("networks", "networks-3", "epsilon-network", "greedy-network", *OTHERS), 1_000, 10)


def usual_race(problem: Problem | Family) -> Race:
    """Return contenders, rounds and runs for a problem: fewer where rounds take milliseconds.

    >>> usual_race(es.problem("wheel")).policies[:3], usual_race(es.problem("wheel")).horizon
    (('networks', 'networks-3', 'epsilon-network'), 1000)
    """
    example = example_of(problem)
    if not example.linear:
        return CURVED
    if isinstance(example, LogisticProblem | ContextualLogisticProblem):
        return OFFERED_CLICKS if isinstance(example.arms, ChangingArms) else CLICKS
    return LINEAR
