"""The answer of an experiment."""

from typing import Any, NamedTuple

from ensample.experiments.events import Decided


class NamedDecision(NamedTuple):
    """An experiment's decision, as plain data: which action, and how likely it was.

    >>> import ensample as es
    >>> actions = ["sport", "culture"]
    >>> experiment = es.Experiment("news", actions=actions, recipe=es.Greedy(), floor=0.5, seed=0)
    >>> decision = experiment.decide(id="visit-1")
    >>> decision.action, decision.propensity, decision.propensities
    ('sport', 0.75, {'sport': 0.75, 'culture': 0.25})
    """

    id: str
    action: str
    propensity: float | None
    """The probability with which this action was chosen; None where the recipe cannot say."""
    propensities: dict[str, float] | None
    """The probability of every action on offer."""
    member: int | None
    """The member that acted; None where the floor or the baseline did."""
    drawn: str
    """The part that chose: "policy", "floor" or "baseline"."""
    version: int
    """The number of rewards learned before."""
    time: int
    """Microseconds since 1970."""
    active: bool
    """True if it counts already; if not, it waits for `activate`."""

    def __repr__(self) -> str:
        known = "None" if self.propensity is None else f"{self.propensity:.6g}"
        return f"NamedDecision(id={self.id!r}, action={self.action!r}, propensity={known})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return self._asdict()


def decision_of(event: Decided) -> NamedDecision:
    """Return the answer that an event stands for."""
    known = event.propensities
    shares = None if known is None else dict(zip(event.offer, known, strict=True))
    return NamedDecision(
        event.id,
        event.action,
        None if shares is None else shares[event.action],
        shares,
        event.member,
        event.drawn,
        event.version,
        event.time,
        event.active,
    )
