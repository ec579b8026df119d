"""The visitors of a soak; the half hour itself is `python -m benchmarks.soak`."""

import os
from urllib.parse import urlsplit

from benchmarks.soak import BATCH, EXPERIMENT, ONE, Minute, Visitor, fill, processor, resident
from service.live import Live


def test_visitors_ask_and_reward(live: Live) -> None:
    visitor = Visitor(urlsplit(live.url).port or 0, rate=1_000.0, seed=0)
    visitor.call("PUT", ONE, EXPERIMENT)
    fill(visitor, BATCH)
    for _ in range(20):
        visitor.visit()
    visitor._http.close()  # as a service does with one that is idle
    visitor.visit()
    visitor._http.close()
    found = live.experiment("soak")
    assert found.decisions == BATCH + 21 and len(visitor.latencies) == 21
    assert BATCH + 10 < found.version < BATCH + 21  # a tenth has no reward yet


def test_a_minute_is_a_line() -> None:
    minute = Minute(1, 100, 1.5, 9.0, 350.0, 80.0, resident(os.getpid()), 20)
    assert (
        minute.memory > 10
        and processor(os.getpid()) > 0
        and str(minute).split()[:4] == ["1", "100", "1.50", "9.0"]
    )
