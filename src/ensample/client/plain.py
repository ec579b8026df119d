"""What callers give, as JSON has it: numbers of NumPy, rows of frames, missing values."""

import math
from collections.abc import Mapping
from typing import Any

from ensample.errors import InvalidArgument, WrongType


def plain_context(value: Any) -> Any:
    """A row of a frame of pandas is a context too."""
    row = hasattr(value, "to_dict") and len(getattr(value, "shape", ())) == 1
    return plain("context", value.to_dict() if row else value)


def plain(argument: str, value: Any) -> Any:
    """A copy of plain types. NaN is a value that is missing.

    >>> import numpy as np
    >>> plain("context", {"age": np.int64(31), "tags": {"tea"}, "income": float("nan"), "row": np.eye(2)[0]})
    {'age': 31, 'tags': ['tea'], 'income': None, 'row': [1.0, 0.0]}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InvalidArgument(argument, value, "a finite number")
        return None if math.isnan(value) else float(value)
    if isinstance(value, Mapping):
        return {str(name): plain(f"{argument}.{name}", item) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(argument, item) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [plain(f"{argument}[{place}]", item) for place, item in enumerate(value)]
    for method in ("to_list", "tolist"):  # a column of a frame, an array or a number of NumPy
        if hasattr(value, method):
            return plain(argument, getattr(value, method)())
    raise WrongType(argument, value, "numbers, texts, booleans, None, lists and dicts of these")
