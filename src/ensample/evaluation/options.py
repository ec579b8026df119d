"""Options of `evaluate`, validated once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from ensample.checks import number
from ensample.errors import InvalidArgument, WrongType

Columns: TypeAlias = Mapping[str, str | Sequence[str]]
Interval: TypeAlias = Literal["sequence", "normal"]
Missing: TypeAlias = Literal["cut", "drop", "zero"]
Question: TypeAlias = Literal["progressive", "replay"]
RewardModel: TypeAlias = Callable[[list[Any], list[str]], Any]
Progress: TypeAlias = Callable[[int, int], None]

CHOICES = {"interval": Interval, "missing": Missing, "question": Question}


class EvaluationKeywords(TypedDict, total=False):
    """Keyword arguments of `evaluate`, which describes them."""

    low: float | None
    high: float | None
    alarm: float
    interval: Interval
    segments: str | None
    columns: Columns | None
    least_propensity: float | None
    reward_model: RewardModel | None
    missing: Missing
    question: Question
    cluster: str | None
    cluster_security: str | Path | None
    progress: Progress | None


@dataclass(frozen=True)
class EvaluationOptions:
    """Keyword arguments of `evaluate` with their defaults."""

    low: float | None = None
    high: float | None = None
    alarm: float = 0.05
    interval: Interval = "sequence"
    segments: str | None = None
    columns: Columns | None = field(default_factory=dict)
    least_propensity: float | None = None
    reward_model: RewardModel | None = None
    missing: Missing = "cut"
    question: Question = "progressive"
    cluster: str | None = None
    cluster_security: str | Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        for name, kind in CHOICES.items():
            value, (*others, last) = getattr(self, name), get_args(kind)
            if value not in (*others, last):
                expected = ", ".join(f'"{each}"' for each in others) + f' or "{last}"'
                raise InvalidArgument(name, value, expected)
        number("alarm", self.alarm, 0.0, 1.0, above=0.0)
        for name, limits in (("low", ()), ("high", ()), ("least_propensity", (0.0, 1.0))):
            value = getattr(self, name)
            if value is not None:
                number(name, value, *limits, above=0.0 if limits else None)
        if self.reward_model is not None and not callable(self.reward_model):
            expected = "a function of (contexts, names of actions), or None"
            raise WrongType("reward_model", self.reward_model, expected)
        if self.segments is not None and not isinstance(self.segments, str):
            expected = "the name of a column, or of a field of the contexts"
            raise WrongType("segments", self.segments, expected)
        if not isinstance(self.columns or {}, Mapping):
            expected = "a dict of our names and the log's, such as {'action': 'arm'}"
            raise WrongType("columns", self.columns, expected)
