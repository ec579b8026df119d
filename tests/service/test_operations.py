"""What happens to a service that runs: full disks, failing disks, damaged files, power that goes, commands beside it."""

import json
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

import ensample as es
import prompt
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service.auth import new_key
from ensample.service.maintenance import replayed_experiments
from experiments.disks import Failing, Forgetful, Small, disk, laid_out
from experiments.test_power import AnswersFirst
from service.conftest import SHOP, Serve, Served, until

ONE = "/v1/experiments/shop"


@pytest.mark.parametrize("how", ["full", "write", "sync"])
def test_a_disk_that_cannot_keep_anything(how: str, serve: Serve) -> None:
    """503, not ready, nothing acknowledged; and once it can, without being told, ready again."""
    with disk(Small if how == "full" else Failing) as vfs:
        client = serve(storage_of=lambda path: SQLiteStorage(path, vfs=vfs.name))
        client.put(ONE, json=SHOP)
        client.post(f"{ONE}/decide", json={"id": "q1"})
        before = client.get(f"{ONE}?hash=yes").json()
        if how == "full":
            vfs.room = 0
        else:
            vfs.fails = how
        for path, body in (
            ("decide", {"id": "q2"}),
            ("decisions/q1/reward", {"value": 1}),
            ("actions", {"add": ["c"]}),
        ):
            refused = client.post(f"{ONE}/{path}", json=body)
            assert (
                refused.status_code == 503
                and refused.headers["retry-after"]
                and refused.json()["error"]["message"]
            )
        assert (
            client.get("/readyz").status_code == 503 and client.get("/healthz").status_code == 200
        )
        assert client.get(f"{ONE}?hash=yes").json() == before, "nothing has changed"
        assert client.get("/readyz").status_code == 503, "reading says nothing about writing"
        if how == "full":
            vfs.room = float("inf")
        else:
            vfs.fails = ""
        assert until(lambda: client.get("/readyz").status_code == 200), "by itself"
        assert client.post(f"{ONE}/decide", json={"id": "q2"}).status_code == 200
        assert (
            client.post(f"{ONE}/decisions/q1/reward", json={"value": 1}).json()["outcome"]
            == "applied"
        )
        assert 'ensample_storage_failures_total{experiment="shop"}' in client.get("/metrics").text
        client.exit_stack.close()
        _, found = next(replayed_experiments(client.service.settings.data, verify=True))
        assert found.events == 4  # created, q1, q2 and the reward


def test_a_damaged_file_is_no_others_business(serve: Serve) -> None:
    client = serve()
    client.put(ONE, json=SHOP)
    client.put("/v1/experiments/other", json=SHOP)
    client.exit_stack.close()
    (client.service.settings.data / "experiments" / "shop.db").write_bytes(
        b"not a database at all" * 300
    )
    again = serve()
    assert again.get("/readyz").status_code == 503 and again.get(ONE).status_code == 503
    assert again.put(ONE, json=SHOP).status_code == 503, "it is not begun anew"
    assert again.post("/v1/experiments/other/decide", json={}).status_code == 200
    assert list(again.get("/readyz").json()["broken"]) == ["shop"] and again.get(
        "/healthz"
    ).json() == {"status": "ok"}
    (told,) = (
        line
        for line in map(json.loads, again.said.getvalue().splitlines())
        if line["level"] == "warning"
    )
    assert told["experiment"] == "shop" and "not a database" in told["why"], "the reason, once"
    for role, mine, names in (
        ("read", None, ["shop"]),
        ("read", "other", []),
        ("read", "shop", ["shop"]),
        ("decide", None, []),
    ):
        text, key = new_key(role, mine)
        again.service.store.add(key)
        found = again.get("/readyz", headers={"x-api-key": text})
        assert found.status_code == 503 and list(found.json().get("broken", {})) == names, (
            role,
            mine,
        )
    assert again.get("/readyz").json() == {"status": "unavailable"}, (
        "names are told to those who may read"
    )


def test_a_folder_has_one_service(serve: Serve) -> None:
    """Commands look at it meanwhile; the next one may have it afterwards, also of one that was killed: see test_kills.py."""
    first = serve()
    first.put(ONE, json=SHOP)
    data = first.service.settings.data
    with pytest.raises(es.InvalidArgument, match="another service has this folder"):
        serve()
    done = prompt.ensample("serve", "--data", data, "--port", "0")
    assert (
        done.returncode == 2
        and done.stderr.count("\n") == 1
        and "another service has this folder" in done.stderr
    )
    for command in (
        ("key", "list", "--data", data),
        ("replay", data),
        ("backup", data, data / "copy.tar"),
    ):
        assert prompt.ensample(*command).returncode == 0, command
    first.exit_stack.close()
    assert serve().post(f"{ONE}/decide", json={}).status_code == 200


def called(client: Served, folder: Path, vfs: Forgetful) -> list[tuple[str, str]]:
    """Decisions and rewards, with what was answered; the disk is told of each answer."""
    answers: list[tuple[str, str]] = []
    client.put(ONE, json=SHOP)
    for number in range(6):
        for path, body, what in (
            ("decide", {"id": f"q{number}", "context": {"x": number}}, "action"),
            (f"decisions/q{number}/reward", {"value": 1}, "outcome"),
        ):
            answers.append((f"q{number}", client.post(f"{ONE}/{path}", json=body).json()[what]))
            vfs.answers = len(answers)
            vfs.watch()
    return answers


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "answers-first"])
def test_power_that_goes_at_any_sync_of_a_decision_or_a_reward(
    lasts: bool, serve: Serve, tmp_path: Path
) -> None:
    """Every answer that was given by then is in what is left. Answers before the commit are not: the negative control."""
    kind = SQLiteStorage if lasts else AnswersFirst
    with disk(Forgetful) as vfs:
        client = serve(storage_of=lambda path: kind(path, vfs=vfs.name))
        answers = called(client, tmp_path, vfs)
        outages = [outage for outage in vfs.outages if outage.answers]
    lost = 0
    for number, outage in enumerate(outages):
        image = {name: data for name, data in outage.image.items() if name.startswith("shop.db")}
        folder = laid_out(image, tmp_path / str(number))
        events = kept(folder / "shop.db")
        lost += any((id, value) not in events for id, value in answers[: outage.answers])
    print(f"\n{len(outages)} moments, {lost} lose an answer")
    assert len(outages) >= 24 and (lost == 0 if lasts else lost > 0)


def kept(path: Path) -> set[tuple[str, str]]:
    """Decisions and outcomes that a file has."""
    if not path.exists() or not path.stat().st_size:
        return set()
    storage = SQLiteStorage(path)
    found = {
        (event.id, getattr(event, "outcome", None) or event.action)
        for event in storage.read()
        if hasattr(event, "id")
    }
    storage.close()
    return found


def test_replay_and_backup_while_it_runs(serve: Serve, tmp_path: Path) -> None:
    client = serve(snapshot_every=10)
    client.put(ONE, json=SHOP)
    for number in range(20):
        client.post(f"{ONE}/decide", json={"id": f"q{number}"})
        client.post(f"{ONE}/decisions/q{number}/reward", json={"value": number % 2})
    data, hash = client.service.settings.data, client.get(f"{ONE}?hash=yes").json()["hash"]
    done = prompt.ensample("replay", data, "--verify", COLUMNS=160)
    assert done.returncode == 0 and hash in done.stdout and " 41 " in done.stdout
    kept = next(line for line in done.stdout.splitlines() if hash in line).split("│")[3]
    assert 1 <= int(kept) <= 4, "made aside: how many there are by now is a matter of time"
    copy, folder = tmp_path / "monday.tar", tmp_path / "back"
    assert prompt.ensample("backup", data, copy).returncode == 0
    client.post(f"{ONE}/decide", json={"id": "later"})
    with tarfile.open(copy) as tar:
        tar.extractall(folder, filter="data")
    other = serve(folder="../" + str(folder.relative_to(tmp_path.parent)))
    assert other.get(f"{ONE}?hash=yes").json()["hash"] == hash
    assert prompt.ensample("backup", tmp_path / "nowhere", copy).returncode == 2
    assert prompt.ensample("replay", tmp_path / "nowhere").returncode == 2
    assert prompt.ensample("replay", tmp_path).returncode == 2, "a folder, and of no service"


def test_replay_says_where_there_was_nothing_to_compare(serve: Serve) -> None:
    client = serve(snapshot_every=10)
    client.put("/v1/experiments/young", json=SHOP)
    client.put(ONE, json=SHOP)
    data = client.service.settings.data

    def snapshot_is_kept() -> bool:
        """They are made aside, and kept with a later call."""
        client.post(f"{ONE}/decide", json=[{}] * 8)
        with closing(SQLiteReader(data / "experiments" / "shop.db")) as events:
            return any(events.snapshots())

    assert until(snapshot_is_kept)
    client.exit_stack.close()
    done = prompt.ensample("replay", data, "--verify")
    assert done.returncode == 0 and "nothing to compare yet: young: " in done.stderr
    assert "nothing to compare" not in prompt.ensample("replay", data).stderr, (
        "nor was it asked for"
    )


def test_replay_tells_a_state_that_is_not_what_its_events_come_to(serve: Serve) -> None:
    """The negative control: one reward of the past is another one."""
    import apsw

    client = serve(snapshot_every=10)
    client.put(ONE, json=SHOP)
    for number in range(20):
        client.post(f"{ONE}/decide", json={"id": f"q{number}"})
        client.post(f"{ONE}/decisions/q{number}/reward", json={"value": 1})
    client.exit_stack.close()
    data = client.service.settings.data
    with apsw.Connection(str(data / "experiments" / "shop.db")) as file:
        file.execute(
            "UPDATE events SET event = replace(event, '\"value\":1.0', '\"value\":0.0') WHERE seq = 4"
        )
    done = prompt.ensample("replay", data, "--verify", COLUMNS=160)
    assert done.returncode == 1 and "is not the one that was kept" in done.stderr


def test_too_many_calls_at_once_are_told_to_come_back(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve()
    client.put(ONE, json=SHOP)
    monkeypatch.setattr(client.service.catalog["shop"].worker, "most", 0)
    refused = client.post(f"{ONE}/decide", json={})
    assert refused.status_code == 503 and "retry-after" in refused.headers


def test_a_file_that_was_only_begun_is_no_experiment(serve: Serve, tmp_path: Path) -> None:
    """A kill between the file and its first event: nobody was told of it, so it can still become anything."""
    (tmp_path / "data" / "experiments").mkdir(parents=True)
    SQLiteStorage(tmp_path / "data" / "experiments" / "shop.db").close()
    client = serve()
    assert client.get("/readyz").status_code == 200 and client.get(ONE).status_code == 404
    assert (
        client.put(ONE, json=SHOP).status_code == 201
        and client.post(f"{ONE}/decide", json={}).status_code == 200
    )


def test_numbers_that_would_make_a_model_nan_are_refused(serve: Serve) -> None:
    client = serve()
    recipe = {"kind": "EnsembleSampling", "size": 5, "scale": 0.5}
    client.put(ONE, json={"recipe": recipe, "reward": {"low": -1e150, "high": 1e150}, "floor": 0})
    before = client.get(f"{ONE}?hash=yes").json()
    large = client.post(
        f"{ONE}/decide",
        json={"context": {"x": 1e80}, "actions": {"a": {"price": 1e80}, "b": {"price": 1}}},
    )
    assert (
        large.status_code == 422
        and large.json()["error"]["argument"] == "column 'x x price' of action 'a'"
    )
    assert "expected a number of at most 1e+100" in large.json()["error"]["message"]
    assert client.get(f"{ONE}?hash=yes").json() == before
    offer = {"a": {"u": 3e98, "v": -5e98, "w": 9e98}}
    id = client.post(f"{ONE}/decide", json={"actions": offer}).json()["id"]
    before = client.get(f"{ONE}?hash=yes").json()
    refused = client.post(f"{ONE}/decisions/{id}/reward", json={"value": 1e150})
    assert (
        refused.status_code == 422
        and "all that is learned stays finite" in refused.json()["error"]["message"]
    )
    assert (
        client.get(f"{ONE}?hash=yes").json() == before and client.get("/readyz").status_code == 200
    )


def test_a_model_that_is_not_finite_is_not_ready(serve: Serve) -> None:
    """No call leads there."""
    client = serve()
    client.put(ONE, json=SHOP)
    mean = client.service.catalog["shop"].experiment.engine.state.learner.model.mean
    mean[0] = float("nan")
    found = client.get("/readyz")
    assert found.status_code == 503 and "infinite or NaN" in found.json()["broken"]["shop"]
    mean[0] = 0.0
    assert client.get("/readyz").status_code == 200
