"""Metrics for Prometheus: `/metrics`."""

from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ensample.experiments.commit_queue import Batch

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, *(0.001 * 2**power for power in range(10)), 1.0, 2.0, 4.0)
SIZES = tuple(2**power for power in range(9))


class Metrics:
    """Metrics in a registry of their own: a process may have several services."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def metric(kind: Any, name: str, text: str, *labels: str, **options: Any) -> Any:
            return kind(f"ensample_{name}", text, labels, registry=self.registry, **options)

        times: Any = {"buckets": SECONDS}
        self.requests = metric(Counter, "requests", "Calls by route and status.", "route", "status")
        self.seconds = metric(Histogram, "request_seconds", "Time of a call.", "route", **times)
        self.decisions = metric(Counter, "decisions", "Decisions that were kept.", "experiment")
        self.rewards = metric(
            Counter, "rewards", "Rewards by what became of them.", "experiment", "outcome"
        )
        self.commits = metric(
            Histogram, "commit_seconds", "Time of a batch.", "experiment", **times
        )
        self.batches = metric(
            Histogram, "batch_size", "Questions of a batch.", "experiment", buckets=SIZES
        )
        self.failures = metric(
            Counter, "storage_failures", "Batches that could not be kept.", "experiment"
        )
        self.ready = metric(Gauge, "ready", "Whether everything can be kept.")
        # Looking up a metric by its labels takes longer than counting.
        self._call = cache(
            lambda route, status: (self.requests.labels(route, status), self.seconds.labels(route))
        )
        self._batch = cache(lambda name: (self.commits.labels(name), self.batches.labels(name)))
        self._decided = cache(self.decisions.labels)

    def count_call(self, route: str, status: int, seconds: float) -> None:
        count, histogram = self._call(route, status)
        count.inc()
        histogram.observe(seconds)

    def count_decisions(self, experiment: str, count: int) -> None:
        self._decided(experiment).inc(count)

    def count_reward(self, experiment: str, outcome: str) -> None:
        self.rewards.labels(experiment, outcome).inc()

    def count_batch(self, experiment: str, batch: Batch) -> None:
        seconds, questions = self._batch(experiment)
        seconds.observe(batch.seconds)
        questions.observe(batch.questions)
        if batch.error is not None:
            self.failures.labels(experiment).inc()

    def text(self) -> bytes:
        return generate_latest(self.registry)
