"""Who reads the pieces of a log: this process, or the workers of a Dask cluster. The rows are the same, and come in order.

Reading is what takes long: contexts are opened and become numbers. What depends on earlier rows, the reward model and learning
targets, is done here, one piece after the other, whoever reads.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from ensample.evaluation.logged import LoggedData, LogRows

AHEAD = 8  # pieces under way on a cluster
TOGETHER = 20_000  # rows read at once, where pieces are smaller

Piece = tuple[int, int]


def here(data: LoggedData, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, LogRows]]:
    """Read in this process; small pieces together, since each reading has a cost of its own."""
    waiting: list[Piece] = []
    for piece in pieces:
        if waiting and piece[1] - waiting[0][0] > TOGETHER:
            yield from at_once(data, waiting)
            waiting = []
        waiting.append(piece)
    if waiting:
        yield from at_once(data, waiting)


def at_once(data: LoggedData, pieces: list[Piece]) -> Iterator[tuple[Piece, LogRows]]:
    """Pieces that follow each other."""
    rows = data.rows(pieces[0][0], pieces[-1][1])
    for piece in pieces:
        yield piece, rows if len(pieces) == 1 else rows.between(*piece)


def on_cluster(
    data: LoggedData, pieces: Iterable[Piece], address: str, security: str | Path | None
) -> Iterator[tuple[Piece, LogRows]]:
    """Read on the workers of a cluster, a few pieces ahead; they see the log's file under the same path."""
    from ensample.lab.cluster import Cluster

    with Cluster(address, security).session() as client:
        shared = client.scatter(data, broadcast=True)
        under_way: deque[tuple[Piece, object]] = deque()
        coming = iter(pieces)
        while True:
            while len(under_way) < AHEAD and (piece := next(coming, None)) is not None:
                under_way.append(
                    (piece, client.submit(LoggedData.rows, shared, *piece, pure=False))
                )
            if not under_way:
                return
            piece, future = under_way.popleft()
            yield piece, future.result()  # type: ignore[attr-defined]
