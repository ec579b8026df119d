"""How the regret grows with the horizon."""

import math
from dataclasses import replace

import numpy as np

from ensample.arms import FiniteArms
from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Judge,
    Kind,
    Scale,
    Section,
)
from ensample.claims.evidence import cell, slope_at_most
from ensample.policies import EnsembleSampling
from ensample.problems import LinearProblem
from ensample.simulation import simulate
from ensample.theory import Setting, radius, theorem_bound
from ensample.types import FloatArray

ID = "rate-in-horizon"
BEST = 0.7  # mean of the better of two arms
WIDEST = 1.4  # gap: -0.7 against 0.7


def measure(scale: Scale, seed: int, strength: float = 1.0) -> Judge:
    """The slope in T of sup_gap R(T) / (B(T) / sqrt T), one value of the supremum for each replicate."""
    horizons = np.array(
        scale.choose((1000, 6000, 32_000), (1000, 16_000, 256_000), (1000, 64_000, 4_000_000))
    )
    runs, gaps = scale.choose(28, 48, 48), gaps_up_to(int(horizons[-1]))
    regrets = np.array(
        [[played(int(T), gap, runs, seed, strength) for gap in gaps] for T in horizons]
    )  # [T, gaps, runs]
    worst = regrets.max(axis=1).T  # [runs, T]
    bounds = np.array([theorem_bound(setting(int(T))) for T in horizons])
    logarithms = bounds / np.sqrt(horizons)
    own = np.polyfit(np.log(horizons), np.log(worst.mean(axis=0)), 1)[0]
    whole = np.polyfit(np.log(horizons), np.log(bounds), 1)[0]
    means = regrets.mean(axis=2)
    at = ", ".join(f"{gaps[place]:.2g}" for place in means.argmax(axis=1))
    detail = f"the regret's own slope {own:.3f}, that of the bound with its logarithms {whole:.3f}, worst gaps {at}"
    drawn = figure(horizons.astype(float), means, bounds, gaps)
    return lambda f: replace(
        slope_at_most(horizons.astype(float), worst / logarithms, 0.5 / f, detail), figure=drawn
    )


def gaps_up_to(horizon: int) -> tuple[float, ...]:
    """From -0.7 against 0.7, halved again and again, to gaps below the worst one of the horizon, about beta_T / sqrt(T)."""
    least = 0.5 * radius(setting(horizon)) / math.sqrt(horizon)
    return tuple(WIDEST * 0.5**k for k in range(math.ceil(math.log2(WIDEST / least)) + 1))


def setting(horizon: int) -> Setting:
    return Setting(dim=2, arms=2, horizon=horizon, noise=1.0, norm=1.0)


def played(horizon: int, gap: float, runs: int, seed: int, strength: float) -> FloatArray:
    """R(T) with the theorem's constants for this T: [runs]. The worse arm comes first."""
    theorem = EnsembleSampling.from_theorem(setting(horizon))
    recipe = EnsembleSampling(theorem.size, strength * theorem.unit_scale)
    world = LinearProblem(FiniteArms(np.eye(2)), [BEST - gap, BEST], 1.0)
    place = cell(f"{ID} {horizon} {gap}")
    return simulate(recipe, world, horizon, runs, seed, checkpoints=1, cell=place).regret[:, -1]


def figure(
    horizons: FloatArray, regrets: FloatArray, bounds: FloatArray, gaps: tuple[float, ...]
) -> Figure:
    """Mean regret for some gaps, their supremum, and the bound moved down to meet it at the first horizon."""
    x, worst = tuple(horizons.tolist()), regrets.max(axis=1)
    shift = worst[0] / bounds[0]
    curves = [
        Curve(f"gap {gaps[k]:.2g}", x, tuple(regrets[:, k].tolist())) for k in (0, 2, len(gaps) - 1)
    ]
    curves.append(Curve("worst gap", x, tuple(worst.tolist())))
    curves.append(
        Curve(f"bound / {1 / shift:,.0f}", x, tuple((bounds * shift).tolist()), bound=True)
    )
    root = tuple(worst[0] * math.sqrt(T / x[0]) for T in x)
    curves.append(Curve("sqrt T", x, root, bound=True))
    return Figure(
        "Regret over the horizon, two arms",
        "horizon",
        "regret",
        tuple(curves),
        log_x=True,
        log_y=True,
    )


CLAIM = Claim(
    id=ID,
    title="The rate in the horizon, up to the bound's logarithms",
    statement="regret at the theorem's constants grows no faster than sqrt T times the bound's logarithms",
    latex=r"\frac{\mathrm{d}}{\mathrm{d}\log T}\log\Big(\sup_\Delta R_\Delta(T) \Big/ \frac{B(\gamma_T, p_N/4)}{\sqrt T}\Big)"
    r" \le \tfrac12",
    reference="thm:enssamp",
    section=Section.THEOREM,
    assumptions=(
        "two orthogonal arms, S = sigma = lam = 1",
        "T from 1,000 on",
        "the constants of Theorem 1 for each T",
    ),
    kind=Kind.RATE,
    faults=(Fault("the exponent 1/2 divided by f", measure),),
    broken=Broken(
        "perturbations a hundred times as large: arms are played at random",
        lambda scale, seed: measure(scale, seed, strength=100.0)(SOUND),
    ),
    note="An upper bound cannot be refuted by a slope: this is a statement about what the algorithm does, sharper than "
    "the theorem. The rate is that of the worst problem for each T, so the check takes the worst of gaps that are "
    "halved until they are below the worst of the longest horizon; with one fixed gap the regret grows like a power "
    "of log T only. At small T every regret is linear in T: hence T from 1,000 on. The worst gap is taken run by "
    "run, which is no less than the supremum of the means. With its logarithms the regret's own slope is a little "
    "above 1/2 at these T, as the bound's is.",
    costs={Scale.QUICK: Cost(1.3), Scale.STANDARD: Cost(14), Scale.PAPER: Cost(300)},
)
