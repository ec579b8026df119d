"""Concentration of estimates: of the ridge estimate, and of Gaussian and other perturbations."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Figure, Judge, Outcome, Scale, curve
from ensample.claims.evidence import (
    CLAIM_ALARM,
    Trials,
    each_at_least,
    generator,
    probability_at_most,
    weakest,
)
from ensample.claims.texts import claim, twin
from ensample.perturbations import (
    CenteredBinomial,
    Gaussian,
    InitialLaw,
    Perturbation,
    Rademacher,
    Sphere,
    Uniform,
)
from ensample.problems import (
    BernoulliNoise,
    GaussianNoise,
    HeteroscedasticNoise,
    Noise,
    RademacherNoise,
)
from ensample.problems.problem import unit_rows
from ensample.theory import Setting, perturbation_radius, radius
from ensample.types import BoolArray, FloatArray

# ridge-concentration: the ridge estimate stays within beta_t of the truth in all rounds at once

DIM, ARMS, DELTA = 3, 8, 0.05
NOISES: tuple[Noise, ...] = (
    GaussianNoise(0.3),
    BernoulliNoise(),
    RademacherNoise(0.5),
    HeteroscedasticNoise(0.1, 1.0),
)


def measure_ridge(scale: Scale, seed: int, peeking: bool = False) -> Judge:
    """The share of runs with |theta_hat_t - theta*|_{V_t} <= beta_t for all t, for each noise."""
    runs, rounds = scale.choose((1000, 100), (5000, 500), (20_000, 3000))
    ratios = {}
    for part, noise in enumerate(NOISES):
        setting, rng = ridge_setting(noise, rounds), generator(seed, "ridge-concentration", part)
        name = type(noise).__name__.removesuffix("Noise")
        ratios[name] = largest_ratios(noise, setting, runs, rng, peeking)
    figure = coverage_figure(ratios)

    def judge(f: float) -> Outcome:
        trials = []
        for name, closest in ratios.items():
            covered = int((closest <= 1.0 / f).sum())
            trials.append(Trials(covered, runs, 1.0 - DELTA, f"{name} {covered / runs:.4f}"))
        return replace(each_at_least(trials), figure=figure)

    return judge


def ridge_setting(noise: Noise, rounds: int) -> Setting:
    return Setting(DIM, ARMS, rounds, noise.subgaussian, norm=1.0, delta=DELTA)


def largest_ratios(
    noise: Noise, setting: Setting, runs: int, rng: Generator, peeking: bool
) -> FloatArray:
    """max over t of |theta_hat_t - theta*|_{V_t} / beta_t in each run: [runs].

    Every run has a problem of its own with means in [0, 1], so that all the laws apply; its last
    arm is 0. Arms are greedy on a perturbed estimate, as Algorithm 1 with a fresh member would
    choose. Peeking, the first arm is played if the round's noise is positive and the arm 0 if not.
    """
    d, lam = setting.dim, setting.regularization
    features = np.abs(unit_rows(rng, runs * ARMS, d)).reshape(runs, ARMS, d)
    features[:, -1] = 0.0
    theta = np.abs(unit_rows(rng, runs, d))
    V, inverse = np.tile(lam * np.eye(d), (runs, 1, 1)), np.tile(np.eye(d) / lam, (runs, 1, 1))
    b, S, row = np.zeros((runs, d)), 0.5 * rng.standard_normal((runs, d)), np.arange(runs)
    largest = np.zeros(runs)
    for t in range(setting.horizon + 1):
        theta_hat = np.einsum("rij,rj->ri", inverse, b)
        error = theta_hat - theta
        length = np.sqrt(np.einsum("ri,rij,rj->r", error, V, error))
        largest = np.maximum(largest, length / radius(setting, t))
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
    """Draw what the noise is computed from, before the arm is known: positive is lucky."""
    two_values = isinstance(noise, BernoulliNoise | RademacherNoise)
    return rng.random(runs) - 0.5 if two_values else rng.standard_normal(runs)


def reward(noise: Noise, mean: FloatArray, luck: FloatArray) -> FloatArray:
    """Return rewards with these means."""
    if isinstance(noise, BernoulliNoise):
        happens: BoolArray = luck > 0.5 - mean
        return happens.astype(np.float64)
    step = np.sign(luck) if isinstance(noise, RademacherNoise) else luck
    return np.asarray(mean + noise.spreads(mean) * step)


def coverage_figure(ratios: dict[str, FloatArray]) -> Figure:
    levels = np.linspace(0.3, 1.2, 31)
    curves = []
    for name, closest in ratios.items():
        curves.append(curve(name, levels, ((closest <= level).mean() for level in levels)))
    curves.append(curve("1 - delta", levels, [1.0 - DELTA] * levels.size, bound=True))
    title, y_label = "Coverage of a part of the radius", "runs covered in all rounds"
    return Figure(title, "share of beta_t", y_label, tuple(curves))


claim("ridge-concentration", measure_ridge, broken=twin(measure_ridge, peeking=True))

# Norms of perturbations, for the next two claims

Norms = Callable[[InitialLaw, Perturbation, Setting, int, Generator], FloatArray]
"""Returns max over t <= T of |theta~_t|_{V_t} for independent members: [members]."""


def norms_when_chased(
    initial: InitialLaw, reward: Perturbation, setting: Setting, members: int, rng: Generator
) -> FloatArray:
    """For arms that chase the perturbation, for each member its own.

    Odd rounds play the unit vector along theta~, which adds to it, even rounds a random one. Both
    are chosen before the round's perturbation, as the lemmas ask.
    """
    lam, dim = setting.regularization, setting.dim
    S = initial.rescaled(math.sqrt(lam) * initial.scale).draw_vectors(rng, members, dim)
    inverse = np.tile(np.eye(dim) / lam, (members, 1, 1))
    largest = norms(inverse, S)
    for t in range(setting.horizon):
        x = rng.standard_normal((members, dim)) if t % 2 else np.einsum("rij,rj->ri", inverse, S)
        x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-300
        S += x * reward.draw(rng, members)[:, None]
        u = np.einsum("rij,rj->ri", inverse, x)
        gain = u / (1.0 + np.einsum("ri,ri->r", x, u))[:, None]
        inverse -= gain[:, :, None] * u[:, None, :]
        largest = np.maximum(largest, norms(inverse, S))
    return largest


def norms(inverse: FloatArray, S: FloatArray) -> FloatArray:
    """|theta~|_V = |S|_{V^-1}."""
    return np.asarray(np.sqrt(np.einsum("ri,rij,rj->r", S, inverse, S)))


def norms_when_fixed(
    initial: InitialLaw, reward: Perturbation, setting: Setting, members: int, rng: Generator
) -> FloatArray:
    """For the basis vectors in turn: V stays diagonal, and large dimensions cost little."""
    lam, dim = setting.regularization, setting.dim
    S = initial.rescaled(math.sqrt(lam) * initial.scale).draw_vectors(rng, members, dim)
    V = np.full(dim, lam)
    largest = np.sqrt((S**2 / V).sum(axis=1))
    for t in range(setting.horizon):
        S[:, t % dim] += reward.draw(rng, members)
        V[t % dim] += 1.0
        largest = np.maximum(largest, np.sqrt((S**2 / V).sum(axis=1)))
    return np.asarray(largest)


# gaussian-concentration: Gaussian perturbations of an estimate are at most gamma~_T

NARROW = Setting(dim=2, arms=10, horizon=30, noise=1.0, norm=1.0, regularization=2.0, delta=0.2)
WIDE = Setting(dim=200, arms=10, horizon=20, noise=1.0, norm=1.0, delta=0.2)
TRIED: tuple[tuple[Setting, Norms], ...] = ((NARROW, norms_when_chased), (WIDE, norms_when_fixed))
CHUNK = 100_000  # members that memory can hold


def measure_gaussian(scale: Scale, seed: int) -> Judge:
    """How often max_t |theta~_t|_{V_t} exceeds gamma~_T, with chasing arms and with fixed ones."""
    members = scale.choose(6000, 100_000, 1_000_000)
    found = {
        f"d = {setting.dim}, T = {setting.horizon}": relative_norms(place, members, seed)
        for place, (setting, _) in enumerate(TRIED)
    }
    levels, curves = np.linspace(0.0, 1.1, 45), []
    for name, sizes in found.items():
        curves.append(curve(name, levels, ((sizes > level).mean() for level in levels)))
    title = "How large perturbations get"
    figure = Figure(title, "share of the radius", "members that exceed it", tuple(curves))

    def judge(f: float) -> Outcome:
        outcomes = []
        for (name, sizes), (setting, _) in zip(found.items(), TRIED, strict=True):
            failures, bound = int((f * sizes > 1.0).sum()), setting.delta / setting.horizon
            detail = f"{name}: {failures} of {members:,} above, largest {f * sizes.max():.2f}"
            outcomes.append(probability_at_most(failures, members, bound, detail, CLAIM_ALARM / 2))
        return replace(weakest(outcomes), figure=figure)

    return judge


def relative_norms(place: int, members: int, seed: int) -> FloatArray:
    """max_t |theta~_t|_{V_t} / gamma~_T of many members of a setting, drawn in chunks."""
    setting, measure = TRIED[place]
    law = Gaussian(radius(setting))
    sizes = [min(CHUNK, members - start) for start in range(0, members, CHUNK)]
    drawn = [
        measure(law, law, setting, size, generator(seed, "gaussian-concentration", 2 * n + place))
        for n, size in enumerate(sizes)
    ]
    return np.asarray(np.concatenate(drawn) / perturbation_radius(setting))


claim("gaussian-concentration", measure_gaussian, broken=2.0)

# subgaussian-concentration: perturbations of any admissible law concentrate

PAIRS: tuple[tuple[InitialLaw, Perturbation], ...] = (
    (Rademacher(), Rademacher()),
    (Uniform(), Uniform()),
    (CenteredBinomial(3), CenteredBinomial(3)),
    (Sphere(), Rademacher()),
)
SHAPES: tuple[tuple[Setting, Norms], ...] = (
    (Setting(2, 2, 40, 1.0, 1.0, 2.0, DELTA), norms_when_chased),
    (Setting(200, 2, 20, 1.0, 1.0, 2.0, DELTA), norms_when_fixed),
)


def measure_subgaussian(scale: Scale, seed: int) -> Judge:
    """How often max_t |theta~_t|_{V_t} exceeds its radius, for each pair of laws of W and Z."""
    members, found = scale.choose(2000, 40_000, 200_000), {}
    for part, (initial, reward) in enumerate(PAIRS):
        for place, (setting, measure) in enumerate(SHAPES):
            rng = generator(seed, "subgaussian-concentration", 10 * part + place)
            sizes = measure(initial, reward, setting, members, rng)
            name = f"{type(initial).__name__} and {type(reward).__name__}, d = {setting.dim}"
            found[name] = sizes / subgaussian_radius(initial, reward, setting)

    def judge(f: float) -> Outcome:
        outcomes, alarm = [], CLAIM_ALARM / len(found)
        for name, sizes in found.items():
            detail, above = f"{name}: largest {f * sizes.max():.2f}", int((f * sizes > 1.0).sum())
            outcomes.append(probability_at_most(above, members, 2.0 * DELTA, detail, alarm))
        return weakest(outcomes)

    return judge


def subgaussian_radius(initial: InitialLaw, reward: Perturbation, setting: Setting) -> float:
    """sigma_R sqrt(d log(1 + T/(d lam)) + 2 log(1/delta)) + L / sqrt(lam)."""
    d, T, lam = setting.dim, setting.horizon, setting.regularization
    rewards = reward.subgaussian * math.sqrt(d * math.log1p(T / (d * lam)) - 2.0 * math.log(DELTA))
    return rewards + initial.norm_bound(d, math.log(DELTA))


claim("subgaussian-concentration", measure_subgaussian, broken=2.0)

# initial-norm: the length of an initial vector with subGaussian coordinates

INITIAL_LAWS: tuple[Perturbation, ...] = (Gaussian(), Rademacher(), Uniform(), CenteredBinomial(3))
INITIAL_DIMS = (1, 10, 100)
DELTAS = (0.3, 0.05)
VECTORS = 50_000  # that memory can hold


def measure_initial(scale: Scale, seed: int) -> Judge:
    """How often |W| exceeds sigma sqrt(2d + 4 log(1/delta))."""
    draws = scale.choose(3000, 100_000, 1_000_000)
    alarm = CLAIM_ALARM / (len(INITIAL_LAWS) * len(INITIAL_DIMS) * len(DELTAS))
    found = []
    for part, law in enumerate(INITIAL_LAWS):
        for d in INITIAL_DIMS:
            rng = generator(seed, "initial-norm", 1000 * part + d)
            found.append((d, vector_norms(law, d, draws, rng) / law.subgaussian))
    laws = ", ".join(type(law).__name__ for law in INITIAL_LAWS)

    def judge(f: float) -> Outcome:
        outcomes = []
        for d, lengths in found:
            for delta in DELTAS:
                longer = int((f * lengths > math.sqrt(2.0 * d - 4.0 * math.log(delta))).sum())
                outcomes.append(probability_at_most(longer, draws, delta, alarm=alarm))
        return replace(weakest(outcomes), detail=f"{laws}; d = 1, 10, 100; delta = 0.3, 0.05")

    return judge


def vector_norms(law: Perturbation, d: int, draws: int, rng: Generator) -> FloatArray:
    """Return the lengths of many vectors, drawn in chunks."""
    sizes = [min(VECTORS, draws - start) for start in range(0, draws, VECTORS)]
    return np.concatenate(
        [np.linalg.norm(law.draw_vectors(rng, size, d), axis=1) for size in sizes]
    )


claim("initial-norm", measure_initial, broken=2.0)
