"""Who reads the pieces of a log: this process, or the workers of a Dask cluster. The rows are the same, and come in order.

Reading is what takes long: contexts are opened and become numbers. What depends on earlier rows, the reward model and learning
targets, is done here, one piece after the other, whoever reads.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from ensample.evaluation.logged import LoggedData, Rows

__all__ = ["Piece", "here", "on_cluster"]

AHEAD = 8  # pieces under way on a cluster

Piece = tuple[int, int]


def here(data: LoggedData, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Rows]]:
    """Read in this process."""
    for piece in pieces:
        yield piece, data.rows(*piece)


def on_cluster(
    data: LoggedData, pieces: Iterable[Piece], address: str, security: str | Path | None
) -> Iterator[tuple[Piece, Rows]]:
    """Read on the workers of a cluster, a few pieces ahead; they see the log's file under the same path."""
    from ensample.lab.cluster import Cluster

    with Cluster(address, security).session() as client:
        shared = client.scatter(data, broadcast=True)
        under_way: deque[tuple[Piece, object]] = deque()
        coming = iter(pieces)
        while True:
            while len(under_way) < AHEAD and (piece := next(coming, None)) is not None:
                under_way.append((piece, client.submit(LoggedData.rows, shared, *piece, pure=False)))
            if not under_way:
                return
            piece, future = under_way.popleft()
            yield piece, future.result()  # type: ignore[attr-defined]
