"""How the whole suite is run: what takes longest is begun first, and no test compiles a kernel unseen."""

import gc
from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from ensample.compiling import LISTENERS
from ensample.kernels.interpreted import AT_ONCE
from ensample.randomness import SEED_BITS

if TYPE_CHECKING:
    from ensample.experiments.postgres_pool import PostgresPool

COMPILED = "compiled"


@pytest.fixture(autouse=True)
def repeatable_seeds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the seeds that a test does not give from a sequence of its own: all differ, and each run has the same."""
    numbers = Random(request.node.nodeid)
    for module in ("ensample.policies.recipe", "ensample.experiments.settings"):
        monkeypatch.setattr(f"{module}.drawn_seed", lambda: numbers.getrandbits(SEED_BITS))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL with our tables."""
    from databases import postgresql
    from ensample.experiments.postgres import prepared_database

    with postgresql() as address:
        prepared_database(address)
        yield address


@pytest.fixture(scope="session")
def pool(postgres: str) -> "Iterator[PostgresPool]":
    """Connections to it."""
    from ensample.experiments.postgres_pool import PostgresPool

    with closing(PostgresPool(postgres)) as found:
        yield found


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported stays: to look for garbage among it, again and again, is a third of the time that collecting takes.

    Later it would be a twentieth of what tests take. What they make themselves is looked at as ever.
    """
    import hypothesis  # noqa: F401 (asks who refers to what it manages, and would not be told of what is frozen)

    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    AT_ONCE.set(True)  # tests are of machine code, whatever there is on disk; those of what Python does instead say so
    config.addinivalue_line("markers", "long: takes seconds; begun first, so that in the end no process waits for another's")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)  # otherwise they stay in their order


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note which kernels a test has compiled, as nobody had done so ahead."""

    def note(kernel: str) -> None:
        item.user_properties.append((COMPILED, kernel))

    LISTENERS.append(note)
    try:
        return (yield)
    finally:
        if note in LISTENERS:  # a test may have listeners of its own
            LISTENERS.remove(note)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what `ensample warm-up` does not know: each costs seconds, in every process that meets it before it is on disk."""
    found = {
        (value, report.nodeid.partition("[")[0])
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == COMPILED and not report.nodeid.startswith("tests/kernels/")  # which compile to see what becomes of it
    }
    if found:
        terminalreporter.section("kernels that tests compiled (ensample warm-up first, or add them to simulation/tasks.py)")
        for kernel, test in sorted(found):
            terminalreporter.line(f"{kernel} in {test}")
