"""When an experiment takes its snapshots: now and then, here or by somebody aside; one that fails is said, and gone without."""

import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from ensample.errors import SnapshotError, SnapshotWarning
from ensample.experiments.settings import Settings
from ensample.experiments.snapshots import captured, snapshot_of
from ensample.experiments.state import State
from ensample.experiments.storage.base import Snapshot, Storage


class Taking:
    """Of snapshots, so that opening takes no longer the longer an experiment runs."""

    settings: Settings
    snapshot_every: int  # events
    aside: (
        Callable[[Callable[[], Snapshot]], Future[Snapshot]] | None
    )  # does it meanwhile, if anybody does
    _state: State
    _storage: Storage
    _coming: Future[Snapshot] | None
    _kept: int  # where the last one was taken
    _failing = False  # whether the last one could not be made

    @property
    def snapshot_comes(self) -> bool:
        """Whether one is being made aside: who asks next may have to wait until it is written."""
        return self._coming is not None

    def _snapshot(self) -> None:
        coming = self._coming
        if coming is not None and coming.done():
            self._coming = None
            if not coming.cancelled():  # else it is being closed
                self._keep(coming.result)
        if (
            self._storage.slow
            and self._coming is None
            and self._state.seq - self._kept >= self.snapshot_every
        ):
            self._kept = self._state.seq
            if self.aside is None:
                self._keep(lambda: snapshot_of(captured(self._state)))
            else:
                try:
                    self._coming = self.aside(
                        partial(snapshot_of, captured(self._state), gently=True)
                    )
                except Exception as error:
                    self._go_without(error)

    def _keep(self, made: Callable[[], Snapshot]) -> None:
        """Events are what counts: without this snapshot opening takes longer, until the next one, and nothing else."""
        try:
            snapshot = made()
        except Exception as error:
            self._go_without(error)
            return
        size, room = len(snapshot.content or b""), self._storage.room
        if size > room:
            self._go_without(
                SnapshotError(f"it has {size:,} bytes, and the storage takes {room:,}")
            )
            return
        self._failing = False
        self._storage.keep(snapshot)

    def _go_without(self, error: Exception) -> None:
        """Said once, until one can be made again."""
        if not self._failing:
            self._failing = True
            warnings.warn(
                f"{self.settings.name}: no snapshot after {self._kept:,} events ({type(error).__name__}: {error}); "
                f"all events are kept, and the next one is tried after {self.snapshot_every:,} more",
                SnapshotWarning,
                stacklevel=2,
            )
