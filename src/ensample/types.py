"""Names for the types that appear in signatures."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
CountArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
Auto: TypeAlias = Literal["auto"]
Shape: TypeAlias = int | tuple[int, ...]


class Table(Protocol):
    """A Series or a frame of pandas or polars, or what looks like one."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def to_numpy(self) -> Any: ...


ArrayLike: TypeAlias = NDArray[Any] | Sequence[Any] | Table
