"""Calls to a database end in time; what a server does within a batch may take longer."""

import math
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

import ensample as es
from ensample.experiments.events import Expired
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage import postgres_pool
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool, limited
from experiments.places import SMALL


@pytest.fixture
def own(postgres: str) -> Iterator[PostgresPool]:
    """A pool that a test may spoil, and whose experiments are forgotten afterwards."""
    with closing(PostgresPool(postgres, 2)) as found:
        yield found
    with psycopg.connect(postgres, autocommit=True) as database:
        for table in ("events", "snapshots", "streams"):
            database.execute(
                f"DELETE FROM ensample_{table} WHERE starts_with(experiment, 'of a pool')"
            )


@contextmanager
def seconds(least: float, most: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert least <= time.monotonic() - start < most


def stored(pool: PostgresPool) -> PostgresStorage:
    return PostgresStorage(pool, f"of a pool {secrets.token_hex(4)}")


def test_statement_without_an_answer_is_given_up(
    own: PostgresPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "ANSWER", 0.3)
    with seconds(0.3, 2.0), pytest.raises(es.StorageError, match=r"sleep: no answer within 0\.3 s"):
        own.fetch("sleep", "SELECT pg_sleep(5)")
    with (
        seconds(0.0, 0.2),
        pytest.raises(es.StorageError, match=r"look: not tried after sleep: no answer"),
    ):
        own.fetch("look", "SELECT 1")
    assert own.failure == "sleep: no answer within 0.3 s"
    time.sleep(postgres_pool.PAUSE)
    assert own.fetch("look", "SELECT 1") == [(1,)] and own.failure == ""


def test_statement_may_take_longer_where_much_is_sent(
    own: PostgresPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "ANSWER", 0.3)
    assert own.fetch("keep a snapshot", "SELECT pg_sleep(0.6)", size=2_000_000)


def test_batch_may_compute_for_longer_than_an_idle_transaction_lives(own: PostgresPool) -> None:
    storage = stored(own)
    with storage.batch():
        storage.append(Expired(1, None))
        time.sleep(postgres_pool.IDLE + 0.7)
    assert list(storage.read()) == [Expired(1, None)]


def test_batch_whose_keep_alive_stops_is_undone(
    own: PostgresPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control; and the lock is free for others by then."""
    monkeypatch.setattr(postgres_pool, "BEAT", math.inf)
    storage = stored(own)
    with pytest.raises(es.StorageError, match="IdleInTransactionSessionTimeout"), storage.batch():
        storage.append(Expired(1, None))
        time.sleep(postgres_pool.IDLE + 0.7)
        with PostgresStorage(own, storage.experiment).batch():
            pass
    assert storage.count == 0 and list(storage.read()) == []


def test_lock_of_another_writer_is_waited_for_in_time_only(own: PostgresPool) -> None:
    storage = stored(own)
    experiment = experiment_in(
        storage, {"name": "locked"}, {"actions": ["a", "b"], "recipe": SMALL}
    )
    with psycopg.connect(own.address) as other:
        other.execute(
            "SELECT FROM ensample_streams WHERE experiment = %s FOR UPDATE", (storage.experiment,)
        )
        with (
            seconds(postgres_pool.LOCK - 0.1, 4.0),
            pytest.raises(es.StorageError, match="lock an experiment: LockNotAvail"),
        ):
            experiment.decide(id="1")
        assert own.failure == "", "the database answers"
    assert experiment.decide(id="1").id == "1"
    experiment.close()


def test_no_connection_is_an_error_in_time() -> None:
    failing = pytest.raises(es.StorageError, match="look: no connection within 2 s")
    with (
        closing(PostgresPool("postgresql://ensample@127.0.0.1:1/nothing")) as pool,
        seconds(1.0, 4.0),
        failing,
    ):
        pool.fetch("look", "SELECT 1")


def test_connections_that_were_hung_up_are_replaced(own: PostgresPool) -> None:
    """Two at once, so that the pool holds two; no call fails for want of them."""
    both = threading.Barrier(2)

    def hold() -> None:
        with own.session("hold", "SELECT 1"):
            both.wait(10)

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(own.address, autocommit=True) as other:
        ours = (
            "FROM pg_stat_activity WHERE application_name = 'ensample' AND pid <> pg_backend_pid()"
        )
        other.execute(f"SELECT pg_terminate_backend(pid) {ours}")
    storage = stored(own)
    with storage.batch():
        storage.append(Expired(1, None))
    assert storage.count == 1


def test_limits_of_an_address_count_before_ours() -> None:
    found = psycopg.conninfo.conninfo_to_dict(
        limited("postgresql://me@there/db?connect_timeout=9&options=-c%20lock_timeout%3D7")
    )
    assert found["connect_timeout"] == "9" and str(found["options"]).endswith("-c lock_timeout=7")
    assert (
        found["user"] == "me" and found["host"] == "there" and found["tcp_user_timeout"] == "2500"
    )


def test_address_that_is_none_is_an_error_of_ours() -> None:
    with pytest.raises(es.StorageError, match="connect: ProgrammingError") as caught:
        limited("postgresql://me:secret@there/db?nothing=1")
    assert "secret" not in str(caught.value)
