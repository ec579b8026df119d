"""Compiled kernels (cpp/). Arrays are C-contiguous and of the dtype given: nothing is copied."""

# ruff: noqa: E501

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]

# Instruction-set levels (cpp/dispatch.hpp)

def levels() -> list[str]: ...
def level() -> str: ...
def use_level(level: str) -> None: ...

# Linear models (cpp/bindings_linear.cpp)

# Other linear recipes (cpp/bindings_recipes.cpp)

# Generalised linear models (cpp/bindings_glm.cpp)

# Networks (cpp/bindings_networks.cpp)

# Search over many arms (cpp/bindings_search.cpp)

# Simulated runs (cpp/bindings_simulation.cpp)
