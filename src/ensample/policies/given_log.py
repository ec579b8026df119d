"""A log of other hands, checked: an error names the row."""

import math

import numpy as np

from ensample.arms import Arms
from ensample.checks import as_rewards, each, matrix, number, sequence, vector, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.frames import is_frame
from ensample.models import RewardModel
from ensample.policies.decision import LAST_ROUND, UNNUMBERED
from ensample.policies.ledger import LogEntry
from ensample.policies.log_frame import log_of
from ensample.types import FloatArray


def logged(log: object, arms: Arms, model: RewardModel) -> list[LogEntry]:
    """Its entries: of a `Log`, of its first three columns, or of a frame with columns of these names."""
    if is_frame(log):
        log = log_of(log, arms)
    if not isinstance(log, tuple) or len(log) not in (3, 5):
        raise WrongType(
            "log", log, "a Log of (round, features, reward, arm, propensity), or a frame"
        )
    rounds = each("log.round", sequence("log.round", log[0], "whole numbers"), whole, 0, LAST_ROUND)
    rewards = as_rewards("log.reward", log[2], model.as_reward)
    dim, count = arms.dim, len(rewards)
    features = features_of(log[1], dim) if count else np.zeros((len(np.atleast_1d(log[1])), dim))
    features.setflags(write=False)
    named, known = log[3:] if len(log) == 5 else ([UNNUMBERED] * count, [math.nan] * count)
    last = UNNUMBERED if arms.rows is None else len(arms.rows) - 1
    chosen = each("log.arm", sequence("log.arm", named, "whole numbers"), whole, UNNUMBERED, last)
    propensities = each("log.propensity", sequence("log.propensity", known, "numbers"), probability)
    lengths = len(rounds), len(features), count, len(chosen), len(propensities)
    if len(set(lengths)) != 1:
        raise InvalidArgument("log", lengths, "columns of the same length")
    check_once(rounds)
    if arms.rows is not None:
        numbers = np.array(chosen, np.int64)
        for place in np.flatnonzero(
            (numbers != UNNUMBERED) & (arms.rows[numbers] != features).any(axis=1)
        ):
            raise InvalidArgument(
                f"log.features[{place}]", features[place], f"the features of arm {chosen[place]}"
            )
    return list(map(LogEntry, rounds, chosen, features, rewards, propensities))


def features_of(rows: object, dim: int) -> FloatArray:
    """Of every row: [n, d]. Where some are features an error names the first that is not."""
    try:
        return matrix("log.features", rows, dim)
    except InvalidArgument as error:
        raise wrong_row(rows, dim) or error from None


def wrong_row(rows: object, dim: int) -> InvalidArgument | None:
    """What is wrong with the first row that is no vector of features; None where no row is one."""
    wrong, right = None, False
    for place, x in enumerate(
        rows
        if isinstance(rows, list | tuple) or (isinstance(rows, np.ndarray) and rows.ndim)
        else ()
    ):
        try:
            vector(f"log.features[{place}]", x, dim)
            right = True
        except InvalidArgument as error:
            wrong = wrong or error
        if wrong is not None and right:
            return wrong
    return None


def check_once(rounds: list[int]) -> None:
    """Raise where a round is there twice."""
    seen: set[int] = set()
    for place, round in enumerate(rounds):
        if round in seen:
            raise InvalidArgument(f"log.round[{place}]", round, "each round at most once")
        seen.add(round)


def probability(argument: str, value: object) -> float:
    """Of a log: NaN where it is not known."""
    if isinstance(value, float) and math.isnan(value):
        return value
    return number(argument, value, 0.0, 1.0)
