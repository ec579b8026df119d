"""Snapshots every N events, so that opening an experiment takes no longer the longer it runs."""

import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from ensample.errors import SnapshotError, SnapshotWarning
from ensample.experiments.snapshots import captured, snapshot_of
from ensample.experiments.state import State
from ensample.experiments.storage.base import Snapshot, Storage

SNAPSHOT_EVERY = 10_000  # events


class SnapshotScheduler:
    """Takes a snapshot every `every` events, inline or by `submit`, say to a thread pool.

    Events are what counts. A snapshot that fails is only a warning: without it opening takes
    longer, until the next one, and nothing else.
    """

    def __init__(self, name: str, storage: Storage) -> None:
        self.name, self.storage = name, storage
        self.every = SNAPSHOT_EVERY
        self.submit: Callable[[Callable[[], Snapshot]], Future[Snapshot]] | None = None
        self._coming: Future[Snapshot] | None = None
        self._is_failing = False  # whether the last one could not be made
        self.last = 0  # events of the last one
        self.restart()

    @property
    def is_coming(self) -> bool:
        """True while one is being made elsewhere: the next question may have to write it."""
        return self._coming is not None

    def restart(self) -> None:
        """Forget what is under way: a snapshot of a lost batch is lost too."""
        self._coming = None
        self.last = next((item.seq for item in self.storage.snapshots()), 0)

    def follow(self, state: State) -> None:
        """Keep a snapshot that has been made elsewhere, and take the next one when it is due."""
        coming = self._coming
        if coming is not None and coming.done():
            self._coming = None
            if not coming.cancelled():  # else it is being closed
                self._keep(coming.result)
        due = self.storage.slow and state.seq - self.last >= self.every
        if not due or self._coming is not None:
            return
        self.last = state.seq
        if self.submit is None:
            self._keep(lambda: snapshot_of(captured(state)))
            return
        try:
            self._coming = self.submit(partial(snapshot_of, captured(state), gently=True))
        except Exception as error:
            self._warn(error)

    def _keep(self, make: Callable[[], Snapshot]) -> None:
        try:
            snapshot = make()
        except Exception as error:
            self._warn(error)
            return
        size, room = len(snapshot.content or b""), self.storage.room
        if size > room:
            self._warn(SnapshotError(f"it has {size:,} bytes, and the storage takes {room:,}"))
            return
        self._is_failing = False
        self.storage.keep(snapshot)

    def _warn(self, error: Exception) -> None:
        """Warn once, until one can be made again."""
        if not self._is_failing:
            self._is_failing = True
            warnings.warn(
                f"{self.name}: no snapshot after {self.last:,} events ({type(error).__name__}: "
                f"{error}); all events are kept, and the next one is tried after "
                f"{self.every:,} more",
                SnapshotWarning,
                stacklevel=2,
            )
