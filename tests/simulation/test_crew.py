"""As many threads as are busy: who waits for Python's lock is one too many."""

import os
import threading
import time

import numpy as np
import pytest

from ensample.simulation import threads
from ensample.simulation.simulate import blocks_of
from ensample.simulation.threads import ENOUGH, REST, Crew, Spent, cores, on_threads


def told(crew: Crew, share: float, now: float = 0.0, passed: float = ENOUGH) -> int:
    """The size of a crew whose threads were busy for a share of the time."""
    crew.note(crew.size, Spent(share * passed, passed), now)
    return crew.look(now)


@pytest.mark.parametrize(("share", "size"), [(1.0, 8), (0.93, 8), (0.8, 7), (0.3, 3), (0.15, 1), (0.0, 1)])
def test_there_are_as_many_as_were_busy(share: float, size: int) -> None:
    assert told(Crew(8), share) == size


def test_two_are_kept_where_they_gain_something() -> None:
    assert told(Crew(2), 0.71) == 2 and told(Crew(2), 0.69) == 1


def test_it_takes_a_while_to_tell() -> None:
    crew = Crew(2)
    assert told(crew, 0.1, passed=0.6 * ENOUGH) == 2
    assert told(crew, 0.1, passed=0.6 * ENOUGH) == 1


def test_who_began_among_others_does_not_count() -> None:
    crew = Crew(4)
    assert told(crew, 0.3) == 1
    crew.note(4, Spent(0.0, 9.0), 0.0)
    assert told(crew, 0.0) == 1, "one alone is never too many"
    assert told(crew, 0.0, REST) == 4, "nor was what it waited for kept in mind"


def test_after_a_rest_all_are_tried_again_and_then_less_often() -> None:
    crew = Crew(2)
    assert told(crew, 0.1) == 1
    assert crew.look(0.9 * REST) == 1 and crew.look(REST) == 2
    assert told(crew, 0.1, REST) == 1
    assert crew.look(2.9 * REST) == 1 and crew.look(3.0 * REST) == 2


def test_long_tasks_are_tried_less_often() -> None:
    crew = Crew(2)
    assert told(crew, 0.1, passed=REST) == 1
    assert crew.look(7.9 * REST) == 1 and crew.look(8.0 * REST) == 2


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


def test_who_waits_for_others_is_sent_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that are never busy stand for those that wait for a lock."""
    monkeypatch.setattr(threads, "REST", 1e9)
    meeting = Meeting()

    def work(task: int) -> int:
        with meeting:
            time.sleep(ENOUGH)
        return task * task

    found = dict(on_threads(work, range(40), 3, np.zeros(1, np.int64)))
    assert found == {task: task * task for task in range(40)}, "each is done once"
    assert max(meeting.most) == 3 and set(meeting.most[-20:]) == {1}


def test_blocks_grow_and_hold_every_run_once() -> None:
    for runs, horizon, workers in ((1, 5, 1), (7, 10, 2), (1000, 50, 2), (1000, 10**6, 8)):
        blocks = list(blocks_of(runs, horizon, workers))
        assert [r for block in blocks for r in block] == list(range(runs))
        assert len(blocks[0]) == 1 and max(map(len, blocks)) <= max(1, runs // (4 * workers))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be kept to some cores here")
def test_a_process_that_is_kept_to_one_core_has_one() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
