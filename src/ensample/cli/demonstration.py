"""An experiment on handwritten digits, whose truth is known, and what its log says of others."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.errors import InvalidArgument
from ensample.evaluation import Evaluation, evaluate
from ensample.evaluation.log import LogRows
from ensample.evaluation.targets import Target
from ensample.experiments import Experiment, Reward
from ensample.experiments.features import Disjoint
from ensample.policies import Recipe
from ensample.problems.classification import digits
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars


ACTIONS = [str(digit) for digit in range(10)]
FLOOR = 0.2  # so that a weight of the log is at most 50
PARTS = 6  # of the decisions, in the table

Step = Callable[[], object]


class PlayedExperiment(NamedTuple):
    """An experiment over rows, one decision each."""

    experiment: Experiment
    half: Experiment  # as it was when half of the rows were over
    images: FloatArray  # [n, 64] in the order of the decisions
    labels: IntArray  # [n]
    right: FloatArray  # [n] the rewards: 1 where the digit was recognised, else 0


class WithoutFloor(Target):
    """The experiment without the decisions that are drawn by chance, of which its log has the
    share.
    """

    @property
    def name(self) -> str:
        return "the experiment without its floor"

    def probabilities(self, rows: LogRows) -> FloatArray:
        assert rows.propensities is not None
        return without_floor(rows.propensities)


class JudgedPolicy(NamedTuple):
    """A policy with its value by the log, and the true one."""

    policy: str
    rows: str
    found: Evaluation
    truth: float


def play(recipe: Recipe, rounds: int, seed: int, step: Step) -> PlayedExperiment:
    """Show images one after the other; the reward is whether the experiment names the digit."""
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
            expected = "a recipe that knows its propensities: its log cannot be evaluated otherwise"
            raise InvalidArgument("policy", recipe, expected)
        right[round] = decision.action == ACTIONS[label]
        experiment.reward(decision, right[round])
        step()
    return PlayedExperiment(experiment, half, images, labels, right)


def parts_of(right: FloatArray) -> list[tuple[int, int, float]]:
    """Return the share that was right, part by part: (first decision, last, share), from 1."""
    edges = np.linspace(0, right.size, PARTS + 1).astype(int).tolist()
    return [(start + 1, end, float(right[start:end].mean())) for start, end in pairwise(edges)]


def judge(played: PlayedExperiment, log: "polars.DataFrame", step: Step) -> list[JudgedPolicy]:
    """Evaluate three policies by the log alone, and find the truth by the labels."""
    middle = played.right.size // 2
    late_images, late_labels = played.images[middle:], played.labels[middle:]
    shares = without_floor(np.array(log["propensities"].to_list()))
    right = shares[np.arange(len(played.labels)), played.labels]
    half = played.half
    cases: list[tuple[str, str, Any, Any, Callable[[], float]]] = [
        ("any digit at random", "all rows", log, "uniform", lambda: 1.0 / len(ACTIONS)),
        (
            "the experiment as it was half-way",
            "the rows since",
            log[middle:],
            half,
            lambda: half_truth(half, late_images, late_labels),
        ),
        (WithoutFloor().name, "all rows", log, WithoutFloor(), lambda: float(right.mean())),
    ]
    found = []
    for name, rows, data, target, truth in cases:
        found.append(JudgedPolicy(name, rows, evaluate(data, target, low=0, high=1), truth()))
        step()
    return found


def without_floor(propensities: FloatArray) -> FloatArray:
    """Return the policy's own w [n, K], from p = (1 - floor) w + floor / K."""
    shares: FloatArray = np.clip((propensities - FLOOR / len(ACTIONS)) / (1.0 - FLOOR), 0.0, 1.0)
    normalized: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return normalized


def half_truth(half: Experiment, images: FloatArray, labels: IntArray) -> float:
    """Return how often it would have been right, on average over its own chance."""
    shares = [
        (half.decide(image, dry_run=True).propensities or {})[ACTIONS[label]]
        for image, label in zip(images.tolist(), labels.tolist(), strict=True)
    ]
    return float(np.mean(shares))
