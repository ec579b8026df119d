"""dsjson both ways: what we write VW reads, and what VW's users have we read."""

import json
import subprocess
import sys

import polars as pl
import pytest

import ensample as es
from ensample.experiments.log.dsjson import read_dsjson, write_dsjson

KEYS = "_label_cost _label_probability _label_Action _labelIndex o Timestamp Version EventId a c p VWState"
PERSONALIZER = {
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


@pytest.fixture(scope="module")
def log():
    """Decisions with and without rewards, actions with and without features, contexts of every kind, one never shown."""
    features = {
        "sport": {"length": 3, "kind": "short"},
        "a b:c|d": None,
        "política": {"tags": ["x", "y"]},
    }
    experiment = es.Experiment("news", actions=features, seed=3)
    contexts = [
        {"age": 31, "device": "phone", "tags": ["tennis", "tea"], "user": {"old": True, "z": None}},
        {},
        [0.5, 2.0],
        None,
    ]
    for place in range(40):
        decision = experiment.decide(
            contexts[place % 4], id=f"visit {place}", time=1_700_000_000 + place + 0.25
        )
        if place % 3:
            experiment.reward(decision, (place % 5) / 4, time=1_700_000_100)
    experiment.decide({}, id="never shown", active=False, time=1_700_000_050)
    return experiment.log()


def test_a_log_comes_back_as_it_was(log, tmp_path):
    assert write_dsjson([log], tmp_path / "log.dsjson") == 40
    back = read_dsjson(tmp_path / "log.dsjson")
    shown = log.filter(log["active"])
    same = (
        "id",
        "time",
        "experiment",
        "policy_version",
        "offer",
        "action",
        "propensity",
        "propensities",
        "reward",
    )
    for column in same:
        assert back[column].to_list() == shown[column].to_list(), column
    assert [json.loads(text) or None for text in back["context"]] == [
        json.loads(text) or None for text in shown["context"]
    ]
    assert [json.loads(text) for text in back["features"]] == [
        json.loads(text) for text in shown["features"]
    ]


def test_lines_have_the_keys_of_the_format_in_its_order(log, tmp_path):
    write_dsjson([log], tmp_path / "log.dsjson")
    for line in (tmp_path / "log.dsjson").read_text().splitlines():
        event = json.loads(line)
        assert list(event) == KEYS.split()
        assert event["a"][0] == event["_label_Action"] == event["_labelIndex"] + 1
        assert event["p"][0] == event["_label_probability"]
        assert event["_label_cost"] == (-event["o"][0]["v"] if event["o"] else 0)
        assert sum(event["p"]) == pytest.approx(1.0)


def test_personalizer_logs_are_read(tmp_path):
    path = tmp_path / "theirs.dsjson"
    skipped = PERSONALIZER | {"EventId": "never", "_skipLearn": True}
    unlabelled = {key: value for key, value in PERSONALIZER.items() if key != "o"} | {
        "EventId": "other"
    }
    path.write_text("\n".join(map(json.dumps, (PERSONALIZER, skipped, DANGLING, unlabelled))))
    log = read_dsjson(path)
    assert log["id"].to_list() == ["75d50657", "other"]
    assert log["offer"][0].to_list() == ["pasta", "juice", "3"]
    assert log["action"].to_list() == ["juice", "juice"]
    assert log["propensities"][0].to_list() == [0.15, 0.8, 0.05]
    assert log["reward"].to_list() == [1.0, 1.0]
    assert json.loads(log["context"][0]) == {"FromUrl": [{"timeOfDay": "morning", "age": 31}]}
    assert es.evaluate(path, "action:juice", low=0, high=1)["ips"].value == pytest.approx(1 / 0.8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": [1, 2]}, "line 1"),
        ({"a": [2, 2, 3]}, "expected the numbers 1 to 3"),
        ({"Timestamp": "yesterday"}, "line 1: ValueError"),
        ({"c": {}}, "_multi"),
    ],
)
def test_lines_that_cannot_be_are_named(change, said, tmp_path):
    (tmp_path / "bad.dsjson").write_text(json.dumps(PERSONALIZER | change))
    with pytest.raises(es.InvalidArgument) as refused:
        read_dsjson(tmp_path / "bad.dsjson")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [{"action": "a", "reward": 1.0}],
            "line 1: ValueError: it has action, reward; expected a decision, with c, a, p and",
        ),
        ([PERSONALIZER, {}], "line 2: ValueError: it has no key"),
        (
            [DANGLING, PERSONALIZER | {"_skipLearn": True}],
            "at least one decision that was shown; all 2 lines are of decisions",
        ),
    ],
)
def test_lines_of_something_else_are_no_empty_log(lines, said, tmp_path):
    """An empty file is one: nothing was shown yet."""
    path = tmp_path / "theirs.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(es.InvalidArgument) as refused:
        read_dsjson(path)
    assert said in str(refused.value)
    path.write_text("")
    assert read_dsjson(path).is_empty()


def test_vowpal_wabbit_reads_what_we_write(log, tmp_path):
    """VW itself, strictly: every line is an example with a label, also those with late rewards."""
    pytest.importorskip(
        "vowpalwabbit", reason="the package vowpalwabbit is missing: pip install '.[dev]'"
    )
    late = pl.lit([{"value": 1.0, "time": log["time"][0]}], log.schema["late_rewards"])
    write_dsjson([log.with_columns(late_rewards=late)], tmp_path / "log.dsjson")
    code = (
        "import vowpalwabbit\n"
        f"options = '--cb_explore_adf --dsjson --strict_parse -q CA --no_stdin -d {tmp_path / 'log.dsjson'}'\n"
        "vw = vowpalwabbit.Workspace(options, enable_logging=True)\n"
        "vw.finish()\n"
        "print(*vw.get_log(), sep='\\n')\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert shown.returncode == 0, shown.stderr
    assert "error" not in shown.stdout and "warning" not in shown.stdout, shown.stdout
    assert "number of examples = 40" in shown.stdout
    (loss,) = [
        float(line.split("=")[1])
        for line in shown.stdout.splitlines()
        if line.startswith("average loss")
    ]
    assert loss < 0.0, "rewards are negative costs"
