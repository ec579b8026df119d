"""A child that `os.fork` makes neither hangs nor writes to what belongs to its parent."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from attempts import attempts
from ensample import fork_safety
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.postgres import PostgresStorage
from ensample.experiments.storage.postgres_pool import PostgresPool

FORKS = attempts(50, 500)
HANGS = "the child hangs"
SECONDS = 20.0  # after which a child is said to hang: it needs milliseconds
NAMES = ["a", "b"]
SMALL = es.EnsembleSampling(size=10)


def in_child(work: Callable[[], object]) -> str:
    """Return what `work` returns in a child of this process, or its error, or HANGS."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    try:
        if select.select([read], [], [], SECONDS)[0]:
            return os.read(read, 10_000).decode()
        os.kill(child, signal.SIGKILL)
        return HANGS
    finally:
        os.close(read)
        os.waitpid(child, 0)


@contextmanager
def busy(work: Callable[[], object]) -> Iterator[None]:
    """Call `work` again and again in another thread."""
    stopping = threading.Event()

    def run() -> None:
        while not stopping.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def started_policy() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a round of a policy, and a check that its state is what its log comes to."""
    policy = SMALL.start(es.FiniteArms(np.eye(3)), seed=0)

    def check() -> object:
        policy.update(policy.decide(), 0.5)
        again = SMALL.replay(policy.arms, policy.log(), seed=0)
        return np.array_equal(again.estimates, policy.estimates) and again.version == policy.version

    return lambda: policy.update(policy.decide(), 0.5), check


def started_experiment() -> tuple[Callable[[], object], Callable[[], object]]:
    experiment = es.Experiment("news", actions=NAMES, recipe=SMALL, seed=0)

    def check() -> object:
        experiment.reward(experiment.decide(), 1)
        experiment.verify()
        return True

    return lambda: experiment.reward(experiment.decide(), 1), check


@pytest.mark.parametrize("start", [started_policy, started_experiment])
def test_child_forked_beside_a_busy_thread_has_a_whole_copy(
    start: Callable[[], tuple[Callable[[], object], Callable[[], object]]],
) -> None:
    """Without fork safety the first children hang already: the lock is held nearly all the time."""
    found = set()
    for _ in range(FORKS):
        work, check = start()
        check()
        with busy(work):
            found.add(in_child(check))
    assert found == {"True"}


def test_lock_that_is_not_registered_hangs_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test before."""
    monkeypatch.setattr(sys.modules[__name__], "SECONDS", 0.5)
    lock, free = threading.Lock(), threading.Event()
    with lock:
        thread = threading.Thread(target=lambda: free.wait(60))
        thread.start()
        assert in_child(lock.acquire) == HANGS
        free.set()
        thread.join()


def test_child_refuses_a_policy_that_stays_in_use_at_the_fork(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fork_safety, "PATIENCE", 0.1)
    inside, free = threading.Event(), threading.Event()

    def slow(_: object) -> None:
        inside.set()
        free.wait(60)

    policy = SMALL.start(es.FiniteArms(np.eye(3)), seed=0, log=slow)
    thread = threading.Thread(target=lambda: policy.update(policy.decide(), 0.5))
    thread.start()
    assert inside.wait(60)
    said = in_child(policy.decide)
    assert said.startswith(
        "ForkError: a policy that another thread was changing was inherited through a fork"
    )
    free.set()
    thread.join()
    policy.decide()
    assert policy.version == 1 and in_child(lambda: policy.decide() and policy.version) == "1"


USES: list[Callable[[es.Experiment], object]] = [
    lambda experiment: experiment.decide(id="child"),
    lambda experiment: experiment.reward("parent", 1),
    lambda experiment: experiment.together([lambda: experiment.decide(id="child")]),
    lambda experiment: experiment.add("c"),
    lambda experiment: experiment.hash,
    lambda experiment: experiment.log(),
    lambda experiment: experiment.reader(),
]


def refused_uses(experiment: es.Experiment) -> object:
    """Use a durable experiment in a child, in every way; return the refusals."""
    said = set()
    for use in USES:
        try:
            use(experiment)
        except es.ForkError as error:
            said.add(str(error))
        else:
            return "not refused"
    experiment.close()  # does no harm
    experiment.close()
    return said


def check_refused(experiment: es.Experiment, *words: str) -> None:
    """Check that a child is refused, beside a busy thread too, and that the parent goes on."""
    decided = experiment.decide(id="parent")
    with busy(lambda: experiment.reward(experiment.decide(), 1)):
        found = {in_child(lambda: refused_uses(experiment)) for _ in range(FORKS // 10)}
    assert len(found) == 1
    assert all(word in min(found) for word in (*words, "in the process that uses it"))
    assert experiment.decision("child") is None and experiment.decision("parent") == decided
    assert experiment.reward("parent", 1) == "applied" and "c" not in experiment.actions
    experiment.verify()


def test_child_is_refused_the_file_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "news.db"
    with es.open_experiment(path, actions=NAMES, recipe=SMALL, seed=0) as experiment:
        check_refused(
            experiment, str(path), "open_experiment here", "the parent must have closed it"
        )
        hash = experiment.hash
        assert Path(f"{path}-lock").exists()
    with es.open_experiment(path, verify=True) as again:
        assert again.hash == hash


def test_child_is_refused_the_stream_of_its_parent(pool: PostgresPool) -> None:
    given = {"actions": NAMES, "recipe": SMALL, "seed": 0}
    with experiment_in(PostgresStorage(pool, "forked"), {"name": "forked"}, given) as experiment:
        check_refused(experiment, "postgresql")


def test_child_opens_the_stream_of_its_parent_beside_it(pool: PostgresPool) -> None:
    """Several processes may write to a stream, each over connections of its own."""
    given = {"actions": NAMES, "recipe": SMALL, "seed": 0}

    def open_there() -> object:
        mine = experiment_in(
            PostgresStorage(PostgresPool(pool.address), "shared"), {"name": "shared"}, given
        )
        return mine.decide(id="child").action

    with experiment_in(PostgresStorage(pool, "shared"), {"name": "shared"}, given) as experiment:
        said = in_child(open_there)
        found = experiment.decision("child")
        assert found is not None and found.action == said
        experiment.verify()


def test_answer_of_a_batch_that_forked_is_refused_in_the_child(tmp_path: Path) -> None:
    """A function inside `together` forks: the child unwinds through the commit of its parent."""
    path, said = tmp_path / "news.db", []
    with es.open_experiment(path, actions=NAMES, recipe=SMALL, seed=0) as experiment:

        def fork() -> int:
            experiment.decide(id="before")
            return os.fork()

        try:
            child = experiment.together([fork])[0]
        except es.ForkError as error:
            os._exit(7 if "open_experiment" in str(error) else 1)
        except BaseException:
            os._exit(1)
        said.append(os.waitstatus_to_exitcode(os.waitpid(int(str(child)), 0)[1]))
        assert experiment.decision("before") is not None
        experiment.verify()
    assert said == [7]


ENDS = """
import os, sys, pathlib
import ensample as es
recipe = es.EnsembleSampling(size=10)
experiment = es.open_experiment(sys.argv[1], actions=["a", "b"], recipe=recipe, seed=0)
experiment.decide(id="1")
child = os.fork()
if child:
    os.waitpid(child, 0)
    experiment.decide(id="2")  # in the write-ahead log, which the child must not delete
    print(*sorted(path.name for path in pathlib.Path(sys.argv[1]).parent.iterdir()), flush=True)
    os._exit(0)  # no checkpoint
"""


def test_end_of_the_child_leaves_the_files_of_its_parent(tmp_path: Path) -> None:
    """Its interpreter frees what it inherited: SQLite would merge and delete the parent's log."""
    path = tmp_path / "news.db"
    done = subprocess.run(
        [sys.executable, "-c", ENDS, str(path)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["news.db", "news.db-lock", "news.db-shm", "news.db-wal"]
    with es.open_experiment(path, verify=True) as experiment:
        assert experiment.decision("1") and experiment.decision("2")


def locks_of(process: int, path: Path) -> list[str]:
    """Return the locks that a process has on a file, by the system's own list."""
    inode = f":{path.stat().st_ino} "
    return [
        line
        for line in Path("/proc/locks").read_text().splitlines()
        if f" {process} " in line and inode in line
    ]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system lists no locks")
def test_child_opens_what_its_parent_has_closed(tmp_path: Path) -> None:
    """With locks of its own: the parent's, which SQLite remembers by file, are not the child's."""
    path, closed = tmp_path / "news.db", tmp_path / "closed"
    experiment = es.open_experiment(path, actions=NAMES, recipe=SMALL, seed=0)
    experiment.decide(id="parent")

    def open_there() -> object:
        while not closed.exists():
            time.sleep(0.01)
        with es.open_experiment(path, verify=True) as mine:
            mine.decide(id="child")
            return bool(mine.decision("parent")) and bool(locks_of(os.getpid(), path))

    def close() -> None:
        time.sleep(0.2)
        experiment.close()
        closed.touch()

    thread = threading.Thread(target=close)
    thread.start()
    said = in_child(open_there)
    thread.join()
    assert said == "True"
    with es.open_experiment(path, verify=True) as again:
        assert again.decision("child") is not None


def test_child_that_outlives_its_parent_does_not_keep_the_file(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\nimport ensample as es\n"
        "recipe = es.EnsembleSampling(size=10)\n"
        "experiment = es.open_experiment(sys.argv[1], actions=['a', 'b'], recipe=recipe, seed=0)\n"
        "experiment.decide(id='1')\n"
        "if os.fork():\n    os.kill(os.getpid(), 9)\n"
        "print(os.getpid(), flush=True)\ntime.sleep(60)\nos._exit(0)\n"
    )
    path = tmp_path / "news.db"
    done = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert done.stdout is not None
    child = int(done.stdout.readline())
    try:
        done.wait(60)
        with es.open_experiment(path, verify=True) as experiment:
            assert experiment.decision("1") is not None
    finally:
        os.kill(child, signal.SIGKILL)
        done.stdout.close()
