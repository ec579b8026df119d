"""`warm_up`: everything compiled ahead, on all cores.

Numba compiles one kernel at a time in a process, so there are processes, each of which keeps on disk what it has compiled: the
next one finds it there. A process that ends early, or is ended, leaves whole files only.
"""

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

from ensample.checks import whole
from ensample.errors import WrongType
from ensample.simulation.tasks import do, names, waiting
from ensample.simulation.threads import cores

__all__ = ["compile_ahead", "warm_up"]

Progress = Callable[[int, int], None]
WORKER = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline());"
    "from ensample.simulation.worker import main; main(sys.stdin, sys.stdout)"
)
PATIENCE = 2.0  # seconds that a worker has to end by itself


def warm_up(processes: int | None = None, progress: Progress | None = None) -> int:
    """Compile every kernel that this installation has not compiled yet; returns how many tasks that took, 0 if none was left.

    Without it each kernel is compiled when it is first called, a second or two each, once for each installation. `processes`:
    as many as there are cores, if not said otherwise. `progress` is called with the number of tasks done and that of all.

    >>> import ensample as es
    >>> es.warm_up()                                                                        # doctest: +SKIP
    50
    >>> es.warm_up()                                                                        # doctest: +SKIP
    0
    """
    if processes is not None:
        processes = whole("processes", processes, 1)
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of two numbers, or None")
    left = waiting(names())
    compile_ahead(left, processes, progress)
    return len(left)


def compile_ahead(tasks: list[str], processes: int | None = None, progress: Progress | None = None) -> None:
    """Do these tasks, in as many processes as there are cores; a single one in this process."""
    workers = min(len(tasks), processes or cores())
    if workers > 1 and sys.executable:
        finished: Iterator[object] = in_processes(tasks, workers)
    else:
        finished = map(do, tasks)
    for done, _ in enumerate(finished, 1):
        if progress is not None:
            progress(done, len(tasks))


class Workers:
    """Processes that do one task after the other, until there is none left or they are ended.

    Every other process begins with the last task: tasks that are near each other share much of what is compiled on the way,
    which is kept in a process and not on disk.
    """

    def __init__(self, tasks: list[str], count: int) -> None:
        self.tasks = deque(tasks)
        self.finished: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None: a worker has ended
        self.processes = [start_worker() for _ in range(count)]
        ends = itertools.cycle((self.tasks.popleft, self.tasks.pop))
        self.threads = [
            threading.Thread(target=self.serve, args=pair, daemon=True) for pair in zip(self.processes, ends, strict=False)
        ]
        for thread in self.threads:
            thread.start()

    def serve(self, process: "subprocess.Popen[str]", next_task: Callable[[], str]) -> None:
        """Hand a process its tasks. A pipe that breaks means that it has ended: others go on, and what it had is done later."""
        assert process.stdin is not None and process.stdout is not None
        try:
            while True:
                task = next_task()
                print(task, file=process.stdin, flush=True)
                if process.stdout.readline() != f"{task}\n":
                    return
                self.finished.put(task)
        except (IndexError, OSError, ValueError):
            pass
        finally:
            self.finished.put(None)

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def in_processes(tasks: list[str], count: int) -> Iterator[str]:
    """Names of tasks as they are done; whatever happens, no process is left behind."""
    workers = Workers(tasks, count)
    try:
        while count > 0:
            task = workers.finished.get()
            if task is None:
                count -= 1
            else:
                yield task
    finally:
        workers.end()


def start_worker() -> "subprocess.Popen[str]":
    """A process that imports what this one does, from the same places."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    print(json.dumps([os.path.abspath(path) for path in sys.path]), file=process.stdin, flush=True)
    return process
