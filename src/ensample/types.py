"""Names for the types that appear in signatures."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayLike", "Auto", "BoolArray", "CountArray", "FloatArray", "IntArray", "Shape"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
CountArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
ArrayLike: TypeAlias = NDArray[Any] | Sequence[Any]
Auto: TypeAlias = Literal["auto"]
Shape: TypeAlias = int | tuple[int, ...]
