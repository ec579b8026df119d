"""The ridge estimate stays within beta_t of the truth in all rounds at once."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

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
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import CLAIM_ALARM, generator, probability_at_least, weakest
from ensample.problems import (
    BernoulliNoise,
    GaussianNoise,
    HeteroscedasticNoise,
    Noise,
    RademacherNoise,
)
from ensample.problems.families import unit_rows
from ensample.theory import Setting, radius
from ensample.types import BoolArray, FloatArray

ID = "ridge-concentration"
DIM, ARMS, DELTA = 3, 8, 0.05
NOISES: tuple[Noise, ...] = (
    GaussianNoise(0.3),
    BernoulliNoise(),
    RademacherNoise(0.5),
    HeteroscedasticNoise(0.1, 1.0),
)


def measure(scale: Scale, seed: int, peeking: bool = False) -> Judge:
    """The share of runs in which |theta_hat_t - theta*|_{V_t} <= beta_t for all t, for each law of the noise."""
    runs, rounds = scale.choose((1000, 100), (5000, 500), (20_000, 3000))
    ratios = {}
    for part, noise in enumerate(NOISES):
        setting = Setting(DIM, ARMS, rounds, noise.subgaussian, norm=1.0, delta=DELTA)
        name = type(noise).__name__.removesuffix("Noise")
        ratios[name] = largest_ratios(noise, setting, runs, generator(seed, ID, part), peeking)
    shares = [coverage_curve(name, closest) for name, closest in ratios.items()]
    limit = Curve("1 - delta", shares[0].x, (1.0 - DELTA,) * len(shares[0].x), bound=True)
    drawn = Figure(
        "Coverage of a part of the radius",
        "share of beta_t",
        "runs covered in all rounds",
        (*shares, limit),
    )

    def judge(f: float) -> Outcome:
        outcomes = []
        for name, closest in ratios.items():
            covered = int((closest <= 1.0 / f).sum())
            detail = f"{name} {covered / runs:.4f}"
            outcomes.append(
                probability_at_least(covered, runs, 1.0 - DELTA, detail, CLAIM_ALARM / len(NOISES))
            )
        return replace(weakest(outcomes), figure=drawn)

    return judge


def largest_ratios(
    noise: Noise, setting: Setting, runs: int, rng: Generator, peeking: bool
) -> FloatArray:
    """max over t of |theta_hat_t - theta*|_{V_t} / beta_t in each run: [runs].

    Every run has a problem of its own with means in [0, 1], so that all the laws apply; its last arm is 0. Arms are greedy on
    a perturbed estimate, as Algorithm 1 with a fresh member would choose. Peeking, the first arm is played if the
    round's noise is positive and the arm 0 if not.
    """
    d, lam = setting.dim, setting.regularization
    features = np.abs(unit_rows(rng, runs * ARMS, d)).reshape(runs, ARMS, d)
    features[:, -1] = 0.0
    theta = np.abs(unit_rows(rng, runs, d))
    V, inverse, b = (
        np.tile(lam * np.eye(d), (runs, 1, 1)),
        np.tile(np.eye(d) / lam, (runs, 1, 1)),
        np.zeros((runs, d)),
    )
    S, row = 0.5 * rng.standard_normal((runs, d)), np.arange(runs)
    largest = np.zeros(runs)
    for t in range(setting.horizon + 1):
        theta_hat = np.einsum("rij,rj->ri", inverse, b)
        error = theta_hat - theta
        largest = np.maximum(
            largest, np.sqrt(np.einsum("ri,rij,rj->r", error, V, error)) / radius(setting, t)
        )
        luck = chance(noise, runs, rng)
        estimate = theta_hat + np.einsum("rij,rj->ri", inverse, S)
        arm = np.argmax(np.einsum("rkj,rj->rk", features, estimate), axis=1)
        x = features[row, np.where(luck > 0, 0, ARMS - 1) if peeking else arm]
        mean = (x * theta).sum(axis=1)
        b += x * reward(noise, mean, luck)[:, None]
        S += x * (0.5 * rng.standard_normal(runs))[:, None]
        V += x[:, :, None] * x[:, None, :]
        u = np.einsum("rij,rj->ri", inverse, x)
        inverse -= u[:, :, None] * (u / (1.0 + (x * u).sum(axis=1))[:, None])[:, None, :]
    return largest


def chance(noise: Noise, runs: int, rng: Generator) -> FloatArray:
    """What the noise is made of, before the arm is known: positive is lucky."""
    return (
        rng.random(runs) - 0.5
        if isinstance(noise, BernoulliNoise | RademacherNoise)
        else rng.standard_normal(runs)
    )


def reward(noise: Noise, mean: FloatArray, luck: FloatArray) -> FloatArray:
    """A reward of that mean."""
    if isinstance(noise, BernoulliNoise):
        happens: BoolArray = luck > 0.5 - mean
        return happens.astype(np.float64)
    step = np.sign(luck) if isinstance(noise, RademacherNoise) else luck
    return np.asarray(mean + noise.spreads(mean) * step)


def coverage_curve(name: str, closest: FloatArray) -> Curve:
    levels = np.linspace(0.3, 1.2, 31)
    return Curve(
        name, tuple(levels.tolist()), tuple(float((closest <= level).mean()) for level in levels)
    )


CLAIM = Claim(
    id=ID,
    title="The ridge estimate is within beta_t",
    statement="with probability 1 - delta the ridge error is at most beta_t in all rounds, for subGaussian noise",
    latex=r"\mathbb{P}\Big(\forall t:\ \|\hat\theta_t-\theta^*\|_{V_t} \le \sigma\sqrt{d\log(1+\tfrac{t}{d\lambda})"
    r"+2\log\tfrac1\delta}+\sqrt\lambda S\Big) \ge 1-\delta",
    reference="lma:theta hat concetration",
    section=Section.ESTIMATES,
    assumptions=(
        "|x| <= 1, |theta*| <= S",
        "noise sigma-subGaussian given the past",
        "arms chosen before the noise",
    ),
    kind=Kind.PROBABILITY,
    faults=(Fault("the radius beta_t divided by f", measure),),
    broken=Broken(
        "arms chosen after seeing the round's noise",
        lambda scale, seed: measure(scale, seed, peeking=True)(SOUND),
    ),
    note="'Arbitrarily random' arms must be predictable: an arm that has seen its own noise biases the estimate without limit.",
    costs={Scale.QUICK: Cost(1.5, 100), Scale.STANDARD: Cost(7, 200), Scale.PAPER: Cost(400, 400)},
)
