"""An experiment: named actions, contexts, rewards that come late or never, and one log."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from ensample.checks import boolean, instance
from ensample.errors import DecisionError, ForkError, InvalidArgument, StorageError
from ensample.experiments.commit_queue import Group, OneAtATime
from ensample.experiments.core import (
    Asked,
    asked,
    change_of,
    first_decided,
    judged_activation,
    judged_reward,
    known_answer,
    next_propensities,
    proposed,
)
from ensample.experiments.decision import NamedDecision, decision_of
from ensample.experiments.events import Created, Event, Expired, Learned
from ensample.experiments.explanation import Explanation, explained
from ensample.experiments.facts import Facts
from ensample.experiments.features import Encoder, Features, as_features
from ensample.experiments.identifiers import TextFields
from ensample.experiments.inputs import (
    Actions,
    Clock,
    Moment,
    as_actions,
    as_function,
    as_id,
    as_text,
    microseconds_of,
    random_id,
)
from ensample.experiments.log.exporter import Exports
from ensample.experiments.mixture import Uniforms
from ensample.experiments.reward import Outcome, Reward
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.snapshots import folded, state_hash, verified
from ensample.experiments.state import State
from ensample.experiments.storage.base import Reading, Storage
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.taking import Taking
from ensample.experiments.warm_start import (
    CHUNK,
    check_learnable,
    chunks,
    opened,
    past_rows,
    say_features,
    shown,
)
from ensample.policies.recipe import Recipe

SNAPSHOT_EVERY = 10_000  # events
AT_ONCE = 64  # decisions that expire on the way of another
READ = 10_000  # events read at once

T = TypeVar("T")


class Experiment(Facts, Taking, Exports):
    """Decides between named actions in contexts, learns from the rewards, and logs everything that evaluation needs.

    >>> import ensample as es
    >>> experiment = es.Experiment("news", actions=["sport", "politics", "culture"], reward=es.Reward(wait="30 min", default=0))
    >>> decision = experiment.decide({"age": 31, "device": "phone", "tags": ["tennis"]})
    >>> experiment.reward(decision.id, 1)
    'applied'
    >>> experiment.reward(decision.id, 1)
    'duplicate'
    >>> experiment.add("weather"); experiment.remove("sport")
    >>> experiment.actions
    ['politics', 'culture', 'weather']

    `actions`: names, or a dict of names and features; None where they come with each decision. `features`: how context and
    action become numbers, `Crosses()` unless told otherwise. `reward`: what counts as one, and until when. `recipe`: who
    decides.

    A share `floor` of decisions is drawn uniformly, and a share `baseline=("sport", 0.1)` goes to one action: the propensity
    of action k of K is p_k = (1 - share) ((1 - floor) w_k + floor / K) + share 1{k = baseline}, with w_k the policy's own. All
    of them are logged: evaluation needs them, and without a floor most would be exactly 0.

    Everything random is a function of `seed` and name. None draws a seed from the operating system; the first event records
    it, and `experiment.seed` is it. Experiments of equal seeds and different names draw independently.

    `clock` gives the time where a call does not (seconds since 1970), `ids` new ids. Without a `clock` it is the time of this
    machine, or of the database that several servers share. No event gets a time before those already in the log, unless the
    call says so: a clock that is set back stands still until it has caught up. Threads may share an experiment.
    This one lives in memory; `open_experiment` keeps one on the disk.
    """

    def __init__(
        self,
        name: str,
        *,
        actions: Any = None,
        features: Features | Encoder | None = None,
        reward: Reward | None = None,
        recipe: Recipe | None = None,
        floor: float = 0.02,
        baseline: tuple[str, float] | None = None,
        seed: int | None = None,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
    ) -> None:
        settings = Settings.created(
            name,
            actions,
            features=features,
            reward=reward,
            recipe=recipe,
            floor=floor,
            baseline=baseline,
            seed=seed,
        )
        self._begin(settings, MemoryStorage(), clock, ids)

    def _begin(
        self,
        settings: Settings,
        storage: Storage,
        clock: Clock | None,
        ids: Callable[[], str] | None,
    ) -> None:
        """Of settings and a storage, which may hold events already."""
        self._group = (
            Group(storage, self._steady) if storage.slow else OneAtATime(storage, self._steady)
        )
        self.settings = settings
        self._storage = storage
        self._clock = (
            None if clock is None else as_function("clock", clock, "the time: seconds since 1970")
        )
        self._ids = random_id if ids is None else as_function("ids", ids, "a new id")
        self._uniforms = Uniforms(settings.stream_seed)
        self.snapshot_every = SNAPSHOT_EVERY
        self.aside = self._coming = None
        self._undone = storage.rollbacks
        self._texts = TextFields()
        if storage.count == 0:
            self._state = State(
                settings
            )  # refuses what does not fit together, before anything is kept
            with storage.batch():
                if storage.count == 0:  # else another server was a moment earlier
                    storage.append(
                        Created(self._now(None), settings.described(), numbers_of(settings))
                    )
            self._state.apply(next(iter(storage.read())))
        else:
            self._state = self._folded()
        self._kept = next((item.seq for item in storage.snapshots()), 0)

    @classmethod
    def _of(
        cls,
        settings: Settings,
        storage: Storage,
        clock: Clock | None,
        ids: Callable[[], str] | None,
    ) -> "Experiment":
        experiment = cls.__new__(cls)
        experiment._begin(settings, storage, clock, ids)
        return experiment

    def decide(
        self,
        context: Any = None,
        actions: Any = None,
        *,
        id: str | None = None,
        excluded: Any = None,
        active: bool = True,
        dry_run: bool = False,
        time: Moment | None = None,
    ) -> NamedDecision:
        """Choose an action.

        `context`: a dict of numbers, strings, booleans, lists of strings and dicts, or an array. `actions`: those on offer, by
        name or as a dict with features of the moment; by default all standing ones, less those `excluded`. An `id` that was
        used before gives the decision of that time again if the question is the same, and is an error if not. A decision that
        is not `active` waits for `activate`. A `dry_run` is not written down.
        """
        active, dry_run = boolean("active", active), boolean("dry_run", dry_run)
        given = None if id is None else as_id(id)

        def answer() -> NamedDecision:
            question = asked(self._state, context, actions, excluded)
            if given is not None:
                known = known_answer(self._storage.history(given), given, question, active)
                if known is not None:
                    return decision_of(known)
            now = self._now(time)
            if not dry_run:
                self._expire_some(now)
            return self._decide(question, given or self._new_id(), now, active, dry_run)

        return self._do(answer)

    def _decide(
        self, question: Asked, id: str, now: int, active: bool, dry_run: bool
    ) -> NamedDecision:
        proposal = self._look(
            lambda: proposed(self._state, question, id, now, active, self._uniforms)
        )
        if not dry_run:
            self._take(*proposal)
            self._snapshot()
            self._watch_cap()
            self._watch_texts(question.context)
        return decision_of(proposal.event)

    def propensities(self, context: Any = None, actions: Any = None) -> dict[str, float] | None:
        """The probability of each action on offer as the experiment is now, floor and holdout included; None if unknown.

        >>> import ensample as es
        >>> es.Experiment("news", actions=["sport", "culture"], baseline=("sport", 1.0)).propensities()
        {'sport': 1.0, 'culture': 0.0}
        """

        def answer() -> dict[str, float] | None:
            question = asked(self._state, context, actions, None)
            known = self._look(lambda: next_propensities(self._state, question))
            return None if known is None else dict(zip(question.names, known, strict=True))

        return self._do(answer)

    def reward(
        self,
        id: str | NamedDecision,
        value: Any,
        *,
        action: str | None = None,
        key: str | None = None,
        time: Moment | None = None,
    ) -> Outcome:
        """Learn the reward of a decision; returns what became of it, and raises only on a value that is no reward.

        "applied": it counts. "duplicate": the decision has its reward already. "late": its wait was over. "unknown": no such
        decision. "not_shown": it is for another `action` than was decided, for a decision that is not active, or of a `time`
        before it. A `key` makes rewards that are added up safe to send again.
        """
        known, y = as_id(id), self.settings.reward.value("value", value)
        name = None if action is None else as_text("action", action)
        own = None if key is None else as_text("key", key)

        def answer() -> Outcome:
            event = judged_reward(
                self._state,
                self._storage.history,
                known,
                y,
                name,
                own,
                self._now(time),
                time is not None,
            )
            self._take(event)
            return event.outcome  # type: ignore[return-value]

        return self._do(answer)

    def activate(self, id: str | NamedDecision, *, time: Moment | None = None) -> Outcome:
        """Say that a decision made with `active=False` was shown."""
        known = as_id(id)

        def answer() -> Outcome:
            event = judged_activation(self._state, self._storage.history, known, self._now(time))
            self._take(event)
            return event.outcome  # type: ignore[return-value]

        return self._do(answer)

    def together(self, questions: Iterable[Callable[[], T]]) -> "list[T | Exception]":
        """The answers to several questions with one commit; what one of them raises is its answer.

        An error of the storage is nobody's answer but all of theirs, and nothing of them is kept.

        >>> import ensample as es
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> first, second = experiment.together([lambda: experiment.decide(id="a"), lambda: experiment.reward("a", 7)])
        >>> first.id, type(second).__name__
        ('a', 'InvalidArgument')
        """

        def answer_of(question: Callable[[], T]) -> T | Exception:
            try:
                return question()
            except StorageError:
                raise
            except Exception as error:
                return error

        return self._do(lambda: [answer_of(question) for question in questions])

    def expire(self, now: Moment | None = None) -> int:
        """Close the decisions whose wait is over, with the default where there is one; how many there were.

        Each decision does this for a few that are due; this does it for all.
        """

        def answer() -> int:
            before, time = len(self._state.open), self._now(now)
            due = self._state.next_due()
            if due is not None and due < time:
                self._take(Expired(time, None))
            return before - len(self._state.open)

        return self._do(answer)

    def add(self, action: Any, features: Any = None) -> None:
        """A new action; or several, as a list or a dict with features."""
        self._change(
            as_actions("action", {action: features} if isinstance(action, str) else action), []
        )

    def remove(self, action: Any) -> None:
        """An action is no longer on offer; what was learned of it stays, and rewards for it still count."""
        self._change(
            {}, list(as_actions("action", [action] if isinstance(action, str) else action))
        )

    def change(self, added: Any, removed: Any) -> None:
        """Actions come and go at once: names or a dict with features, and names; None for none."""
        new = {} if added is None else as_actions("action", added)
        self._change(new, [] if removed is None else list(as_actions("action", removed)))

    def _change(self, new: Actions, old: list[str]) -> None:
        self._do(lambda: self._take(change_of(self._state, self._now(None), new, old)))

    def decision(self, id: str) -> NamedDecision | None:
        """The decision that was taken under this id, if there is one."""
        known = as_id(id)

        def answer() -> NamedDecision | None:
            event = first_decided(self._storage.history(known))
            return None if event is None else decision_of(event)

        return self._do(answer)

    def explain(self, id: str | NamedDecision) -> Explanation:
        """How a decision came about: votes, scores and mixture of the time, computed again from the log."""
        known = as_id(id)
        return self._do(lambda: explained(self.settings, self._storage, known))

    def replay(
        self, recipe: Recipe | None = None, *, features: Features | Encoder | None = None
    ) -> "Experiment":
        """What another recipe, or other features, would have learned from the same log: an experiment in memory.

        It has seen the same decisions and rewards, and goes on from there; the logged propensities stay those of the time.

        >>> import ensample as es
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> for number in range(20):
        ...     outcome = experiment.reward(experiment.decide(), number % 2)
        >>> experiment.replay(es.Greedy()).version
        20
        """
        old = self.settings
        settings = replace(
            old,
            recipe=old.recipe if recipe is None else instance("recipe", recipe, Recipe, "a recipe"),
            features=old.features if features is None else as_features(features),
        )
        storage = MemoryStorage()
        for event in self._events():
            if isinstance(event, Created):
                event = event._replace(settings=settings.described(), numbers=numbers_of(settings))
            storage.append(event)
        return Experiment._of(settings, storage, self._clock, self._ids)

    def learn(
        self,
        data: Any,
        *,
        context: Any = None,
        action: str = "action",
        reward: str = "reward",
        progress: bool = False,
    ) -> int:
        """Begin with rewards from before: a frame of pandas or polars, or a file .csv or .parquet. How many were learned.

        `action` and `reward` name columns; `context` names the others that count, by default one of dicts or JSON that is
        called so, else all but `propensity`, which of files is said with a warning: a time or a probability is no context.
        One column of dicts or JSON is a context by itself. Rows without a reward are left out. All rows are checked before the
        first is learned; a `progress` bar shows how far it is. They are no decisions, so the log does not have them.

        >>> import ensample as es, polars as pl
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> past = pl.DataFrame({"age": [31, 45], "shown": ["sport", "culture"], "clicked": [True, False]})
        >>> experiment.learn(past, action="shown", reward="clicked")
        2
        """
        frame = opened(data)
        rows = self._do(lambda: past_rows(self._state, frame, context, action, reward))
        self._do(lambda: check_learnable(self._state, rows))
        if (
            frame is not data and context is None
        ):  # the columns of a frame were put together for this
            say_features(data, frame, action, reward)
        for chunk in shown(chunks(rows), -(-len(rows) // CHUNK), boolean("progress", progress)):
            self._do(lambda chunk=chunk: self._take(Learned(self._now(None), chunk)))  # type: ignore[misc]
        return len(rows)

    @property
    def hash(self) -> str:
        """SHA-256 of all that the experiment knows: the same wherever the same events were taken in."""
        return self._do(lambda: state_hash(self._state))

    def verify(self) -> None:
        """Take in all events again; `SnapshotError` unless the hashes of all snapshots, and of the present state, come out."""
        self._do(lambda: verified(self.settings, self._storage, self._state))

    def close(self) -> None:
        """Let go of the file, if it has one: no further question is answered. Twice does no harm."""
        if not self._storage.closed:
            try:
                self._do(self._storage.close)
            except StorageError:  # what could not be kept was not answered
                self._storage.close()

    def reader(self) -> Reading:
        """The events that are kept so far, for another thread to read while this experiment goes on; close it afterwards."""
        if (
            self._storage.slow and not self._storage.closed
        ):  # by a connection of its own: nobody need wait for it
            return self._storage.reader()
        return self._do(self._storage.reader)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from ensample.experiments.notebook import LATEST, experiment_html

        try:
            latest = self._do(
                lambda: list(self._storage.read(max(0, self._storage.count - LATEST)))
            )
            now = self.now()
        except (ForkError, StorageError):  # closed: what is known at once can still be seen
            latest, now = [], 0
        return experiment_html(self, latest, now)

    def __enter__(self) -> "Experiment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> int:
        """Return the time by the experiment's clock, in microseconds since 1970; it never runs backwards."""
        return self._do(lambda: self._now(None))

    def _count(self) -> int:
        return self._do(lambda: self._storage.count)

    def _present(self) -> tuple[int, int]:
        return self._do(lambda: (self._storage.count, self._now(None)))

    def _events(self, count: int | None = None) -> Iterator[Event]:
        """Piece by piece: others are answered between two of them."""
        left, start = self._count() if count is None else count, 0
        while left:
            piece = self._do(partial(self._piece, start, min(left, READ)))
            yield from piece
            start, left = start + len(piece), left - len(piece)

    def _piece(self, start: int, most: int) -> list[Event]:
        return list(islice(self._storage.read(start), most))

    def _do(self, answer: Callable[[], T]) -> T:
        """Answer a question, one at a time; where keeping events is slow, those of several threads together."""
        return self._group.do(answer)  # type: ignore[no-any-return]

    def _look(self, ask: Callable[[], T]) -> T:
        """Ask what would be decided; a question that is refused leaves no columns behind."""
        try:
            return ask()
        except InvalidArgument:
            self._state.drop_unkept()
            raise

    def _steady(self) -> None:
        """Whatever cut the last call short, the state is what the events come to."""
        storage, state = self._storage, self._state
        undone, self._undone = storage.rollbacks != self._undone, storage.rollbacks
        steady = state.is_steady and not undone
        if steady and state.seq < storage.count:  # others have added events
            for event in storage.read(state.seq):
                state.apply(event)
        elif not steady or state.seq != storage.count:
            self._state, self._coming = self._folded(), None
            self._kept = next(
                (item.seq for item in self._storage.snapshots()), 0
            )  # one of a lost batch is lost too

    def _folded(self) -> State:
        return folded(self.settings, self._storage)

    def _take(self, event: Event, *at_hand: Any) -> None:
        """Keep an event and let the state follow; what the model refuses has not happened."""
        count = self._storage.count
        self._storage.append(event)
        try:
            self._state.apply(event, *at_hand, new=True)
        except Exception:
            self._storage.take_back(count)
            raise
        self._snapshot()

    def _expire_some(self, now: int) -> None:
        due = self._state.next_due()
        if due is not None and due < now:
            self._take(Expired(now, AT_ONCE))

    def _new_id(self) -> str:
        id = as_text("ids()", self._ids())
        if self._ids is not random_id and self._storage.history(id):
            raise DecisionError("ids()", id, "an id that was not given before")
        return id

    def _now(self, time: Moment | None) -> int:
        """Return the time that a call says, or that of the clock: at least that of the latest event. Within a batch."""
        if time is not None:
            return microseconds_of("time", time)
        clock = self._storage.clock if self._clock is None else self._clock
        return max(microseconds_of("time", clock()), self._state.time)
