"""The answer of `evaluate`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from ensample.evaluation.action_weights import CHANCE, ActionWeights, beyond_one
from ensample.evaluation.logged import AS_ZERO, BEYOND, LoggedData
from ensample.evaluation.tally import Estimate, Interval, RowSums
from ensample.numerals import several

if TYPE_CHECKING:
    import polars


ESTIMATORS = "ips", "snips", "dm", "dr"
THIN = 100.0  # an effective sample of fewer rows says little
UNSUPPORTED = (
    1e-3  # share of the target's mass that nothing was logged of, above which one is warned
)
WRONG_PROPENSITIES = (
    "the propensities are not those by which the actions were drawn, "
    "and no estimate that uses them can be believed"
)
NOBODY_KNOWS = "nothing in the log says what they earn. The bounds allow for it, the estimates do not (floor > 0 avoids it)"


class Look(NamedTuple):
    """What was known after some rows, for rewards in [0, 1]."""

    rows: int
    estimates: dict[str, Estimate]


class Evaluation(Mapping[str, Estimate]):
    """What a policy would have earned, by estimator: `evaluation["dr"].value`, `.low`, `.high`.

    `lift` is the difference to what the logged policy earned, paired row by row (DR less the reward); `logged` what that was.
    """

    def __init__(
        self,
        target: str,
        data: LoggedData,
        tally: RowSums,
        looks: list[Look],
        parts: dict[str, RowSums],
        segments: str | None,
        alarm: float,
        interval: Interval,
        knows_all: bool,
        caution: str,
    ) -> None:
        self.target, self.alarm, self.interval = target, alarm, interval
        self.low, self.high, self.assumed = data.low, data.high, data.assumed
        self.rows, self.unrewarded = tally.rows, data.unrewarded
        self.actions = data.names
        self.effective_rows = tally.effective
        self.largest_weight = tally.largest
        self.weight_counts = tally.counts
        self.mean_weight = tally.weights / tally.rows
        self._overweight, self._strays = overweight(target, tally, data), data.strays
        self._has_all = data.has_all
        self.unsupported = tally.unsupported / tally.rows if data.has_all else missing_weight(tally)
        self.waiting, self.zeros = data.waiting, data.zeros
        self._cut_unrewarded, self._unpaid = data.cut_unrewarded, data.unpaid
        self._caution = caution
        self.logged = self.in_units(tally.rewards / tally.rows)
        self.segments_by = segments
        self._found = self.estimates_of(looks[-1].estimates)
        self._looks = looks
        self._parts = parts
        self._knows_all = knows_all

    def in_units(self, share: float) -> float:
        return self.low + (self.high - self.low) * share

    def estimates_of(self, shares: dict[str, Estimate]) -> dict[str, Estimate]:
        """In the units of the rewards."""
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
        """What one should know before one believes the numbers."""
        found = [self._caution] if self._caution else []
        if self.waiting:
            total = self.waiting + self.rows + self.unrewarded
            found.append(
                f"left out: the last {self.waiting:,} of {several(total, 'row')}, from the first decision that waits for its "
                f"reward on; {self._cut_unrewarded:,} of these have no reward; {BEYOND}"
            )
        if self.zeros:
            found.append(f"counted as 0: {several(self.zeros, 'row')} without a reward")
        if self.assumed:
            found.append(
                f"rewards are taken to lie in [{self.low:g}, {self.high:g}] by those seen: give low and high"
            )
        found += [stray_text(each) for each in self._strays]
        if self._overweight is not None:
            of, mean = self._overweight
            whose = "" if of == self.target else f" of {of}"
            found.append(
                f"the mean weight{whose} is {mean:.3g}, beyond 1 by more than chance: {WRONG_PROPENSITIES}"
            )
        if self.unsupported > UNSUPPORTED and (self._has_all or self._overweight is None):
            found.append(self.support_text())
        if self.effective_rows < THIN:
            found.append(
                f"the weights leave {self.effective_rows:.0f} effective rows of {self.rows:,}"
            )
        if self.unrewarded:
            found.append(
                f"left out: {several(self.unrewarded, 'row')} without a reward{self.unpaid_text()}"
            )
        if self.interval == "normal":
            found.append(
                "normal intervals are right for logs of a policy that does not learn, looked at once"
            )
        if self.interval == "sequence" and not self._knows_all:
            found.append(
                "only propensities of chosen actions are known: give least_propensity for a narrower sequence of DR"
            )
        return found

    def unpaid_text(self) -> str:
        """Return what can be done about rows without a reward; one that was not shown has none to count."""
        hidden = self.unrewarded - self._unpaid
        shown = f" ({hidden:,} of them not shown)" if hidden else ""
        return f"{shown}; {AS_ZERO}" if self._unpaid else shown

    def support_text(self) -> str:
        """Of choices that the log does not have; where it has all propensities, these say that they could not be made."""
        never = (
            f"{self.unsupported:.1%} of the target's choices were never made by the logged policy"
        )
        if self._has_all:
            return f"{never}: {NOBODY_KNOWS}"
        low = f"the mean weight is {self.mean_weight:.3g}, below 1 by more than chance"
        return f"{low}: either {WRONG_PROPENSITIES}; or {never}, and {NOBODY_KNOWS}"

    def path(self) -> "polars.DataFrame":
        """The estimates as they were while the rows came in: rows, estimator, value, low, high."""
        import polars

        looks = [(look.rows, self.estimates_of(look.estimates)) for look in self._looks]
        rows = [(n, name, *found[name]) for n, found in looks for name in (*ESTIMATORS, "lift")]
        return polars.DataFrame(
            rows, schema=["rows", "estimator", "value", "low", "high"], orient="row"
        )

    def segments(self) -> dict[str, dict[str, Estimate]]:
        """The estimates of each segment by itself."""
        return {
            name: self.estimates_of(part.estimates(self.alarm, self.interval))
            for name, part in self._parts.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
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
        lines = [
            f"{self.target} on {several(self.rows, 'row')}, which earned {self.logged:.6g} each"
        ]
        lines += [f"  {name:5} {shown(found)}" for name, found in self._found.items()]
        return "\n".join([*lines, *(f"  warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def missing_weight(tally: RowSums) -> float:
    """By how much the mean weight misses 1, as far as that cannot be chance: the target's mass that was never logged."""
    mean, rows = tally.weights / tally.rows, tally.rows
    error = math.sqrt(max(tally.squared_weights / rows - mean**2, 0.0) / rows)
    return max(0.0, 1.0 - mean - CHANCE * error)


def overweight(target: str, tally: RowSums, data: LoggedData) -> tuple[str, float] | None:
    """Whose mean weight is beyond 1 by more than chance, the target's or else an action's, and what it is."""
    rows = tally.rows
    mean, square = tally.weights / rows, tally.squared_weights / rows
    if beyond_one(mean, square, tally.largest, rows) > 0.0:
        return target, mean
    beyond = [each for each in data.weights if each.is_beyond_one(len(data.weights))]
    largest = max(beyond, key=lambda each: each.mean, default=None)
    return largest and (f"action:{largest.name}", largest.mean)


def warnings_of(found: Sequence[Evaluation]) -> list[str]:
    """Of several evaluations, each once; where not all of them have it, with the policies that do."""
    those = {
        text: [each.target for each in found if text in each.warnings]
        for each in found
        for text in each.warnings
    }
    return [
        text if len(names) == len(found) else f"{', '.join(names)}: {text}"
        for text, names in those.items()
    ]


def stray_text(action: ActionWeights) -> str:
    return (
        f"{action.name!r} was chosen in {action.chosen} of {action.rows:,} rows (row {action.first:,} is the first, counted "
        "from 0), far fewer than its propensities say. It counts as an action of its own: is its name misspelt?"
    )


def shown(found: Estimate) -> str:
    return f"{found.value:.6g}" + (
        f" ({found.low:.6g} .. {found.high:.6g})" if found.low == found.low else ""
    )
