"""The log of an experiment, and the files it is written to."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING

from ensample.experiments.events import Event
from ensample.experiments.settings import Settings
from ensample.extras import package
from ensample.frames import as_pandas

if TYPE_CHECKING:
    import pandas
    import polars


class Exports(ABC):
    """What can be had of events that were kept."""

    settings: Settings

    @abstractmethod
    def _events(self, count: int | None = None) -> Iterable[Event]:
        """The first `count` events, by default all that there are now."""

    @abstractmethod
    def _present(self) -> tuple[int, int]:
        """Return how many events there are now, and the time: no event of an earlier time comes after them."""

    def _frames(self) -> "Iterator[polars.DataFrame]":
        from ensample.experiments.log.builder import log_frames

        count, now = self._present()
        return log_frames(self.settings, lambda: self._events(count), now)

    def log(self) -> "polars.DataFrame":
        """Return one row for each decision, with its reward as of now: see docs/log.md.

        A decision whose wait is over has its default here at once; the policy learns it by a later event. Nothing is written.
        """
        frame: polars.DataFrame = package("polars", "Experiment.log").concat(self._frames())
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """The log as a frame of pandas; pyarrow is not needed."""
        return as_pandas(self.log())

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the log as Parquet: complete or not at all. It may be larger than memory."""
        from ensample.experiments.log.table import write_pieces

        write_pieces(self._frames(), path)

    def to_jsonl(self, path: str | PathLike[str]) -> None:
        """Write the log as JSON lines: complete or not at all. It may be larger than memory."""
        from ensample.experiments.log.table import write_jsonl

        write_jsonl(self._frames(), path)

    def to_dsjson(self, path: str | PathLike[str]) -> int:
        """Write the decisions that were shown in the format of Vowpal Wabbit, complete or not at all; how many there are."""
        from ensample.experiments.log.dsjson import write_dsjson

        return write_dsjson(self._frames(), path)
