"""Results that several tests compare with, and the tasks that are really run."""

from typing import Any

import pytest

import ensample as es
from ensample.lab.tasks import Task
from lab.studies import cell_files, slow, small


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the small study, run by threads and not disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    es.run_study(small(), folder)
    return cell_files(folder)


@pytest.fixture(scope="session")
def slow_whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the slow study."""
    folder = tmp_path_factory.mktemp("slow")
    es.run_study(slow(), folder)
    return cell_files(folder)


class Played(list[Task]):
    """Tasks that were run."""

    @property
    def runs(self) -> int:
        return sum(len(task.replicates) for task in self)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    tasks, run = Played(), Task.run

    def watched(task: Task, stop: Any) -> Any:
        tasks.append(task)
        return run(task, stop)

    monkeypatch.setattr(Task, "run", watched)
    return tasks
