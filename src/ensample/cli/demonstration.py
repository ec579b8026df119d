"""An experiment on real data, whose truth is known: what it decided, and what its log says of other policies."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.evaluation import Evaluation, evaluate
from ensample.experiments import Experiment, Reward
from ensample.experiments.features import Disjoint
from ensample.policies import Recipe
from ensample.problems.digits import digits
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars

__all__ = ["ACTIONS", "FLOOR", "JudgedPolicy", "PlayedExperiment", "judge", "parts_of", "play"]

ACTIONS = [str(digit) for digit in range(10)]
FLOOR = 0.05
PARTS = 6  # of the decisions, in the table
ALWAYS = "3"  # a policy that the log says little of

Step = Callable[[], object]


class PlayedExperiment(NamedTuple):
    """An experiment over rows, one decision each."""

    experiment: Experiment
    half: Experiment  # as it was when half of the rows were over
    images: FloatArray  # [n, 64] in the order of the decisions
    labels: IntArray  # [n]
    right: FloatArray  # [n] the rewards: 1 where the digit was told, else 0


class JudgedPolicy(NamedTuple):
    """What a log says of a policy, and what is true."""

    policy: str
    rows: str
    found: Evaluation
    truth: float


def play(recipe: Recipe, rounds: int, seed: int, step: Step) -> PlayedExperiment:
    """Show images one after the other; the experiment says which digit each is and hears only whether that was right."""
    images, labels = digits()
    order = np.random.default_rng(seed).permutation(len(labels))[:rounds]
    images, labels = images[order], labels[order]
    experiment = half = Experiment(
        "digits",
        actions=ACTIONS,
        features=Disjoint(hashed=256),
        reward=Reward(low=0, high=1),
        recipe=recipe,
        floor=FLOOR,
        seed=seed,
    )
    right = np.zeros(rounds)
    for round, (image, label) in enumerate(zip(images.tolist(), labels.tolist(), strict=True)):
        if round == rounds // 2:
            half = experiment.replay()
        decision = experiment.decide(image, id=str(round))
        if decision.propensities is None:
            raise InvalidArgument(
                "policy", recipe, "a recipe that knows its propensities: without them a log cannot be evaluated"
            )
        right[round] = decision.action == ACTIONS[label]
        experiment.reward(decision, right[round])
        step()
    return PlayedExperiment(experiment, half, images, labels, right)


def parts_of(right: FloatArray) -> list[tuple[int, int, float]]:
    """The share that was right, part by part: (first decision, last, share), counted from 1."""
    edges = np.linspace(0, right.size, PARTS + 1).astype(int).tolist()
    return [(first + 1, last, float(right[first:last].mean())) for first, last in itertools.pairwise(edges)]


def judge(played: PlayedExperiment, log: "polars.DataFrame", step: Step) -> list[JudgedPolicy]:
    """Three policies by the log alone, and the truth, which the labels tell."""
    middle = played.right.size // 2
    later, labels = log[middle:], played.labels[middle:]
    alone = float(np.mean(played.labels == int(ALWAYS)))
    asked: list[tuple[str, str, Any, Any, float]] = [
        ("any digit at random", "all rows", log, "uniform", 1.0 / len(ACTIONS)),
        (f"always {ALWAYS}", "all rows", log, f"action:{ALWAYS}", alone),
        ("the experiment as it was half-way", "the rows since", later, played.half, True),
    ]
    found = []
    for name, rows, data, target, truth in asked:
        known = half_truth(played.half, played.images[middle:], labels) if truth is True else truth
        found.append(JudgedPolicy(name, rows, evaluate(data, target, low=0, high=1), known))
        step()
    return found


def half_truth(half: Experiment, images: FloatArray, labels: IntArray) -> float:
    """How often it would have been right, on average over its own chance."""
    shares = [
        (half.decide(image, dry_run=True).propensities or {})[ACTIONS[label]]
        for image, label in zip(images.tolist(), labels.tolist(), strict=True)
    ]
    return float(np.mean(shares))
