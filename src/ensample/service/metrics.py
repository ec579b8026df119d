"""Numbers for Prometheus: `/metrics`."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ensample.service.worker import Batch

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (
    0.0005,
    0.001,
    0.002,
    0.004,
    0.008,
    0.016,
    0.032,
    0.064,
    0.128,
    0.256,
    0.512,
    1.0,
    2.0,
    4.0,
)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """In a registry of its own: several services of one process have nothing in common."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        given: Any = {"registry": self.registry}
        self.requests = Counter(
            "ensample_requests", "Calls by route and status.", ["route", "status"], **given
        )
        self.seconds = Histogram(
            "ensample_request_seconds", "Time of a call.", ["route"], buckets=SECONDS, **given
        )
        self.decisions = Counter(
            "ensample_decisions", "Decisions that were kept.", ["experiment"], **given
        )
        self.rewards = Counter(
            "ensample_rewards",
            "Rewards by what became of them.",
            ["experiment", "outcome"],
            **given,
        )
        self.commits = Histogram(
            "ensample_commit_seconds", "Time of a batch.", ["experiment"], buckets=SECONDS, **given
        )
        self.batches = Histogram(
            "ensample_batch_size", "Questions of a batch.", ["experiment"], buckets=SIZES, **given
        )
        self.failures = Counter(
            "ensample_storage_failures", "Batches that could not be kept.", ["experiment"], **given
        )
        self.ready = Gauge("ensample_ready", "Whether everything can be kept.", **given)
        self._calls: dict[
            tuple[str, int], tuple[Counter, Histogram]
        ] = {}  # looking them up by their labels takes longer
        self._decisions: dict[str, Counter] = {}
        self._batches: dict[str, tuple[Histogram, Histogram]] = {}

    def batch(self, experiment: str, batch: Batch) -> None:
        found = self._batches.get(experiment)
        if found is None:
            found = self._batches[experiment] = (
                self.commits.labels(experiment),
                self.batches.labels(experiment),
            )
        seconds, questions = found
        seconds.observe(batch.seconds)
        questions.observe(batch.questions)
        if batch.error is not None:
            self.failures.labels(experiment).inc()

    def call(self, route: str, status: int, seconds: float) -> None:
        found = self._calls.get((route, status))
        if found is None:
            found = self._calls[route, status] = (
                self.requests.labels(route, status),
                self.seconds.labels(route),
            )
        count, histogram = found
        count.inc()
        histogram.observe(seconds)

    def decided(self, experiment: str, count: int = 1) -> None:
        found = self._decisions.get(experiment)
        if found is None:
            found = self._decisions[experiment] = self.decisions.labels(experiment)
        found.inc(count)

    def text(self) -> bytes:
        return generate_latest(self.registry)
