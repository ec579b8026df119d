"""Simulated runs on arms that change every round, or on the unit ball.

The lazy law: between two rounds in which member j acts, its perturbation sum grows by N(0, scale^2 (V_now - V_then)). V_then is
kept for each touched member and the difference factored by a Cholesky that allows zero pivots: O(d^3) a round, whatever m is.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.draws import Code, draw_sum, draw_vector
from ensample.kernels.lazy import EMPTY, Inflation, find_slot, inflation, perturbed, table_size
from ensample.kernels.ridge import root, rotate
from ensample.kernels.rows import add_outer, add_rows, argmax, axpy
from ensample.kernels.turns import next_member
from ensample.kernels.world import BERNOULLI, SIGNS, Track, adopt, due, note, observe, stopped
from ensample.types import FloatArray, IntArray

__all__ = ["Scene", "moving_ensemble", "moving_history", "run_moving_lazily"]


class Scene(NamedTuple):
    """A problem without standing arms."""

    theta: FloatArray  # [d]
    offered: int  # arms a round, unit vectors in random directions; 0: the unit ball
    noise: int  # GAUSSIAN, BERNOULLI or SIGNS
    low: float  # spread of the noise: low + (high - low) min(1, |mean|)
    high: float


@kernel
def offer(scene: Scene, features: FloatArray, rng: Generator) -> None:
    """The arms of a round, into `features` [K, d]."""
    for k in range(scene.offered):
        squares = 0.0
        for i in range(scene.theta.size):
            features[k, i] = rng.standard_normal()
            squares += features[k, i] * features[k, i]
        for i in range(scene.theta.size):
            features[k, i] /= np.sqrt(squares)


@kernel
def play(
    scene: Scene,
    track: Track,
    gram: FloatArray,
    t: int,
    features: FloatArray,
    theta: FloatArray,
    x: FloatArray,
    rng: Generator,
) -> float:
    """Play the best x for theta in round t and learn from it; returns the reward."""
    best = mean = 0.0
    if scene.offered > 0:
        for k in range(scene.offered):
            track.scores[k] = 0.0
            value = 0.0
            for i in range(x.size):
                track.scores[k] += features[k, i] * theta[i]
                value += features[k, i] * scene.theta[i]
            if k == 0 or value > best:
                best = value
        x[:] = features[argmax(track.scores)]
    else:
        length = np.sqrt((theta * theta).sum())
        best = np.sqrt((scene.theta * scene.theta).sum())
        for i in range(x.size):
            x[i] = theta[i] / length if length > 0.0 else (1.0 if i == 0 else 0.0)
    for i in range(x.size):
        mean += x[i] * scene.theta[i]
    spread = scene.low + (scene.high - scene.low) * min(1.0, abs(mean))
    if scene.noise == BERNOULLI:
        y = 1.0 if rng.random() < mean else 0.0
    elif scene.noise == SIGNS:
        y = mean + (spread if rng.random() < 0.5 else -spread)
    else:
        y = mean + spread * rng.standard_normal()
    observe(track, x, y)
    add_outer(gram, 1.0, x, x)
    if due(track, t):
        adopt(track, gram)
    track.sums[0] += best - mean
    note(track, t)
    return y


def run_moving_lazily(
    scene: Scene,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    scale: float,
    noise_rng: Generator,
    member_rng: Generator,
    context_rng: Generator,
    rng: Generator,
) -> None:
    """`lazy_moving` with a hash table of the right size for the members that can be touched."""
    places = table_size(min(size, int(track.checkpoints[-1])))
    keys, slots = np.full(places, EMPTY), np.zeros(places, np.int64)
    rngs = noise_rng, member_rng, context_rng, rng
    lazy_moving(scene, track, size, stay, initial, scale, keys, slots, *rngs)


@kernel
def lazy_moving(
    scene: Scene,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    scale: float,
    keys: IntArray,
    slots: IntArray,
    noise_rng: Generator,
    member_rng: Generator,
    context_rng: Generator,
    rng: Generator,
) -> None:
    """Algorithm 1 with a Gaussian law of the reward perturbations, touching only the member that acts."""
    d, horizon = scene.theta.size, track.checkpoints[-1]
    capacity = min(size, horizon)
    sums = np.empty((capacity, d))
    grams = np.empty((capacity, d, d))  # V when the member last acted
    gram = np.eye(d) * track.lam
    difference = np.empty((d, d))
    features, theta, x = np.empty((scene.offered, d)), np.zeros(d), np.zeros(d)
    used = 0
    member = -1
    for t in range(horizon):
        if stopped(track, t):
            return
        offer(scene, features, context_rng)
        member = next_member(t, size, stay, member, member_rng)
        slot = find_slot(keys, slots, used, member)
        total = sums[slot]
        if slot == used:
            used += 1
            draw_vector(initial[0], initial[1], initial[2], total, rng)
            grams[slot] = np.eye(d) * track.lam
        for i in range(d):
            for k in range(d):
                difference[i, k] = gram[i, k] - grams[slot, i, k]
                grams[slot, i, k] = gram[i, k]
        root(difference)
        for k in range(d):
            axpy(total[k:], scale * rng.standard_normal(), difference[k, k:])
        perturbed(track, total, 1.0, theta)
        play(scene, track, gram, t, features, theta, x, noise_rng)


@kernel
def moving_ensemble(
    scene: Scene,
    track: Track,
    size: int,
    stay: int,
    initial: Code,
    law: Code,
    noise_rng: Generator,
    member_rng: Generator,
    context_rng: Generator,
    rng: Generator,
) -> None:
    """Algorithm 1 with all members kept up to date."""
    d, horizon = scene.theta.size, track.checkpoints[-1]
    sums = np.empty((size, d))
    for j in range(size):
        draw_vector(initial[0], initial[1], initial[2], sums[j], rng)
    gram = np.eye(d) * track.lam
    features, theta, x = np.empty((scene.offered, d)), np.zeros(d), np.zeros(d)
    member = -1
    for t in range(horizon):
        if stopped(track, t):
            return
        offer(scene, features, context_rng)
        member = next_member(t, size, stay, member, member_rng)
        perturbed(track, sums[member], 1.0, theta)
        play(scene, track, gram, t, features, theta, x, noise_rng)
        for j in range(size):
            axpy(sums[j], draw_sum(law[0], law[1], law[2], 1, rng), x)


@kernel
def moving_history(
    scene: Scene,
    track: Track,
    initial: Code,
    scale: float,
    factor: Inflation,
    noise_rng: Generator,
    context_rng: Generator,
    rng: Generator,
) -> None:
    """A model drawn afresh each round: theta = theta_hat + factor_t V^-1 (W + scale R'g), R'R = sum x x'."""
    d, horizon = scene.theta.size, track.checkpoints[-1]
    gram = np.eye(d) * track.lam
    triangle, total = np.zeros((d, d)), np.zeros(d)
    features, theta, x, draws = np.empty((scene.offered, d)), np.zeros(d), np.zeros(d), np.zeros(d)
    for t in range(horizon):
        if stopped(track, t):
            return
        offer(scene, features, context_rng)
        draw_vector(initial[0], initial[1], initial[2], total, rng)
        for i in range(d):
            draws[i] = scale * rng.standard_normal()
        add_rows(total, triangle, draws)
        perturbed(track, total, inflation(factor, track, t, d), theta)
        play(scene, track, gram, t, features, theta, x, noise_rng)
        rotate(triangle, x)
