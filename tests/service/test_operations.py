"""A service that runs: full and failing disks, damaged files, power cuts, commands beside it."""

import json
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ensample as es
import prompt
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service.maintenance import replayed_experiments
from experiments.disks import Failing, Forgetful, Small, disk, laid_out
from experiments.test_power import AnswersFirst
from service.conftest import ONE, SHOP, Serve, Served, until


@pytest.mark.parametrize("how", ["full", "write", "sync"])
def test_a_disk_that_cannot_keep_anything(how: str, serve: Serve) -> None:
    """503, not ready, nothing acknowledged; and once it can, without being told, ready again."""
    with disk(Small if how == "full" else Failing) as vfs:
        client = serve(lambda path: SQLiteStorage(path, vfs=vfs.name), shop=SHOP)
        client.decide(id="q1")
        before = client.view(hash=True)
        if how == "full":
            vfs.room = 0
        else:
            vfs.fails = how
        reward = ("decisions/q1/reward", {"value": 1})
        for path, body in (("decide", {"id": "q2"}), reward, ("actions", {"add": ["c"]})):
            refused = client.post(f"{ONE}/{path}", json=body)
            assert refused.status_code == 503 and refused.headers["retry-after"]
            assert refused.json()["error"]["message"]
        assert not client.is_ready() and client.get("/healthz").status_code == 200
        assert client.view(hash=True) == before, "nothing has changed"
        assert not client.is_ready(), "reading says nothing about writing"
        if how == "full":
            vfs.room = float("inf")
        else:
            vfs.fails = ""
        assert until(client.is_ready), "by itself"
        client.decide(id="q2")
        assert client.reward("q1") == "applied"
        assert 'ensample_storage_failures_total{experiment="shop"}' in client.get("/metrics").text
        client.stop()
        _, found = next(replayed_experiments(client.service.settings.data, verify=True))
        assert found.events == 4  # created, q1, q2 and the reward


def test_a_damaged_file_is_no_others_business(serve: Serve) -> None:
    client = serve(shop=SHOP)
    client.put("/v1/experiments/other", json=SHOP)
    client.stop()
    file = client.service.settings.data / "experiments" / "shop.db"
    file.write_bytes(b"not a database at all" * 300)
    again = serve()
    assert not again.is_ready() and again.get(ONE).status_code == 503
    assert again.put(ONE, json=SHOP).status_code == 503, "it is not begun anew"
    assert again.post("/v1/experiments/other/decide", json={}).status_code == 200
    assert list(again.get("/readyz").json()["broken"]) == ["shop"]
    assert again.get("/healthz").json() == {"status": "ok"}
    lines = map(json.loads, again.said.getvalue().splitlines())
    (warning,) = (line for line in lines if line["level"] == "warning")
    assert warning["experiment"] == "shop" and "not a database" in warning["why"], "once"
    for role, mine, names in (
        ("read", None, ["shop"]),
        ("read", "other", []),
        ("read", "shop", ["shop"]),
        ("decide", None, []),
    ):
        found = again.get("/readyz", headers={"x-api-key": again.key(role, mine)})
        assert found.status_code == 503 and list(found.json().get("broken", {})) == names, role
    assert again.get("/readyz").json() == {"status": "unavailable"}, "names need a key"


def test_a_folder_has_one_service(serve: Serve) -> None:
    """Commands look at it meanwhile; the next one may have it afterwards."""
    first = serve(shop=SHOP)
    data = first.service.settings.data
    with pytest.raises(es.InvalidArgument, match="another service has this folder"):
        serve()
    done = prompt.ensample("serve", "--data", data, "--port", "0")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "another service has this folder" in done.stderr
    commands = ("key", "list", "--data", data), ("replay", data), ("backup", data, data / "a.tar")
    for command in commands:
        assert prompt.ensample(*command).returncode == 0, command
    first.stop()
    assert serve().decide()


def called(client: Served, vfs: Forgetful) -> list[tuple[str, str]]:
    """Return decisions and rewards, with what was answered. The disk is told of each answer."""
    answers: list[tuple[str, str]] = []
    client.make()
    for number in range(6):
        id = f"q{number}"
        for ask in (
            lambda id=id, number=number: client.decide(id=id, context={"x": number})["action"],
            lambda id=id: client.reward(id),
        ):
            answers.append((id, ask()))  # type: ignore[no-untyped-call]
            vfs.answers = len(answers)
            vfs.watch()
    return answers


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "answers-first"])
def test_power_that_goes_at_any_sync_of_a_decision_or_a_reward(
    lasts: bool, serve: Serve, tmp_path: Path
) -> None:
    """Every answer that was given by then is in what is left, but where answers come first."""
    kind = SQLiteStorage if lasts else AnswersFirst
    with disk(Forgetful) as vfs:
        answers = called(serve(lambda path: kind(path, vfs=vfs.name)), vfs)
        outages = [outage for outage in vfs.outages if outage.answers]
    lost = 0
    for number, outage in enumerate(outages):
        image = {name: data for name, data in outage.image.items() if name.startswith("shop.db")}
        events = kept(laid_out(image, tmp_path / str(number)) / "shop.db")
        lost += any(answer not in events for answer in answers[: outage.answers])
    assert len(outages) >= 24 and (lost == 0 if lasts else lost > 0)


def kept(path: Path) -> set[tuple[str, str]]:
    """Return the decisions and outcomes that a file has."""
    if not path.exists() or not path.stat().st_size:
        return set()
    with closing(SQLiteStorage(path)) as storage:
        events: list[Any] = [event for event in storage.read() if hasattr(event, "id")]
    return {(event.id, getattr(event, "outcome", None) or event.action) for event in events}


def test_replay_and_backup_while_it_runs(serve: Serve, tmp_path: Path) -> None:
    client = serve(snapshot_every=10, shop=SHOP)
    for number in range(20):
        client.decide(id=f"q{number}")
        client.reward(f"q{number}", number % 2)
    data, hash = client.service.settings.data, client.view(hash=True)["hash"]
    done = prompt.ensample("replay", data, "--verify", COLUMNS=160)
    assert done.returncode == 0 and hash in done.stdout and " 41 " in done.stdout
    compared = next(line for line in done.stdout.splitlines() if hash in line).split("│")[3]
    assert 1 <= int(compared) <= 4, "made aside: how many there are by now is a matter of time"
    copy, folder = tmp_path / "monday.tar", tmp_path / "back"
    assert prompt.ensample("backup", data, copy).returncode == 0
    client.decide(id="later")
    with tarfile.open(copy) as tar:
        tar.extractall(folder, filter="data")
    assert serve(folder="back").view(hash=True)["hash"] == hash
    assert prompt.ensample("backup", tmp_path / "nowhere", copy).returncode == 2
    assert prompt.ensample("replay", tmp_path / "nowhere").returncode == 2
    assert prompt.ensample("replay", tmp_path).returncode == 2, "a folder, and of no service"


def test_replay_says_where_there_was_nothing_to_compare(serve: Serve) -> None:
    client = serve(snapshot_every=10, shop=SHOP)
    client.put("/v1/experiments/young", json=SHOP)
    data = client.service.settings.data

    def snapshot_is_kept() -> bool:
        """They are made aside, and kept with a later call."""
        client.ask("decide", [{}] * 8)
        with closing(SQLiteReader(data / "experiments" / "shop.db")) as events:
            return any(events.snapshots())

    assert until(snapshot_is_kept)
    client.stop()
    done = prompt.ensample("replay", data, "--verify")
    assert done.returncode == 0 and "nothing to compare yet: young: " in done.stderr
    assert "nothing to compare" not in prompt.ensample("replay", data).stderr, "nor was it asked"


def test_replay_tells_a_state_that_is_not_what_its_events_come_to(serve: Serve) -> None:
    """The negative control: one reward of the past is another one."""
    import apsw

    client = serve(snapshot_every=10, shop=SHOP)
    for number in range(20):
        client.decide(id=f"q{number}")
        client.reward(f"q{number}")
    client.stop()
    data = client.service.settings.data
    changed = "replace(event, '\"value\":1.0', '\"value\":0.0')"
    with apsw.Connection(str(data / "experiments" / "shop.db")) as file:
        file.execute(f"UPDATE events SET event = {changed} WHERE seq = 4")
    done = prompt.ensample("replay", data, "--verify", COLUMNS=160)
    assert done.returncode == 1 and "is not the one that was kept" in done.stderr


def test_too_many_calls_at_once_are_told_to_come_back(shop: Served, monkeypatch) -> None:
    monkeypatch.setattr(shop.service.catalog["shop"].worker, "most", 0)
    refused = shop.post(f"{ONE}/decide", json={})
    assert refused.status_code == 503 and "retry-after" in refused.headers


def test_a_file_that_was_only_begun_is_no_experiment(serve: Serve, tmp_path: Path) -> None:
    """A kill between the file and its first event: nobody was told of it."""
    (tmp_path / "data" / "experiments").mkdir(parents=True)
    SQLiteStorage(tmp_path / "data" / "experiments" / "shop.db").close()
    client = serve()
    assert client.is_ready() and client.get(ONE).status_code == 404
    client.make()
    assert client.decide()


def test_numbers_that_would_make_a_model_nan_are_refused(serve: Serve) -> None:
    recipe = {"kind": "EnsembleSampling", "size": 5, "scale": 0.5}
    reward = {"low": -1e150, "high": 1e150}
    client = serve(shop={"recipe": recipe, "reward": reward, "floor": 0})
    before = client.view(hash=True)
    large = {"context": {"x": 1e80}, "actions": {"a": {"price": 1e80}, "b": {"price": 1}}}
    error = client.ask("decide", large, 422)["error"]
    assert error["argument"] == "column 'x x price' of action 'a'"
    assert "expected a number of at most 1e+100" in error["message"]
    assert client.view(hash=True) == before
    id = client.decide(actions={"a": {"u": 3e98, "v": -5e98, "w": 9e98}})["id"]
    before = client.view(hash=True)
    refused = client.ask(f"decisions/{id}/reward", {"value": 1e150}, 422)
    assert "all that is learned stays finite" in refused["error"]["message"]
    assert client.view(hash=True) == before and client.is_ready()


def test_a_model_that_is_not_finite_is_not_ready(shop: Served) -> None:
    """No call leads there."""
    mean = shop.experiment.engine.state.learner.model.mean
    mean[0] = float("nan")
    found = shop.get("/readyz")
    assert found.status_code == 503 and "infinite or NaN" in found.json()["broken"]["shop"]
    mean[0] = 0.0
    assert shop.is_ready()
