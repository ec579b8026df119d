"""`evaluate(log, target)`: estimate from a log what another policy would have earned."""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Unpack

from ensample.evaluation.evaluation import Evaluation, Look
from ensample.evaluation.learners import as_any_target
from ensample.evaluation.log import LoggedData, LogRows
from ensample.evaluation.options import EvaluationKeywords, EvaluationOptions
from ensample.evaluation.sources import read_errors
from ensample.evaluation.sums import RowSums, SegmentSums
from ensample.evaluation.weighing import RowWeigher, pieces
from ensample.extras import require

PIECES_AHEAD = 8  # under way on a cluster
ROWS_TOGETHER = 20_000  # read at once where pieces are smaller

Piece = tuple[int, int]


def evaluate(log: Any, target: Any = "logged", **options: Unpack[EvaluationKeywords]) -> Evaluation:
    """Estimate what `target` would have earned on a log, by IPS, SNIPS, DM and DR with intervals.

    `target` is "uniform", "logged", "action:NAME", a function of contexts, names of actions and
    what was on offer (docs/evaluation.md), an `Experiment` or a `Policy` as it is, or a recipe.

    Keywords:

    - `low`, `high`: the range of rewards. By default what the log says (`reward_low`,
      `reward_high`), else [0, 1], or the rewards seen where they go beyond; an `Evaluation` warns
      where they are guessed.
    - `alarm=0.05`: the probability with which an interval may miss.
    - `interval="sequence"`: a confidence sequence, valid for logs of policies that learn, however
      often one looks. `"normal"` is narrower, and right only for a log of a policy that does not
      learn, looked at once.
    - `segments`: a column, or a field of the contexts ("device", "user.country"): also estimates
      for each of its values.
    - `columns`: our names of columns and the log's, {"action": "arm", "context": ["country",
      "age"]}; a context may be made of several columns.
    - `least_propensity`: a lower bound of all propensities, which DR's sequence needs where a log
      has those of chosen actions only.
    - `reward_model`: a function of (contexts, names of actions) that returns rewards [n, K], used
      by DM and DR in place of our own. It must not have seen the rewards of the log.
    - `missing="cut"`: end the log at the first decision that still waits for its reward (`outcome`
      is "waiting"), because of later decisions clicks are known first. `"drop"` leaves out
      decisions without a reward; `"zero"` counts those that were shown as 0. Without a column
      `outcome` "cut" is "drop".
    - `question="progressive"`: a recipe learns from every row; `"replay"`: only from rows that
      agree with a draw of its own (`ensample.evaluation.learners`).
    - `cluster`, `cluster_security`: the address of a Dask scheduler, or "local", whose workers read
      the log; a TOML file with the keys of a tls:// address.
    - `progress`: a function of (rows done, all rows).

    A log in a file may be larger than memory.

    >>> import polars as pl
    >>> rows = {"action": ["a", "b"] * 500, "propensity": [0.5] * 1000, "reward": [1.0, 0.0] * 500}
    >>> found = evaluate(pl.DataFrame(rows), "action:a", low=0, high=1)
    >>> found["ips"].value, found["snips"].value
    (1.0, 1.0)
    >>> found["ips"].low < 1.0 <= found["ips"].high
    True

    References: see `ensample.evaluation.estimators`.
    """
    chosen = EvaluationOptions(**options)
    require("polars", user="evaluate")
    asked = as_any_target(target, chosen.question)
    with read_errors(log):
        data = LoggedData(log, chosen)
        segments = None if chosen.segments is None else SegmentSums(chosen.segments, data)
    weigher, sums, looks = RowWeigher(data, asked, chosen), RowSums(), list[Look]()
    for (_, stop), rows in read_pieces(data, chosen):
        weighed = weigher.weigh(rows)
        if len(rows.rewards):
            sums.add(weighed)
            if segments is not None:
                segments.add(weighed, rows)
        if sums.rows:
            found = sums.estimates(chosen.alarm, chosen.interval)
            looks.append(Look(sums.rows, weigher.cross_fitting.correct(found, sums.rows)))
        if chosen.progress is not None:
            chosen.progress(stop, data.summary.rows)
    return Evaluation(
        target=asked.name,
        options=chosen,
        log=data.summary,
        sums=sums,
        looks=looks,
        segments={} if segments is None else segments.parts,
        has_all_bounds=weigher.has_all_bounds,
        target_warning=asked.warning(data),
    )


def read_pieces(data: LoggedData, options: EvaluationOptions) -> Iterator[tuple[Piece, LogRows]]:
    """Yield the pieces of a log in order, read here or by the workers of a cluster.

    Reading takes most of the time: contexts are decoded and become numbers. What depends on earlier
    rows is done in this process.
    """
    cuts = pieces(data.summary.rows, len(data.summary.actions))
    if options.cluster is None:
        return read_here(data, cuts)
    return read_on_cluster(data, cuts, options.cluster, options.cluster_security)


def read_here(data: LoggedData, cuts: Iterable[Piece]) -> Iterator[tuple[Piece, LogRows]]:
    """Read in this process; small pieces together, since each read has a cost of its own."""
    waiting: list[Piece] = []
    for piece in cuts:
        if waiting and piece[1] - waiting[0][0] > ROWS_TOGETHER:
            yield from read_together(data, waiting)
            waiting = []
        waiting.append(piece)
    if waiting:
        yield from read_together(data, waiting)


def read_together(data: LoggedData, cuts: list[Piece]) -> Iterator[tuple[Piece, LogRows]]:
    rows = data.rows(cuts[0][0], cuts[-1][1])
    for piece in cuts:
        yield piece, rows if len(cuts) == 1 else rows.between(*piece)


def read_on_cluster(
    data: LoggedData, cuts: Iterator[Piece], address: str, security: str | Path | None
) -> Iterator[tuple[Piece, LogRows]]:
    """Read on the workers of a cluster, which see the file under the same path."""
    from ensample.lab.cluster import Cluster

    with Cluster(address, security).session() as client:
        shared = client.scatter(data, broadcast=True)
        under_way: deque[tuple[Piece, Any]] = deque()
        while True:
            while len(under_way) < PIECES_AHEAD and (piece := next(cuts, None)) is not None:
                future = client.submit(LoggedData.rows, shared, *piece, pure=False)
                under_way.append((piece, future))
            if not under_way:
                return
            piece, future = under_way.popleft()
            yield piece, future.result()
