"""The optimistic member rule, second step: all members stay close in all rounds."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import (
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.claims.optimistic import drawn_problem, optimistic
from ensample.claims.watched import replicates, watch
from ensample.theory import Setting, optimistic_radius, optimistic_size, radius

ID = "optimistic-concentration"


def measure(scale: Scale, seed: int) -> Judge:
    """The largest |theta~^j|_V of all members and rounds against gamma_opt - beta_T, in runs and against an adversary."""
    delta, runs = scale.choose(0.2, 0.05, 0.02), scale.choose(75, 400, 1500)
    longer = scale.choose(1, 5, 20)
    attacks: list[tuple[str, Setting, Callable[[Setting, int, int], float]]] = [
        ("an adversary", Setting(3, 10, 100 * longer, 1.0, 1.0, 1.0, delta), pushed),
        ("an adversary, lam = 4", Setting(1, 2, 200 * longer, 1.0, 1.0, 4.0, delta), pushed),
        ("runs", Setting(2, 5, 40 * longer, 1.0, 1.0, 1.0, delta), in_run),
        ("runs without noise, d > K", Setting(6, 3, 40 * longer, 0.0, 1.0, 1.0, delta), in_run),
    ]
    found = {}
    for place, (name, setting, largest) in enumerate(attacks):
        norms = replicates(partial(largest, setting, seed), runs, first=place * 10**6)
        said = f"{name} (d = {setting.dim}, T = {setting.horizon}, m = {optimistic_size(setting)})"
        found[said] = np.array(norms) / relative_radius(setting)
    drawn = figure(attacks[0][1], seed)

    def judge(f: float) -> Outcome:
        outcomes = []
        for said, ratios in found.items():
            detail, kept = (
                f"{said}: at most {f * ratios.max():.2f} of the radius",
                int((f * ratios <= 1.0).sum()),
            )
            outcomes.append(
                probability_at_least(kept, runs, 1.0 - delta, detail, CLAIM_ALARM / len(attacks))
            )
        return replace(weakest(outcomes), figure=drawn)

    return judge


def relative_radius(setting: Setting) -> float:
    """(gamma_opt - beta_T) / beta_T: how far theta~ may be from 0 at scale 1."""
    return optimistic_radius(setting) / radius(setting) - 1.0


def in_run(setting: Setting, seed: int, part: int) -> float:
    """max_t max_j |theta~^j|_V / beta_T in a run of the library with the optimistic rule."""
    looks = watch(
        optimistic(setting), drawn_problem(setting, seed, ID, part), setting.horizon, seed, ID, part
    )
    return max(float(look.norms.max()) for look in looks) / radius(setting)


def pushed(setting: Setting, seed: int, part: int) -> float:
    return max(pushed_norms(setting, seed, part))


def pushed_norms(setting: Setting, seed: int, part: int) -> list[float]:
    """max_j |theta~^j|_V at scale 1, round by round, when an adversary chooses the arms.

    The adversary sees all perturbations so far and plays the arm after which the largest norm is expected to grow most:
    E |theta~|_V^2 changes by (l - (x'theta~)^2) / (1 + l), l = |x|^2_{V^-1}.
    """
    world, rng = drawn_problem(setting, seed, ID, part), generator(seed, ID, part)
    assert isinstance(world.arms, FiniteArms)
    arms, lam, size = world.arms.features, setting.regularization, optimistic_size(setting)
    V = lam * np.eye(setting.dim)
    S = math.sqrt(lam) * rng.standard_normal((setting.dim, size))
    norms = []
    for _ in range(setting.horizon):
        inverse = np.linalg.inv(V)
        theta_tilde = inverse @ S
        squares = (S * theta_tilde).sum(axis=0)
        norms.append(math.sqrt(squares.max()))
        leverage = ((arms @ inverse) * arms).sum(axis=1)
        growth = (leverage - (arms @ theta_tilde[:, squares.argmax()]) ** 2) / (1.0 + leverage)
        x = arms[growth.argmax()]
        V += np.outer(x, x)
        S += np.outer(x, rng.standard_normal(size))
    return norms


def figure(setting: Setting, seed: int) -> Figure:
    """The largest norm of all members over the rounds of one adversarial history, against the radius."""
    norms = pushed_norms(setting, seed, 10**8)
    rounds = tuple(float(t) for t in range(1, len(norms) + 1))
    bound = relative_radius(setting)
    curves = (
        Curve("largest of all members", rounds, tuple(norms)),
        Curve("radius, for all rounds", (rounds[0], rounds[-1]), (bound, bound), bound=True),
    )
    return Figure(
        f"Perturbation norms, m = {optimistic_size(setting)}", "round", "norm / beta_T", curves
    )


CLAIM = Claim(
    id=ID,
    title="All members stay close in all rounds",
    statement="with probability 1 - delta all perturbations stay within gamma_opt - beta_T in all rounds",
    latex=r"\mathbb{P}\Big(\forall t, j:\ \|\tilde\theta_t^j\|_{V_t} \le \beta_T\big(\sqrt{d\log(1+\tfrac{T}{d\lambda}) + "
    r"2\log\tfrac{2m}{\delta}} + \sqrt d + \sqrt{2\log\tfrac{2m}{\delta}}\big)\Big) \ge 1-\delta",
    reference="not in the paper; derived from Lemmas 7 and 8",
    section=Section.BEYOND,
    assumptions=(
        "an arm is chosen before its round's perturbations are drawn",
        "Gaussian laws of Theorem 1",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the radius divided by f", measure),),
    broken=Broken("a third of the radius", 3.0),
    note="The union is over members only: the self-normalised bound holds for all rounds at once, and W is drawn once. Arms "
    "may depend on all past perturbations, as they do under this rule; hence the adversary. About half of the radius is seen.",
    costs={Scale.QUICK: Cost(1), Scale.STANDARD: Cost(22), Scale.PAPER: Cost(1500)},
)
