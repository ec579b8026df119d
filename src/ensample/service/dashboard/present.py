"""What an experiment is at this moment: asked of its worker, so that nothing changes meanwhile."""

from collections.abc import Sequence
from typing import NamedTuple

from ensample.errors import EnsampleError, StorageError
from ensample.experiments import Experiment
from ensample.experiments.mixture import Mixture
from ensample.service.dashboard.summary import Posed


class Present(NamedTuple):
    """`votes`: the share of members that would choose each action, a mean over the last questions."""

    actions: list[str]
    decisions: int
    version: int
    waiting: int
    counts: dict[str, int]
    events: int
    votes: dict[str, float]
    asked: int  # questions behind the votes
    disagreement: float | None


def present(experiment: Experiment, recent: Sequence[Posed]) -> Present:
    """Ask the last questions again, without writing anything down."""
    votes: dict[str, float] = {}
    apart, asked = 0.0, 0
    for question in recent:
        weights = weights_now(experiment, question)
        if weights is None:
            continue
        asked += 1
        apart += 1.0 - sum(weight * weight for weight in weights.values())
        for name, weight in weights.items():
            votes[name] = votes.get(name, 0.0) + weight
    return Present(
        experiment.actions,
        experiment.decisions,
        experiment.version,
        experiment.waiting,
        experiment.counts,
        experiment.events,
        {name: total / asked for name, total in votes.items()},
        asked,
        apart / asked if asked else None,
    )


def weights_now(experiment: Experiment, question: Posed) -> dict[str, float] | None:
    """The policy's own probabilities; None where they are not known, or what was on offer is gone."""
    try:
        known = experiment.propensities(question.context, question.actions)
    except StorageError:
        raise
    except EnsampleError:
        return None
    if known is None:
        return None
    names, settings = list(known), experiment.settings
    held = (
        settings.baseline
        if settings.baseline is not None and settings.baseline[0] in names
        else None
    )
    place, share = (None, 0.0) if held is None else (names.index(held[0]), held[1])
    weights = Mixture(settings.floor, share, place, len(names)).weights(list(known.values()))
    return None if weights is None else dict(zip(names, weights, strict=True))
