"""How long commits took since the service started, from the numbers that it keeps for Prometheus."""

from typing import NamedTuple

from ensample.service.metrics import Metrics


class Latency(NamedTuple):
    """In seconds, as upper ends of the slots in which they are counted."""

    commits: int
    median: float | None
    slowest: float | None  # of 99 in 100


def commit_latency(metrics: Metrics, experiment: str) -> Latency:
    samples = [sample for found in metrics.commits.collect() for sample in found.samples]
    mine = [
        sample
        for sample in samples
        if sample.name.endswith("_bucket") and sample.labels["experiment"] == experiment
    ]
    below = sorted(
        (float(sample.labels["le"]), sample.value) for sample in mine
    )  # how many took no longer
    count = int(below[-1][1]) if below else 0
    return Latency(count, quantile(below, 0.5 * count), quantile(below, 0.99 * count))


def quantile(below: list[tuple[float, float]], needed: float) -> float | None:
    """
    >>> quantile([(0.001, 5.0), (0.002, 9.0), (float("inf"), 10.0)], 9.0)
    0.002
    """
    return next((edge for edge, count in below if count and count >= needed), None)
