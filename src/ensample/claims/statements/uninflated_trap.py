"""Why the perturbations are inflated: at scale 1 an ensemble can stay on the wrong arm for good."""

from collections.abc import Mapping
from dataclasses import replace

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
from ensample.claims.evidence import CLAIM_ALARM, cell, probability_at_least, weakest
from ensample.policies import EnsembleSampling
from ensample.problems import problem, setting_of
from ensample.simulation import Runs, simulate
from ensample.theory import radius
from ensample.types import FloatArray

ID = "uninflated-trap"
DIMS = (50, 100)
MEMBERS = 10_000
WRONG = 0.9  # of the rounds
OFTEN = 0.8  # of the runs


def measure(scale: Scale, seed: int) -> Judge:
    """How often at least 90% of the rounds go to the wrong arm, at scale 1 = sigma."""
    shares, drawn = in_dimensions(scale, seed, {dim: 1.0 for dim in DIMS}), figure(seed)
    return lambda f: replace(judged(shares, f * WRONG), figure=drawn)


def in_dimensions(scale: Scale, seed: int, scales: Mapping[int, float]) -> dict[str, FloatArray]:
    """The share of wrong rounds of each run, for each dimension."""
    horizon, runs = scale.choose(500, 5000, 5000), scale.choose(110, 400, 4000)
    return {
        f"d = {dim}, scale {size:.3g}": wrong_share(dim, size, horizon, runs, seed)
        for dim, size in scales.items()
    }


def judged(shares: Mapping[str, FloatArray], wrong: float) -> Outcome:
    outcomes = []
    for name, share in shares.items():
        detail, stuck = (
            f"{name}: wrong in {share.mean():.1%} of the rounds",
            int((share >= wrong).sum()),
        )
        outcomes.append(
            probability_at_least(stuck, share.size, OFTEN, detail, CLAIM_ALARM / len(shares))
        )
    return weakest(outcomes)


def inflate(scale: Scale, seed: int) -> Judge:
    """In the fewer dimensions, at a scale of f."""
    return lambda f: judged(in_dimensions(scale, seed, {DIMS[0]: f}), WRONG)


def fully(scale: Scale, seed: int) -> Outcome:
    """At beta_T."""
    scales = {dim: inflated_scale(dim, scale.choose(500, 5000, 5000)) for dim in DIMS}
    return judged(in_dimensions(scale, seed, scales), WRONG)


def inflated_scale(dim: int, horizon: int) -> float:
    return radius(setting_of(problem("trap", dim=dim), horizon))


def trapped(dim: int, scale: float, horizon: int, runs: int, seed: int) -> Runs:
    recipe, place = EnsembleSampling(MEMBERS, scale), cell(f"{ID} {dim} {scale}")
    return simulate(
        recipe, problem("trap", dim=dim), horizon, runs, seed, checkpoints=1, cell=place
    )


def wrong_share(dim: int, scale: float, horizon: int, runs: int, seed: int) -> FloatArray:
    """The share of rounds on the arm 0, whose mean is 0 where the other's is positive: [runs]."""
    pulls = trapped(dim, scale, horizon, runs, seed).pulls
    assert pulls is not None
    return pulls[:, 0] / horizon


def figure(seed: int) -> Figure:
    """The share of wrong rounds over the dimension, at scale 1 and at beta_T."""
    dims, horizon, runs = (5, 10, 25, 50), 500, 20
    x = tuple(float(dim) for dim in dims)
    plain = tuple(float(wrong_share(dim, 1.0, horizon, runs, seed).mean()) for dim in dims)
    wide = tuple(
        float(wrong_share(dim, inflated_scale(dim, horizon), horizon, runs, seed).mean())
        for dim in dims
    )
    curves = (Curve("scale 1", x, plain), Curve("scale beta_T", x, wide))
    return Figure("Rounds on the wrong arm", "d", "share", curves, log_x=True)


CLAIM = Claim(
    id=ID,
    title="The uninflated trap",
    statement="at scale 1 an ensemble of 10,000 plays the wrong arm in 9 of 10 rounds, in 4 of 5 runs, on the trap",
    latex=r"\mathbb{P}\big(\#\{t \le T: X_t \ne x^*\} \ge 0.9\,T\big) \ge 0.8 \quad\text{at}\quad"
    r" \mathcal{P}_R = \mathcal{N}(0, \sigma^2)",
    reference="Hamidi and Bayati 2020, for linear Thompson sampling",
    section=Section.LITERATURE,
    assumptions=(
        "one direction seen 200 times, 50 or 100 seen once each, then two arms",
        "the better arm's mean is hidden by the shrinkage of the directions seen once",
        "T up to 5,000: a run that leaves the trap does not come back, and in the end every run leaves",
    ),
    kind=Kind.PROBABILITY,
    faults=(
        Fault("the share of wrong rounds, 9/10, multiplied by f", measure),
        Fault("the scale multiplied by f", inflate),
    ),
    broken=Broken("the same ensemble at the inflated scale beta_T", fully),
    note="The factor sqrt d in the scale costs the theorem a factor sqrt d in the regret; this is what it buys. In ten "
    "dimensions the trap does not close, so that nothing shows on small problems.",
    costs={Scale.QUICK: Cost(1.2), Scale.STANDARD: Cost(16), Scale.PAPER: Cost(160)},
)
