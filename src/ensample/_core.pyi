"""Compiled kernels (cpp/). Arrays are C-contiguous and of the dtype given: nothing is copied."""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Learning = tuple[Floats | None, float, bool, bool]

# Instruction-set levels (cpp/kernels.hpp)

def levels() -> list[str]: ...
def level() -> str: ...
def use_level(level: str) -> None: ...

# Linear models (cpp/bindings_linear.cpp)
#
# `state` is that of a ridge regression, [3d + 9, d], or [3d + 11, d] where the past fades; `sums`
# are those of stored members, [2d, m], or [3d, m] where the prior is learned. With an `origin` [1]
# the state has a constant feature beside those of `x`, and rewards are learned less the first one.
# `learning`: `scales` [6, d], which are learned if they are not None, `strength` (given if it is
# above 0, else learned), `sizes_given`, `intercept`.

def learn_ridge(
    state: Floats, x: Floats, y: float, learning: Learning | None = None, link: int | None = None
) -> None: ...
def learn_members(
    state: Floats,
    sums: Floats,
    x: Floats,
    y: float,
    z: Floats,
    fresh: Floats | None = None,
    origin: Floats | None = None,
    root: Floats | None = None,
    learning: Learning | None = None,
    link: int | None = None,
) -> None: ...
def learn_history(
    state: Floats,
    root: Floats,
    pulls: Ints,
    arm: int,
    x: Floats,
    y: float,
    learning: Learning | None = None,
) -> None: ...
def learn_rooted(
    state: Floats, root: Floats, rooted: Floats | None, x: Floats, y: float, link: int | None = None
) -> None: ...
def learn_posterior(state: Floats, root: Floats, rewards: Floats, x: Floats, y: float) -> None: ...
def learn_fresh(
    state: Floats,
    root: Floats,
    gram_root: Floats,
    ages: Floats,
    ageing_rate: float,
    x: Floats,
    y: float,
    origin: Floats | None = None,
    learning: Learning | None = None,
    link: int | None = None,
) -> None: ...
def best_arm_of_member(
    state: Floats, sums: Floats, factor: float, member: int, by_coordinate: Floats
) -> int: ...
def member_theta(state: Floats, sums: Floats, factor: float, member: int) -> Floats: ...
def member_thetas(state: Floats, sums: Floats, factor: float) -> Floats: ...
def vote(
    state: Floats, sums: Floats, factor: float, by_coordinate: Floats, sizes: Floats
) -> Ints: ...
def fresh_thetas(
    state: Floats,
    root: Floats,
    prior_age: float,
    initial: float,
    reward: float,
    w: Floats,
    g: Floats,
) -> Floats: ...
def vote_fresh(
    state: Floats,
    root: Floats,
    prior_age: float,
    initial: float,
    reward: float,
    w: Floats,
    g: Floats,
    by_coordinate: Floats,
    sizes: Floats,
) -> Ints: ...
def shift_mean(state: Floats, total: Floats) -> Floats: ...
def add_rows(total: Floats, rows: Floats, weights: Floats) -> None: ...
def multiply(matrix: Floats, vector: Floats) -> Floats: ...
def cholesky(matrix: Floats) -> Floats | None: ...
def invert(matrix: Floats) -> Floats | None: ...

# Other linear recipes (cpp/bindings_linear.cpp)

def learn_optimist(
    state: Floats,
    largest: Floats,
    x: Floats,
    y: float,
    learning: Learning | None = None,
    link: int | None = None,
) -> None: ...
def learn_staged(
    state: Floats,
    grams: Floats,
    inverses: Floats,
    targets: Floats,
    means: Floats,
    by_coordinate: Floats,
    arm: int,
    x: Floats,
    y: float,
    radius: float,
    floor: float,
) -> None: ...
def learn_replicates(
    state: Floats,
    grams: Floats,
    targets: Floats,
    pulls: Ints,
    weights: Floats,
    pseudo: float,
    arm: int,
    x: Floats,
    y: float,
) -> None: ...
def learn_directions(state: Floats, directions: Floats, x: Floats, y: float, z: Floats) -> None: ...
def learn_pull(state: Floats, pulls: Ints, arm: int, x: Floats, y: float) -> None: ...
def optimistic_theta(inverse: Floats, mean: Floats, x: Floats, beta: float) -> Floats: ...
def theta_of_directions(state: Floats, directions: Floats, weights: Floats) -> Floats: ...
def theta_of_pseudo_rewards(
    state: Floats, rows: Floats, pulls: Ints, a: float, lam: float, rng: Generator
) -> Floats: ...
def optimistic_arm(inverse: Floats, mean: Floats, by_coordinate: Floats, beta: float) -> int: ...
def staged_arm(
    inverses: Floats, means: Floats, by_coordinate: Floats, radius: float, floor: float
) -> tuple[int, int, bool]: ...
def best_pair(gaps: Floats, gains: Floats, means: Floats) -> tuple[int, int, float]: ...
def informed_pair(thetas: Floats, by_coordinate: Floats) -> tuple[int, int, float]: ...
def solve_replicates(grams: Floats, targets: Floats, thetas: Floats) -> None: ...
def unplayed(basis: Ints, pulls: Ints, round: int) -> int | None: ...

# Generalised linear models (cpp/bindings_models.cpp)

def evaluate(name: str, values: Floats, out: Floats) -> None: ...
def draw_uniform(rng: Generator, out: Floats) -> None: ...
def draw_normal(rng: Generator, out: Floats) -> None: ...
def draw_binomial(rng: Generator, trials: int, out: Floats) -> None: ...
def link_means(link: int, predictors: Floats) -> Floats: ...
def link_slopes(link: int, predictors: Floats) -> Floats: ...
def implicit_step(link: int, predictor: float, leverage: float, y: float) -> float: ...
def predict(state: Floats, x: Floats) -> tuple[float, float]: ...
def minimise(
    link: int,
    rows: Floats,
    counts: Floats,
    totals: Floats,
    prior: Floats,
    shift: Floats,
    tolerance: float,
    theta: Floats,
) -> bool: ...
def newton_step(
    rows: Floats,
    counts: Floats,
    totals: Floats,
    prior: Floats,
    shift: Floats,
    theta: Floats,
    means: Floats,
    slopes: Floats,
    step: Floats,
) -> float: ...
def hessian(rows: Floats, counts: Floats, slopes: Floats, prior: Floats) -> Floats: ...

# Networks (cpp/bindings_models.cpp)
#
# `shape`, `training`, `anchor`, `state`, `memory` and `observation` are named tuples of
# ensample.models.

def network_outputs(
    shape: tuple[Any, ...], weights: Floats, first: int, rows: Floats, outputs: Floats
) -> None: ...
def network_gradient(
    shape: tuple[Any, ...], weights: Floats, rows: Floats, slopes: Floats, gradient: Floats
) -> None: ...
def network_workspace(shape: tuple[Any, ...], weight_rows: int, batch: int) -> int: ...
def network_learn(
    shape: tuple[Any, ...],
    training: tuple[Any, ...],
    anchor: tuple[Any, ...],
    state: tuple[Any, ...],
    memory: tuple[Any, ...],
    observation: tuple[Any, ...],
    workspace: Floats,
) -> bool: ...
def scale_rows(rows: Floats, sizes: Floats, seen: Floats) -> None: ...
def learn_sizes(units: Floats, x: Floats, count: int) -> None: ...

# Search over many arms (cpp/bindings_models.cpp)

MAX_SEARCH_DIM: int

def greedy_arm(theta: Floats, by_coordinate: Floats) -> int: ...
def greedy_arms(thetas: Floats, by_coordinate: Floats, chosen: Ints, scores: Floats) -> None: ...
def scan_arms(rows: Floats, theta: Floats) -> int: ...
def size_of_codes(rows: Floats) -> int: ...
def encode_arms(rows: Floats, table: Floats, codes: NDArray[np.uint8]) -> None: ...
def find_best_arm(rows: Floats, table: Floats, codes: NDArray[np.uint8], theta: Floats) -> int: ...
def find_best_arms(
    rows: Floats,
    table: Floats,
    codes: NDArray[np.uint8],
    thetas: Floats,
    chosen: Ints,
    scores: Floats,
) -> None: ...

# Simulated runs (cpp/bindings_simulation.cpp)

def simulate(
    kernel: str, problem: object, settings: object, rngs: object, options: dict[str, object]
) -> tuple[Floats, Ints, Floats, Floats]: ...
