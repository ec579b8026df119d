"""Several servers on one PostgreSQL: they agree, an old writer is fenced, a database that goes comes back."""

import json
import secrets
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ensample as es
import prompt
from attempts import attempts
from databases import postgresql
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from experiments.test_clocks import ahead
from service.conftest import SHOP, Serve, Served, until

KILLS = attempts(sample=4, full=100)


@pytest.fixture
def one() -> str:
    """An experiment of its own in a database that tests share."""
    return f"/v1/experiments/shop-{secrets.token_hex(4)}"


def test_two_servers_are_one_service(serve: Serve, postgres: str, one: str) -> None:
    first, second = serve(folder="a", database=postgres), serve(folder="b", database=postgres)
    assert first.put(one, json=SHOP).status_code == 201
    assert (
        second.put(one, json=SHOP).status_code == 200
        and second.put(one, json=SHOP | {"seed": 3}).status_code == 409
    )
    for number in range(12):
        here, there = (first, second) if number % 2 else (second, first)
        decision = here.post(
            f"{one}/decide", json={"id": f"q{number}", "context": {"x": number % 3}}
        ).json()
        assert (
            there.post(
                f"{one}/decide", json={"id": f"q{number}", "context": {"x": number % 3}}
            ).json()
            == decision
        )
        assert (
            there.post(f"{one}/decisions/q{number}/reward", json={"value": 1}).json()["outcome"]
            == "applied"
        )
        assert (
            here.post(f"{one}/decisions/q{number}/reward", json={"value": 1}).json()["outcome"]
            == "duplicate"
        )
    views = [client.get(f"{one}?hash=yes").json() for client in (first, second)]
    assert views[0] == views[1] and views[0]["version"] == 12
    assert first.post(f"{one}/pause", json={}).json()["paused"]
    assert until(lambda: second.post(f"{one}/decide", json={"dry_run": True}).status_code == 409)
    assert until(lambda: second.post(f"{one}/pause", json={"paused": False}).status_code == 200)
    done = prompt.ensample("replay", postgres, "--verify", COLUMNS=160)
    assert done.returncode == 0 and views[0]["hash"] in done.stdout
    assert first.get(f"{one}/log?format=jsonl").text.count("\n") == 12
    assert (
        first.get(f"{one}/decisions/q1").json()["action"]
        == second.get(f"{one}/decisions/q1").json()["action"]
    )


def test_names_that_differ_in_capitals_are_created_once(serve: Serve, postgres: str) -> None:
    """At the same moment, on two servers: one wins, and the other one is refused and leaves nothing."""
    servers = [serve(folder=folder, database=postgres) for folder in "ab"]
    together = threading.Barrier(2)
    for _ in range(4):
        word = f"shop-{secrets.token_hex(4)}x"
        names = [word, word.upper()]

        def put(server: Served, name: str) -> int:
            together.wait(60)
            return server.put(f"/v1/experiments/{name}", json=SHOP).status_code

        with ThreadPoolExecutor(2) as threads:
            statuses = list(threads.map(put, servers, names))
        assert sorted(statuses) == [201, 409]
        won, lost = (names[statuses.index(status)] for status in (201, 409))
        assert all(
            server.put(f"/v1/experiments/{lost}", json=SHOP).status_code == 409
            for server in servers
        )
        assert all(
            server.put(f"/v1/experiments/{won}", json=SHOP).status_code in (200, 201)
            for server in servers
        )


def test_names_that_differ_in_capitals_and_are_there_already_go_on(
    postgres: str, pool: PostgresPool
) -> None:
    """Files of an earlier version, which created both names."""
    word = f"twins-{secrets.token_hex(4)}x"
    first = written(PostgresStorage(pool, word))
    with psycopg.connect(postgres, autocommit=True) as database:
        for table, fields in (("events", "seq, id, event"), ("streams", "head, epoch")):
            copied = f"INSERT INTO ensample_{table} SELECT %s, {fields} FROM ensample_{table} WHERE experiment = %s"
            database.execute(copied, (word.upper(), word))
    second = experiment_in(PostgresStorage(pool, word.upper()), {}, {})
    for experiment in (first, second):
        assert experiment.reward(experiment.decide(id="1"), 1) == "applied"
        experiment.close()


def test_what_one_server_makes_the_other_finds(serve: Serve, postgres: str, one: str) -> None:
    first, second = serve(folder="a", database=postgres), serve(folder="b", database=postgres)
    first.put(one, json=SHOP)
    assert until(lambda: second.get(one).status_code == 200)


def test_keys_are_shared(serve: Serve) -> None:
    with postgresql() as address:
        first, second = serve(folder="a", database=address), serve(folder="b", database=address)
        assert second.get("/v1/experiments").status_code == 200
        done = prompt.ensample("key", "new", "--role", "read", "--database", address)
        headers = {"x-api-key": done.stdout.split()[-1]}
        for client in (first, second):
            assert until(lambda client=client: client.get("/v1/experiments").status_code == 401)
            assert client.get("/v1/experiments", headers=headers).status_code == 200


def written(storage: PostgresStorage, **given: Any) -> es.Experiment:
    return experiment_in(
        storage,
        {"name": "fenced"},
        {"actions": ["a", "b"], "recipe": es.EnsembleSampling(5), **given},
    )


def test_an_old_writer_is_fenced(pool: PostgresPool) -> None:
    name = f"fenced-{secrets.token_hex(4)}"
    old = written(PostgresStorage(pool, name))
    old.decide(id="1")
    storage = PostgresStorage(pool, name)
    storage.take_over()
    new = written(storage)
    new.decide(id="2")
    for call in (lambda: old.decide(id="3"), lambda: old.reward("1", 1)):
        with pytest.raises(es.StorageError, match="took over"):
            call()
    assert new.log()["id"].to_list() == ["1", "2"]
    new.verify()
    old.close()
    new.close()


def test_two_writers_in_turn_agree(pool: PostgresPool) -> None:
    """Each takes in what the other has added, also after a batch of its own was undone."""
    name = f"turns-{secrets.token_hex(4)}"
    one, two = (written(PostgresStorage(pool, name)) for _ in range(2))
    for number in range(30):
        mine, other = (one, two) if number % 3 else (two, one)
        decision = mine.decide({"x": number % 4}, id=f"d{number}")
        assert other.decide({"x": number % 4}, id=f"d{number}") == decision
        if number % 7 == 0:
            with pytest.raises(ZeroDivisionError), mine._storage.batch():
                mine._take(es.experiments.events.Expired(0, None))
                raise ZeroDivisionError
        assert other.reward(f"d{number}", 1) == "applied"
    assert one.hash == two.hash and one.version == 30
    one.verify()
    one.close()
    two.close()


def test_a_database_that_hangs_up_is_called_again(serve: Serve, postgres: str, one: str) -> None:
    client = serve(database=postgres)
    client.put(one, json=SHOP)
    client.post(f"{one}/decide", json={"id": "q1"})
    with psycopg.connect(postgres, autocommit=True) as other:
        ours = "FROM pg_stat_activity WHERE application_name = 'ensample'"
        other.execute(f"SELECT pg_terminate_backend(pid) {ours} AND pid <> pg_backend_pid()")
    assert until(lambda: client.post(f"{one}/decide", json={"id": "q2"}).status_code == 200)
    assert until(lambda: client.get("/readyz").status_code == 200)
    assert until(lambda: client.get(one).json().get("decisions") == 2)


def test_server_has_as_many_connections_as_it_is_told(serve: Serve, postgres: str) -> None:
    """However many experiments are asked at once."""
    label = f"few-{secrets.token_hex(4)}"
    client = serve(database=f"{postgres}?application_name={label}", database_connections=3)
    paths = [f"/v1/experiments/{label}-{number}" for number in range(8)]
    for path in paths:
        assert client.put(path, json=SHOP).status_code == 201
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(
                lambda path: client.post(f"{path}/decide", json=[{}] * 20).status_code, paths * 2
            )
        )
    assert found == [200] * 16
    with psycopg.connect(postgres) as database:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        (count,) = database.execute(query, (label,)).fetchone() or (0,)
    assert 1 <= count <= 3


def test_experiment_that_another_server_holds_is_refused_in_time(
    serve: Serve, postgres: str, one: str
) -> None:
    """With the call to the database that failed; other experiments go on meanwhile."""
    client = serve(database=postgres)
    name, other = one.rpartition("/")[2], f"{one}-other"
    for path in (one, other):
        client.put(path, json=SHOP)
    with psycopg.connect(postgres) as database:
        database.execute("SELECT FROM ensample_streams WHERE experiment = %s FOR UPDATE", (name,))
        start = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            refused = [
                threads.submit(client.post, f"{one}/decide", json={"id": f"q{number}"})
                for number in range(3)
            ]
            time.sleep(0.2)
            assert client.post(f"{other}/decide", json={}).status_code == 200
        assert [call.result().status_code for call in refused] == [
            503
        ] * 3 and time.monotonic() - start < 5
        found = client.get("/readyz")
        assert (
            found.status_code == 503
            and "lock an experiment: LockNotAvailable" in found.json()["broken"][name]
        )
    assert until(lambda: client.get("/readyz").status_code == 200)
    assert client.post(f"{one}/decide", json={"id": "q0"}).status_code == 200


def test_targeting_key_has_one_decision_whatever_the_clocks_say(
    serve: Serve, postgres: str, one: str
) -> None:
    first, second = (serve(folder=folder, database=postgres, sticky="10 min") for folder in "ab")
    first.put(one, json=SHOP)
    found = first.post(f"{one}/decide", json={"targetingKey": "ann"}).json()
    with ahead(31 * 60):
        assert second.put(one, json=SHOP).status_code == 200
        assert second.post(f"{one}/decide", json={"targetingKey": "ann"}).json() == found


def test_a_database_that_is_gone(serve: Serve, one: str) -> None:
    """503, not ready, nothing acknowledged."""
    with postgresql() as address:
        client = serve(database=address)
        client.put(one, json=SHOP)
        assert client.post(f"{one}/decide", json={"id": "q1"}).status_code == 200
    refused = client.post(f"{one}/decide", json={"id": "q2"})
    assert (
        refused.status_code == 503
        and refused.headers["retry-after"]
        and "ensample@" not in refused.text
    )
    unready = client.get("/readyz")
    assert unready.status_code == 503 and "no connection within 2 s" in unready.json()["database"]
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("lasts", [True, False], ids=["ours", "forgets"])
def test_kills_of_either_server(lasts: bool, postgres: str, tmp_path: Path) -> None:
    """Nothing acknowledged is lost or there twice, and both servers have the hash of an offline replay."""
    with psycopg.connect(postgres, autocommit=True) as database:
        for table in ("events", "snapshots", "streams"):
            database.execute(f"DELETE FROM ensample_{table} WHERE experiment = 'killed'")
    kills = KILLS if lasts else 4
    command = [
        sys.executable,
        "-m",
        "service.try_postgres_kills",
        str(kills),
        str(tmp_path),
        postgres,
    ]
    ended = subprocess.run(
        [*command, *([] if lasts else ["forgets"])],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(ended.stdout)
    print(f"\n{found}")
    assert (
        found["kills"] == kills
        and found["answers"] > 5 * kills
        and found["doubled"] == found["differ"] == 0
    )
    assert found["lost"] == 0 if lasts else found["lost"] > 0
