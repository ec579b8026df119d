"""The part of an experiment that only reads: its state, decisions, log and files."""

from os import PathLike
from typing import TYPE_CHECKING

from ensample.errors import ForkError, StorageError
from ensample.experiments.core import first_decided
from ensample.experiments.decision import NamedDecision, decision_of
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.explanation import Explanation, explained
from ensample.experiments.inputs import as_id
from ensample.experiments.snapshots import state_hash, verified
from ensample.experiments.storage.base import Reading
from ensample.extras import package
from ensample.frames import as_pandas

if TYPE_CHECKING:
    import pandas
    import polars


class ReadableExperiment:
    """The state, the decisions and the log of an experiment. `engine` has all of it."""

    def __init__(self, engine: ExperimentEngine) -> None:
        self.engine = engine
        self.settings = engine.settings
        self.name = engine.settings.name
        self.seed = engine.settings.seed
        """The seed that was given or drawn when the experiment was created."""

    def __repr__(self) -> str:
        of = f"{len(self.actions)} actions, {self.decisions} decisions, {self.version} rewards"
        return f"{type(self).__name__}({self.name!r}, {of})"

    def _repr_html_(self) -> str:
        """Show the experiment in a notebook."""
        from ensample.experiments.notebook import LATEST, experiment_html

        storage = self.engine.storage
        try:
            latest = self.engine.ask(lambda: list(storage.read(max(0, storage.count - LATEST))))
            now = self.now()
        except (ForkError, StorageError):  # closed: what is known at once can still be seen
            latest, now = [], 0
        return experiment_html(self, latest, now)

    @property
    def actions(self) -> list[str]:
        """The names of the standing actions."""
        return list(self.engine.state.standing)

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self.engine.state.learner.version

    @property
    def is_finite(self) -> bool:
        """False if a number of the model is infinite or NaN.

        No reward that is accepted makes one so.
        """
        return self.engine.state.learner.is_finite()

    @property
    def columns(self) -> list[str]:
        """The features that have a column of x of their own, in order; none if names are hashed."""
        return list(self.engine.state.featuriser.seen.columns)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rewards by outcome, and of decisions that got the default or expired."""
        return dict(self.engine.state.counts)

    @property
    def events(self) -> int:
        """The number of events that are kept."""
        return self.engine.storage.count

    @property
    def decisions(self) -> int:
        """The number of decisions taken, and of rewards from elsewhere."""
        return self.engine.state.round

    @property
    def waiting(self) -> int:
        """The number of decisions that wait for their reward."""
        return len(self.engine.state.open)

    @property
    def hash(self) -> str:
        """SHA-256 of all that the experiment knows: the same for the same events, anywhere."""
        return self.engine.ask(lambda: state_hash(self.engine.state))

    def now(self) -> int:
        """Return the experiment's time in microseconds since 1970; it never runs backwards."""
        return self.engine.ask(lambda: self.engine.now(None))

    def decision(self, id: str) -> NamedDecision | None:
        """Return the decision that was taken under this id, if there is one."""
        known = as_id(id)
        event = self.engine.ask(lambda: first_decided(self.engine.storage.history(known)))
        return None if event is None else decision_of(event)

    def explain(self, id: str | NamedDecision) -> Explanation:
        """Explain a decision by votes, scores and mixture of the time, computed from the log."""
        known = as_id(id)
        return self.engine.ask(lambda: explained(self.settings, self.engine.storage, known))

    def verify(self) -> None:
        """Take in all events again; raise `SnapshotError` unless all hashes agree."""
        self.engine.ask(lambda: verified(self.settings, self.engine.storage, self.engine.state))

    def reader(self) -> Reading:
        """Return the events so far, for another thread to read. Close it afterwards."""
        storage = self.engine.storage
        if storage.slow and not storage.closed:  # by a connection of its own: nobody waits for it
            return storage.reader()
        return self.engine.ask(storage.reader)

    def log(self) -> "polars.DataFrame":
        """Return one row for each decision, with its reward as of now: see docs/log.md.

        A decision whose wait is over has its default here at once; the policy learns it by a later
        event. Nothing is written.
        """
        pl = package("polars", "Experiment.log")
        frame: polars.DataFrame = pl.concat(self.engine.log_frames())
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the log as a frame of pandas; pyarrow is not needed."""
        return as_pandas(self.log())

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the log as Parquet: complete or not at all. It may be larger than memory."""
        from ensample.experiments.log.table import write_pieces

        write_pieces(self.engine.log_frames(), path)

    def to_jsonl(self, path: str | PathLike[str]) -> None:
        """Write the log as JSON lines: complete or not at all. It may be larger than memory."""
        from ensample.experiments.log.table import write_jsonl

        write_jsonl(self.engine.log_frames(), path)

    def to_dsjson(self, path: str | PathLike[str]) -> int:
        """Write the decisions that were shown in Vowpal Wabbit's format; return their number."""
        from ensample.experiments.log.dsjson import write_dsjson

        return write_dsjson(self.engine.log_frames(), path)
