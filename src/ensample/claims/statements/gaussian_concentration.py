"""Gaussian perturbations of an estimate are at most gamma~_T."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

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
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_most, weakest
from ensample.claims.perturbed import norms_when_chased, norms_when_fixed
from ensample.perturbations import Gaussian
from ensample.theory import Setting, perturbation_radius, radius
from ensample.types import FloatArray

ID = "gaussian-concentration"
NARROW = Setting(dim=2, arms=10, horizon=30, noise=1.0, norm=1.0, regularization=2.0, delta=0.2)
WIDE = Setting(dim=200, arms=10, horizon=20, noise=1.0, norm=1.0, delta=0.2)


def measure(scale: Scale, seed: int) -> Judge:
    """How often max_t |theta~_t|_{V_t} exceeds gamma~_T: in two dimensions with arms that chase it, in 200 with fixed arms."""
    members = scale.choose(6000, 100_000, 1_000_000)
    sizes = [
        relative_sizes(setting, norms, members, seed, part)
        for part, (setting, norms) in enumerate(
            ((NARROW, norms_when_chased), (WIDE, norms_when_fixed))
        )
    ]
    levels = np.linspace(0.0, 1.1, 45)
    curves = []
    for setting, size in zip((NARROW, WIDE), sizes, strict=True):
        shares = tuple(float((size > level).mean()) for level in levels)
        curves.append(
            Curve(f"d = {setting.dim}, T = {setting.horizon}", tuple(levels.tolist()), shares)
        )
    drawn = Figure(
        "How large perturbations get",
        "share of the radius",
        "members that exceed it",
        tuple(curves),
    )

    def judge(f: float) -> Outcome:
        outcomes = []
        for setting, size in zip((NARROW, WIDE), sizes, strict=True):
            failures, bound = int((f * size > 1.0).sum()), setting.delta / setting.horizon
            detail = f"d = {setting.dim}, T = {setting.horizon}: {failures} of {members:,} above, largest {f * size.max():.2f}"
            outcomes.append(probability_at_most(failures, members, bound, detail, CLAIM_ALARM / 2))
        return replace(weakest(outcomes), figure=drawn)

    return judge


def relative_sizes(
    setting: Setting, norms: Callable[..., FloatArray], members: int, seed: int, part: int
) -> FloatArray:
    """max_t |theta~_t|_{V_t} / gamma~_T of many members."""
    law = Gaussian(radius(setting))
    shape = (setting.regularization, setting.dim, setting.horizon)
    drawn = [
        norms(law, law, *shape, some, generator(seed, ID, 2 * n + part))
        for n, some in enumerate(chunks(members))
    ]
    return np.asarray(np.concatenate(drawn) / perturbation_radius(setting))


def chunks(members: int, largest: int = 100_000) -> list[int]:
    """Parts of a size that memory can hold."""
    return [largest] * (members // largest) + ([members % largest] if members % largest else [])


CLAIM = Claim(
    id=ID,
    title="Gaussian perturbations concentrate",
    statement="the perturbation of a member exceeds gamma~_T with probability at most delta / T",
    latex=r"\mathbb{P}\big(\|\tilde\theta_t^j\|_{V_t} \le \tilde\gamma_T\big) \ge 1 - \delta/T,\quad \tilde\gamma_T ="
    r"\beta_T\Big(\sqrt{d\log(1+\tfrac{T}{d\lambda})+2\log\tfrac{2T}{\delta}}+\sqrt d+\sqrt{2\log\tfrac{2T}{\delta}}\Big)",
    reference="lma:gaussian concentration lemma",
    section=Section.ESTIMATES,
    assumptions=(
        "W ~ N(0, lam beta_T^2 I), Z ~ N(0, beta_T^2)",
        "arms chosen before the round's perturbation",
        "|x| <= 1",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the radius gamma~_T divided by f", measure),),
    broken=Broken("half of the radius", 2.0),
    note="The lemma is stated round by round; the check asks for all rounds at once, which the proof also gives.",
    costs={Scale.QUICK: Cost(0.6, 200), Scale.STANDARD: Cost(10, 700), Scale.PAPER: Cost(100, 700)},
)
