"""The log of a policy, and logs of other hands, which are checked: an error names the row."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensample.arms import Arms
from ensample.checks import as_rewards, each, matrix, number, sequence, vector, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.extras import pandas_package
from ensample.frames import column_array, columns_of, is_frame
from ensample.models import RewardModel
from ensample.policies.decision import LAST_ROUND, UNNUMBERED
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas


class Log(NamedTuple):
    """Observations in the order in which they were learned.

    `recipe.replay` takes its fields as arrays, lists or Series, and a frame whose columns have
    their names. There features are one column of lists, or all columns that have other names, in
    order; standing arms that are numbered need none.
    """

    round: IntArray  # [n] of the decision that was rewarded
    features: FloatArray  # [n, d]
    reward: FloatArray  # [n]
    arm: IntArray  # [n] the standing arm, -1 if it was none
    propensity: FloatArray  # [n] the probability of the decision, NaN if it was not asked for

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a frame of pandas, with features as one column of lists. `recipe.replay` takes it.

        >>> import ensample as es
        >>> policy = es.EnsembleSampling(10).start(es.FiniteArms([[1.0], [2.0]]), seed=0)
        >>> policy.update(policy.decide(), 0.5)
        >>> policy.log().to_pandas()[["round", "arm", "reward"]].values.tolist()
        [[0.0, 0.0, 0.5]]
        """
        columns = self._asdict() | {"features": list(self.features)}
        frame: pandas.DataFrame = pandas_package().DataFrame(columns)
        return frame


class LogEntry(NamedTuple):
    """One observation."""

    round: int
    arm: int  # of the standing arms, or -1
    x: FloatArray  # [d]
    y: float
    propensity: float  # NaN if it is not known


def entries_of(log: object, arms: Arms, model: RewardModel) -> list[LogEntry]:
    """Return the entries of a `Log`, of its first three columns, or of a frame."""
    if is_frame(log):
        log = log_of_frame(log, arms)
    if not isinstance(log, tuple) or len(log) not in (3, 5):
        expected = "a Log of (round, features, reward, arm, propensity), or a frame"
        raise WrongType("log", log, expected)
    rounds = each("log.round", sequence("log.round", log[0], "whole numbers"), whole, 0, LAST_ROUND)
    rewards = as_rewards("log.reward", log[2], model.as_reward)
    dim, count = arms.dim, len(rewards)
    features = features_of(log[1], dim) if count else np.zeros((len(np.atleast_1d(log[1])), dim))
    features.setflags(write=False)
    numbers, known = log[3:] if len(log) == 5 else ([UNNUMBERED] * count, [math.nan] * count)
    last = UNNUMBERED if arms.rows is None else len(arms.rows) - 1
    chosen = each("log.arm", sequence("log.arm", numbers, "whole numbers"), whole, UNNUMBERED, last)
    propensities = each("log.propensity", sequence("log.propensity", known, "numbers"), probability)
    lengths = len(rounds), len(features), count, len(chosen), len(propensities)
    if len(set(lengths)) != 1:
        raise InvalidArgument("log", lengths, "columns of the same length")
    first = dict(zip(reversed(rounds), range(count - 1, -1, -1), strict=True))
    again = next((place for place, round in enumerate(rounds) if first[round] < place), None)
    if again is not None:
        raise InvalidArgument(f"log.round[{again}]", rounds[again], "each round at most once")
    if arms.rows is not None:
        named = np.array(chosen, np.int64)
        differ = (named != UNNUMBERED) & (arms.rows[named] != features).any(axis=1)
        for place in np.flatnonzero(differ):
            expected = f"the features of arm {chosen[place]}"
            raise InvalidArgument(f"log.features[{place}]", features[place], expected)
    return list(map(LogEntry, rounds, chosen, features, rewards, propensities))


def features_of(rows: object, dim: int) -> FloatArray:
    """Return the features of every row: [n, d]. An error names the first that is wrong."""
    try:
        return matrix("log.features", rows, dim)
    except InvalidArgument:
        if isinstance(rows, list | tuple) or (isinstance(rows, np.ndarray) and rows.ndim):
            each("log.features", list(rows), vector, dim)
        raise


def probability(argument: str, value: object) -> float:
    """Return a propensity of a log: NaN if it is not known."""
    if isinstance(value, float) and math.isnan(value):
        return value
    return number(argument, value, 0.0, 1.0)


FIELDS = {"round", "features", "reward", "arm", "propensity"}


def log_of_frame(frame: Any, arms: Arms) -> Log:
    """Return the columns of a frame of pandas or polars: see `Log`."""
    columns = dict(columns_of(frame))
    for name in ("round", "reward"):
        if name not in columns:
            expected = f"a frame with the columns round and reward, and {name} is missing"
            raise InvalidArgument("log", frame, expected)
    count = frame.shape[0]
    chosen = without_missing(columns.get("arm", np.full(count, UNNUMBERED)), UNNUMBERED)
    known = without_missing(columns.get("propensity", np.full(count, math.nan)), math.nan)
    numbers: Any = [
        int(arm) if isinstance(arm, float) and arm.is_integer() else arm for arm in chosen
    ]
    features = features_of_frame(frame, columns, arms)
    return Log(columns["round"], features, columns["reward"], numbers, known)


def features_of_frame(frame: Any, columns: dict[str, Any], arms: Arms) -> Any:
    """Return the features of every row: [n, d]."""
    if "features" in columns:
        return np.array(each("log.features", columns["features"], vector, arms.dim))
    named = [(name, column) for name, column in columns.items() if name not in FIELDS]
    if named:
        expected = f"{arms.dim} columns of features, besides {', '.join(sorted(FIELDS))}"
        if len(named) != arms.dim:
            raise InvalidArgument("log", frame, f"{expected}, not {len(named)}")
        found = [column_array("log.features", column, expected, name) for name, column in named]
        return np.column_stack(found)
    if arms.rows is None or "arm" not in columns:
        ways = "a column of lists, columns of numbers, or the numbers of standing arms"
        raise InvalidArgument("log", frame, f"features: {ways}")
    last = len(arms.rows) - 1
    numbers = each("log.arm", sequence("log.arm", columns["arm"], "whole numbers"), whole, 0, last)
    return arms.rows[numbers]


def without_missing(values: Any, instead: float) -> Any:
    """Return a column with a number in place of what is missing: None, NaN or NA.

    That is an arm without a number or a propensity that was not asked for.
    """
    return [instead if is_missing(value) else value for value in values]


def is_missing(value: Any) -> bool:
    """Return True for None, NaN or pandas' NA, whose comparison is not even a truth."""
    unequal = value is None or value != value
    return not isinstance(unequal, bool | np.bool_) or bool(unequal)
