"""Result of `evaluate`, and requirements on it such as `lift.lower >= 0`."""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.errors import InvalidArgument
from ensample.evaluation.log import COUNT_AS_ZERO, NO_MORE_REWARDS, LogSummary
from ensample.evaluation.log_checks import STANDARD_ERRORS, ActionWeights, weight_beyond_one
from ensample.evaluation.options import EvaluationOptions
from ensample.evaluation.sums import Estimate, RowSums
from ensample.numerals import several

if TYPE_CHECKING:
    import polars

ESTIMATORS = "ips", "snips", "dm", "dr"
FEW_ROWS = 100.0  # an effective sample below this says little
UNSUPPORTED = 1e-3  # share of the target's choices that the log never made, from which on to warn
MOST_STRAYS = 3  # actions with a misspelt name that are warned of
WRONG_PROPENSITIES = (
    "the propensities are not those by which the actions were drawn, "
    "and no estimate that uses them can be believed"
)
NOBODY_KNOWS = (
    "nothing in the log says what they earn. "
    "The bounds allow for it, the estimates do not (floor > 0 avoids it)"
)


class Look(NamedTuple):
    """Estimates after some rows, for rewards in [0, 1]."""

    rows: int
    estimates: dict[str, Estimate]


class Evaluation(Mapping[str, Estimate]):
    """Estimates of a policy's reward: `evaluation["dr"].value`, `.low`, `.high`.

    `lift` is the difference to what the logged policy earned, paired row by row (DR less the
    reward); `logged` is what that policy earned.
    """

    def __init__(
        self,
        target: str,
        options: EvaluationOptions,
        log: LogSummary,
        sums: RowSums,
        looks: list[Look],
        segments: dict[str, RowSums],
        has_all_bounds: bool,
        target_warning: str,
    ) -> None:
        self.target, self.alarm, self.interval = target, float(options.alarm), options.interval
        self.segments_by = options.segments
        self.low, self.high, self.assumed = log.low, log.high, log.assumed_range
        self.actions, self.unrewarded = log.actions, log.unrewarded
        self.waiting, self.zeros = log.waiting, log.zeros
        self.rows = sums.rows
        self.effective_rows = sums.effective_rows
        self.largest_weight = sums.largest
        self.weight_counts = sums.weight_counts
        self.mean_weight = sums.weights / sums.rows
        self.logged = self.low + (self.high - self.low) * (sums.rewards / sums.rows)
        has_all = log.has_all_propensities
        self.unsupported = sums.unsupported / sums.rows if has_all else missing_weight(sums)
        self._log, self._sums = log, sums
        self._looks, self._segments = looks, segments
        self._has_all_bounds, self._target_warning = has_all_bounds, target_warning
        self._found = self._in_units(looks[-1].estimates)

    def _in_units(self, shares: dict[str, Estimate]) -> dict[str, Estimate]:
        """Return estimates for rewards in [0, 1] in the log's own units."""
        width = self.high - self.low
        return {
            name: found.rescaled(width, 0.0 if name == "lift" else self.low)
            for name, found in shares.items()
        }

    def __getitem__(self, name: str) -> Estimate:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ESTIMATORS)

    def __len__(self) -> int:
        return len(ESTIMATORS)

    @property
    def lift(self) -> Estimate:
        return self._found["lift"]

    @property
    def warnings(self) -> list[str]:
        """Sentences to read before the numbers are believed."""
        log = self._log
        found = [self._target_warning] if self._target_warning else []
        if self.waiting:
            total = several(self.waiting + self.rows + self.unrewarded, "row")
            found.append(
                f"left out: the last {self.waiting:,} of {total}, from the first decision that "
                f"waits for its reward on; {log.cut_unrewarded:,} of these have no reward; "
                f"{NO_MORE_REWARDS}"
            )
        if self.zeros:
            found.append(f"counted as 0: {several(self.zeros, 'row')} without a reward")
        if self.assumed:
            said = f"[{self.low:g}, {self.high:g}] by those seen: give low and high"
            found.append(f"rewards are taken to lie in {said}")
        strays = [] if log.has_offers else [each for each in log.weights if each.is_stray]
        found += [stray_warning(each) for each in strays[:MOST_STRAYS]]
        found += self._weight_warnings()
        if self.unrewarded:
            hidden = self.unrewarded - log.unpaid
            shown = f" ({hidden:,} of them not shown)" if hidden else ""
            remedy = f"; {COUNT_AS_ZERO}" if log.unpaid else ""
            rows = several(self.unrewarded, "row")
            found.append(f"left out: {rows} without a reward{shown}{remedy}")
        if self.interval == "normal":
            policy = "a policy that does not learn, looked at once"
            found.append(f"normal intervals are right for logs of {policy}")
        elif not self._has_all_bounds:
            found.append(
                "only propensities of chosen actions are known: "
                "give least_propensity for a narrower sequence of DR"
            )
        return found

    def _weight_warnings(self) -> list[str]:
        """Warn of weights whose mean is not 1, and of too few effective rows."""
        found, has_all = [], self._log.has_all_propensities
        overweight = overweight_policy(self.target, self._sums, self._log)
        if overweight is not None:
            policy, mean = overweight
            whose = "" if policy == self.target else f" of {policy}"
            said = f"{mean:.3g}, beyond 1 by more than chance: {WRONG_PROPENSITIES}"
            found.append(f"the mean weight{whose} is {said}")
        if self.unsupported > UNSUPPORTED and (has_all or overweight is None):
            share = f"{self.unsupported:.1%} of the target's choices"
            never = f"{share} were never made by the logged policy"
            if has_all:
                found.append(f"{never}: {NOBODY_KNOWS}")
            else:
                low = f"the mean weight is {self.mean_weight:.3g}, below 1 by more than chance"
                found.append(f"{low}: either {WRONG_PROPENSITIES}; or {never}, and {NOBODY_KNOWS}")
        if self.effective_rows < FEW_ROWS:
            said = f"{self.effective_rows:.0f} effective rows of {self.rows:,}"
            found.append(f"the weights leave {said}")
        return found

    def path(self) -> "polars.DataFrame":
        """Return the estimates as rows came in: rows, estimator, value, low, high."""
        import polars as pl

        looks = [(look.rows, self._in_units(look.estimates)) for look in self._looks]
        rows = [(n, name, *found[name]) for n, found in looks for name in (*ESTIMATORS, "lift")]
        schema = ["rows", "estimator", "value", "low", "high"]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def segments(self) -> dict[str, dict[str, Estimate]]:
        """Return the estimates of each segment on its own."""
        return {
            name: self._in_units(part.estimates(self.alarm, self.interval))
            for name, part in self._segments.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain data."""
        return {
            "target": self.target,
            "rows": self.rows,
            "unrewarded": self.unrewarded,
            "range": [self.low, self.high],
            "interval": self.interval,
            "alarm": self.alarm,
            "logged": self.logged,
            **{name: found._asdict() for name, found in self._found.items()},
            "effective_rows": self.effective_rows,
            "largest_weight": self.largest_weight,
            "mean_weight": self.mean_weight,
            "unsupported": self.unsupported,
            "warnings": self.warnings,
            "segments": {
                name: {key: found._asdict() for key, found in part.items()}
                for name, part in self.segments().items()
            },
        }

    def __repr__(self) -> str:
        rows = several(self.rows, "row")
        lines = [f"{self.target} on {rows}, which earned {self.logged:.6g} each"]
        for name, found in self._found.items():
            has_interval = not math.isnan(found.low)
            bounds = f" ({found.low:.6g} .. {found.high:.6g})" if has_interval else ""
            lines.append(f"  {name:5} {found.value:.6g}{bounds}")
        return "\n".join([*lines, *(f"  warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def missing_weight(sums: RowSums) -> float:
    """Return how far the mean weight is below 1 beyond chance: choices never logged."""
    mean, rows = sums.weights / sums.rows, sums.rows
    error = math.sqrt(max(sums.squared_weights / rows - mean**2, 0.0) / rows)
    return max(0.0, 1.0 - mean - STANDARD_ERRORS * error)


def overweight_policy(target: str, sums: RowSums, log: LogSummary) -> tuple[str, float] | None:
    """Return the target or action whose mean weight is above 1 by more than chance."""
    mean, square = sums.weights / sums.rows, sums.squared_weights / sums.rows
    if weight_beyond_one(mean, square, sums.largest, sums.rows) > 0.0:
        return target, mean
    beyond = [each for each in log.weights if each.is_beyond_one(len(log.weights))]
    largest = max(beyond, key=lambda each: each.mean, default=None)
    return largest and (f"action:{largest.name}", largest.mean)


def stray_warning(action: ActionWeights) -> str:
    first = f"row {action.first:,} is the first, counted from 0"
    return (
        f"{action.name!r} was chosen in {action.chosen} of {action.rows:,} rows ({first}), "
        "far fewer than its propensities say. It counts as an action of its own: "
        "is its name misspelt?"
    )


def warnings_of(found: Sequence[Evaluation]) -> list[str]:
    """Return the warnings of several evaluations, with the policies that have each."""
    targets: dict[str, list[str]] = {}
    for each in found:
        for text in each.warnings:
            targets.setdefault(text, []).append(each.target)
    return [
        text if len(names) == len(found) else f"{', '.join(names)}: {text}"
        for text, names in targets.items()
    ]


FORM = re.compile(r"\s*(\w+)(?:\.(\w+))?\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
FIELDS = {"value": "value", "low": "low", "lower": "low", "high": "high", "upper": "high"}
NUMBERS = "rows", "effective_rows", "largest_weight", "unsupported", "logged"
EXPECTED = (
    f'"NAME.FIELD >= NUMBER" with one of {", ".join((*ESTIMATORS, "lift"))} and value, '
    f'lower or upper, or "NAME <= NUMBER" with one of {", ".join(NUMBERS)}'
)


class Requirement(NamedTuple):
    """A number of an evaluation and a bound, for scripts that deploy a policy or do not."""

    text: str
    name: str
    field: str | None
    sign: str
    bound: float

    def measured(self, found: Evaluation) -> float:
        if self.field is None:
            return float(getattr(found, self.name))
        estimate = found.lift if self.name == "lift" else found[self.name]
        return float(getattr(estimate, self.field))

    def holds(self, found: Evaluation) -> bool:
        """Return whether the number meets the bound; NaN meets none."""
        return COMPARISONS[self.sign](self.measured(found), self.bound)


def parse_requirement(text: str) -> Requirement:
    """Return a requirement from its text.

    >>> parse_requirement("lift.lower >= 0")[1:]
    ('lift', 'low', '>=', 0.0)
    >>> parse_requirement("effective_rows > 1e3")[1:]
    ('effective_rows', None, '>', 1000.0)
    """
    form = FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        raise InvalidArgument("require", text, EXPECTED)
    name, field, sign, bound = form.groups()
    is_estimate = name in (*ESTIMATORS, "lift") and field in FIELDS
    if not (name in NUMBERS if field is None else is_estimate):
        raise InvalidArgument("require", text, EXPECTED)
    try:
        return Requirement(text, name, FIELDS[field] if field else None, sign, float(bound))
    except ValueError:
        raise InvalidArgument("require", text, EXPECTED) from None
