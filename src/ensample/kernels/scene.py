"""A simulated run on arms that change every round, or on the unit ball: what it faces, and one round of it."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.kernels.compile import embedded, kernel
from ensample.kernels.links import NO_LINK, mean_at
from ensample.kernels.noise import draw_reward, noise_spread
from ensample.kernels.rows import add_outer, argmax
from ensample.kernels.track import Track, adopt, calibrate, due, note, observe, unlearned
from ensample.kernels.weighted import observe_weighted
from ensample.types import FloatArray

__all__ = ["Moment", "Scene", "first_moment", "offer", "play", "play_weighted"]


class Scene(NamedTuple):
    """A problem without standing arms."""

    theta: FloatArray  # [d]
    offered: int  # arms a round, unit vectors in random directions; 0: the unit ball
    noise: int  # a kind of `kernels.noise`
    low: float  # of the noise's spread, as in `spread_at`
    high: float
    link: int = NO_LINK  # of `kernels.links`, if means are not linear
    constant: bool = False  # whether the last feature is 1, and the unit vectors are of the others


class Moment(NamedTuple):
    """What changes from round to round."""

    gram: FloatArray  # V [d, d]
    features: FloatArray  # the arms on offer [K, d]
    theta: FloatArray  # the model that acts [d]
    x: FloatArray  # what was played [d]


@kernel
def first_moment(scene: Scene, track: Track) -> Moment:
    """Before the first round."""
    d = scene.theta.size
    gram = np.zeros((d, d))
    for i in range(d):
        gram[i, i] = track.prior[i]
    return Moment(gram, np.empty((scene.offered, d)), np.zeros(d), np.zeros(d))


@embedded
def offer(scene: Scene, moment: Moment, rng: Generator) -> None:
    """The arms of a round."""
    features = moment.features
    d = scene.theta.size - 1 if scene.constant else scene.theta.size
    for k in range(scene.offered):
        squares = 0.0
        for i in range(d):
            features[k, i] = rng.standard_normal()
            squares += features[k, i] * features[k, i]
        for i in range(d):
            features[k, i] /= np.sqrt(squares)
        if scene.constant:
            features[k, d] = 1.0


@embedded
def best_offered(scene: Scene, track: Track, moment: Moment) -> float:
    """The best x on offer for the moment's model, into `moment.x`; returns the largest linear predictor on offer."""
    features, theta, x = moment.features, moment.theta, moment.x
    if scene.offered == 0:
        length = norm(theta)
        for i in range(x.size):
            x[i] = theta[i] / length if length > 0.0 else (1.0 if i == 0 else 0.0)
        return norm(scene.theta)
    best = -np.inf
    for k in range(scene.offered):
        track.scores[k] = 0.0
        value = 0.0
        for i in range(x.size):
            track.scores[k] += features[k, i] * theta[i]
            value += features[k, i] * scene.theta[i]
        best = max(best, value)
    chosen = argmax(track.scores)
    for i in range(x.size):
        x[i] = features[chosen, i]
    return best


@embedded
def norm(values: FloatArray) -> float:
    squares = 0.0
    for i in range(values.size):
        squares += values[i] * values[i]
    return np.sqrt(squares)


@kernel
def learn_scales(track: Track, moment: Moment) -> None:
    """The scales of noise and parameter anew, and V with the prior that follows."""
    gram = moment.gram
    for i in range(track.mean.size):
        gram[i, i] -= track.prior[i]
    calibrate(track, gram.copy())
    for i in range(track.mean.size):
        gram[i, i] += track.prior[i]


@embedded
def play(scene: Scene, track: Track, moment: Moment, t: int, rng: Generator) -> None:
    """Play the best x for the moment's model in round t and learn from it."""
    best = best_offered(scene, track, moment)
    x = moment.x
    mean = mean_of(scene, x)
    observe(track, x, draw_reward(scene.noise, mean, noise_spread(mean, scene.low, scene.high), rng))
    add_outer(moment.gram, 1.0, x, x)
    if unlearned(track):
        learn_scales(track, moment)
    elif due(track, t):
        adopt(track, moment.gram)
    note(track, t, mean_at(scene.link, best) - mean)


@embedded
def mean_of(scene: Scene, x: FloatArray) -> float:
    """E[Y | x]."""
    predictor = 0.0
    for i in range(x.size):
        predictor += x[i] * scene.theta[i]
    return mean_at(scene.link, predictor)


@embedded
def play_weighted(scene: Scene, track: Track, moment: Moment, link: int, t: int, rng: Generator) -> float:
    """`play` by a generalised linear model that learns by the stream fit; returns the weight of the observation."""
    best = best_offered(scene, track, moment)
    x = moment.x
    mean = mean_of(scene, x)
    y = draw_reward(scene.noise, mean, noise_spread(mean, scene.low, scene.high), rng)
    w = observe_weighted(track, link, x, y)
    add_outer(moment.gram, w, x, x)
    if due(track, t):
        adopt(track, moment.gram)
    note(track, t, mean_at(scene.link, best) - mean)
    return w
