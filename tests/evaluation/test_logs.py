"""Logs of every kind are read the same; what cannot be one is refused with the column and what was
expected."""

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


def of_shares(log, target="uniform", **options):
    """Evaluate rows or a log whose rewards are in [0, 1]."""
    log = pl.DataFrame(log, strict=False) if isinstance(log, dict) else log
    return es.evaluate(log, target, **{"low": 0, "high": 1} | options)


def warning(found, start):
    (text,) = (text for text in found.warnings if text.startswith(start))
    return text


@pytest.fixture(scope="module")
def log():
    frame = World(1).log(300, 2)
    contexts = [json.dumps({"x": row}) for row in frame["context"].to_list()]
    return frame.with_columns(context=pl.Series(contexts))


def test_files_and_frames_give_the_same_numbers(log, tmp_path):
    expected = repr(of_shares(log).to_dict())
    log.write_parquet(tmp_path / "log.parquet")
    log.write_ndjson(tmp_path / "log.jsonl")
    pandas = pd.DataFrame({name: log[name].to_list() for name in log.columns})
    for source in (log.lazy(), tmp_path / "log.parquet", str(tmp_path / "log.jsonl"), pandas):
        assert repr(of_shares(source).to_dict()) == expected


def test_nan_in_a_frame_of_pandas_is_a_missing_reward():
    rows = PLAIN | {"reward": [None, *PLAIN["reward"][1:]]}
    found = of_shares(pd.DataFrame(rows))
    assert found.rows == 199 and repr(found.to_dict()) == repr(of_shares(rows).to_dict())


def test_columns_of_a_csv_are_renamed(tmp_path):
    names = {"action": "arm", "reward": "clicked"}
    pd.DataFrame(PLAIN).rename(columns=names).to_csv(tmp_path / "log.csv")
    assert of_shares(tmp_path / "log.csv", "action:a", columns=names)["ips"].value == 1.0
    taken = PLAIN | {"reward": [9.0] * 200, "clicked": PLAIN["reward"]}
    found = of_shares(taken, "action:a", columns={"reward": "clicked"})
    assert found["ips"].value == 1.0


def test_a_context_is_made_of_several_columns(tmp_path):
    spread = pl.DataFrame(PLAIN | {"age": [20, 40, 60, 80] * 50, "word": ["x", "y"] * 100})
    spread.write_csv(tmp_path / "log.csv")

    def rule(contexts):
        return ["a" if each["age"] < 50 and each["word"] == "x" else "b" for each in contexts]

    whole = spread.with_columns(context=pl.struct("age", "word"))
    expected = repr(of_shares(whole, rule, segments="word").to_dict())
    for source in (spread, tmp_path / "log.csv"):
        found = of_shares(source, rule, segments="word", columns={"context": ["age", "word"]})
        assert repr(found.to_dict()) == expected


@pytest.mark.parametrize("name", ["late.csv", "late.jsonl"])
def test_types_of_a_file_are_those_of_all_its_rows(name, tmp_path):
    """Beyond the first hundred rows too: propensities below 1, a field that contexts did not
    have."""
    early = {"action": "a", "propensity": 1, "reward": 1, "age": None, "context": {"x": 1}}
    late = {"action": "b", "propensity": 0.5, "reward": 0, "age": 3.5, "context": {"x": 1, "y": 2}}
    rows, seen = [early] * 150 + [late] * 50, []
    if name.endswith("csv"):
        pl.DataFrame(rows, infer_schema_length=None).drop("context").write_csv(tmp_path / name)
        options, expected = {"columns": {"context": ["age"]}}, {"age": 3.5}
    else:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        options, expected = {}, {"x": 1, "y": 2}
    of_shares(tmp_path / name, lambda x: seen.extend(x) or ["a"] * len(x), **options)
    assert seen[-1] == expected


def test_the_logged_policy_needs_propensities_of_chosen_actions_only():
    found = of_shares(PLAIN | {"propensity": [0.9, 0.1] * 100}, "logged")
    values = [found[name].value for name in ("ips", "snips", "dr")]
    assert [*values, found.logged, found.lift.value] == pytest.approx([0.5] * 4 + [0.0])
    assert found.effective_rows == 200 and found["dr"].low < 0.5 < found["dr"].high
    warnings = " ".join(found.warnings)
    assert "least_propensity" not in warnings and "never made" not in warnings


def test_booleans_are_rewards():
    clicks = [bool(reward) for reward in PLAIN["reward"]]
    found = es.evaluate(pl.DataFrame(PLAIN | {"reward": clicks}), "action:b")
    assert found["ips"].value == 0.0


def test_numbers_agree_with_their_noun():
    rows = {"action": ["a", "b"], "propensity": [0.5, 0.5], "reward": [1.0, None]}
    found = of_shares(rows)
    assert warning(found, "left out: 1 row without a reward; ")
    assert repr(found).startswith("uniform on 1 row, which")


def of_three(shares, logged, rows=6000):
    """As many rows of actions a, b, c as `shares` says, with propensities that may be others."""
    counts = [round(rows * share) for share in shares]
    action, propensity = np.repeat(["a", "b", "c"], counts), np.repeat(logged, counts)
    return {"action": action, "propensity": propensity, "reward": np.arange(rows) % 2}


def test_propensities_that_cannot_be_right_are_warned_of():
    """A weight above 1 is no lack of support; a weight below 1 may be either."""
    wrong = of_three([0.2, 0.5, 0.3], [1 / 3] * 3)
    for target in ("action:a", "action:c", "uniform"):
        warnings = " ".join(of_shares(wrong, target).warnings)
        assert "the mean weight of action:b is 1.5, beyond 1" in warnings
        assert "never made" not in warnings
    own = " ".join(of_shares(wrong, "action:b").warnings)
    assert "the mean weight is 1.5, beyond 1" in own
    either = of_shares(of_three([0.2, 0.5, 0.3], [0.4, 0.5, 0.3]), "action:a")
    text = warning(either, "the mean weight is 0.5, below 1 by more than chance: either the prop")
    assert "or 4" in text and "never made by the logged policy" in text


def test_right_propensities_are_not_warned_of():
    """Neither in few rows, nor where rewards are there for some actions only."""
    right = pl.DataFrame(of_three([0.2, 0.5, 0.3], [0.2, 0.5, 0.3]))
    has_reward = (pl.col("action") == "b") | (pl.col("reward") == 1)
    clicks = right.with_columns(reward=pl.when(has_reward).then("reward"))
    few = {"action": ["a"] * 3, "reward": [1, 0, 1], "propensity": [0.5] * 3}
    warnings = of_shares(right, "action:a").warnings + of_shares(few, "action:a").warnings
    assert not any("mean weight" in text for text in warnings)
    assert not any("of action:b" in text for text in of_shares(clicks, "action:a").warnings)
    rng = np.random.default_rng(0)
    chosen = rng.random(500) < 0.1
    rows = {"action": np.where(chosen, "a", "b"), "propensity": np.where(chosen, 0.1, 0.9)}
    assert of_shares(rows | {"reward": rng.random(500)}, "action:a").unsupported == 0.0


def test_a_misspelt_action_is_warned_of():
    log = pl.DataFrame(of_three([1 / 3] * 3, [1 / 3] * 3))
    is_slip = pl.int_range(6000) == 2500
    slipped = log.with_columns(action=pl.when(is_slip).then(pl.lit("bb")).otherwise("action"))
    start = "'bb' was chosen in 1 of 6,000 rows (row 2,500 is the first"
    assert warning(of_shares(slipped), start)
    rare = pl.when(pl.col("action") == "bb").then(0.001).otherwise("propensity")
    for right in (log, slipped.with_columns(propensity=rare)):
        assert not any("was chosen in" in text for text in of_shares(right).warnings)


def test_rewards_of_an_experiment_have_its_range():
    """Nothing but ones in the log: that every reward is 1 is no conclusion."""
    experiment = es.Experiment("news", actions=["a", "b"], reward=es.Reward(low=-1, high=3))
    for _ in range(20):
        experiment.reward(experiment.decide({}), 1)
    found = es.evaluate(experiment.log(), "uniform")
    assert (found.low, found.high) == (-1.0, 3.0)
    assert not any("give low" in text for text in found.warnings)
    assert found["ips"].low < 0.0 and found["ips"].value == pytest.approx(1.0, abs=0.5)
    given = of_shares(experiment.log())
    assert (given.low, given.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("rewards", "bounds"), [([1.0], (0.0, 1.0)), ([0.2, 0.3], (0.0, 1.0)), ([2.0, 5.0], (2.0, 5.0))]
)
def test_a_guessed_range_of_rewards_is_warned_of(rewards, bounds):
    log = {"action": ["a"] * 10, "propensity": [0.5] * 10, "reward": (rewards * 10)[:10]}
    found = es.evaluate(pl.DataFrame(log), "uniform")
    assert (found.low, found.high) == bounds and warning(found, "rewards are taken to lie in")


def test_bounds_hold_for_choices_that_the_log_never_made():
    """Action c is never logged: the target's half of it could earn anything from 0 to 1."""
    rows = PLAIN | {"offer": [["a", "b", "c"]] * 200, "propensities": [[0.5, 0.5, 0.0]] * 200}
    found = of_shares(rows, lambda contexts, names: [[0.5, 0.0, 0.5]] * len(contexts))
    assert found.unsupported == pytest.approx(0.5)
    assert any("never made" in text for text in found.warnings)
    for name in ("ips", "snips", "dr"):
        assert found[name].low <= 0.5 and found[name].high >= 0.99
    supported = of_shares(rows, "action:a")
    assert supported.unsupported == 0.0 and not supported.warnings
    several = [es.evaluate(pl.DataFrame(rows), f"action:{name}") for name in "ac"]
    starts = ("rewards are taken", "action:c: 100.0% of", "action:c: the weights leave 0 effective")
    for text, start in zip(warnings_of(several), starts, strict=True):
        assert text.startswith(start), "a warning names its policies unless all have it"


def grown(rows, offers):
    """Each offer for as many rows, drawn uniformly; d earns nothing, the others always 1."""
    offer = [names for names in offers for _ in range(rows)]
    action = [names[place % len(names)] for place, names in enumerate(offer)]
    shares = [[1 / len(names)] * len(names) for names in offer]
    columns = {"offer": offer, "action": action, "propensity": [row[0] for row in shares]}
    rewards = [float(name != "d") for name in action]
    return pl.DataFrame(columns | {"propensities": shares, "reward": rewards})


def test_an_action_that_came_later_is_warned_of_with_the_rows_that_offer_it():
    log = grown(600, [["a", "b"], ["a", "b", "d"]])
    (text,) = of_shares(log, "action:d").warnings
    assert text.startswith("d was not on offer in 600 of 1,200 rows, all of them before row 600")
    assert text.endswith("evaluate the rows that offer it: log[600:]")
    alone = of_shares(log[600:], "action:d")
    assert alone["ips"].value == 0.0 and not alone.warnings
    assert not of_shares(log, "action:a").warnings
    log = grown(600, [["a", "b"], ["a", "b", "d"], ["a", "b"]])
    (text,) = of_shares(log, "action:d").warnings
    assert text.startswith("d was not on offer in 1,200 of 1,800 rows: there")
    assert 'log.filter(pl.col("offer").list.contains("d"))' in text
    with pytest.raises(es.InvalidArgument, match="every row of the log offers: row 0 does not"):
        of_shares(log.drop("propensities"), "action:d")


FIRST = "is the first (counted from 0)"
OFFERS = {"offer": [["a", "b"]] * 200}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"propensity": [0.0] + [0.5] * 199},
            "log.propensity = 0.0: expected probabilities in (0, 1]",
        ),
        ({"propensity": [1.5] * 200}, f"200 of 200 rows have others, row 0 {FIRST}"),
        (
            {"propensity": [0.5] * 3 + [None, 0.5] * 98 + [0.5]},
            f"98 of 200 rows have none, row 3 {FIRST}: have it logged",
        ),
        ({"propensity": [float("nan")] + [0.5] * 199}, f"1 of 200 rows have none, row 0 {FIRST}"),
        ({"reward": [None] * 200}, "at least one row with a reward"),
        ({"reward": [float("inf")] * 200}, "log.reward"),
        ({"reward": [2.0] * 200}, "numbers from 0 to 1"),
        (
            {"reward": [0.5] * 199 + [float("nan")]},
            f"numbers of at most 1e+100; 1 of 200 rows have others, row 199 {FIRST}",
        ),
        (
            {"action": [None] + ["a"] * 199},
            f"log.action = None: expected names of actions; 1 of 200 rows have none, row 0 {FIRST}",
        ),
        ({"offer": [["a", "c"]] * 200}, "log.action = 'b'"),
        (OFFERS | {"propensities": [[0.5, 0.6]] * 200}, "whose sum is 1"),
        (OFFERS | {"propensities": [[0.4, 0.6]] * 200}, "the propensity of the action chosen"),
        (
            OFFERS | {"propensities": [[1.0]] + [[0.5, 0.5]] * 199},
            "log.propensities = [1.0]: expected lists as long as `offer`; 1 of",
        ),
    ],
)
def test_a_log_with_mistakes_is_refused(change, words):
    with pytest.raises(es.InvalidArgument) as refused:
        of_shares(PLAIN | change)
    assert words in str(refused.value)


ONE = pl.DataFrame({"action": ["a"]})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "action:z"}, "an action of the log: a, b"),
        ({"target": "best"}, "a function, a recipe, a policy or an experiment"),
        (
            {"target": "EnsembleSampling()"},
            "a policy or an experiment, itself rather than its text",
        ),
        ({"target": 7}, "a function"),
        ({"target": lambda x, names: [[1.0]] * len(x)}, "of shape (10, 2), rows by actions"),
        ({"target": lambda x, names: [[0.9, 0.9]] * len(x)}, "sum over the actions is 1"),
        (
            {"target": lambda x: [each["x"] for each in x]},
            "without it each context is None (TypeError",
        ),
        (
            {"segments": "device"},
            "a column of the log, or a field of its contexts: one of action, propensity, reward",
        ),
        ({"segments": 3}, "the name of a column, or of a field"),
        ({"interval": "wald"}, '"sequence" or "normal"'),
        ({"missing": "perhaps"}, '"cut", "drop" or "zero"'),
        ({"question": "perhaps"}, '"progressive" or "replay"'),
        ({"alarm": 0.0}, "alarm"),
        ({"least_propensity": 0.6}, "at most 0.5"),
        ({"reward_model": 7}, "a function of (contexts, names of actions)"),
        ({"columns": {"action": "arm"}}, "a column of the log"),
        ({"columns": {"context": ["arm"]}}, "a column of the log"),
        ({"columns": {"context": []}}, "a column of the log"),
        ({"columns": {"action": ["action", "reward"]}}, "a column of the log"),
        ({"columns": ["action"]}, "a dict of our names and the log's"),
        ({"log": 7}, "a frame of polars or pandas"),
        ({"log": "nothing.parquet"}, "a file that exists"),
        ({"log": "log.xlsx"}, "a file that ends in"),
        ({"log": ONE}, "missing: propensity, reward (if it has another name: columns="),
        ({"log": ONE}, "on the command line --columns propensity=NAME"),
        ({"low": 1, "high": 0}, "a number above low = 1"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    call = {"log": pl.DataFrame(PLAIN), "target": "uniform"} | arguments
    with pytest.raises(es.InvalidArgument) as refused:
        es.evaluate(call.pop("log"), call.pop("target"), **call)
    assert words in str(refused.value)


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
def test_files_that_are_no_logs_are_refused(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(es.InvalidArgument, match="log"):
        of_shares(tmp_path / name)


words = st.sampled_from(["red", "green", "blue", "a=b", ""])
plain = st.one_of(st.integers(-5, 5), st.floats(-2, 2), st.booleans(), words, st.none())
values = plain | st.lists(words, max_size=3)
names = st.sampled_from(["u", "v", "w"])
contexts = st.dictionaries(names, values | st.dictionaries(st.sampled_from(["x", "y"]), values))


@given(st.lists(contexts, min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_contexts_read_by_column_are_those_read_by_row(seen):
    series = pl.Series([json.dumps(context) for context in seen])
    columns = ContextColumns.seen_in(series)
    assert np.array_equal(columns.matrix(series), columns.matrix(seen))


def test_a_cluster_reads_the_same_rows(log, tmp_path):
    pytest.importorskip("distributed", reason="no distributed: pip install '.[cluster]'")
    log.write_parquet(tmp_path / "log.parquet")
    found = of_shares(tmp_path / "log.parquet", "action:a3", cluster="local")
    assert repr(found.to_dict()) == repr(of_shares(log, "action:a3").to_dict())


def played(count, rewarded, **reward):
    """An experiment whose decisions are rewarded with 1 where `rewarded(place)`, one a second."""
    now = [1_000_000]
    reward = es.Reward(0, 1, **reward)
    experiment = es.Experiment(
        "news", actions=["a", "b"], reward=reward, clock=lambda: now[0], seed=0
    )
    for place in range(count):
        decision = experiment.decide()
        if rewarded(place):
            experiment.reward(decision, 1)
        now[0] += 1
    return experiment, now


def test_a_log_ends_where_a_decision_waits_for_its_reward():
    """Clicks come at once and their absence after the wait: late rows with a reward are all
    clicks."""
    experiment, _ = played(400, lambda place: place % 10 == 0, wait=100, default=0)
    found = of_shares(experiment.log())
    assert found.waiting > 90 and warning(found, "left out: the last")
    assert abs(found.logged - 0.1) < 0.01
    assert of_shares(experiment.log(), missing="drop").logged > 0.11
    experiment = es.Experiment("news", actions=["a", "b"])
    experiment.decide({}, active=False)
    experiment.reward(experiment.decide({}), 1)
    assert es.evaluate(experiment.log()).rows == 1, "a decision that nobody was shown ends no log"


def test_decisions_without_a_reward_are_counted_and_explained():
    log = played(100, lambda place: place % 4 < 2)[0].log()
    text = warning(
        es.evaluate(log[1:], "uniform"), "left out: the last 98 of 99 rows, from the first"
    )
    assert "; 50 of these have no reward; " in text and "\n" not in text
    assert 'missing="zero" (--missing zero)' in text and 'missing="drop" (--missing drop)' in text
    zeros, dropped = (es.evaluate(log, missing=each) for each in ("zero", "drop"))
    assert (zeros.rows, zeros.logged, zeros.zeros) == (100, 0.5, 50)
    assert (dropped.rows, dropped.logged) == (50, 1.0)
    assert "counted as 0: 50 rows without a reward" in zeros.warnings
    expected = 'row 0 still waits for its reward, and missing="cut" ends the log there, so no row'
    with pytest.raises(es.InvalidArgument, match=expected):
        es.evaluate(log[2:], "uniform")


def test_missing_zero_counts_shown_decisions_whose_wait_is_over():
    experiment, now = played(200, lambda place: place % 4 == 0, wait=600)
    experiment.decide(active=False)
    now[0] += 3600
    log = experiment.log()
    assert set(log["outcome"]) == {"applied", "expired"}
    found = es.evaluate(log, missing="zero")
    assert (found.rows, found.logged, found.zeros, found.unrewarded) == (200, 0.25, 150, 1)
    assert "left out: 1 row without a reward (1 of them not shown)" in found.warnings
    for missing in ("cut", "drop"):
        found = es.evaluate(log, missing=missing)
        text = warning(found, "left out: 151 rows without a reward")
        assert found.rows == 50 and "--missing zero" in text


def test_without_outcomes_a_null_is_left_out_or_counted():
    rows = PLAIN | {"reward": [1.0, None] * 100}
    found = of_shares(rows)
    text = warning(found, "left out: 100 rows without a reward; ")
    assert (found.rows, found.unrewarded) == (100, 100) and 'missing="zero"' in text
    found = of_shares(rows, "logged", missing="zero")
    assert (found.rows, found.logged, found.unrewarded) == (200, 0.5, 0)
    with pytest.raises(es.InvalidArgument, match="numbers from 1 to 2, as low and high say"):
        of_shares(rows, low=1, high=2, missing="zero")


def learned_from(found):
    return [text for text in found.warnings if "learned from" in text]


def test_an_experiment_that_knows_the_rewards_of_the_log_is_warned_of():
    experiment = es.Experiment("news", actions=["a", "b"], seed=0)
    for place in range(60):
        if place == 30:
            half = experiment.replay()
        experiment.reward(experiment.decide({"x": place % 3}, id=str(place)), place % 2)
    log = experiment.log()
    (text,) = learned_from(es.evaluate(log, experiment))
    rows = "60 of these 60 rows and knows their rewards: give rows that are new to it"
    assert text == f"news has learned from {rows}"
    assert "from 30 of these 60 rows" in learned_from(es.evaluate(log, half))[0]
    assert not learned_from(es.evaluate(log[30:], half)), "it was copied before these"
    other = es.Experiment("other", actions=["a", "b"], seed=0)
    assert not learned_from(es.evaluate(log, other)), "it has no rewards"
    other.reward(other.decide({"x": 1}, id="0"), 1)
    assert not learned_from(es.evaluate(log, other)), "it has rewards of its own"
    other.learn(log.select("context", "action", "reward"))
    (text,) = learned_from(es.evaluate(log, other))
    assert text.startswith("if the policy has learned from rows of this log, it knows")


def test_only_a_sample_of_a_log_is_looked_up_in_the_experiment(monkeypatch):
    experiment = es.Experiment("news", actions=["a", "b"], seed=0)
    for place in range(700):
        experiment.reward(experiment.decide({"x": place % 3}), place % 2)
    log, looked_up, decision = experiment.log(), [], es.Experiment.decision

    def recorded(self, id):
        looked_up.append(id)
        return decision(self, id)

    monkeypatch.setattr(es.Experiment, "decision", recorded)
    (text,) = learned_from(es.evaluate(log, experiment))
    rows = "234 of 234 rows that were looked up among these 700 rows and knows"
    assert f"has learned from {rows}" in text
    assert looked_up == log["id"][::3].to_list()


def test_a_policy_that_has_learned_is_warned_of():
    policy = es.EnsembleSampling(10).start(es.FiniteArms([[1.0, 0.0], [0.0, 1.0]]), seed=0)
    rows = PLAIN | {"action": ["0", "1"] * 100}
    assert not learned_from(of_shares(rows, policy))
    policy.update(policy.decide(), 1.0)
    assert len(learned_from(of_shares(rows, policy))) == 1
