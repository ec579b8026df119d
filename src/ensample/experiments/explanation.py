"""How a decision came about: the state of its time, folded again from the log."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from ensample.errors import DecisionError
from ensample.experiments.core import first_decided, mixture_of
from ensample.experiments.events import Decided
from ensample.experiments.settings import Settings
from ensample.experiments.snapshots import creation, nearest
from ensample.experiments.state import State
from ensample.experiments.storage.base import Reading

T = TypeVar("T")


class Explanation(NamedTuple):
    """The votes, scores and features behind a decision.

    >>> import ensample as es
    >>> recipe, actions = es.EnsembleSampling(size=10), ["sport", "culture"]
    >>> experiment = es.Experiment("news", actions=actions, recipe=recipe, floor=0.1, seed=0)
    >>> explanation = experiment.explain(experiment.decide({"age": 31}))
    >>> explanation.action, explanation.drawn, explanation.mixture
    ('culture', 'policy', {'floor': 0.1, 'baseline': None, 'share': 0.0})
    >>> sum(explanation.votes.values())
    10
    """

    id: str
    action: str
    drawn: str
    """The part that chose: "policy", "floor" or "baseline"."""
    member: int
    """The member whose turn it was, whoever chose."""
    version: int
    """The number of rewards learned before."""
    propensities: dict[str, float] | None
    votes: dict[str, float] | None
    """How many members liked each action best; shares if the recipe weighs members unevenly."""
    scores: dict[str, float] | None
    """The reward that this member expected of each action; None if the model cannot say."""
    features: dict[str, dict[str, float]]
    """x of each action, by name of the column."""
    mixture: dict[str, float | str | None]


def explained(settings: Settings, storage: Reading, id: str) -> Explanation:
    """Return the explanation of a decision: fold the events before it, from the last snapshot."""
    decided = first_decided(storage.history(id))
    if decided is None:
        raise DecisionError("id", id, "the id of a decision of this experiment")
    state = nearest(settings, storage, decided.round)
    for event in storage.read(state.seq):
        if isinstance(event, Decided) and event.round == decided.round:
            break
        state.apply(event)
    if state.seq < creation(storage).migrated:
        expected = (
            "a decision of this version: this one was taken by an earlier version, before "
            "`ensample migrate`, and only that version can explain it, from the old file"
        )
        raise DecisionError("id", id, expected)
    return explanation_of(state, decided)


def explanation_of(state: State, event: Decided) -> Explanation:
    """Explain a decision by the state of its time."""
    names = tuple(event.offer)

    def by_name(values: Iterable[T]) -> dict[str, T]:
        return dict(zip(names, values, strict=True))

    rows, learner = state.rows(event.context, names, event.features)
    advice = learner.advise(event.round, rows)
    size, weights = learner.model.size or 1, advice.weights
    columns = {place: name for name, place in state.featuriser.seen.columns.items()}
    features = [
        {
            columns.get(place, f"column {place}"): float(x[place])
            for place in x.nonzero()[0].tolist()
        }
        for x in rows.T
    ]
    mixture = mixture_of(state, names)
    baseline = None if mixture.baseline is None else names[mixture.baseline]
    return Explanation(
        id=event.id,
        action=event.action,
        drawn=event.drawn,
        member=advice.member,
        version=learner.version,
        propensities=None if event.propensities is None else by_name(event.propensities),
        votes=None if weights is None else by_name(tidy(weight * size) for weight in weights),
        scores=by_name(learner.scores(event.round, advice.member, rows)),
        features=by_name(features),
        mixture={"floor": mixture.floor, "baseline": baseline, "share": mixture.share},
    )


def tidy(votes: float) -> float:
    """Return a whole number where it is one but for rounding."""
    return round(votes) if abs(votes - round(votes)) < 1e-9 else votes
