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

MAX_SEARCH_DIM: int

def greedy_arm(theta: Floats, by_coordinate: Floats) -> int: ...
def greedy_arms(thetas: Floats, by_coordinate: Floats, chosen: Ints, scores: Floats) -> None: ...
def scan_arms(rows: Floats, theta: Floats) -> int: ...
def size_of_codes(rows: Floats) -> int: ...
def encode_arms(rows: Floats, table: Floats, codes: NDArray[np.uint8]) -> None: ...
def find_best_arm(rows: Floats, table: Floats, codes: NDArray[np.uint8], theta: Floats) -> int: ...
def find_best_arms(
    rows: Floats, table: Floats, codes: NDArray[np.uint8], thetas: Floats, chosen: Ints, scores: Floats
) -> None: ...

# Simulated runs (cpp/bindings_simulation.cpp)
