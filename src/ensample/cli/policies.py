"""The policies of `ensample race`: by short names, or recipes as one types them."""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import ensample as es
from ensample.checks import blaming
from ensample.cli.letters import as_typed
from ensample.cli.recipes import RECIPES, build, looks_like_a_recipe
from ensample.errors import InvalidArgument
from ensample.registry import one_of


class Contender(NamedTuple):
    """A policy as figures call it, and how a setting makes its recipe."""

    label: str
    recipe: Callable[[es.Setting], es.Recipe]


def sized(size: int) -> Contender:
    """The short name of an ensemble of any size."""

    def recipe(setting: es.Setting) -> es.Recipe:
        with blaming(f"es-{size}"):
            return es.EnsembleSampling(size, setting.noise)

    return Contender(f"ES, m = {size}", recipe)


# `auto` is told nothing. The practical scale is the noise: what a well-specified posterior would have. Only `theorem` comes
# with a guarantee.
POLICIES: dict[str, Contender] = {
    "auto": Contender("ES, auto", lambda setting: es.EnsembleSampling()),
    **{f"es-{size}": sized(size) for size in (10, 100, 1000)},
    "es-optimistic": Contender(
        "ES, m = 100, optimistic",
        lambda setting: es.EnsembleSampling(100, setting.noise, member=es.OptimisticMember()),
    ),
    "theorem": Contender("ES, Theorem 1", es.EnsembleSampling.from_theorem),
    "linphe": Contender("LinPHE", lambda setting: es.PerturbedHistory(setting.noise)),
    "thompson": Contender("Thompson sampling", lambda setting: es.ThompsonSampling(setting.noise)),
    "linucb": Contender("LinUCB", lambda setting: es.LinUCB(2.0 * setting.noise)),
    "greedy": Contender("greedy", lambda setting: es.Greedy(1.0)),
}
USUAL = tuple(POLICIES)  # who races unless somebody is named, where rewards are linear

# Models bring the kernels, which take their time: they are looked up when one of these is raced. None is told anything.
POLICIES |= {
    "epsilon": Contender("epsilon-greedy", lambda setting: es.EpsilonGreedy()),
    "logistic": Contender("ES, logistic", lambda setting: es.EnsembleSampling(model=es.Logistic())),
    "glm-tsl": Contender(
        "GLM-TSL", lambda setting: es.ThompsonSampling(model=es.Logistic("exact"))
    ),
    "glm-fpl": Contender(
        "GLM-FPL", lambda setting: es.PerturbedHistory(model=es.Logistic("exact"))
    ),
    "ucb-glm": Contender("UCB-GLM", lambda setting: es.LinUCB(model=es.Logistic("exact"))),
    "thompson-logistic": Contender(
        "Thompson sampling, logistic", lambda setting: es.ThompsonSampling(model=es.Logistic())
    ),
    "greedy-logistic": Contender(
        "greedy, logistic", lambda setting: es.Greedy(model=es.Logistic())
    ),
    "networks": Contender(
        "ES, 30 networks", lambda setting: es.EnsembleSampling(30, model=es.Neural())
    ),
    "networks-3": Contender(
        "ES, 3 networks", lambda setting: es.EnsembleSampling(3, model=es.Neural())
    ),
    "epsilon-network": Contender(
        "epsilon-greedy, a network", lambda setting: es.EpsilonGreedy(model=es.Neural())
    ),
    "greedy-network": Contender("greedy, a network", lambda setting: es.Greedy(model=es.Neural())),
}
ANY_SIZE = re.compile(r"es-(0|[1-9][0-9]{0,19})")
OPENING, CLOSING, QUOTES = "([{", ")]}", "\"'"


def contender(text: str) -> Contender:
    """A policy from its name, or from a recipe with its fields.

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
        return sized(int(size[1]))
    if looks_like_a_recipe(text):
        return Contender(text, partial(build, text))
    raise InvalidArgument(
        "policy", text, f"{one_of(text, [*POLICIES, *RECIPES])}; see `ensample race --list`"
    )


def split(policies: str) -> list[str]:
    """The policies of a list, each once; a comma between brackets or quotes belongs to a recipe.

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
