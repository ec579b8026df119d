"""The log: its schema, and its way to files of three formats and back."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ensample as es
from ensample.experiments.log.builder import log_rows
from ensample.experiments.log.dsjson import write_dsjson
from ensample.experiments.log.table import frame_of, log_schema
from experiments.places import NAMES, SMALL, News, Ticking, played
from naive.log_book import log_rows as naive_rows

DOCS = Path(__file__).parents[2] / "docs" / "log.md"


def test_schema_is_the_documented_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", DOCS.read_text(encoding="utf-8"), re.M)
    schema = pl.DataFrame(schema=log_schema()).schema
    assert [(name, kind.strip()) for name, kind in rows] == [
        (name, str(kind)) for name, kind in schema.items()
    ]
    assert es.Experiment("news", actions=NAMES).log().schema == schema


def test_row_has_all_of_a_decision(news: News) -> None:
    clock, actions = Ticking(), {"sport": {"live": True}, "politics": None, "culture": None}
    experiment = news(clock, floor=0.1, baseline=("culture", 0.2), actions=actions)
    decision = experiment.decide({"age": 31, "tags": ["tennis"]})
    clock.move(5)
    for _ in range(2):
        experiment.reward(decision, 1)
    row = experiment.log().row(0, named=True)
    expected = {
        "offer": NAMES,
        "propensities": list(decision.propensities.values()),
        "propensity": decision.propensity,
        "action": decision.action,
        "context": '{"age":31,"tags":["tennis"]}',
        "features": '{"sport":{"live":true},"politics":null,"culture":null}',
        "floor": 0.1,
        "baseline": "culture",
        "share": 0.2,
        "experiment": "news",
        "reward": 1.0,
        "outcome": "applied",
        "duplicate": 1,
        "policy_version": 0,
        "log_version": 2,
    }
    assert {name: row[name] for name in expected} == expected
    assert (row["reward_time"] - row["time"]).total_seconds() == 5


def test_log_agrees_with_the_state(news: News) -> None:
    """What the log says was learned is what the model has learned."""
    experiment = played(news, 200)
    experiment.expire()
    log = experiment.log()
    learned = log.filter(pl.col("outcome").is_in(["applied", "default"]))
    assert len(learned) == experiment.version and learned["reward"].null_count() == 0
    assert log.filter(pl.col("outcome") == "waiting").height == experiment.waiting
    assert log.filter(pl.col("outcome") == "default").height == experiment.counts["default"] > 0


@pytest.mark.parametrize("rule", ["first", "sum"])
def test_log_in_pieces_and_in_files_is_that_of_the_naive_twin(
    news: News, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ensample.experiments.log.builder.PIECE", 7)
    monkeypatch.setattr("ensample.experiments.engine.READ_AT_ONCE", 5)
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 9, wait=60, default=1, rule=rule))
    rng = np.random.default_rng(0)
    decisions: list[es.NamedDecision] = []
    for _ in range(120):
        clock.move(rng.integers(40))
        decisions.append(experiment.decide({"x": 1}, active=rng.random() < 0.7))
        if rng.random() < 0.2:
            experiment.activate(decisions[rng.integers(len(decisions))])
        for _ in range(rng.integers(3)):
            one = decisions[rng.integers(max(0, len(decisions) - 9), len(decisions))]
            action = rng.choice([None, *NAMES], p=[0.7, 0.1, 0.1, 0.1])
            key = rng.choice([None, "u", "v"])
            experiment.reward(one, rng.integers(9), action=action, key=key)
        if rng.random() < 0.1:
            experiment.expire()
        if rng.random() < 0.05:
            experiment.add(f"n{len(decisions)}", {"price": 3})
    log, events = experiment.log(), list(experiment.engine.storage.read())
    assert log.equals(frame_of(naive_rows(experiment.settings, events, experiment.now())))
    assert set(log["outcome"]) == {"waiting", "applied", "default", "expired"}
    assert 3 < log["late_rewards"].list.len().sum() < log["late"].sum(), "some were sent again"
    assert log["late"].sum() > 3 and log["not_shown"].sum() > 3
    assert rule == "sum" or log["duplicate"].sum() > 3
    for kind in ("parquet", "jsonl"):
        getattr(experiment, f"to_{kind}")(tmp_path / f"log.{kind}")
        assert es.read_log(tmp_path / f"log.{kind}").equals(log)
    count = experiment.to_dsjson(tmp_path / "log.dsjson")
    assert count == log["active"].sum() == es.read_dsjson(tmp_path / "log.dsjson").height


def test_log_is_read_while_others_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends where it was asked for."""
    monkeypatch.setattr("ensample.experiments.engine.READ_AT_ONCE", 3)
    experiment = es.Experiment("news", actions=NAMES, recipe=SMALL)
    for _ in range(10):
        experiment.decide()
    rows = []
    for row in log_rows(experiment.settings, lambda: experiment.engine.events(11)):
        rows.append(row["id"])
        experiment.decide()
    assert len(rows) == 10 and experiment.log().height == 20


FOREIGN = [b"", b"PAR1 and then not", b"\xff\xfe\x00bytes", b"[1, 2]\n", b"id,time\n1,2\n"]


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.csv"])
@pytest.mark.parametrize("content", FOREIGN)
def test_foreign_files_are_refused(name: str, content: bytes, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    if (name, content) == ("log.jsonl", b""):
        assert es.read_log(file).is_empty()  # what an empty log is written as
        return
    with pytest.raises(es.InvalidArgument, match="log"):
        es.read_log(file)
    if content:
        with pytest.raises(es.InvalidArgument, match="dsjson"):
            es.read_dsjson(file)


def test_files_that_are_no_log_are_refused(news: News, tmp_path: Path) -> None:
    file, lines, log = tmp_path / "log.parquet", tmp_path / "log.jsonl", played(news, 3).log()
    lines.write_text('{"id": 1}\n')
    for frame, message in (
        (None, r"a log that was written .*, and is there"),
        (pl.DataFrame({"id": ["a"]}), "the columns log_version, time"),
        (log.with_columns(log_version=pl.lit(3, pl.Int32)), "a log of version 1 to 2, not 3"),
        (log.with_columns(pl.col("reward").cast(pl.String)), "reward is Float64, not String"),
    ):
        if frame is not None:
            frame.write_parquet(file)
        with pytest.raises(es.InvalidArgument, match=message):
            es.read_log(file)
    with pytest.raises(es.InvalidArgument, match="lines of a log"):
        es.read_log(lines)


KEYS = (
    "_label_cost _label_probability _label_Action _labelIndex o Timestamp Version EventId a c p "
    "VWState"
)
PERSONALIZER: dict[str, Any] = {
    "_label_cost": -1.0,
    "_label_probability": 0.8,
    "_label_Action": 2,
    "_labelIndex": 1,
    "o": [{"v": 1.0, "EventId": "75d50657", "ActionTaken": False}],
    "Timestamp": "2021-01-19T21:04:18.1234567Z",
    "Version": "1",
    "EventId": "75d50657",
    "a": [2, 1, 3],
    "c": {
        "FromUrl": [{"timeOfDay": "morning", "age": 31}],
        "_multi": [
            {"_tag": "pasta", "i": {"constant": 1, "id": "pasta"}, "j": [{"spice": 0.2}]},
            {"_tag": "juice", "i": {"constant": 1, "id": "juice"}, "j": [{"spice": 0}]},
            {"i": {"constant": 1}, "j": []},
        ],
    },
    "p": [0.8, 0.15, 0.05],
    "VWState": {"m": "ff0744c1aa494e1ab39ba0c78d048146/550c12cbd3aa47f09fbed3387fb9c6ec"},
}
DANGLING = {"RewardValue": 1.0, "EnqueuedTimeUtc": "2021-01-19T21:04:18Z", "EventId": "75d50657"}
SKIPPED = PERSONALIZER | {"EventId": "never", "_skipLearn": True}


@pytest.fixture(scope="module")
def varied() -> pl.DataFrame:
    """Return a log of actions with and without features, and contexts of every kind."""
    short, tagged = {"length": 3, "kind": "short"}, {"tags": ["x", "y"]}
    features = {"sport": short, "a b:c|d": None, "política": tagged}
    experiment = es.Experiment("news", actions=features, seed=3)
    person = {"age": 31, "device": "phone", "tags": ["tennis", "tea"], "user": {"z": None}}
    contexts: list[Any] = [person, {}, [0.5, 2.0], None]
    for place in range(40):
        time = 1_700_000_000 + place + 0.25
        decision = experiment.decide(contexts[place % 4], id=f"visit {place}", time=time)
        if place % 3:
            experiment.reward(decision, (place % 5) / 4, time=1_700_000_100)
    experiment.decide({}, id="never shown", active=False, time=1_700_000_050)
    return experiment.log()


def test_dsjson_comes_back_as_it_was(varied: pl.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "log.dsjson"
    assert write_dsjson([varied], file) == 40
    back, shown = es.read_dsjson(file), varied.filter(varied["active"])
    same = "id time experiment policy_version offer action propensity propensities reward"
    for column in same.split():
        assert back[column].to_list() == shown[column].to_list(), column
    for column in ("context", "features"):
        for found, expected in zip(back[column], shown[column], strict=True):
            assert (json.loads(found) or None) == (json.loads(expected) or None)
    for line in file.read_text().splitlines():
        event = json.loads(line)
        assert list(event) == KEYS.split()
        assert event["a"][0] == event["_label_Action"] == event["_labelIndex"] + 1
        assert event["p"][0] == event["_label_probability"]
        assert event["_label_cost"] == (-event["o"][0]["v"] if event["o"] else 0)
        assert sum(event["p"]) == pytest.approx(1.0)


def test_dsjson_of_personalizer_is_read(tmp_path: Path) -> None:
    file = tmp_path / "theirs.dsjson"
    unlabelled = {key: value for key, value in PERSONALIZER.items() if key != "o"}
    lines = PERSONALIZER, SKIPPED, DANGLING, unlabelled | {"EventId": "other"}
    file.write_text("\n".join(map(json.dumps, lines)))
    log = es.read_dsjson(file)
    assert log["id"].to_list() == ["75d50657", "other"]
    assert log["offer"][0].to_list() == ["pasta", "juice", "3"]
    assert log["action"].to_list() == ["juice", "juice"]
    assert log["propensities"][0].to_list() == [0.15, 0.8, 0.05]
    assert log["reward"].to_list() == [1.0, 1.0]
    assert json.loads(log["context"][0]) == {"FromUrl": [{"timeOfDay": "morning", "age": 31}]}
    assert es.evaluate(file, "action:juice", low=0, high=1)["ips"].value == pytest.approx(1 / 0.8)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([PERSONALIZER | {"a": [1, 2]}], "line 1"),
        ([PERSONALIZER | {"a": [2, 2, 3]}], "expected the numbers 1 to 3"),
        ([PERSONALIZER | {"Timestamp": "yesterday"}], "line 1: ValueError"),
        ([PERSONALIZER | {"c": {}}], "_multi"),
        ([{"action": "a", "reward": 1.0}], "line 1: ValueError: it has action, reward; expected a"),
        ([PERSONALIZER, {}], "line 2: ValueError: it has no key"),
        ([DANGLING, SKIPPED], "one decision that was shown; all 2 lines are of decisions"),
    ],
)
def test_dsjson_lines_that_cannot_be_are_named(lines: list[Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.dsjson"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(es.InvalidArgument) as refused:
        es.read_dsjson(file)
    assert said in str(refused.value)
    file.write_text("")
    assert es.read_dsjson(file).is_empty()  # nothing was shown yet


VW = """
import sys, vowpalwabbit
options = f"--cb_explore_adf --dsjson --strict_parse -q CA --no_stdin -d {sys.argv[1]}"
vw = vowpalwabbit.Workspace(options, enable_logging=True)
vw.finish()
print(*vw.get_log(), sep="\\n")
"""


def test_vowpal_wabbit_reads_what_we_write(varied: pl.DataFrame, tmp_path: Path) -> None:
    """VW itself, strictly: every line is an example with a label, also those with late rewards."""
    missing = "the package vowpalwabbit is missing: pip install '.[dev]'"
    pytest.importorskip("vowpalwabbit", reason=missing)
    file = tmp_path / "log.dsjson"
    late = [{"value": 1.0, "time": varied["time"][0]}]
    kind = varied.schema["late_rewards"]
    write_dsjson([varied.with_columns(late_rewards=pl.lit(late, kind))], file)
    command = [sys.executable, "-c", VW, str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert "error" not in shown.stdout and "warning" not in shown.stdout, shown.stdout
    assert "number of examples = 40" in shown.stdout
    loss = re.search(r"^average loss = (\S+)", shown.stdout, re.M)
    assert loss is not None and float(loss[1]) < 0.0, "rewards are negative costs"
