"""Services of earlier versions, carried over: their folder, or their PostgreSQL."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import ensample as es
import prompt
from databases import postgresql
from ensample.experiments.migration import sole_writer
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.postgres import PostgresStorage, prepared_database
from ensample.experiments.storage.postgres_pool import PostgresPool
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service import migration
from ensample.service.auth import new_key
from ensample.service.maintenance import replayed_experiments
from ensample.service.migration import migrate
from ensample.service.postgres_store import PostgresStore
from ensample.service.store import FolderStore
from ensample.version import LIVE_NUMBERS
from experiments.test_migration import FACTS, FAMILIES, unpacked
from service.conftest import SHOP, Serve

TEXT, KEY = new_key("admin")
NAMES = ("default", "linucb", "logistic")


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the numbers of all families."""
    for family in FAMILIES.values():
        monkeypatch.setitem(LIVE_NUMBERS, family, 6)


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """The folder of a released service, which is paused in part and has a key."""
    folder = tmp_path / "released"
    (folder / "experiments").mkdir(parents=True)
    for name in NAMES:
        unpacked(name, folder / "experiments")
    store = FolderStore(folder)
    store.add(KEY)
    store.pause("linucb", True)
    store.close()
    return folder


def test_a_folder_in_use_is_named_as_it_was_given(released: Path, tmp_path: Path) -> None:
    with (
        sole_writer("data", released / "service", "nobody"),
        pytest.raises(es.InvalidArgument) as refused,
    ):
        migrate(str(released), str(tmp_path / "new"), lambda *_: None)
    assert (refused.value.argument, refused.value.value) == ("old", str(released))


def content(folder: Path) -> dict[str, bytes]:
    """Return what a folder has, without the empty files that readers of SQLite leave."""
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def shown(steps: list[Any]) -> Any:
    return lambda *step: steps.append(step)


def test_a_service_goes_on_with_a_migrated_folder(
    released: Path, raised: None, serve: Serve, tmp_path: Path
) -> None:
    before = content(released)
    refused = [error for _, error in replayed_experiments(released, verify=True)]
    assert len(refused) == 3 and all("ensample migrate" in str(error) for error in refused)
    assert migrate(str(released), str(tmp_path / "data"), shown([])) == dict.fromkeys(NAMES, 60)
    assert content(released) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "released"]

    found = dict(replayed_experiments(tmp_path / "data", verify=True))
    assert list(found) == list(NAMES) and all(item.compared == 1 for item in found.values())
    assert found["linucb"].hash == FACTS["linucb"]["hash"]
    store, other = FolderStore(released), FolderStore(tmp_path / "data")
    assert store.all_keys() == other.all_keys() != {} and store.paused() == other.paused() == {
        "linucb"
    }
    for item in (store, other):
        item.close()
    client = serve()
    client.headers["x-api-key"] = TEXT
    assert client.get("/readyz").status_code == 200
    one = "/v1/experiments/default"
    rows = client.get(f"{one}/log?format=jsonl").text.splitlines()
    assert [json.loads(row)["propensities"] for row in rows] == [
        row[2] for row in FACTS["default"]["rows"]
    ]
    decided = client.post(f"{one}/decide", json={"context": {"age": 31}}).json()
    assert (
        client.post(f"{one}/decisions/{decided['id']}/reward", json={"value": 1}).json()["outcome"]
        == "applied"
    )
    refusal = client.get(f"{one}/decisions/d3")
    assert refusal.status_code == 409 and "earlier version" in refusal.json()["error"]["message"]


def test_a_service_that_runs_is_not_migrated(serve: Serve, tmp_path: Path) -> None:
    client = serve()
    client.put("/v1/experiments/shop", json=SHOP)
    with pytest.raises(es.InvalidArgument, match=r"old = .*not running: stop it first"):
        migrate(str(tmp_path / "data"), str(tmp_path / "new"), shown([]))
    assert client.post("/v1/experiments/shop/decide", json={}).status_code == 200
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_folder_is_not_migrated_if_one_of_its_experiments_cannot_be(
    released: Path, raised: None, tmp_path: Path
) -> None:
    (released / "experiments" / "zebra.db").write_bytes(b"not a database at all" * 300)
    with pytest.raises(es.SnapshotError, match=r"zebra\.db"):
        migrate(str(released), str(tmp_path / "new"), shown([]))
    assert [path.name for path in tmp_path.iterdir()] == ["released"]


def test_the_command_migrates_a_file_and_says_what_is_wrong(released: Path, tmp_path: Path) -> None:
    old, new = released / "experiments" / "linucb.db", tmp_path / "new.db"
    done = prompt.ensample("migrate", str(old), str(new))
    assert done.returncode == 0 and "linucb" in done.stdout and "60" in done.stdout, done.stderr
    for arguments, said in (
        ((str(old), str(new)), "nothing yet"),
        ((str(tmp_path / "nobody"), str(tmp_path / "other")), "there is none"),
        ((str(tmp_path), str(tmp_path / "other")), "the folder of a service"),
        (("postgresql://127.0.0.1:1/shop", str(tmp_path / "other")), "two addresses"),
    ):
        done = prompt.ensample("migrate", *arguments, COLUMNS=160)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "released"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql() as address:
        yield address


def database(server: str, name: str) -> str:
    """Return the address of a new database."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def stored(address: str, released: Path) -> None:
    """Put the events of released experiments into a database."""
    prepared_database(address)
    pool = PostgresPool(address)
    with closing(PostgresStore(pool)) as store:
        for name in NAMES:
            reader, storage = (
                SQLiteReader(released / "experiments" / f"{name}.db"),
                PostgresStorage(pool, name),
            )
            with storage.batch():
                for event in reader.read():
                    storage.append(event)
            reader.close()
        store.add(KEY)
        store.pause("linucb", True)


def tables(address: str) -> dict[str, list[Any]]:
    """Return all rows of all tables."""
    with psycopg.connect(address) as connection:
        own = "schemaname NOT IN ('pg_catalog', 'information_schema')"
        query = f"SELECT schemaname, tablename FROM pg_tables WHERE {own}"
        names = [f"{schema}.{table}" for schema, table in connection.execute(query).fetchall()]
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
            for name in sorted(names)
        }


def test_a_postgresql_is_migrated_into_another_database(
    server: str, released: Path, raised: None, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = database(server, "old"), database(server, "new")
    stored(old, released)
    before = tables(old)

    monkeypatch.setattr(migration, "copy_keys", lambda *addresses: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        migrate(old, new, shown([]))
    assert tables(new) == {} and tables(old) == before
    monkeypatch.undo()
    with psycopg.connect(new, autocommit=True) as connection:  # what a killed migration leaves
        connection.execute(
            "CREATE SCHEMA ensample_migrating;CREATE TABLE ensample_migrating.ensample_keys (x int)"
        )
    for family in FAMILIES.values():
        monkeypatch.setitem(LIVE_NUMBERS, family, 6)

    assert migrate(old, new, shown([])) == dict.fromkeys(NAMES, 60)
    assert tables(old) == before and set(tables(new)) == set(before)
    for name in ("public.ensample_keys", "public.ensample_paused"):
        assert tables(new)[name] == before[name]
    found = dict(replayed_experiments(new, verify=True))
    assert found["linucb"].hash == FACTS["linucb"]["hash"] and all(
        item.compared for item in found.values()
    )
    with pytest.raises(es.InvalidArgument, match="a database without tables of a service"):
        migrate(old, new, shown([]))
    client = serve(database=new)
    client.headers["x-api-key"] = TEXT
    decided = client.post("/v1/experiments/default/decide", json={"context": {"age": 31}})
    assert decided.status_code == 200 and client.get("/readyz").status_code == 200


def test_a_database_that_is_written_to_is_not_migrated(
    server: str, released: Path, raised: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = database(server, "written"), database(server, "unwritten")
    stored(old, released)
    copy_keys = migration.copy_keys

    def meanwhile(*addresses: str) -> None:
        copy_keys(*addresses)
        with closing(PostgresPool(old)) as pool:
            storage = PostgresStorage(pool, "linucb")
            with storage.batch():
                storage.append(creation(storage))

    monkeypatch.setattr(migration, "copy_keys", meanwhile)
    with pytest.raises(es.InvalidArgument, match="stop them first"):
        migrate(old, new, shown([]))
    assert tables(new) == {}
    with pytest.raises(es.InvalidArgument, match="a database with experiments"):
        migrate(database(server, "nothing"), new, shown([]))
