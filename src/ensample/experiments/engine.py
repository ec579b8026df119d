"""The engine of an experiment: it answers questions, keeps events and folds them into a state."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ensample.errors import DecisionError, InvalidArgument
from ensample.experiments.commit_queue import CommitQueue
from ensample.experiments.core import Asked, proposed
from ensample.experiments.events import Created, Decided, Event, Expired
from ensample.experiments.feature_warnings import FeatureWarnings
from ensample.experiments.inputs import (
    Clock,
    Moment,
    as_function,
    as_text,
    microseconds_of,
    random_id,
)
from ensample.experiments.mixture import Uniforms
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.snapshot_scheduler import SnapshotScheduler
from ensample.experiments.snapshots import folded
from ensample.experiments.state import State
from ensample.experiments.storage.base import Storage

if TYPE_CHECKING:
    import polars

EXPIRED_AT_ONCE = 64  # decisions that expire on the way of another
READ_AT_ONCE = 10_000  # events

T = TypeVar("T")


class ExperimentEngine:
    """Settings, events and state of one experiment.

    `ask` answers a question: a function that looks at `state` and calls `take` with the events that
    the answer is. Every other method is to be called within a question, except `events`, `present`
    and `log_frames`, which ask themselves.
    """

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
    ) -> None:
        self.settings, self.storage = settings, storage
        if clock is not None:
            clock = as_function("clock", clock, "the time: seconds since 1970")
        self.clock, self.ids = clock, None if ids is None else as_function("ids", ids, "a new id")
        self.queue = CommitQueue(storage, self._catch_up)
        self.snapshots = SnapshotScheduler(settings.name, storage)
        self._warnings = FeatureWarnings(settings.name, 10 if storage.slow else 7)
        self._uniforms = Uniforms(settings.stream_seed)
        self._rollbacks = storage.rollbacks
        if storage.count == 0:
            self._create()
        else:
            self.state = folded(settings, storage)

    def _create(self) -> None:
        """Keep the first event, unless another server was a moment earlier."""
        self.state = State(self.settings)  # raises before anything is kept
        with self.storage.batch():
            if self.storage.count == 0:
                described, numbers = self.settings.described(), numbers_of(self.settings)
                self.storage.append(Created(self.now(None), described, numbers))
        self.state.apply(next(iter(self.storage.read())))

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer to a question, once its events are durable."""
        return self.queue.ask(question)

    def take(self, event: Event, *at_hand: Any) -> None:
        """Keep an event and let the state follow; what the model refuses has not happened."""
        count = self.storage.count
        self.storage.append(event)
        try:
            self.state.apply(event, *at_hand, new=True)
        except Exception:
            self.storage.take_back(count)
            raise
        self.snapshots.follow(self.state)

    def decide(
        self, asked: Asked, id: str | None, now: int, active: bool, dry_run: bool
    ) -> Decided:
        """Choose an action, and take the decision unless it is a dry run."""
        known = self.new_id() if id is None else id
        if not dry_run:
            self._expire_some(now, asked)
        proposal = self.try_out(
            lambda: proposed(self.state, asked, known, now, active, self._uniforms)
        )
        if not dry_run:
            self.take(*proposal)
            self._warnings.look(asked.context, self.state.featuriser)
        return proposal.event

    def _expire_some(self, now: int, asked: Asked) -> None:
        """Close decisions that are due, unless the question is refused and changes nothing."""
        due = self.state.next_due()
        if due is not None and due < now:
            try:
                self.state.rows(asked.context, asked.names, asked.moment, new=True)
            finally:
                self.state.drop_unkept()
            self.take(Expired(now, EXPIRED_AT_ONCE))

    def try_out(self, question: Callable[[], T]) -> T:
        """Answer what would be decided; a question that is refused leaves no columns behind."""
        try:
            return question()
        except InvalidArgument:
            self.state.drop_unkept()
            raise

    def now(self, time: Moment | None) -> int:
        """Return the time that a call says, or the clock's: at least that of the latest event."""
        if time is not None:
            return microseconds_of("time", time)
        clock = self.storage.clock if self.clock is None else self.clock
        return max(microseconds_of("time", clock()), self.state.time)

    def new_id(self) -> str:
        if self.ids is None:
            return random_id()
        id = as_text("ids()", self.ids())
        if self.storage.history(id):
            raise DecisionError("ids()", id, "an id that was not given before")
        return id

    def present(self) -> tuple[int, int]:
        """Return the number of events, and a time that no later event is before."""
        return self.ask(lambda: (self.storage.count, self.now(None)))

    def events(self, count: int | None = None) -> Iterator[Event]:
        """Yield the first `count` events. Others are answered between two pieces of them."""
        left, start = self.ask(lambda: self.storage.count) if count is None else count, 0
        while left:
            piece = self.ask(partial(self._piece, start, min(left, READ_AT_ONCE)))
            yield from piece
            start, left = start + len(piece), left - len(piece)

    def _piece(self, start: int, most: int) -> list[Event]:
        return list(islice(self.storage.read(start), most))

    def log_frames(self) -> "Iterator[polars.DataFrame]":
        """Yield the log as of now, piece by piece."""
        from ensample.experiments.log.builder import log_frames

        count, now = self.present()
        return log_frames(self.settings, lambda: self.events(count), now)

    def _catch_up(self) -> None:
        """Make the state what the events come to, whatever cut the last call short."""
        storage, state = self.storage, self.state
        undone, self._rollbacks = storage.rollbacks != self._rollbacks, storage.rollbacks
        steady, count = state.settle_columns() and not undone, storage.count
        if steady and state.seq < count:  # others have added events
            for event in storage.read(state.seq):
                state.apply(event)
        elif not steady or state.seq != count:
            self.state = folded(self.settings, storage)
            self.snapshots.restart()
