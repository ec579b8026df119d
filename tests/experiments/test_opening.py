"""Opening experiments: what is created, what is refused, and what a failure leaves behind."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
import prompt
from ensample.client import Client
from ensample.experiments.differences import LONGEST, differences
from ensample.experiments.events import Created
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.storage.writer_lock import WriterLock
from experiments.places import NAMES, SMALL
from service.conftest import SHOP, Served, serve, shop

__all__ = ["serve", "shop"]
ONE = "/v1/experiments/shop"


def test_mistyped_path_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match=r"typo\.db.*to create one, give its actions"):
        es.open_experiment(tmp_path / "typo.db")
    assert not list(tmp_path.iterdir())
    (tmp_path / "empty.db").touch()
    with pytest.raises(es.InvalidArgument, match="to create one, give its actions"):
        es.open_experiment(tmp_path / "empty.db")


@pytest.mark.parametrize("given", [{}, {"actions": ["a", "b"]}], ids=str)
def test_folder_is_refused(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match="the file of an experiment, and this is a folder"):
        es.open_experiment(tmp_path, **given)


def test_name_is_enough_where_actions_come_with_decisions(tmp_path: Path) -> None:
    with es.open_experiment(tmp_path / "menu.db", "menu", recipe=SMALL) as menu:
        assert menu.decide(actions=["soup", "salad"]).action in ("soup", "salad")


FAILING = [{"actions": []}, {"actions": NAMES, "floor": 2}, {"actions": NAMES, "clock": 3}]


@pytest.mark.parametrize("given", FAILING)
def test_creation_that_fails_leaves_nothing(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument):
        es.open_experiment(tmp_path / "news.db", **given)
    assert not list(tmp_path.iterdir())


def test_file_has_one_writer_and_closing_leaves_the_database_alone(tmp_path: Path) -> None:
    file = tmp_path / "news.db"
    es.open_experiment(file, actions=NAMES, recipe=SMALL).close()
    with es.open_experiment(file), pytest.raises(es.InvalidArgument, match="it has one writer"):
        es.open_experiment(file)
    assert [path.name for path in tmp_path.iterdir()] == ["news.db"]


def test_lock_on_a_file_that_was_taken_away_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B opens the lock's file, A lets go of it and takes it away, C begins a new one."""
    import fcntl

    path, held = tmp_path / "e.db", []
    first, lock = WriterLock(path), fcntl.flock

    def slowly(file: object, how: int) -> None:
        if not held:
            held.append(None)
            first.release()
            held.append(WriterLock(path))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", slowly)
    with pytest.raises(es.InvalidArgument, match="one writer"):
        WriterLock(path)
    held[1].release()
    assert not list(tmp_path.iterdir())


LOCKS = """
import sys
from pathlib import Path
import ensample as es
from ensample.experiments.storage.writer_lock import WriterLock
mine = Path(sys.argv[1]).with_name("held")
for _ in range(300):
    try:
        lock = WriterLock(Path(sys.argv[1]))
    except es.InvalidArgument:
        continue
    mine.touch(exist_ok=False)  # fails where another one writes
    mine.unlink()
    lock.release()
"""


def test_of_many_processes_one_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOCKS, str(tmp_path / "e.db")]
    ended = [process.wait() for process in [subprocess.Popen(command) for _ in range(3)]]
    assert ended == [0, 0, 0] and not list(tmp_path.iterdir())


ADVICE = [(1, "`ensample migrate OLD NEW`"), (99, "update ensample")]


@pytest.mark.parametrize(("numbers", "advice"), ADVICE)
def test_experiment_of_another_version_is_refused(
    numbers: int, advice: str, tmp_path: Path
) -> None:
    file = tmp_path / "news.db"
    es.open_experiment(file, actions=NAMES, recipe=SMALL).close()
    connection = apsw.Connection(str(file))
    change = "UPDATE events SET event = json_set(event, '$.numbers', ?) WHERE seq = 0"
    connection.execute(change, (numbers,))
    connection.close()
    with pytest.raises(es.SnapshotError, match=rf"family calibrated: {numbers}, here .*{advice}"):
        es.open_experiment(file)


def test_batch_in_memory_is_whole_or_nothing() -> None:
    storage = MemoryStorage()
    with storage.batch():
        storage.append(Created(0, {}, 1))
    with pytest.raises(ZeroDivisionError), storage.batch():
        storage.append(Created(1, {}, 1))
        storage.append(Created(2, {}, 1))
        1 // 0  # noqa: B018
    assert storage.count == 1 and [event.time for event in storage.read()] == [0]


def test_decision_of_an_interrupted_batch_has_no_history() -> None:
    experiment = es.Experiment("news", actions=NAMES, recipe=SMALL)

    def fails() -> None:
        experiment.decide(id="lost")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.engine.ask(fails)
    assert experiment.reward("lost", 1) == "unknown" and experiment.log().is_empty()
    kept = experiment.decide(id="lost")
    assert experiment.log()["id"].to_list() == [kept.id]
    assert experiment.reward(kept, 1) == "applied"
    experiment.verify()


LONG = "x" * 300
CREATED = "expected what the experiment was created with"
KEPT: dict[str, Any] = {
    "actions": ["a", "b", f"{LONG}1"],
    "recipe": es.EnsembleSampling(size=10),
    "reward": es.Reward(wait="30 min", default=0),
    "features": es.Crosses(es.Columns("age", "income", "city")),
    "baseline": ("a", 0.1),
    "seed": 0,
}
OTHERS: list[tuple[str, Any, str]] = [
    ("floor", 0.5, f"floor = 0.5: {CREATED}, 0.02. Settings do not change: leave floor"),
    ("recipe", es.EnsembleSampling(size=20), f"recipe.size = 20: {CREATED}, 10."),
    ("recipe", es.LinUCB(), "recipe = LinUCB("),
    ("reward", es.Reward(wait="1 h", default=0), f"reward.wait = 3600.0: {CREATED}, 1800.0"),
    ("reward", es.Reward(wait="1 h", default=1), "; also reward.default = 1.0 instead of 0.0."),
    ("baseline", ("a", 0.2), f"baseline[1] = 0.2: {CREATED}, 0.1"),
    ("baseline", ("c", 0.1), f"baseline[0] = 'c': {CREATED}, 'a'"),
    ("actions", ["a", "c", f"{LONG}1"], "'c' is new, 'b' is missing; 2 others are the same. Leave"),
    ("actions", ["c", "b", f"{LONG}1"], "add() and remove() (over HTTP: POST .../actions)"),
    ("actions", {"a": None, "b": {"p": 3}, f"{LONG}1": None}, "actions['b'] = {'p': 3}: expected"),
    ("features", es.Crosses(es.Columns("age", "income", "town")), "'town'"),
    ("name", f"{LONG[:150]}y", "'news'"),
    ("seed", 3, f"seed = 3: {CREATED}, 0."),
]


@pytest.mark.parametrize(("name", "value", "said"), OTHERS)
def test_settings_that_differ_are_named(name: str, value: Any, said: str, tmp_path: Path) -> None:
    es.open_experiment(tmp_path / "news.db", "news", **KEPT).close()
    with pytest.raises(es.InvalidArgument) as refused:
        es.open_experiment(tmp_path / "news.db", **{name: value})
    assert said in str(refused.value) and len(str(refused.value)) < 600
    with es.open_experiment(tmp_path / "news.db", **KEPT) as experiment:
        assert experiment.events == 1


def test_long_values_are_cut_around_what_differs() -> None:
    (found,) = differences("name", f"{LONG}one{LONG}", f"{LONG}two{LONG}")
    assert "one" in found.given and "two" in found.kept and len(found.given) <= LONGEST + 8
    (found,) = differences("features.names", list("abcdefghij"), list("abcdefXhijk"))
    assert found.given == "[..., 'e', 'f', 'g', 'h', 'i', ...] (10 entries)"
    assert found.kept == "[..., 'e', 'f', 'X', 'h', 'i', ...] (11 entries)"


LEAVES = st.none() | st.integers(0, 3) | st.sampled_from(["a", "b", "x" * 100, "x" * 100 + "b"])
FIELDS = st.sampled_from(["kind", "own", "size", "a", "b"])
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=3)
)


@pytest.mark.parametrize("field", ["recipe", "actions"])
@given(one=PLAIN, other=PLAIN)
def test_whatever_differs_is_shown_to_differ(field: str, one: Any, other: Any) -> None:
    found = differences(field, one, other)
    assert bool(found) == (one != other)
    assert all(each.given != each.kept for each in found), "what differs is never cut away"


def test_service_names_settings_that_differ(shop: Served) -> None:
    refused = shop.put(ONE, json=SHOP | {"recipe": {"kind": "EnsembleSampling", "size": 11}})
    error = refused.json()["error"]
    assert refused.status_code == 409 and error["argument"] == "recipe.size"
    assert f"recipe.size = 11: {CREATED}, 10. Settings do not change" in error["message"]


SIGNS = ["\n", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066"]


@pytest.mark.parametrize("sign", SIGNS)
def test_control_characters_in_names_are_refused(sign: str) -> None:
    bad = f"a{sign}b"
    menu = es.Experiment("menu", recipe=SMALL)
    news = es.Experiment("news", actions=["a", "b"], recipe=SMALL)
    decision = news.decide(id="q")
    frame = pl.DataFrame({"age": [31], "action": [bad], "reward": [1.0]})
    calls = [
        lambda: es.Experiment(bad, actions=["a", "b"]),
        lambda: es.Experiment("news", actions=["a", bad]),
        lambda: es.Experiment("news", actions=["a", "b"], ids=lambda: bad).decide(),
        lambda: menu.decide(actions=["a", bad]),
        lambda: menu.learn(frame),
        lambda: news.decide(id=bad),
        lambda: news.add(bad),
        lambda: news.reward(bad, 1),
        lambda: news.reward(decision, 1, key=bad),
        lambda: news.reward(decision, 1, action=bad),
        lambda: news.activate(bad),
        lambda: news.decision(bad),
        lambda: news.explain(bad),
    ]
    before = news.hash, news.events, menu.events
    for call in calls:
        with pytest.raises(es.InvalidArgument, match="without control characters"):
            call()
    assert (news.hash, news.events, menu.events) == before


def test_names_in_all_scripts_are_taken() -> None:
    names = ["política", "新闻", "a b", "éx", "א‏x", "\N{SLIGHTLY SMILING FACE}"]
    experiment = es.Experiment("журнал", actions=names, recipe=SMALL)
    assert experiment.reward(experiment.decide(id="visite n° 1"), 1) == "applied"


@pytest.mark.parametrize("sign", SIGNS)
def test_service_refuses_control_characters(sign: str, shop: Served) -> None:
    bad, quoted = f"a{sign}b", f"a{quote(sign)}b"
    shop.post(f"{ONE}/decide", json={"id": "q"})
    shop.put("/v1/experiments/menu", json={"recipe": SHOP["recipe"]})
    before = shop.service.catalog["shop"].experiment.events
    answers = [
        shop.put(f"/v1/experiments/{quoted}", json=SHOP),
        shop.put("/v1/experiments/other", json=SHOP | {"actions": ["a", bad]}),
        shop.post(f"{ONE}/decide", json={"id": bad}),
        shop.post(f"{ONE}/decide", json={"targetingKey": bad}),
        shop.post("/v1/experiments/menu/decide", json={"actions": ["a", bad]}),
        shop.post(f"{ONE}/decisions/{quoted}/reward", json={"value": 1}),
        shop.post(f"{ONE}/decisions/q/reward", json={"value": 1, "key": bad}),
        shop.post(f"{ONE}/decisions/{quoted}/activate"),
        shop.get(f"{ONE}/decisions/{quoted}"),
        shop.post(f"{ONE}/actions", json={"add": [bad]}),
        shop.post(f"{ONE}/actions", json={"remove": [bad]}),
        shop.post("/v1/events", json={"experiment": "shop", "targetingKey": bad}),
    ]
    no_path = {404} if sign == "\n" else set()  # which a line end ends
    assert {answer.status_code for answer in answers} == {422} | no_path
    both = shop.post(f"{ONE}/decide", json=[{"id": bad}, {"id": "fine"}]).json()
    assert ["error" in each for each in both] == [True, False]
    flag = shop.post("/ofrep/v1/evaluate/flags/shop", json={"context": {"targetingKey": bad}})
    ranked = shop.post("/personalizer/v1.0/rank", json={"actions": [{"id": "a"}], "eventId": bad})
    assert flag.status_code == ranked.status_code == 400, "these protocols know no other"
    assert shop.service.catalog["shop"].experiment.events == before + 1
    assert "menu" in shop.service.catalog.hosted


def test_clients_and_keys_refuse_control_characters(tmp_path: Path) -> None:
    client = Client("http://127.0.0.1:9")
    calls = [
        lambda: client.decide("a\nb"),
        lambda: client.decide("shop", id="a\nb"),
        lambda: client.decide("shop", targeting_key="a\nb"),
        lambda: client.reward("shop", "a\nb", 1),
        lambda: client.reward("shop", "q", 1, key="a\nb"),
        lambda: client.activate("shop", "a\nb"),
        lambda: client.event("shop", "a\nb"),
    ]
    for call in calls:
        with pytest.raises(es.InvalidArgument, match="without control characters"):
            call()
    data = str(tmp_path / "data")
    done = prompt.ensample("key", "new", "--role", "read", "--experiment", "a\nb", "--data", data)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "without control characters" in said


def test_experiment_that_has_such_names_already_opens(tmp_path: Path) -> None:
    """Logs of earlier versions are read as they are."""
    file = tmp_path / "news.db"
    with es.open_experiment(file, "news", actions=["a", "b-c"], recipe=SMALL, seed=0) as experiment:
        experiment.reward(experiment.decide(id="q-1"), 1)
    connection = apsw.Connection(str(file))
    for old, new in (("b-c", "b\\nc"), ("q-1", "q\\n1")):
        connection.execute("UPDATE events SET event = replace(event, ?, ?)", (old, new))
    connection.close()
    with es.open_experiment(file) as experiment:
        assert experiment.actions == ["a", "b\nc"] and experiment.log()["id"].to_list() == ["q\n1"]
        experiment.verify()
        experiment.remove("b\nc")
        assert experiment.decide().action == "a"
