"""One contract for all engines: the same bytes from each, also when a worker is lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import ensample as es
from ensample.lab.cluster import run_there
from ensample.lab.run import Progress
from ensample.lab.tasks import Engine, Threads, tasks_of
from lab.clusters import machines, write_keys
from lab.studies import slow, small
from lab.test_run import cell_files


class Backwards(Engine):
    """The last task first: an engine may take any order."""

    def run(self, tasks):  # type: ignore[no-untyped-def]
        for task in reversed(list(tasks)):
            yield task, task.run()

    def __str__(self) -> str:
        return "backwards"


def test_any_order_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    es.run_study(small(), tmp_path / "threads")
    monkeypatch.setattr("ensample.lab.run.engine_for", lambda *_: Backwards())
    es.run_study(small(), tmp_path / "backwards")
    assert cell_files(tmp_path / "threads") == cell_files(tmp_path / "backwards")


@pytest.mark.long
def test_a_cluster_gives_the_same_bytes_and_survives_the_loss_of_a_worker(
    tmp_path: Path, slow_whole: dict[str, bytes]
) -> None:
    keys = write_keys(tmp_path)
    lost: list[int] = []
    with machines(tmp_path, keys=keys) as there:

        def kill_one(done: Progress) -> None:
            if done.cells >= 4 and not lost:
                lost.append(done.cells)
                os.kill(there.workers[0].pid, signal.SIGKILL)

        es.run_study(
            slow(),
            tmp_path / "cluster",
            cluster=there.address,
            cluster_security=keys,
            progress=kill_one,
        )
        assert lost and lost[0] < 36 and there.workers[0].wait(10) == -signal.SIGKILL
    assert cell_files(tmp_path / "cluster") == slow_whole


def test_a_worker_of_another_version_is_refused() -> None:
    with pytest.raises(es.InvalidArgument, match=r"workers with ensample \('99\.0', 1\)"):
        run_there(b"a task of that version", ("99.0", 1))


def test_an_error_in_a_cell_stops_the_engine() -> None:
    def broken() -> Iterator[object]:
        yield from tasks_of(small(), small().cells[:2], {})
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(Threads(2).run(broken()))  # type: ignore[arg-type]


def test_blocks_are_the_replicates_they_say() -> None:
    study = small(horizon=150_000, runs=5)
    first, *_ = tasks = list(tasks_of(study, study.cells[:1], {}))
    assert [task.replicates for task in tasks] == [range(2), range(2, 4), range(4, 5)]
    assert first.run().regret.shape == (2, 200)
