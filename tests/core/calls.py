"""Valid calls of every binding of `ensample._core`, made from the names of their arguments."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ensample as es
from ensample import _core
from ensample.calibration import Inflation
from ensample.models.glm import LOGISTIC_LINK
from ensample.models.network_ensemble import Anchor, CoreTraining, NewObservation
from ensample.models.networks import Shape
from ensample.models.ridge import new_ridge, new_scales
from ensample.models.training_state import Memory, NetworkState
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import Rngs, RunSettings
from ensample.simulation.options import Law

Arguments = dict[str, Any]
LEVEL_CALLS = ("level", "levels", "use_level")

SHAPES = {  # arrays of normal numbers: a letter is one size in all arguments of a call
    "x": "d",
    "z": "m",
    "rooted": "d",
    "total": "d",
    "mean": "d",
    "theta": "d",
    "step": "d",
    "shift": "d",
    "vector": "d",
    "w": "md",
    "g": "md",
    "rows": "nd",
    "thetas": "dm",
    "weights": "n",
    "means": "n",
    "by_coordinate": "dK",
    "predictors": "n",
    "fresh": "dm",
    "targets": "Sd",
}
POSITIVE = {"sizes": "d", "gaps": "K", "gains": "K", "slopes": "n", "prior": "d"}
RESULTS = {"out": "n", "scores": "m", "seen": "nd", "table": "4d", "largest": "1", "rewards": "3"}
NUMBERS = {
    "factor": 1.5,
    "prior_age": 0.5,
    "initial": 1.0,
    "reward": 0.5,
    "beta": 0.5,
    "floor": 0.01,
    "pseudo": 0.5,
    "a": 0.7,
    "lam": 1.0,
    "tolerance": 1e-9,
    "y": 1.0,
}

# Names of arguments; "name=nd" gives the shape of one where it is not that of the table above.
CALLS = {
    "add_rows": "total rows weights",
    "best_arm_of_member": "state sums factor member by_coordinate",
    "best_pair": "gaps gains means=K",
    "cholesky": "matrix",
    "draw_binomial": "rng trials out",
    "draw_normal": "rng out",
    "draw_uniform": "rng out",
    "encode_arms": "rows table codes",
    "evaluate": "name values out",
    "find_best_arm": "rows table codes theta",
    "find_best_arms": "rows table codes thetas chosen scores",
    "fresh_thetas": "state root prior_age initial reward w g",
    "greedy_arm": "theta by_coordinate",
    "greedy_arms": "thetas by_coordinate chosen scores",
    "hessian": "rows counts slopes prior",
    "implicit_step": "link predictor leverage y",
    "informed_pair": "thetas by_coordinate",
    "invert": "matrix",
    "learn_directions": "state directions x y z",
    "learn_fresh": "state root gram_root ages ageing_rate x y learning",
    "learn_history": "state root pulls arm x y learning",
    "learn_members": "state sums x y z fresh learning",
    "learn_optimist": "state largest x y learning",
    "learn_posterior": "state root rewards x y",
    "learn_pull": "state pulls arm x y",
    "learn_replicates": "state grams targets pulls weights=S3 pseudo arm x y",
    "learn_ridge": "state x y learning link",
    "learn_rooted": "state root rooted x y link",
    "learn_sizes": "units x count",
    "learn_staged": "state grams inverses targets means=Sd by_coordinate arm x y radius floor",
    "link_means": "link predictors",
    "link_slopes": "link predictors",
    "member_theta": "state sums factor member",
    "member_thetas": "state sums factor",
    "minimise": "link rows counts totals prior shift tolerance theta",
    "multiply": "matrix vector",
    "newton_step": "rows counts totals prior shift theta means slopes step",
    "optimistic_arm": "inverse mean by_coordinate beta",
    "optimistic_theta": "inverse mean x beta",
    "predict": "state x",
    "scale_rows": "rows sizes seen",
    "scan_arms": "rows theta",
    "shift_mean": "state total",
    "size_of_codes": "rows",
    "solve_replicates": "grams targets thetas=Sd",
    "staged_arm": "inverses means=Sd by_coordinate radius floor",
    "theta_of_directions": "state directions weights=m",
    "theta_of_pseudo_rewards": "state rows=Kd pulls a lam rng",
    "unplayed": "basis pulls round",
    "vote": "state sums factor by_coordinate sizes",
    "vote_fresh": "state root prior_age initial reward w g by_coordinate sizes",
}


class Draw:
    """Arguments of one call, of random sizes."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        most = {"d": 12, "S": 6, "m": 30, "K": 40, "n": 150}
        self.sizes = {letter: int(rng.integers(1, most[letter] + 1)) for letter in most}
        self.sizes |= {digit: int(digit) for digit in "134"}
        self.fades = bool(rng.integers(2))

    def __getitem__(self, letter: str) -> int:
        return self.sizes[letter]

    def shape(self, letters: str) -> tuple[int, ...]:
        return tuple(self[letter] for letter in letters)

    def argument(self, word: str) -> Any:
        name, _, given = word.partition("=")
        if given or name in SHAPES:
            return self.rng.standard_normal(self.shape(given or SHAPES[name]))
        if name in POSITIVE:
            return 0.1 + self.rng.random(self.shape(POSITIVE[name]))
        if name in RESULTS:
            return np.zeros(self.shape(RESULTS[name]))
        return NUMBERS[name] if name in NUMBERS else getattr(self, f"make_{name}")()

    def make_state(self) -> np.ndarray:
        """Return a ridge regression after some observations."""
        state = new_ridge(self["d"], 1.0, 0.01 if self.fades else 0.0)
        for _ in range(self.rng.integers(0, 70)):
            _core.learn_ridge(state, self.rng.standard_normal(self["d"]), self.rng.normal())
        return state

    def make_sums(self) -> np.ndarray:
        return self.rng.standard_normal((self.rng.integers(2, 4) * self["d"], self["m"]))

    def make_learning(self) -> Any:
        if self.rng.random() < 0.4:
            return None
        intercept = bool(self["d"] > 1 and self.rng.integers(2))
        scales = new_scales(np.zeros(self["d"]), 0.0)
        return scales, float(self.rng.choice([0.0, 2.0])), bool(self.rng.integers(2)), intercept

    def make_link(self) -> int:
        return LOGISTIC_LINK if self.rng.random() < 0.3 else 0

    def make_gram(self) -> np.ndarray:
        rows = self.rng.standard_normal((self["d"] + 3, self["d"]))
        return np.ascontiguousarray(rows.T @ rows)

    def make_grams(self) -> np.ndarray:
        return np.array([self.make_gram() for _ in range(self["S"])])

    make_matrix = make_inverse = make_gram
    make_inverses = make_grams

    def make_root(self) -> np.ndarray:
        return np.ascontiguousarray(np.linalg.cholesky(self.make_gram()).T)

    def make_gram_root(self) -> np.ndarray:
        return np.zeros((self["d"] * int(self.rng.integers(2)), self["d"]))

    def make_ages(self) -> np.ndarray:
        return np.zeros(2)

    def make_ageing_rate(self) -> float:
        return 0.1

    def make_directions(self) -> np.ndarray:
        return self.rng.standard_normal((2 * self["m"], self["d"]))

    def make_units(self) -> np.ndarray:
        return self.rng.random((3, self["d"]))

    def make_member(self) -> int:
        return int(self.rng.integers(self["m"]))

    def make_pulls(self) -> np.ndarray:
        return self.rng.integers(0, 3, self["K"])

    def make_arm(self) -> int:
        return int(self.rng.integers(self["K"]))

    def make_basis(self) -> np.ndarray:
        return self.rng.integers(0, self["K"], 3)

    def make_round(self) -> int:
        return int(self.rng.integers(1, 9))

    make_count = make_trials = make_round

    def make_radius(self) -> float:
        return float(self.rng.choice([0.01, 0.1, 1.0]))

    def make_counts(self) -> np.ndarray:
        return self.rng.integers(0, 9, self["n"]).astype(float)

    def make_totals(self) -> np.ndarray:
        return self.rng.random(self["n"])

    def make_predictor(self) -> float:
        return float(self.rng.normal(0.0, 9.0))

    def make_leverage(self) -> float:
        return float(self.rng.exponential(9.0))

    def make_rng(self) -> np.random.Generator:
        return np.random.default_rng(self.rng.integers(99))

    def make_name(self) -> str:
        return str(self.rng.choice(["exp", "expm1", "log", "log1p", "log2", "tanh"]))

    def make_values(self) -> np.ndarray:
        return self.rng.uniform(0.0, 30.0, self["n"])

    def make_chosen(self) -> np.ndarray:
        return np.zeros(self["m"], np.int64)

    def make_codes(self) -> np.ndarray:
        return np.zeros(_core.size_of_codes(np.zeros((self["n"], self["d"]))), np.uint8)


def made_of(words: str) -> Callable[[np.random.Generator], Arguments]:
    """Return what makes arguments of these names."""

    def make(rng: np.random.Generator) -> Arguments:
        draw = Draw(rng)
        arguments = {word.partition("=")[0]: draw.argument(word) for word in words.split()}
        if {"fresh", "gram_root"} & arguments.keys() and draw["d"] > 1 and rng.random() < 0.3:
            arguments |= {"x": arguments["x"][:-1].copy(), "origin": np.zeros(1)}
        if "codes" in arguments and words.split()[-1] != "codes":
            _core.encode_arms(arguments["rows"], arguments["table"], arguments["codes"])
        return arguments

    return make


# --- Networks ------------------------------------------------------------------------------------

HIDDEN = [(1,), (5,), (8,), (9, 3), (20, 17), (70,), (3, 4, 2)]


def network_shape(rng: np.random.Generator) -> Shape:
    hidden = HIDDEN[int(rng.integers(len(HIDDEN)))]
    widths = np.array([rng.integers(1, 12), *hidden, 1])
    return Shape(widths, int(rng.integers(1, 5)), int(rng.integers(3)))


def count_of(shape: Shape) -> int:
    """Return the number of weights."""
    before, after = shape.widths[:-1], shape.widths[1:]
    return int(shape.members * ((before + 1) * after).sum())


def network_outputs(rng: np.random.Generator) -> Arguments:
    shape, rows = network_shape(rng), int(rng.integers(1, 80))
    first = int(rng.integers(shape.members))
    return {
        "shape": shape,
        "weights": rng.standard_normal(count_of(shape)),
        "first": first,
        "rows": rng.standard_normal((rows, shape.widths[0])),
        "outputs": np.zeros((int(rng.integers(1, shape.members - first + 1)), rows)),
    }


def network_gradient(rng: np.random.Generator) -> Arguments:
    shape, rows = network_shape(rng), int(rng.integers(1, 80))
    return {
        "shape": shape,
        "weights": rng.standard_normal(count_of(shape)),
        "rows": rng.standard_normal((rows, shape.widths[0])),
        "slopes": rng.standard_normal((shape.members, rows)),
        "gradient": np.zeros(count_of(shape)),
    }


def network_workspace(rng: np.random.Generator) -> Arguments:
    rows, batch = int(rng.choice([1, 3])), int(rng.integers(1, 90))
    return {"shape": network_shape(rng), "weight_rows": rows, "batch": batch}


def network_learn(rng: np.random.Generator) -> Arguments:
    shape, capacity = network_shape(rng), int(rng.integers(1, 40))
    rows, steps, batch = int(rng.choice([1, 3])), int(rng.integers(1, 4)), int(rng.integers(1, 70))
    d, m, n = int(shape.widths[0]), shape.members, count_of(shape)
    flags, with_prior = rng.integers(2, size=3).tolist(), int(rng.integers(2))
    state = NetworkState(np.zeros((rows, n)), rng.random(4 * d + 4), np.array([9, 12, 8, 0]))
    state.weights[0] = rng.standard_normal(n)
    ends = np.unique(np.append(rng.integers(1, n + 1, 3), n))
    features, rewards = rng.standard_normal((capacity, d)), rng.random(capacity)
    perturbations = rng.standard_normal((capacity, m))
    prior = rng.standard_normal((capacity, m * with_prior))
    place, places = int(rng.integers(-1, capacity)), rng.integers(capacity, size=(steps, batch))
    return {
        "shape": shape,
        "training": CoreTraining(flags[0], 0.01, 0.5, bool(flags[1]), 0.75, bool(flags[2]), 1.0),
        "anchor": Anchor(state.weights[0].copy(), ends, rng.random(ends.size)),
        "state": state,
        "memory": Memory(features, rewards, np.arange(capacity), perturbations, prior),
        "observation": NewObservation(
            rng.standard_normal(d), 0.5, 9, place, prior[0].copy(), rng.random((3, d)), places
        ),
        "workspace": np.zeros(_core.network_workspace(shape, rows, batch)),
    }


# --- Simulated runs ------------------------------------------------------------------------------

KERNELS = ["eager_ensemble", "ensemble_plus_plus", "epsilon_greedy", "fresh_stream"]
KERNELS += ["gaussian_history", "informed_by_fresh_members", "informed_ensemble", "kveton_phe"]
KERNELS += ["lazy_ensemble", "lazy_stream", "linucb", "multiplier_bootstrap", "newton_rounds"]
KERNELS += ["summed_history", "sup_linucb"]
CONTEXTUAL_KERNELS = ["eager_moving", "fresh_moving_stream", "lazy_moving", "lazy_moving_stream"]
CONTEXTUAL_KERNELS += ["moving_history"]


def is_logistic(kernel: str) -> bool:
    return "stream" in kernel or kernel == "newton_rounds"


def finite_problem(rng: np.random.Generator, dim: int, arms: int) -> FiniteProblem:
    features, theta = es.FiniteArms(rng.standard_normal((arms, dim))), rng.standard_normal(dim)
    problem = es.LinearProblem(features, theta, 0.3, warmup=[0, 0], opening=[arms - 1])
    arrays = problem.as_arrays()
    assert isinstance(arrays, FiniteProblem)
    return arrays


def options(rng: np.random.Generator, kernel: str, arms: int) -> Arguments:
    law = Law(int(rng.integers(3)), int(rng.integers(1, 4)), 0.5)
    flags = dict.fromkeys(("symmetric", "adaptive", "watch_norm", "from_base"))
    numbers = {"epsilon": 0.1, "radius": 0.5, "floor": 0.1, "spread": 0.5, "scale": 0.5}
    return numbers | {
        **{flag: bool(rng.integers(2)) for flag in flags},
        "size": int(rng.integers(1, 100)),
        "rule": int(rng.integers(2)),
        "stay": int(rng.integers(1, 4)),
        "initial": law,
        "reward": law,
        "factor": Inflation(1.0, learned=bool(rng.integers(2))),
        "stages": int(rng.integers(1, 9)),
        "ageing": float(rng.choice([0.0, 0.3])),
        "link": LOGISTIC_LINK if is_logistic(kernel) else 0,
        "kind": int(rng.integers(7)),
        "basis": rng.permutation(arms)[: int(rng.integers(0, 4))],
    }


def simulate(rng: np.random.Generator) -> Arguments:
    dim, arms = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    kernel = str(rng.choice([*KERNELS, *CONTEXTUAL_KERNELS]))
    noise, link = (1, LOGISTIC_LINK) if is_logistic(kernel) else (0, 0)
    problem: FiniteProblem | ContextualProblem
    if kernel in CONTEXTUAL_KERNELS:
        theta, arms, offered = rng.standard_normal(dim), 0, int(rng.integers(0, 9))
        problem = ContextualProblem(theta, offered, noise, 0.1, 0.4, link, is_logistic(kernel))
    else:
        problem = finite_problem(rng, dim, arms)
        if is_logistic(kernel):
            problem = problem._replace(noise=1, means=rng.random(len(problem.means)))
    checkpoints, stop = np.array([1, int(rng.integers(2, 60))]), np.zeros(1, np.int64)
    fixed_lam, learns_scales = (0.0, True) if rng.integers(2) else (1.0, False)
    settings = RunSettings(1.0, fixed_lam, None, False, learns_scales, 0.0, checkpoints, stop)
    return {
        "kernel": kernel,
        "problem": problem,
        "settings": settings,
        "rngs": Rngs(*(np.random.default_rng(int(seed)) for seed in rng.integers(1 << 30, size=4))),
        "options": options(rng, kernel, arms),
    }


# --- All of them ---------------------------------------------------------------------------------

TABLE: dict[str, Callable[[np.random.Generator], Arguments]] = {
    name: made_of(words) for name, words in CALLS.items()
} | {
    "network_gradient": network_gradient,
    "network_learn": network_learn,
    "network_outputs": network_outputs,
    "network_workspace": network_workspace,
    "simulate": simulate,
}


def bindings() -> list[str]:
    """Return the names of the functions of the core, but of those that choose a level."""
    functions = {name for name, value in vars(_core).items() if callable(value)}
    return sorted(name for name in functions - {*LEVEL_CALLS} if not name.startswith("_"))


def call(name: str, arguments: Arguments) -> Any:
    return getattr(_core, name)(**arguments)


def copied(arguments: Arguments) -> Arguments:
    return copy.deepcopy(arguments)


def values_in(value: Any) -> Iterator[Any]:
    """Yield what a call has read or written: bytes of arrays, states of generators, numbers."""
    if isinstance(value, np.ndarray):
        yield value.dtype.str, value.shape, value.tobytes()
    elif isinstance(value, np.random.Generator):
        yield repr(value.bit_generator.state)
    elif isinstance(value, dict | tuple | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from values_in(item)
    elif isinstance(value, float):
        yield np.float64(value).tobytes()
    else:
        yield repr(value)
