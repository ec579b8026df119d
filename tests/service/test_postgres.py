"""Several servers on one PostgreSQL: they agree, and a database that goes comes back."""

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import ensample as es
import prompt
from databases import postgresql
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool
from experiments.test_seeds import ahead
from service.conftest import SHOP, Serve, Served, until

Two = tuple[Served, Served]


@pytest.fixture
def name() -> str:
    """The name of an experiment of its own in a database that tests share."""
    return f"shop-{secrets.token_hex(4)}"


@pytest.fixture
def two(serve: Serve, postgres: str, name: str) -> Two:
    """Two servers of one database, which call an experiment of this name."""
    first, second = (serve(folder=folder, database=postgres) for folder in "ab")
    first.name = second.name = name
    return first, second


def test_two_servers_are_one_service(two: Two, postgres: str) -> None:
    first, second = two
    first.make()
    second.make(status=200)
    second.make(SHOP | {"seed": 3}, status=409)
    for number in range(12):
        here, there = two if number % 2 else two[::-1]
        asked = {"id": f"q{number}", "context": {"x": number % 3}}
        assert there.ask("decide", asked) == here.ask("decide", asked)
        assert there.reward(f"q{number}") == "applied"
        assert here.reward(f"q{number}") == "duplicate"
    views = [client.view(hash=True) for client in two]
    assert views[0] == views[1] and views[0]["version"] == 12
    assert first.ask("pause", {})["paused"]
    dry = {"dry_run": True}
    assert until(lambda: second.post(f"{second.one}/decide", json=dry).status_code == 409)
    second.ask("pause", {"paused": False})
    done = prompt.ensample("replay", postgres, "--verify", COLUMNS=160)
    assert done.returncode == 0 and views[0]["hash"] in done.stdout and len(first.log()) == 12
    explained = [client.get(f"{client.one}/decisions/q1").json() for client in two]
    assert explained[0]["action"] == explained[1]["action"]


def test_names_that_differ_in_capitals_are_created_once(two: Two) -> None:
    """At the same moment, on two servers: one wins, and the other one is refused."""
    together = threading.Barrier(2)

    def put(server: Served, name: str) -> int:
        together.wait(60)
        return server.put(f"/v1/experiments/{name}", json=SHOP).status_code

    for _ in range(4):
        word = f"shop-{secrets.token_hex(4)}x"
        names = [word, word.upper()]
        with ThreadPoolExecutor(2) as threads:
            statuses = list(threads.map(put, two, names))
        assert sorted(statuses) == [201, 409]
        for name, status in zip(names, statuses, strict=True):
            again = {server.put(f"/v1/experiments/{name}", json=SHOP).status_code for server in two}
            assert again <= ({409} if status == 409 else {200, 201})


def test_names_that_differ_in_capitals_and_are_there_already_go_on(
    postgres: str, pool: PostgresPool
) -> None:
    """Files of an earlier version, which created both names."""
    word = f"twins-{secrets.token_hex(4)}x"
    first = written(PostgresStorage(pool, word))
    with psycopg.connect(postgres, autocommit=True) as database:
        for table, fields in (("events", "seq, id, event"), ("streams", "head, epoch")):
            rows = f"SELECT %s, {fields} FROM ensample_{table} WHERE experiment = %s"
            copied = f"INSERT INTO ensample_{table} {rows}"
            database.execute(copied, (word.upper(), word))
    second = experiment_in(PostgresStorage(pool, word.upper()), {}, {})
    for experiment in (first, second):
        assert experiment.reward(experiment.decide(id="1"), 1) == "applied"
        experiment.close()


def test_what_one_server_makes_the_other_finds(two: Two) -> None:
    two[0].make()
    assert until(lambda: two[1].get(two[1].one).status_code == 200)


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
    recipe = es.EnsembleSampling(5)
    return experiment_in(
        storage, {"name": "fenced"}, {"actions": ["a", "b"], "recipe": recipe, **given}
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
            with pytest.raises(ZeroDivisionError), mine.engine.storage.batch():
                mine.engine.take(es.experiments.events.Expired(0, None))
                raise ZeroDivisionError
        assert other.reward(f"d{number}", 1) == "applied"
    assert one.hash == two.hash and one.version == 30
    one.verify()
    one.close()
    two.close()


@pytest.fixture
def client(serve: Serve, postgres: str, name: str) -> Served:
    found = serve(database=postgres)
    found.name = name
    found.make()
    return found


def test_a_database_that_hangs_up_is_called_again(client: Served, postgres: str) -> None:
    client.decide(id="q1")
    with psycopg.connect(postgres, autocommit=True) as other:
        ours = "FROM pg_stat_activity WHERE application_name = 'ensample'"
        other.execute(f"SELECT pg_terminate_backend(pid) {ours} AND pid <> pg_backend_pid()")
    path = f"{client.one}/decide"
    assert until(lambda: client.post(path, json={"id": "q2"}).status_code == 200)
    assert until(client.is_ready)
    assert until(lambda: client.view().get("decisions") == 2)


def test_server_has_as_many_connections_as_it_is_told(serve: Serve, postgres: str) -> None:
    """However many experiments are asked at once."""
    label = f"few-{secrets.token_hex(4)}"
    client = serve(database=f"{postgres}?application_name={label}", database_connections=3)
    paths = [f"/v1/experiments/{label}-{number}" for number in range(8)]
    for path in paths:
        assert client.put(path, json=SHOP).status_code == 201

    def decided(path: str) -> int:
        return client.post(f"{path}/decide", json=[{}] * 20).status_code

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(decided, paths * 2)) == [200] * 16
    with psycopg.connect(postgres) as database:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        (count,) = database.execute(query, (label,)).fetchone() or (0,)
    assert 1 <= count <= 3


def test_experiment_that_another_server_holds_is_refused_in_time(
    client: Served, postgres: str, name: str
) -> None:
    """With the call to the database that failed; other experiments go on meanwhile."""
    client.put(f"{client.one}-other", json=SHOP)

    def decided(number: int) -> int:
        return client.post(f"{client.one}/decide", json={"id": f"q{number}"}).status_code

    with psycopg.connect(postgres) as database:
        database.execute("SELECT FROM ensample_streams WHERE experiment = %s FOR UPDATE", (name,))
        start = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            refused = threads.map(decided, range(3))
            time.sleep(0.2)
            assert client.post(f"{client.one}-other/decide", json={}).status_code == 200
        assert list(refused) == [503] * 3 and time.monotonic() - start < 5
        found = client.get("/readyz")
        assert found.status_code == 503
        assert "lock an experiment: LockNotAvailable" in found.json()["broken"][name]
    assert until(client.is_ready) and client.decide(id="q0")


def test_targeting_key_has_one_decision_whatever_the_clocks_say(
    serve: Serve, postgres: str, name: str
) -> None:
    first, second = (serve(folder=folder, database=postgres, sticky="10 min") for folder in "ab")
    first.name = second.name = name
    first.make()
    found = first.decide(targetingKey="ann")
    with ahead(31 * 60):
        second.make(status=200)
        assert second.decide(targetingKey="ann") == found


def test_a_database_that_is_gone(serve: Serve) -> None:
    """503, not ready, nothing acknowledged."""
    with postgresql() as address:
        client = serve(database=address, shop=SHOP)
        client.decide(id="q1")
    refused = client.post(f"{client.one}/decide", json={"id": "q2"})
    assert refused.status_code == 503 and refused.headers["retry-after"]
    assert "ensample@" not in refused.text
    unready = client.get("/readyz")
    assert unready.status_code == 503 and "no connection within 2 s" in unready.json()["database"]
    assert client.get("/healthz").status_code == 200
