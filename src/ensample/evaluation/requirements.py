"""What an evaluation must show: `lift.lower >= 0`, for scripts that deploy a policy or do not."""

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from ensample.errors import InvalidArgument
from ensample.evaluation.evaluation import Evaluation

FORM = re.compile(r"\s*(\w+)(?:\.(\w+))?\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
ESTIMATES = "ips", "snips", "dm", "dr", "lift"
FIELDS = {"value": "value", "low": "low", "lower": "low", "high": "high", "upper": "high"}
NUMBERS = {
    "rows": "rows",
    "effective_rows": "effective_rows",
    "largest_weight": "largest_weight",
    "unsupported": "unsupported",
    "logged": "logged",
}
EXPECTED = (
    f'"NAME.FIELD >= NUMBER" with one of {", ".join(ESTIMATES)} and value, lower or upper, or "NAME <= NUMBER" '
    f"with one of {', '.join(NUMBERS)}"
)


class Requirement(NamedTuple):
    """A number of an evaluation and what it is compared with."""

    text: str
    name: str
    field: str | None
    sign: str
    bound: float

    def measured(self, found: Evaluation) -> float:
        if self.field is None:
            return float(getattr(found, NUMBERS[self.name]))
        estimate = found.lift if self.name == "lift" else found[self.name]
        return float(getattr(estimate, self.field))

    def holds(self, found: Evaluation) -> bool:
        """NaN meets nothing."""
        return SIGNS[self.sign](self.measured(found), self.bound)


def requirement(text: str) -> Requirement:
    """A requirement as it is written.

    >>> requirement("lift.lower >= 0")[1:]
    ('lift', 'low', '>=', 0.0)
    >>> requirement("effective_rows > 1e3")[1:]
    ('effective_rows', None, '>', 1000.0)
    """
    form = FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        raise InvalidArgument("require", text, EXPECTED)
    name, field, sign, bound = form.groups()
    known = name in ESTIMATES and field in FIELDS if field is not None else name in NUMBERS
    if not known:
        raise InvalidArgument("require", text, EXPECTED)
    try:
        return Requirement(text, name, FIELDS[field] if field else None, sign, float(bound))
    except ValueError:
        raise InvalidArgument("require", text, EXPECTED) from None
