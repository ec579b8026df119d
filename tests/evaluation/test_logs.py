"""Logs of every kind are read the same; what cannot be one is refused with the column and what was expected."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ensample as es
from ensample.evaluation.contexts import ContextColumns
from ensample.evaluation.evaluation import warnings_of
from evaluation.logs import World

PLAIN = {"action": ["a", "b"] * 100, "propensity": [0.5] * 200, "reward": [1.0, 0.0] * 100}


@pytest.fixture(scope="module")
def log():
    frame = World(1).log(300, 2)
    return frame.with_columns(
        context=pl.Series([json.dumps({"x": row}) for row in frame["context"].to_list()])
    )


def test_files_and_frames_give_the_same(log, tmp_path):
    expected = es.evaluate(log, "uniform", low=0, high=1)
    log.write_parquet(tmp_path / "log.parquet")
    log.write_ndjson(tmp_path / "log.jsonl")
    for source in (
        log.lazy(),
        tmp_path / "log.parquet",
        str(tmp_path / "log.jsonl"),
        pd.DataFrame({name: log[name].to_list() for name in log.columns}),
    ):
        found = es.evaluate(source, "uniform", low=0, high=1)
        assert repr(found.to_dict()) == repr(expected.to_dict())


def test_what_pandas_holds_for_missing_is_missing():
    """A reward that nobody knows is no mistake, and NaN is how pandas writes it."""
    rewards = [None, *PLAIN["reward"][1:]]
    expected = es.evaluate(pl.DataFrame(PLAIN | {"reward": rewards}), "uniform", low=0, high=1)
    found = es.evaluate(pd.DataFrame(PLAIN | {"reward": rewards}), "uniform", low=0, high=1)
    assert found.rows == 199 and repr(found.to_dict()) == repr(expected.to_dict())


def test_csv_with_names_of_its_own(tmp_path):
    pd.DataFrame(PLAIN).rename(columns={"action": "arm", "reward": "clicked"}).to_csv(
        tmp_path / "log.csv"
    )
    found = es.evaluate(
        tmp_path / "log.csv",
        "action:a",
        low=0,
        high=1,
        columns={"action": "arm", "reward": "clicked"},
    )
    assert found["ips"].value == 1.0


def test_a_context_may_be_spread_over_columns(tmp_path):
    """In a file or not; the columns stay, for segments."""
    ages, words = [20, 40, 60, 80] * 50, ["x", "y"] * 100
    spread = pl.DataFrame(PLAIN | {"age": ages, "word": words})
    whole = spread.with_columns(context=pl.struct("age", "word"))
    spread.write_csv(tmp_path / "log.csv")

    def rule(contexts):
        return [
            "a" if context["age"] < 50 and context["word"] == "x" else "b" for context in contexts
        ]

    expected = es.evaluate(whole, rule, low=0, high=1, segments="word").to_dict()
    for log in (spread, tmp_path / "log.csv"):
        found = es.evaluate(
            log, rule, low=0, high=1, segments="word", columns={"context": ["age", "word"]}
        )
        assert repr(found.to_dict()) == repr(expected)


@pytest.mark.parametrize("name", ["late.csv", "late.jsonl"])
def test_what_comes_late_in_a_file_is_read_as_what_it_is(name, tmp_path):
    """Beyond the first hundred rows too: propensities that are no longer 1, a field that contexts did not have."""
    rows = [{"action": "a", "propensity": 1, "reward": 1, "age": None, "context": {"x": 1}}] * 150
    rows += [
        {"action": "b", "propensity": 0.5, "reward": 0, "age": 3.5, "context": {"x": 1, "y": 2}}
    ] * 50
    if name.endswith("csv"):
        pl.DataFrame(rows, infer_schema_length=None).drop("context").write_csv(tmp_path / name)
    else:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    seen = []

    def rule(contexts):
        seen.extend(contexts)
        return ["a"] * len(contexts)

    spread = {"columns": {"context": ["age"]}} if name.endswith("csv") else {}
    es.evaluate(tmp_path / name, rule, low=0, high=1, **spread)
    assert seen[-1] == ({"age": 3.5} if spread else {"x": 1, "y": 2})


def test_what_the_log_itself_earned_needs_no_propensities_but_those_chosen():
    rows = PLAIN | {"propensity": [0.9, 0.1] * 100}
    found = es.evaluate(pl.DataFrame(rows), low=0, high=1)
    earned = (
        found["ips"].value,
        found["snips"].value,
        found["dr"].value,
        found.logged,
        found.lift.value,
    )
    assert earned == pytest.approx((0.5, 0.5, 0.5, 0.5, 0.0)) and found.effective_rows == 200
    assert found["dr"].low < 0.5 < found["dr"].high
    assert not any(
        "least_propensity" in warning or "never made" in warning for warning in found.warnings
    )


def test_booleans_are_rewards():
    clicks = [bool(reward) for reward in PLAIN["reward"]]
    assert es.evaluate(pl.DataFrame(PLAIN | {"reward": clicks}), "action:b")["ips"].value == 0.0


def test_one_row_is_said_as_one():
    rows = {"action": ["a", "b"], "propensity": [0.5, 0.5], "reward": [1.0, None]}
    found = es.evaluate(pl.DataFrame(rows), "uniform", low=0, high=1)
    assert any(
        text.startswith("left out: 1 row without a reward; ") for text in found.warnings
    ) and repr(found).startswith("uniform on 1 row, which")


def test_rows_without_a_reward_are_left_out_and_said():
    rewards = [1.0, None] * 100
    found = es.evaluate(pl.DataFrame(PLAIN | {"reward": rewards}), "uniform", low=0, high=1)
    assert (found.rows, found.unrewarded) == (100, 100)
    assert any("100 rows without a reward" in warning for warning in found.warnings)


def test_propensities_that_cannot_be_those_of_the_log_are_said():
    """Drawn with 0.8 and logged as 0.5: weights of 1.6 on average. The negative control logs what it drew."""
    rng = np.random.default_rng(0)
    first = rng.random(1000) < 0.8
    rows = {"action": np.where(first, "a", "b"), "reward": rng.random(1000) < 0.3}
    wrong = es.evaluate(
        pl.DataFrame(rows | {"propensity": np.full(1000, 0.5)}), "action:a", low=0, high=1
    )
    assert any(
        "the mean weight is 1.5" in warning or "the mean weight is 1.6" in warning
        for warning in wrong.warnings
    )
    right = es.evaluate(
        pl.DataFrame(rows | {"propensity": np.where(first, 0.8, 0.2)}), "action:a", low=0, high=1
    )
    few = es.evaluate(
        pl.DataFrame({"action": ["a"] * 3, "reward": [1, 0, 1], "propensity": [0.5] * 3}),
        "action:a",
    )
    assert not any("mean weight" in warning for found in (right, few) for warning in found.warnings)


def shares_of_three(rows: int, shares: list[float], logged: list[float]) -> pl.DataFrame:
    """As many rows of each action as its share says, with propensities that may be others."""
    counts = [round(rows * share) for share in shares]
    action = np.repeat(["a", "b", "c"], counts)
    return pl.DataFrame(
        {"action": action, "propensity": np.repeat(logged, counts), "reward": np.arange(rows) % 2}
    )


def test_propensities_that_are_wrong_are_not_taken_for_a_lack_of_choices():
    """a has too little weight and b too much: of the former alone it could be that a was not always possible."""
    wrong = shares_of_three(5000, [0.2, 0.5, 0.3], [1 / 3] * 3)
    for target in ("action:a", "action:c", "uniform"):
        warnings = " ".join(es.evaluate(wrong, target, low=0, high=1).warnings)
        assert (
            "the mean weight of action:b is 1.5, beyond 1" in warnings
            and "never made" not in warnings
        )
    clicks = wrong.with_columns(
        propensity=pl.Series(np.repeat([0.2, 0.5, 0.3], [1000, 2500, 1500]))
    )
    clicks = clicks.with_columns(
        reward=pl.when((pl.col("action") == "b") | (pl.col("reward") == 1)).then("reward")
    )
    assert not any(
        "of action:b" in text for text in es.evaluate(clicks, "action:a", low=0, high=1).warnings
    ), "all were drawn"
    right = shares_of_three(5000, [0.2, 0.5, 0.3], [0.2, 0.5, 0.3])
    assert not any(
        "mean weight" in warning
        for warning in es.evaluate(right, "action:a", low=0, high=1).warnings
    )
    either = shares_of_three(5000, [0.2, 0.5, 0.3], [0.4, 0.5, 0.3])
    (said,) = (
        text
        for text in es.evaluate(either, "action:a", low=0, high=1).warnings
        if "mean weight" in text
    )
    assert said.startswith(
        "the mean weight is 0.5, below 1 by more than chance: either the propensities are not"
    )
    assert "or 4" in said and "never made by the logged policy" in said


def test_a_name_with_a_slip_of_the_pen_is_said():
    log = shares_of_three(6000, [1 / 3] * 3, [1 / 3] * 3)
    slipped = log.with_columns(
        pl.when(pl.int_range(6000) == 2500).then(pl.lit("bb")).otherwise("action").alias("action")
    )
    said = es.evaluate(slipped, "uniform", low=0, high=1).warnings
    assert any(
        text.startswith("'bb' was chosen in 1 of 6,000 rows (row 2,500 is the first")
        for text in said
    )
    assert not any(
        "was chosen in" in text for text in es.evaluate(log, "uniform", low=0, high=1).warnings
    )
    rare = pl.when(pl.col("action") == "bb").then(0.001).otherwise("propensity").alias("propensity")
    assert not any(
        "was chosen in" in text
        for text in es.evaluate(slipped.with_columns(rare), low=0, high=1).warnings
    )


def test_decisions_that_nobody_was_shown_do_not_end_a_log():
    experiment = es.Experiment("news", actions=["a", "b"])
    for round in range(40):
        if round == 5:
            experiment.decide({}, active=False)
        experiment.reward(experiment.decide({}), round % 2)
    assert es.evaluate(experiment.log(), "uniform").rows == 40
    experiment.decide({})
    assert es.evaluate(experiment.log(), "uniform").waiting == 1


def test_the_log_of_an_experiment_says_what_rewards_may_be():
    """Nothing but ones in it: that every reward is 1 is no conclusion."""
    experiment = es.Experiment("news", actions=["a", "b"], reward=es.Reward(low=-1, high=3))
    for _ in range(20):
        experiment.reward(experiment.decide({}), 1)
    found = es.evaluate(experiment.log(), "uniform")
    assert (found.low, found.high) == (-1.0, 3.0) and not any(
        "give low" in warning for warning in found.warnings
    )
    assert found["ips"].low < 0.0 and found["ips"].value == pytest.approx(1.0, abs=0.5)
    given = es.evaluate(experiment.log(), "uniform", low=0, high=1)
    assert (given.low, given.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("rewards", "bounds"), [([1.0], (0.0, 1.0)), ([0.2, 0.3], (0.0, 1.0)), ([2.0, 5.0], (2.0, 5.0))]
)
def test_of_other_logs_rewards_are_guessed_and_it_is_said(
    rewards: list[float], bounds: tuple[float, float]
):
    log = {"action": ["a"] * 10, "propensity": [0.5] * 10, "reward": (rewards * 10)[:10]}
    found = es.evaluate(pl.DataFrame(log), "uniform")
    assert (found.low, found.high) == bounds
    assert any("give low and high" in warning for warning in found.warnings)


def test_a_log_without_support_says_so_and_its_bounds_still_hold():
    """Action c is never logged: the target's half of it could earn anything from 0 to 1."""
    rows = PLAIN | {"offer": [["a", "b", "c"]] * 200, "propensities": [[0.5, 0.5, 0.0]] * 200}
    found = es.evaluate(
        pl.DataFrame(rows), lambda contexts, names: [[0.5, 0.0, 0.5]] * len(contexts), low=0, high=1
    )
    assert found.unsupported == pytest.approx(0.5)
    assert any("never made" in warning for warning in found.warnings)
    for name in ("ips", "snips", "dr"):
        assert found[name].low <= 0.5
        assert found[name].high >= 0.99
    supported = es.evaluate(pl.DataFrame(rows), "action:a", low=0, high=1)
    assert supported.unsupported == 0.0
    assert not supported.warnings


def grown(rows: int, offers: list[list[str]]) -> pl.DataFrame:
    """Each offer for as many rows, drawn uniformly; d earns nothing, the others always 1."""
    offer = [names for names in offers for _ in range(rows)]
    action = [names[place % len(names)] for place, names in enumerate(offer)]
    shares = [[1 / len(names)] * len(names) for names in offer]
    rewards = [float(name != "d") for name in action]
    columns = {
        "offer": offer,
        "action": action,
        "propensity": [row[0] for row in shares],
        "propensities": shares,
    }
    return pl.DataFrame(columns | {"reward": rewards})


def test_an_action_that_came_later_is_said_with_the_rows_that_offer_it():
    """What is on offer only later cannot have earned anything before: the estimates are of two policies in turn."""
    log = grown(600, [["a", "b"], ["a", "b", "d"]])
    (warning,) = es.evaluate(log, "action:d", low=0, high=1).warnings
    assert warning.startswith(
        "d was not on offer in 600 of 1,200 rows, all of them before row 600 (counted from 0)"
    )
    assert warning.endswith("evaluate the rows that offer it: log[600:]")
    alone = es.evaluate(log[600:], "action:d", low=0, high=1)
    assert alone["ips"].value == 0.0 and not alone.warnings
    assert not es.evaluate(log, "action:a", low=0, high=1).warnings
    assert warning in es.evaluate(log, "action:d", low=0, high=1).to_dict()["warnings"]


def test_an_action_that_comes_and_goes_is_said_too():
    log = grown(600, [["a", "b"], ["a", "b", "d"], ["a", "b"]])
    (warning,) = es.evaluate(log, "action:d", low=0, high=1).warnings
    assert warning.startswith("d was not on offer in 1,200 of 1,800 rows: there")
    offering = log.filter(pl.col("offer").list.contains("d"))
    assert 'log.filter(pl.col("offer").list.contains("d"))' in warning
    assert not es.evaluate(offering, "action:d", low=0, high=1).warnings
    with pytest.raises(es.InvalidArgument, match="every row of the log offers: row 0 does not"):
        es.evaluate(log.drop("propensities"), "action:d", low=0, high=1)


def test_a_warning_names_its_policies_unless_all_have_it():
    rows = PLAIN | {"offer": [["a", "b", "c"]] * 200, "propensities": [[0.5, 0.5, 0.0]] * 200}
    found = [
        es.evaluate(pl.DataFrame(rows), target) for target in ("action:a", "action:c", "uniform")
    ]
    begun = (
        "rewards are taken",
        "action:c: 100.0% of",
        "action:c: the weights leave 0 effective",
        "uniform: 33.3% of",
    )
    assert all(
        text.startswith(begin) for text, begin in zip(warnings_of(found), begun, strict=True)
    )
    assert warnings_of(found[1:2]) == found[1].warnings


FIRST = "is the first (counted from 0)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"propensity": [0.0] + [0.5] * 199},
            "log.propensity = 0.0: expected probabilities in (0, 1]",
        ),
        (
            {"propensity": [1.5] * 200},
            "200 of 200 rows have others, row 0 is the first (counted from 0)",
        ),
        ({"reward": [None] * 200}, "at least one row with a reward"),
        ({"reward": [float("inf")] * 200}, "log.reward"),
        ({"reward": [2.0] * 200}, "numbers from 0 to 1"),
        ({"offer": [["a", "b"]] * 200, "propensities": [[0.5, 0.6]] * 200}, "whose sum is 1"),
        (
            {"offer": [["a", "b"]] * 200, "propensities": [[0.4, 0.6]] * 200},
            "the propensity of the action chosen",
        ),
        ({"offer": [["a", "c"]] * 200}, "log.action = 'b'"),
        (
            {"propensity": [0.5] * 3 + [None, 0.5] * 98 + [0.5]},
            f"98 of 200 rows have none, row 3 {FIRST}: have it logged, or leave",
        ),
        ({"propensity": [float("nan")] + [0.5] * 199}, f"1 of 200 rows have none, row 0 {FIRST}"),
        (
            {"reward": [0.5] * 199 + [float("nan")]},
            f"log.reward = nan: expected finite numbers of at most 1e+100; 1 of 200 rows have others, row 199 {FIRST}",
        ),
        (
            {"action": [None] + ["a"] * 199},
            f"log.action = None: expected names of actions; 1 of 200 rows have none, row 0 {FIRST}",
        ),
        (
            {"offer": [["a", "b"]] * 200, "propensities": [[1.0]] + [[0.5, 0.5]] * 199},
            "log.propensities = [1.0]: expected lists as long as `offer`; 1 of",
        ),
    ],
)
def test_what_cannot_be_a_log_is_refused(change, said):
    rows = {name: values for name, values in (PLAIN | change).items()}
    with pytest.raises(es.InvalidArgument) as refused:
        es.evaluate(pl.DataFrame(rows, strict=False), "uniform", low=0, high=1)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("given_to", "said"),
    [
        ({"target": "action:z"}, "an action of the log: a, b"),
        ({"target": "best"}, "a function, a recipe, a policy or an experiment"),
        (
            {"target": "EnsembleSampling()"},
            "a recipe, a policy or an experiment, itself rather than its text",
        ),
        ({"target": 7}, "a function"),
        (
            {"target": lambda contexts, names: [[1.0]] * len(contexts)},
            "of shape (10, 2), rows by actions",
        ),
        (
            {"target": lambda contexts, names: [[0.9, 0.9]] * len(contexts)},
            "sum over the actions is 1",
        ),
        (
            {"segments": "device"},
            "a column of the log, or a field of its contexts: one of action, propensity, reward",
        ),
        ({"segments": 3}, "the name of a column, or of a field"),
        ({"interval": "wald"}, '"sequence" or "normal"'),
        ({"alarm": 0.0}, "alarm"),
        ({"least_propensity": 0.6}, "at most 0.5"),
        ({"missing": "perhaps"}, '"cut", "drop" or "zero"'),
        ({"columns": {"action": "arm"}}, "a column of the log"),
        ({"columns": {"context": ["arm"]}}, "a column of the log"),
        ({"columns": {"context": []}}, "a column of the log"),
        ({"columns": {"action": ["action", "reward"]}}, "a column of the log"),
        (
            {"target": lambda contexts: [context["x"] for context in contexts]},
            "without it each context is None (TypeError",
        ),
        ({"log": 7}, "a frame of polars or pandas"),
        ({"log": "nothing.parquet"}, "a file that exists"),
        ({"log": "log.xlsx"}, "a file that ends in"),
        (
            {"log": pl.DataFrame({"action": ["a"]})},
            "missing: propensity, reward (if it has another name: columns=",
        ),
        ({"log": pl.DataFrame({"action": ["a"]})}, "on the command line --columns propensity=NAME"),
    ],
)
def test_bad_arguments_are_named(given_to, said):
    call = {"log": pl.DataFrame(PLAIN), "target": "uniform"} | given_to
    with pytest.raises(es.InvalidArgument) as refused:
        es.evaluate(call.pop("log"), call.pop("target"), **call)
    assert said in str(refused.value)


words = st.sampled_from(["red", "green", "blue", "a=b", ""])
values = st.one_of(
    st.integers(-5, 5),
    st.floats(-2, 2),
    st.booleans(),
    words,
    st.lists(words, max_size=3),
    st.none(),
)
contexts = st.dictionaries(
    st.sampled_from(["u", "v", "w"]),
    st.one_of(values, st.dictionaries(st.sampled_from(["x", "y"]), values)),
)


@given(st.lists(contexts, min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_contexts_read_by_column_are_those_read_by_row(seen):
    series = pl.Series([json.dumps(context) for context in seen])
    columns = ContextColumns.seen_in(series)
    assert np.array_equal(columns.matrix(series), columns.matrix(seen))


def test_a_cluster_reads_the_same(log, tmp_path):
    pytest.importorskip(
        "distributed", reason="the package distributed is missing: pip install '.[cluster]'"
    )
    log.write_parquet(tmp_path / "log.parquet")
    found = es.evaluate(tmp_path / "log.parquet", "action:a3", low=0, high=1, cluster="local")
    assert repr(found.to_dict()) == repr(es.evaluate(log, "action:a3", low=0, high=1).to_dict())


def test_a_log_under_way_ends_where_rewards_are_still_to_come():
    """Clicks come at once and their absence after the wait: the rows rewarded so far would all be clicks."""
    end = 1_000_399
    experiment = es.Experiment(
        "news", actions=["a", "b"], reward=es.Reward(0, 1, wait=100, default=0), clock=lambda: end
    )
    for place in range(400):
        decision = experiment.decide(time=1_000_000 + place)
        if place % 10 == 0:
            experiment.reward(decision, 1, time=1_000_000 + place)
    found = es.evaluate(experiment.log(), "uniform", low=0, high=1)
    assert found.waiting > 90 and any(
        "waits for its reward" in warning for warning in found.warnings
    )
    assert abs(found.logged - 0.1) < 0.01
    assert es.evaluate(experiment.log(), "uniform", low=0, high=1, missing="drop").logged > 0.11


def test_a_log_without_a_wait_says_how_much_it_leaves_out_and_what_to_do():
    experiment = es.Experiment("news", actions=["a", "b"], reward=es.Reward(0, 1), seed=0)
    for place in range(100):
        decision = experiment.decide()
        if place % 4 < 2:
            experiment.reward(decision, 1)
    log = experiment.log()
    (said,) = (text for text in es.evaluate(log[1:], "uniform").warnings if "left out" in text)
    assert said.startswith(
        "left out: the last 98 of 99 rows, from the first decision that waits for its reward on; "
    )
    assert "; 50 of these have no reward; " in said
    assert (
        'missing="zero" (--missing zero)' in said
        and 'missing="drop" (--missing drop)' in said
        and "\n" not in said
    )
    zeros, dropped = (es.evaluate(log, "logged", missing=each) for each in ("zero", "drop"))
    assert (zeros.rows, zeros.logged, zeros.zeros) == (100, 0.5, 50) and (
        dropped.rows,
        dropped.logged,
    ) == (50, 1.0)
    assert "counted as 0: 50 rows without a reward" in zeros.warnings
    expected = r'row 0 still waits for its reward, and missing="cut" ends the log there, so no row is left: .*--missing zero'
    with pytest.raises(es.InvalidArgument, match=expected):
        es.evaluate(log[2:], "uniform")


def test_missing_zero_counts_decisions_whose_wait_is_over_without_a_reward():
    now = [0]
    experiment = es.Experiment(
        "news", actions=["a", "b"], reward=es.Reward(0, 1, wait=60), clock=lambda: now[0]
    )
    for place in range(200):
        decision = experiment.decide()
        if place % 4 == 0:
            experiment.reward(decision, 1)
    experiment.decide(active=False)
    now[0] = 3600
    log = experiment.log()
    assert set(log["outcome"]) == {"applied", "expired"}
    found = es.evaluate(log, missing="zero")
    assert (found.rows, found.logged, found.zeros, found.unrewarded) == (200, 0.25, 150, 1)
    assert "left out: 1 row without a reward (1 of them not shown)" in found.warnings
    for missing in ("cut", "drop"):
        left = es.evaluate(log, missing=missing)
        (said,) = (text for text in left.warnings if text.startswith("left out"))
        assert (
            left.rows == 50
            and said.startswith("left out: 151 rows without a reward")
            and "--missing zero" in said
        )


def test_a_null_without_outcomes_is_left_out_and_the_warning_says_how_to_count_it():
    found = es.evaluate(pl.DataFrame(PLAIN | {"reward": [1.0, None] * 100}), low=0, high=1)
    (said,) = (
        text for text in found.warnings if text.startswith("left out: 100 rows without a reward; ")
    )
    assert found.rows == 100 and 'missing="zero" (--missing zero)' in said


def test_zero_is_a_reward_where_no_outcome_is_logged():
    rows = PLAIN | {"reward": [1.0, None] * 100}
    found = es.evaluate(pl.DataFrame(rows), low=0, high=1, missing="zero")
    assert (found.rows, found.logged, found.unrewarded) == (200, 0.5, 0)
    with pytest.raises(es.InvalidArgument, match="numbers from 1 to 2, as low and high say"):
        es.evaluate(pl.DataFrame(rows), low=1, high=2, missing="zero")


def learned_from(text: list[str]) -> list[str]:
    return [each for each in text if "learned from" in each]


def test_evaluation_warns_of_an_experiment_that_knows_the_rewards_of_the_log():
    experiment = es.Experiment("news", actions=["a", "b"], seed=0)
    half = experiment.replay()
    for place in range(60):
        if place == 30:
            half = experiment.replay()
        experiment.reward(experiment.decide({"x": place % 3}, id=str(place)), place % 2)
    log = experiment.log()
    (said,) = learned_from(es.evaluate(log, experiment).warnings)
    assert (
        said
        == "news has learned from 60 of these 60 rows and knows their rewards: give rows that are new to it"
    )
    (said,) = learned_from(es.evaluate(log, half).warnings)
    assert "from 30 of these 60 rows" in said
    assert not learned_from(es.evaluate(log[30:], half).warnings), "it was copied before these"
    for fresh in (
        es.Experiment("news", actions=["a", "b"], seed=0),
        es.Experiment("other", actions=["a", "b"], seed=0),
    ):
        assert not learned_from(es.evaluate(log, fresh).warnings), "it has no rewards"
    other = es.Experiment("other", actions=["a", "b"], seed=0)
    other.reward(other.decide({"x": 1}, id="0"), 1)
    assert not learned_from(es.evaluate(log, other).warnings), "it has rewards of its own"
    other.learn(log.select("context", "action", "reward"))
    (said,) = learned_from(es.evaluate(log, other).warnings)
    assert said.startswith("if the policy has learned from rows of this log, it knows")


def test_only_a_sample_of_a_log_is_looked_up_in_the_experiment(monkeypatch: pytest.MonkeyPatch):
    experiment = es.Experiment("news", actions=["a", "b"], seed=0)
    for place in range(700):
        experiment.reward(experiment.decide({"x": place % 3}), place % 2)
    log, looked_up, decision = experiment.log(), [], es.Experiment.decision
    monkeypatch.setattr(
        es.Experiment, "decision", lambda self, id: (looked_up.append(id), decision(self, id))[1]
    )
    (said,) = learned_from(es.evaluate(log, experiment).warnings)
    assert (
        "has learned from 234 of 234 rows that were looked up among these 700 rows and knows"
        in said
    )
    assert looked_up == log["id"][::3].to_list()


def test_evaluation_warns_of_a_policy_that_has_learned_rewards():
    policy = es.EnsembleSampling(10).start(es.FiniteArms([[1.0, 0.0], [0.0, 1.0]]), seed=0)
    log = pl.DataFrame(PLAIN).with_columns(action=pl.Series(["0", "1"] * 100))
    assert not learned_from(es.evaluate(log, policy, low=0, high=1).warnings)
    policy.update(policy.decide(), 1.0)
    assert len(learned_from(es.evaluate(log, policy, low=0, high=1).warnings)) == 1


def test_names_of_columns_may_stand_where_ours_stood():
    rows = PLAIN | {"reward": [9.0] * 200, "clicked": PLAIN["reward"]}
    found = es.evaluate(
        pl.DataFrame(rows), "action:a", low=0, high=1, columns={"reward": "clicked"}
    )
    assert found["ips"].value == 1.0


def test_weights_that_miss_1_by_chance_are_no_lack_of_support():
    rng = np.random.default_rng(0)
    chosen = rng.random(500) < 0.1
    rows = {
        "action": np.where(chosen, "a", "b"),
        "propensity": np.where(chosen, 0.1, 0.9),
        "reward": rng.random(500),
    }
    assert es.evaluate(pl.DataFrame(rows), "action:a", low=0, high=1).unsupported == 0.0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("words.csv", "action,propensity,reward\na,0.5,zero\n"),
        ("lines.jsonl", "{nothing"),
        ("corrupt.parquet", "PAR1 and then nothing"),
        ("empty.csv", ""),
        ("context.csv", "action,propensity,reward,context\na,0.5,1,{bad\n"),
        ("nulls.csv", "action,propensity,reward\n,0.5,1\n"),
        ("tiny.csv", "action,propensity,reward\na,1e-300,1\n"),
        ("missing.csv", "action,propensity,reward\na,,1\nb,0.5,0\n"),
    ],
)
def test_files_that_are_no_logs_are_named(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(es.InvalidArgument, match="log"):
        es.evaluate(tmp_path / name, "uniform", low=0, high=1)
