"""An experiment: named actions, contexts, rewards that come late or never, and one log."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ensample.checks import boolean, instance
from ensample.errors import StorageError
from ensample.experiments.core import (
    asked,
    change_of,
    judged_activation,
    judged_reward,
    known_answer,
    next_propensities,
)
from ensample.experiments.decision import NamedDecision, decision_of
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.events import Created, Expired, Learned
from ensample.experiments.features import Encoder, Features, as_features
from ensample.experiments.inputs import Clock, Moment, as_actions, as_id, as_text
from ensample.experiments.readable import ReadableExperiment
from ensample.experiments.reward import Outcome, Reward
from ensample.experiments.settings import Settings, numbers_of
from ensample.experiments.storage.memory import MemoryStorage
from ensample.experiments.warm_start import chunks, past_rows
from ensample.policies.recipe import Recipe

T = TypeVar("T")


class Experiment(ReadableExperiment):
    """Decides between named actions in contexts, learns from the rewards, and logs what evaluation
    needs.

    >>> import ensample as es
    >>> rewards = es.Reward(wait="30 min", default=0)
    >>> experiment = es.Experiment("news", actions=["sport", "politics", "culture"], reward=rewards)
    >>> decision = experiment.decide({"age": 31, "device": "phone", "tags": ["tennis"]})
    >>> experiment.reward(decision.id, 1)
    'applied'
    >>> experiment.reward(decision.id, 1)
    'duplicate'
    >>> experiment.add("weather"); experiment.remove("sport")
    >>> experiment.actions
    ['politics', 'culture', 'weather']

    `actions`: names, or a dict of names and features; None where they come with each decision.
    `features`: how context and action become numbers, `Crosses()` by default. `reward`: what counts
    as one, and until when. `recipe`: who decides.

    A share `floor` of decisions is drawn uniformly, and a share `baseline=("sport", 0.1)` goes to
    one action: the propensity of action k of K is p_k = (1 - share) ((1 - floor) w_k + floor / K) +
    share 1{k = baseline}, with w_k the policy's own. All of them are logged: evaluation needs them,
    and without a floor most would be exactly 0.

    Everything random is a function of `seed` and name. None draws a seed from the operating system;
    the first event records it, and `experiment.seed` is it. Experiments of equal seeds and
    different names draw independently.

    `clock` gives the time where a call does not (seconds since 1970), `ids` new ids. Without a
    `clock` it is the time of this machine, or of the database that several servers share. No event
    gets a time before those already in the log, unless the call says so: a clock that is set back
    stands still until it has caught up. Threads may share an experiment. This one lives in memory;
    `open_experiment` keeps one on the disk.
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
        _engine: ExperimentEngine | None = None,
    ) -> None:
        if _engine is None:  # else it is opened or replayed, and the settings are the engine's
            settings = Settings.created(
                name,
                actions=actions,
                features=features,
                reward=reward,
                recipe=recipe,
                floor=floor,
                baseline=baseline,
                seed=seed,
            )
            _engine = ExperimentEngine(settings, MemoryStorage(), clock, ids)
        super().__init__(_engine)

    def __enter__(self) -> "Experiment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if it has one: no further question is answered. Twice does no harm."""
        storage = self.engine.storage
        if not storage.closed:
            try:
                self.engine.ask(storage.close)
            except StorageError:  # what could not be kept was not answered
                storage.close()

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

        `context`: a dict of numbers, strings, booleans, lists of strings and dicts, or an array.
        `actions`: those on offer, by name or as a dict with features of the moment; by default all
        standing ones, less those `excluded`. An `id` that was used before gives the decision of
        that time again if the question is the same, and is an error if not. A decision that is not
        `active` waits for `activate`. A `dry_run` is not written down.
        """
        active, dry_run = boolean("active", active), boolean("dry_run", dry_run)
        given, engine = None if id is None else as_id(id), self.engine

        def answer() -> NamedDecision:
            question = asked(engine.state, context, actions, excluded)
            if given is not None:
                known = known_answer(engine.storage.history(given), given, question, active)
                if known is not None:
                    return decision_of(known)
            return decision_of(engine.decide(question, given, engine.now(time), active, dry_run))

        return engine.ask(answer)

    def propensities(self, context: Any = None, actions: Any = None) -> dict[str, float] | None:
        """Return the probability of each action as of now, floor and holdout included; None if
        unknown.

        >>> import ensample as es
        >>> actions = ["sport", "culture"]
        >>> es.Experiment("news", actions=actions, baseline=("sport", 1.0)).propensities()
        {'sport': 1.0, 'culture': 0.0}
        """

        def answer() -> dict[str, float] | None:
            question = asked(self.engine.state, context, actions, None)
            known = self.engine.try_out(lambda: next_propensities(self.engine.state, question))
            return None if known is None else dict(zip(question.names, known, strict=True))

        return self.engine.ask(answer)

    def reward(
        self,
        id: str | NamedDecision,
        value: Any,
        *,
        action: str | None = None,
        key: str | None = None,
        time: Moment | None = None,
    ) -> Outcome:
        """Learn the reward of a decision; return its outcome, and raise only if `value` is no
        reward.

        "applied": it counts. "duplicate": the decision has its reward already. "late": its wait was
        over. "unknown": no such decision. "not_shown": it is for another `action` than was decided,
        for a decision that is not active, or of a `time` before it. A `key` makes rewards that are
        added up safe to send again.
        """
        known, y = as_id(id), self.settings.reward.value("value", value)
        name = None if action is None else as_text("action", action)
        own = None if key is None else as_text("key", key)
        engine = self.engine

        def answer() -> Outcome:
            history, now = engine.storage.history, engine.now(time)
            said = time is not None
            event = judged_reward(engine.state, history, known, y, name, own, now, said)
            engine.take(event)
            return event.outcome  # type: ignore[return-value]

        return engine.ask(answer)

    def activate(self, id: str | NamedDecision, *, time: Moment | None = None) -> Outcome:
        """Say that a decision made with `active=False` was shown."""
        known, engine = as_id(id), self.engine

        def answer() -> Outcome:
            now = engine.now(time)
            event = judged_activation(engine.state, engine.storage.history, known, now)
            engine.take(event)
            return event.outcome  # type: ignore[return-value]

        return engine.ask(answer)

    def together(self, questions: Iterable[Callable[[], T]]) -> "list[T | Exception]":
        """Answer several questions with one commit; what one of them raises is its answer.

        An error of the storage is nobody's answer but all of theirs, and nothing of them is kept.

        >>> import ensample as es
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> calls = [lambda: experiment.decide(id="a"), lambda: experiment.reward("a", 7)]
        >>> first, second = experiment.together(calls)
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

        return self.engine.ask(lambda: [answer_of(question) for question in questions])

    def expire(self, now: Moment | None = None) -> int:
        """Close the decisions whose wait is over, with the default if there is one; return how
        many.

        Each decision does this for a few that are due; this does it for all.
        """
        engine = self.engine

        def answer() -> int:
            before, time, due = len(engine.state.open), engine.now(now), engine.state.next_due()
            if due is not None and due < time:
                engine.take(Expired(time, None))
            return before - len(engine.state.open)

        return engine.ask(answer)

    def add(self, action: Any, features: Any = None) -> None:
        """Add an action; or several, as a list or a dict with features."""
        given = {action: features} if isinstance(action, str) else action
        self.change(as_actions("action", given), None)

    def remove(self, action: Any) -> None:
        """Take an action off the offer; its rewards still count, and what was learned stays."""
        given = [action] if isinstance(action, str) else action
        self.change(None, list(as_actions("action", given)))

    def change(self, added: Any, removed: Any) -> None:
        """Add and remove actions at once. `added` may have features, as a dict; None for none."""
        new = {} if added is None else as_actions("action", added)
        old = [] if removed is None else list(as_actions("action", removed))
        engine = self.engine
        engine.ask(lambda: engine.take(change_of(engine.state, engine.now(None), new, old)))

    def replay(
        self, recipe: Recipe | None = None, *, features: Features | Encoder | None = None
    ) -> "Experiment":
        """Return an experiment in memory of another recipe, or other features, with the same log.

        It has seen the same decisions and rewards, and goes on from there; the logged propensities
        stay those of the time.

        >>> import ensample as es
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> for number in range(20):
        ...     outcome = experiment.reward(experiment.decide(), number % 2)
        >>> experiment.replay(es.Greedy()).version
        20
        """
        settings, storage = self.settings, MemoryStorage()
        if recipe is not None:
            recipe = instance("recipe", recipe, Recipe, "a recipe")
            settings = replace(settings, recipe=recipe)
        if features is not None:
            settings = replace(settings, features=as_features(features))
        for event in self.engine.events():
            if isinstance(event, Created):
                event = event._replace(settings=settings.described(), numbers=numbers_of(settings))
            storage.append(event)
        engine = ExperimentEngine(settings, storage, self.engine.clock, self.engine.ids)
        return Experiment(settings.name, _engine=engine)

    def learn(
        self,
        data: Any,
        *,
        context: Any = None,
        action: str = "action",
        reward: str = "reward",
        progress: bool = False,
    ) -> int:
        """Learn rewards from before: a frame of pandas or polars, or a file .csv or .parquet.

        Return how many there were. `action` and `reward` name columns; `context` names the others
        that count, by default one of dicts or JSON that is called so, else all but `propensity`,
        which of files is said with a warning: a time or a probability is no context. One column of
        dicts or JSON is a context by itself. Rows without a reward are left out. All rows are
        checked before the first is learned; a `progress` bar shows how far it is. They are no
        decisions, so the log does not have them.

        >>> import ensample as es, polars as pl
        >>> experiment = es.Experiment("news", actions=["sport", "culture"])
        >>> past = {"age": [31, 45], "shown": ["sport", "culture"], "clicked": [True, False]}
        >>> experiment.learn(pl.DataFrame(past), action="shown", reward="clicked")
        2
        """
        engine, progress = self.engine, boolean("progress", progress)
        rows = past_rows(engine, data, context, action, reward)
        for chunk in chunks(rows, progress):
            engine.ask(partial(self._learn, chunk))
        return len(rows)

    def _learn(self, rows: list[list[Any]]) -> None:
        self.engine.take(Learned(self.engine.now(None), rows))
