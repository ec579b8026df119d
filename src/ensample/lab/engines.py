"""Where the work is done: threads of this process, or a Dask cluster."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ensample.checks import whole
from ensample.lab.work import Block, Task, play
from ensample.simulation.threads import cores, on_threads


class Engine(ABC):
    """Does tasks in any order and hands over what each gave. The numbers are the same from every engine."""

    @abstractmethod
    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Block]]:
        """(task, block) as they finish; few are under way at a time."""

    @property
    def caution(self) -> str:
        """What one should know before using it; nothing for most."""
        return ""

    @abstractmethod
    def __str__(self) -> str:
        """For the record."""


@dataclass(frozen=True)
class Threads(Engine):
    """Threads of this process; kernels release the GIL. None means one a core, or one where more wait for the GIL."""

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            whole("threads", self.count, 1)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Block]]:
        stop = np.zeros(1, np.int64)
        yield from on_threads(
            lambda task: play(task, stop), tasks, self.workers, stop, self.count is not None
        )

    @property
    def workers(self) -> int:
        return self.count or cores()

    def __str__(self) -> str:
        return f"{self.workers} threads"
