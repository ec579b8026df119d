"""Data as people have them: booleans, Series and frames of pandas and polars. And what is wrong with others, by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import ensample as es
from conformance.policies import fingerprint

ROWS = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5], [1.0, 1.0, 0.25]])
CLICKED = np.array([[True, False], [False, True], [True, True]])

Table = Callable[[dict[str, Any]], Any]
tables = pytest.mark.parametrize(
    "table", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"]
)
RECIPE = es.EnsembleSampling(size=10, scale=0.3)


def started(arms: es.Arms | None = None) -> es.Policy:
    return RECIPE.start(arms or es.FiniteArms(ROWS), seed=3)


def mixed(table: Table) -> Any:
    """`ROWS`, with a column of booleans, one of whole numbers and one of others."""
    return table({"new": [True, False, True], "size": [0, 1, 1], "price": [0.5, -0.5, 0.25]})


def test_booleans_are_rewards_and_features() -> None:
    told, numbered = started(es.ChangingArms(2)), started(es.ChangingArms(2))
    for reward in (True, np.True_, False, np.bool_(False)):
        told.update(told.decide(CLICKED), reward)
        numbered.update(numbered.decide(CLICKED.astype(float)), float(reward))
    told.update_many([[True, False], CLICKED[1]], [True, False])
    numbered.update_many([[1.0, 0.0], [0.0, 1.0]], np.array([1.0, 0.0]))
    assert fingerprint(told) == fingerprint(numbered)


@tables
def test_frames_are_arms(table: Table) -> None:
    np.testing.assert_array_equal(es.FiniteArms(mixed(table)).features, ROWS)
    policy, twin = started(es.ChangingArms(3)), started(es.ChangingArms(3))
    for _ in range(5):
        decision = policy.decide(mixed(table), propensity=True)
        other = twin.decide(ROWS, propensity=True)
        policy.update(decision, 1.0)
        twin.update(other, 1.0)
    assert fingerprint(policy) == fingerprint(twin)
    np.testing.assert_array_equal(policy.propensities(mixed(table)), twin.propensities(ROWS))


@tables
def test_series_are_rewards_and_features(table: Table) -> None:
    columns = table(
        {
            "arm": [2, 0, 1],
            "reward": [1, 0, 1],
            "clicked": [True, False, True],
            "x": [0.5, 0.25, 1.0],
        }
    )
    policy, twin = started(), started()
    for name in ("reward", "clicked", "x"):
        policy.update_many(columns["arm"], columns[name])
        twin.update_many([2, 0, 1], np.asarray(columns[name], dtype=float))
    policy.update(columns["x"], columns["clicked"][0])
    twin.update([0.5, 0.25, 1.0], 1.0)
    policy.update(mixed(table)[:1], 0.5)  # a frame of one row
    twin.update(ROWS[0], 0.5)
    assert fingerprint(policy) == fingerprint(twin)


def test_nullable_columns_without_missing_values() -> None:
    frame = pandas.DataFrame({"a": [True, False], "b": [1, 2]}).astype(
        {"a": "boolean", "b": "Int64"}
    )
    np.testing.assert_array_equal(es.FiniteArms(frame).features, [[1.0, 1.0], [0.0, 2.0]])


def logged(policy: es.Policy, rounds: int = 6) -> es.Log:
    for t in range(rounds):
        policy.update(policy.decide(propensity=t % 2 == 0), t % 3 == 0)
    return policy.log()


@tables
def test_a_log_may_be_a_frame(table: Table) -> None:
    policy = started()
    log = logged(policy)
    named = {"round": log.round, "arm": log.arm, "reward": log.reward, "propensity": log.propensity}
    unknown = [None if np.isnan(p) else p for p in log.propensity.tolist()]
    columns = {f"x{i}": log.features[:, i] for i in range(3)}
    lists = {"features": log.features.tolist()}
    for frame in (
        table(named),
        table({**named, "propensity": unknown}),
        table({**columns, **named}),
        table({**named, **lists}),
    ):
        again = RECIPE.replay(es.FiniteArms(ROWS), frame, seed=3)
        assert fingerprint(again) == fingerprint(policy)
    fields = (table(named)["round"], table(columns), table(named)["reward"])
    np.testing.assert_array_equal(
        RECIPE.replay(es.FiniteArms(ROWS), fields, seed=3).mean, policy.mean
    )


@tables
def test_an_arm_without_a_number_is_missing_in_a_frame(table: Table) -> None:
    """pandas makes the column one of doubles then."""
    policy = started()
    policy.update(policy.decide(), 1.0)
    policy.update([0.5, 0.25, 1.0], 0.5)
    log = policy.log()
    numbers = [None if arm < 0 else arm for arm in log.arm.tolist()]
    named = {
        "round": log.round,
        "arm": numbers,
        "reward": log.reward,
        "features": log.features.tolist(),
    }
    assert None in numbers
    assert fingerprint(RECIPE.replay(es.FiniteArms(ROWS), table(named), seed=3)) == fingerprint(
        policy
    )


@tables
def test_a_series_of_lists_is_a_matrix(table: Table) -> None:
    np.testing.assert_array_equal(es.FiniteArms(table({"x": ROWS.tolist()})["x"]).features, ROWS)
    for wrong in ([[1.0, 0.0], [1.0]], [["a"], ["b"]]):
        with pytest.raises(es.WrongType, match=r"not dtype (List\((Float64|String)\)|object)$"):
            es.FiniteArms(table({"x": wrong})["x"])


@tables
def test_bad_logs_in_frames(table: Table) -> None:
    good = {"round": [0, 1], "arm": [0, 1], "reward": [1.0, 0.0]}
    for columns, match in [
        (
            {name: good[name] for name in ("round", "arm")},
            r"log = DataFrame of shape .*: .* and reward is missing$",
        ),
        ({**good, "arm": [0, 3]}, r"log.arm\[1\] = 3: "),
        (
            {**good, "reward": [1.0, float("nan")]},
            r"log.reward(\[1\] = nan| = .* 1 are, the first in row 1$)",
        ),
        ({**good, "reward": ["a", "b"]}, r"log.reward = .*not dtype (str|String|object)"),
        ({**good, "round": [0.5, 1.0]}, r"log.round\[0\] = 0.5 "),
        ({**good, "x0": [1.0, 1.0]}, r"log = .*: expected 3 columns of features, .*, not 1$"),
        ({"round": [0, 1], "reward": [1.0, 0.0]}, r"log = .*: expected features"),
        (
            {**good, "features": [[1.0], [2.0]]},
            r"log.features\[0\] = .*: expected a vector of 3 numbers, not shape",
        ),
    ]:
        with pytest.raises(es.InvalidArgument, match=match):
            RECIPE.replay(es.FiniteArms(ROWS), table(columns), seed=3)


def pandas_frame(column: Any) -> Any:
    return pandas.DataFrame({"a": [1.0], "b": column, "c": [1]})


DTYPES = [
    (np.array([["a", "b", "c"]]), r"not dtype <U1$"),
    ([["a", "b", "c"]], r"not dtype <U1$"),
    (np.array([[None, 1.0, 2.0]]), r"not dtype object$"),
    (np.ones((2, 3), complex), r"not dtype complex128$"),
    (np.zeros((2, 3), "M8[D]"), r"not dtype datetime64\[D\]$"),
    (np.zeros((2, 3), "m8[s]"), r"not dtype timedelta64\[s\]$"),
    (np.ma.ones((2, 3)), r"not a masked array$"),
    (pandas_frame(["x"]), r"not dtype (str|object) in column 'b'$"),
    (polars.DataFrame({"a": [1.0], "b": ["x"], "c": [1.0]}), r"not dtype String in column 'b'$"),
    (
        polars.DataFrame({"a": [1.0, 1.0], "b": [2, None], "c": [1.0, 1.0]}),
        r"none of them missing: 1 are in column 'b', the first in row 1$",
    ),
    (
        pandas_frame(pandas.array([None], "Int64")),
        r"none of them missing: 1 are in column 'b', the first in row 0$",
    ),
    (
        pandas_frame(pandas.to_datetime(["2020-01-01"])),
        r"not dtype datetime64\[.*\] in column 'b'$",
    ),
    (pandas_frame(pandas.Categorical(["x"])), r"not dtype category in column 'b'$"),
    (polars.LazyFrame({"a": [1.0]}), r"a lazy frame has none before \.collect\(\)$"),
    (polars.DataFrame({"a": [1.0], "b": [2.0]}), r"with K >= 1, not shape \(1, 2\)$"),
    (pandas.Series([1.0, 2.0, 3.0]), r"with K >= 1, not shape \(3,\)$"),
    (pandas.DataFrame(), r"not shape \(0, 0\)$"),
]


@pytest.mark.parametrize(("features", "match"), DTYPES)
def test_features_of_a_wrong_kind(features: Any, match: str) -> None:
    policy = started(es.ChangingArms(3))
    before = fingerprint(policy)
    for call in (lambda: policy.decide(features), lambda: policy.propensities(features)):
        with pytest.raises(es.InvalidArgument, match=match) as caught:
            call()
        assert str(caught.value).startswith("features = ") and "\n" not in str(caught.value)
        assert "a K x 3 array of numbers" in caught.value.expected
    assert fingerprint(policy) == before


REWARDS = [
    np.array(["a"]),
    np.array([1j]),
    np.array(["2020"], "M8[ns]"),
    np.array([None]),
    np.array([[1.0]]),
    pandas.Series(["a"]),
    pandas.Series([None], dtype="Int64"),
    pandas.Series([pandas.NA], dtype="boolean"),
    pandas.to_datetime(pandas.Series(["2020-01-01"])),
    polars.Series(["a"]),
    polars.Series([None], dtype=polars.Int64),
    polars.Series([None], dtype=polars.Boolean),
    polars.DataFrame({"reward": [1.0]}),
    [pandas.NA],
    [pandas.Timestamp("2020-01-01")],
    [np.datetime64("2020")],
    [np.timedelta64(1, "s")],
]


@pytest.mark.parametrize(
    "rewards",
    REWARDS,
    ids=lambda rewards: f"{type(rewards).__module__.split('.')[0]} {rewards!r:.20}",
)
def test_rewards_of_a_wrong_kind(rewards: Any) -> None:
    policy = started()
    decision = policy.decide()
    before = fingerprint(policy)
    for call in (
        lambda: policy.update_many([decision], rewards),
        lambda: policy.update(decision, rewards),
    ):
        with pytest.raises(
            es.InvalidArgument, match=r"^(reward|rewards|rewards\[0\]) = .*: expected "
        ):
            call()
    assert fingerprint(policy) == before


@tables
def test_observations_of_a_wrong_kind(table: Table) -> None:
    policy = started()
    before = fingerprint(policy)
    for observation, match in [
        (
            table({"a": ["x", "y", "z"]})["a"],
            r"^arm = .*: expected a vector of 3 numbers, not dtype (str|String|object)$",
        ),
        (
            table({"a": [1.0, 2.0]})["a"],
            r"^arm = Series of shape \(2,\), dtype .*not shape \(2,\)$",
        ),
        (
            mixed(table),
            r"^arm = DataFrame of shape \(3, 3\), columns \['new', 'size', 'price'\]: .*not shape \(3, 3\)$",
        ),
    ]:
        with pytest.raises(es.InvalidArgument, match=match):
            policy.update(observation, 1.0)
    assert fingerprint(policy) == before
