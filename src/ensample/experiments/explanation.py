"""How a decision came about: the state of its time, from the snapshot before it and the events between them."""

from typing import NamedTuple

from ensample.errors import DecisionError
from ensample.experiments.core import first_decided, mixture_of
from ensample.experiments.events import Decided
from ensample.experiments.settings import Settings
from ensample.experiments.snapshots import creation, nearest
from ensample.experiments.state import State
from ensample.experiments.storage.base import Reading, Storage


class Explanation(NamedTuple):
    """What was known when a decision was taken.

    >>> import ensample as es
    >>> recipe = es.EnsembleSampling(size=10)
    >>> experiment = es.Experiment("news", actions=["sport", "culture"], recipe=recipe, floor=0.1, seed=0)
    >>> explanation = experiment.explain(experiment.decide({"age": 31}))
    >>> explanation.action, explanation.drawn, explanation.mixture
    ('culture', 'policy', {'floor': 0.1, 'baseline': None, 'share': 0.0})
    >>> sum(explanation.votes.values())
    10
    """

    id: str
    action: str
    drawn: str
    """Who chose: "policy", "floor" or "baseline"."""
    member: int
    """The member whose turn it was, whoever chose."""
    version: int
    """The number of rewards learned before."""
    propensities: dict[str, float] | None
    votes: dict[str, float] | None
    """How many members liked each action best; shares where the recipe weighs its members unevenly."""
    scores: dict[str, float] | None
    """What that member expected of each action; None where the model cannot say."""
    features: dict[str, dict[str, float]]
    """x of each action, by name of the column."""
    mixture: dict[str, float | str | None]


def explained(settings: Settings, storage: Storage | Reading, id: str) -> Explanation:
    """Return the explanation of a decision by folding the events before it."""
    decided = first_decided(storage.history(id))
    if decided is None:
        raise DecisionError("id", id, "the id of a decision of this experiment")
    state = nearest(settings, storage, decided.round)
    for event in storage.read(state.seq):
        if isinstance(event, Decided) and event.round == decided.round:
            break
        state.apply(event)
    first = creation(storage)
    if state.seq < first.migrated:
        expected = "a decision of this version: this one was taken by an earlier version, before `ensample migrate`"
        raise DecisionError(
            "id", id, f"{expected}, and only that version can explain it, from the old file"
        )
    return explanation_of(state, decided)


def explanation_of(state: State, event: Decided) -> Explanation:
    names = tuple(event.offer)
    rows, learner = state.rows(event.context, names, event.features)
    mixture = mixture_of(state, names)
    advice = learner.advise(event.round, rows)
    size = learner.model.size or 1
    votes = (
        None
        if advice.weights is None
        else {n: tidy(w * size) for n, w in zip(names, advice.weights, strict=True)}
    )
    columns = {place: name for name, place in state.featuriser.seen.columns.items()}
    features = {
        name: {
            columns.get(place, f"column {place}"): float(rows[place, k])
            for place in rows[:, k].nonzero()[0].tolist()
        }
        for k, name in enumerate(names)
    }
    return Explanation(
        id=event.id,
        action=event.action,
        drawn=event.drawn,
        member=advice.member,
        version=learner.version,
        propensities=None
        if event.propensities is None
        else dict(zip(names, event.propensities, strict=True)),
        votes=votes,
        scores=dict(zip(names, learner.scores(event.round, advice.member, rows), strict=True)),
        features=features,
        mixture={
            "floor": mixture.floor,
            "baseline": None if mixture.baseline is None else names[mixture.baseline],
            "share": mixture.share,
        },
    )


def tidy(votes: float) -> float:
    """A whole number where it is one but for rounding."""
    return round(votes) if abs(votes - round(votes)) < 1e-9 else votes
