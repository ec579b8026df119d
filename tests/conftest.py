"""Fixtures and order of the suite: tests that take longest begin first."""

import gc
from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from ensample.randomness import SEED_BITS

if TYPE_CHECKING:
    from ensample.experiments.storage.postgres_pool import PostgresPool


@pytest.fixture(autouse=True)
def repeatable_seeds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the seeds that a test does not give from a fixed sequence: all differ."""
    numbers = Random(request.node.nodeid)
    for module in ("ensample.policies.recipe", "ensample.experiments.settings"):
        monkeypatch.setattr(f"{module}.drawn_seed", lambda: numbers.getrandbits(SEED_BITS))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL with our tables."""
    from databases import postgresql
    from ensample.experiments.storage.postgres import prepared_database

    with postgresql() as address:
        prepared_database(address)
        yield address


@pytest.fixture(scope="session")
def pool(postgres: str) -> "Iterator[PostgresPool]":
    """Connections to it."""
    from ensample.experiments.storage.postgres_pool import PostgresPool

    with closing(PostgresPool(postgres)) as found:
        yield found


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from imported objects: a third of the time of collecting tests.

    Later it would be a twentieth of what tests take. What they make themselves is looked at as
    ever.
    """
    import hypothesis  # noqa: F401 (it needs referrers, which frozen objects hide)

    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "long: takes seconds; begun first, so that in the end no process waits for another's",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(
        key=lambda item: item.get_closest_marker("long") is None
    )  # otherwise they stay in their order
