"""Number of threads: all, or one while they wait for the GIL."""

import os
import threading
import time

import numpy as np
import pytest

from ensample.simulation import threads
from ensample.simulation.threads import ENOUGH, MAX_PAUSE, PAUSE, PoolSize, Spent, cores, on_threads


def size_after(size: PoolSize, *shares: float, now: float = 0.0, passed: float = ENOUGH) -> int:
    """Return the size of a pool whose threads were busy for these shares of the time, after a first task each."""
    for share in [0.0] * size._ignored + list(shares):
        size.record(size.size, Spent(share * passed, passed), now)
    return size.current(now)


@pytest.mark.parametrize("most", [2, 8, 64])
def test_one_is_left_where_they_use_little_more_than_one_core(most: int) -> None:
    assert size_after(PoolSize(most), *[1.5 / most] * most) == most
    assert size_after(PoolSize(most), *[1.3 / most] * most) == 1


@pytest.mark.parametrize(("most", "share"), [(2, 0.72), (8, 0.5), (16, 0.9), (64, 0.3), (8, 1.2)])
def test_where_they_use_more_all_stay_for_ever(most: int, share: float) -> None:
    assert size_after(PoolSize(most), *[share] * 1000) == most


def test_a_single_task_tells_nothing_of_the_others() -> None:
    assert size_after(PoolSize(8), *[0.0, *[0.9] * 7] * 9) == 8
    assert size_after(PoolSize(8), *[0.0] * 7) == 8


def test_nor_does_what_each_of_them_did_first() -> None:
    """Modules are imported there."""
    size = PoolSize(2)
    size.record(2, Spent(0.1, 30.0), 0.0)
    size.record(2, Spent(29.0, 30.0), 0.0)
    assert size_after(size, 0.9, 0.8) == 2


def test_it_takes_a_while_to_tell() -> None:
    size = PoolSize(2)
    assert size_after(size, 0.1, 0.1, passed=0.4 * ENOUGH) == 2
    assert size_after(size, 0.1, passed=0.4 * ENOUGH) == 1


def test_who_began_among_others_does_not_count() -> None:
    size = PoolSize(4)
    assert size_after(size, *[0.3] * 4) == 1
    size.record(4, Spent(0.0, 9.0), 0.0)
    assert size_after(size, 0.0) == 1, "one alone is never too many"
    assert size_after(size, 0.0, now=PAUSE) == 4, "nor was what it waited for kept in mind"


def test_after_a_rest_all_are_tried_again_and_then_less_often() -> None:
    size, now, rest = PoolSize(2), 0.0, PAUSE
    for _ in range(12):
        assert size_after(size, 0.1, 0.1, now=now) == 1
        assert size.current(now + 0.9 * rest) == 1 and size.current(now + rest) == 2
        now, rest = now + rest, min(2.0 * rest, MAX_PAUSE)
    assert rest == MAX_PAUSE


class Meeting:
    """Counts how many are at work at once."""

    def __init__(self) -> None:
        self.lock, self.here, self.most = threading.Lock(), 0, [0]

    def __enter__(self) -> None:
        with self.lock:
            self.here += 1
            self.most.append(self.here)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.here -= 1


def met(workers: int, **options: bool) -> list[int]:
    """How many were at work at once, task by task, who are never busy: as threads that wait for a lock. All meet at first."""
    meeting, first = Meeting(), threading.Barrier(workers, timeout=60.0)

    def work(task: int) -> int:
        with meeting:
            if task < workers:
                first.wait()
            time.sleep(ENOUGH)
        return task * task

    found = dict(on_threads(work, range(40), workers, np.zeros(1, np.int64), **options))
    assert found == {task: task * task for task in range(40)}, "each is done once"
    return meeting.most


def test_who_waits_for_others_is_sent_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PAUSE", 1e9)
    many = met(3)
    assert max(many) == 3 and set(many[-20:]) == {1}


def test_as_many_as_somebody_asks_for() -> None:
    assert max(met(3, all_of_them=True)[-20:]) > 1


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="processes cannot be kept to some cores here"
)
def test_a_process_that_is_kept_to_one_core_has_one() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
