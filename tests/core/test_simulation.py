"""Simulated runs of the compiled core against plain NumPy, and errors of bad calls."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import ensample as es
from ensample import _core
from ensample.inflation import Inflation
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.problems.noise import noisy_reward, spread_at
from ensample.simulation.options import Law
from ensample.simulation.state import Rngs, RunSize, RunState, new_state

DIM, ARMS, ROUNDS, LAM = 3, 21, 60, 0.7
GAUSSIAN, UNIFORM, RADEMACHER, SPHERE = (Law(kind, 1, 0.5) for kind in range(4))
ENSEMBLE = {"stay": 1, "initial": GAUSSIAN, "reward": GAUSSIAN, "factor": Inflation(1.3)}


def finite(noise: es.Noise | float = 0.3, **more: Any) -> FiniteProblem:
    rng = np.random.default_rng(1)
    arms = es.FiniteArms(rng.standard_normal((ARMS, DIM)))
    arrays = es.LinearProblem(arms, [0.1, -0.2, 0.15], noise, **more).place()
    assert isinstance(arrays, FiniteProblem)
    return arrays


def contextual(offered: int = 5) -> ContextualProblem:
    return ContextualProblem(np.array([0.5, -0.2, 0.8]), offered, 0, 0.1, 0.4)


def new(problem: Any, rounds: int = ROUNDS) -> RunState:
    return new_state(
        RunSize.of(problem, DIM), LAM, np.array([rounds // 2, rounds]), np.zeros(1, np.int64)
    )


def generators(seed: int = 0) -> Rngs:
    return Rngs(*(np.random.default_rng([seed, stream]) for stream in range(4)))


def played(kernel: str, problem: Any, rounds: int = ROUNDS, **options: Any) -> RunState:
    state = new(problem, rounds)
    _core.simulate(kernel, problem, state, generators(), ENSEMBLE | options)
    return state


class Regression:
    """Ridge regression that is solved anew each round."""

    def __init__(self) -> None:
        self.V, self.b = LAM * np.eye(DIM), np.zeros(DIM)
        self.regret: list[float] = [0.0]

    def theta(self, total: np.ndarray, factor: float = 1.3) -> np.ndarray:
        return np.linalg.solve(self.V, self.b + factor * total)

    def learn(self, x: np.ndarray, y: float, loss: float | None) -> None:
        """Add an observation. Without a loss it is none of a round."""
        self.V += np.outer(x, x)
        self.b += x * y
        if loss is not None:
            self.regret.append(self.regret[-1] + loss)


class Outcome(NamedTuple):
    regret: list[float]
    mean: np.ndarray


def draw(law: Law, n: int, rng: np.random.Generator) -> float:
    """Draw the sum of n perturbations."""
    if law.kind == GAUSSIAN.kind:
        return law.scale * np.sqrt(n) * rng.standard_normal()
    if law.kind == RADEMACHER.kind:
        heads = rng.binomial(n, 0.5) if n > 1 else rng.random() < 0.5
        return law.scale * (2.0 * heads - n)
    return np.sqrt(3.0) * law.scale * sum(2.0 * rng.random() - 1.0 for _ in range(n))


def vector(law: Law, rng: np.random.Generator) -> np.ndarray:
    if law.kind == SPHERE.kind:
        w = rng.standard_normal(DIM)
        return law.scale * np.sqrt(DIM) * w / np.linalg.norm(w)
    return np.array([draw(law, 1, rng) for _ in range(DIM)])


def prescribed(problem: FiniteProblem, fit: Regression, rngs: Rngs) -> np.ndarray:
    """Play the warm-up and the opening, and return the pulls."""
    pulls = np.zeros(len(problem.features), np.int64)
    for i, row in enumerate([*problem.warmup, *problem.opening]):
        y = noisy_reward(problem.noise, problem.means[row], problem.spreads[row], rngs.noise)
        fit.learn(
            problem.features[row],
            y,
            problem.best - problem.means[row] if i >= problem.warmup.size else None,
        )
        pulls[row] += 1
    return pulls


def pull(problem: FiniteProblem, fit: Regression, theta: np.ndarray, rngs: Rngs) -> int:
    arm = int(np.argmax(problem.by_coordinate.T @ theta))
    y = noisy_reward(problem.noise, problem.means[arm], problem.spreads[arm], rngs.noise)
    fit.learn(problem.features[arm], y, problem.best - problem.means[arm])
    return arm


def eager(problem: FiniteProblem, size: int, initial: Law, reward: Law) -> Outcome:
    fit, rngs = Regression(), generators()
    sums = np.array([vector(initial, rngs.perturbation) for _ in range(size)])
    pulls = prescribed(problem, fit, rngs)
    for x, count in zip(problem.features, pulls, strict=True):
        for _ in range(count):
            sums += np.outer([draw(reward, 1, rngs.perturbation) for _ in range(size)], x)
    for _ in range(problem.opening.size, ROUNDS):
        member = int(rngs.member.random() * size)
        arm = pull(problem, fit, fit.theta(sums[member]), rngs)
        sums += np.outer(
            [draw(reward, 1, rngs.perturbation) for _ in range(size)], problem.features[arm]
        )
    return Outcome(fit.regret, np.linalg.solve(fit.V, fit.b))


class Base:
    """Start of a new member: R'g with R'R = ratio I + sum_k N_k x_k x_k', N_k being recent pull counts."""

    def __init__(self, problem: FiniteProblem, ratio: float) -> None:
        self.problem, self.ratio = problem, ratio
        self.root, self.work = np.sqrt(ratio) * np.eye(DIM), 0
        self.counts = np.zeros(len(problem.features), np.int64)

    def draw(self, pulls: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
        if self.work > 8 * DIM:
            X = self.problem.features
            self.root = np.linalg.cholesky(self.ratio * np.eye(DIM) + (X.T * pulls) @ X).T
            self.counts, self.work = pulls.copy(), 0
        self.work += np.count_nonzero(pulls - self.counts)
        return scale * rng.standard_normal(DIM) @ self.root


def lazy(
    problem: FiniteProblem,
    size: int,
    initial: Law,
    reward: Law,
    stay: int = 1,
    base: Base | None = None,
) -> Outcome:
    """Draw what a member has missed when it acts.

    Without a base it has missed all before its first round.
    """
    fit, rngs = Regression(), generators()
    pulls = prescribed(problem, fit, rngs)
    sums: dict[int, np.ndarray] = {}
    seen: dict[int, np.ndarray] = {}
    member = -1
    for t in range(problem.opening.size, ROUNDS):
        if stay == 0:
            member = t % size
        elif member < 0 or t % stay == 0:
            member = int(rngs.member.random() * size)
        if member not in sums and base is None:
            sums[member], seen[member] = vector(initial, rngs.perturbation), np.zeros_like(pulls)
        elif member not in sums:
            sums[member] = base.draw(pulls, reward.scale, rngs.perturbation)
            seen[member] = base.counts.copy()
        for arm in np.flatnonzero(pulls - seen[member]):
            n = int(pulls[arm] - seen[member][arm])
            sums[member] += draw(reward, n, rngs.perturbation) * problem.features[arm]
        seen[member] = pulls.copy()
        pulls[pull(problem, fit, fit.theta(sums[member]), rngs)] += 1
    return Outcome(fit.regret, np.linalg.solve(fit.V, fit.b))


def check(state: RunState, outcome: Outcome) -> None:
    np.testing.assert_allclose(
        state.regret, [outcome.regret[ROUNDS // 2], outcome.regret[ROUNDS]], rtol=1e-9
    )
    np.testing.assert_allclose(state.mean, outcome.mean, rtol=1e-9)


LAWS = [(UNIFORM, UNIFORM), (SPHERE, RADEMACHER), (GAUSSIAN, UNIFORM)]
TWINS: dict[str, Callable[..., Outcome]] = {"eager_ensemble": eager, "lazy_ensemble": lazy}


@pytest.mark.parametrize(
    "noise", [0.3, es.RademacherNoise(0.2), es.HeteroscedasticNoise(0.1, 0.4)], ids=repr
)
@pytest.mark.parametrize(("initial", "reward"), LAWS)
@pytest.mark.parametrize("kernel", TWINS)
def test_an_ensemble_plays_as_its_plain_version(
    kernel: str, initial: Law, reward: Law, noise: es.Noise
) -> None:
    problem = finite(noise, warmup=[0, 0, 4], opening=[7, 2])
    check(
        played(kernel, problem, size=7, initial=initial, reward=reward),
        TWINS[kernel](problem, 7, initial, reward),
    )


def test_an_eager_ensemble_with_gaussian_laws_plays_as_its_plain_version() -> None:
    problem = finite()
    check(played("eager_ensemble", problem, size=7), eager(problem, 7, GAUSSIAN, GAUSSIAN))


@pytest.mark.parametrize(("rule", "stay"), [(0, 1), (0, 4), (1, 1)])
@pytest.mark.parametrize("size", [19, 20, 40, 1000])  # the schedule is drawn ahead from 20 on
def test_members_scheduled_ahead_play_as_those_drawn_round_by_round(
    size: int, rule: int, stay: int
) -> None:
    problem, of = finite(warmup=[0, 0, 4], opening=[7, 2]), {"rule": rule, "stay": stay}
    state = played("lazy_ensemble", problem, size=size, **of, initial=SPHERE, reward=UNIFORM)
    check(state, lazy(problem, size, SPHERE, UNIFORM, 0 if rule else stay))


@pytest.mark.parametrize("size", [7, 40])
def test_new_members_of_gaussian_laws_start_from_a_base(size: int) -> None:
    problem, initial = finite(warmup=[0, 0, 4], opening=[7, 2]), Law(0, 1, 0.8)
    state = played("lazy_ensemble", problem, size=size, initial=initial, reward=GAUSSIAN)
    ratio = (initial.scale / GAUSSIAN.scale) ** 2
    check(state, lazy(problem, size, initial, GAUSSIAN, base=Base(problem, ratio)))
    for wrong in (Base(problem, 9.0 * ratio), None):
        with pytest.raises(AssertionError):
            check(state, lazy(problem, size, initial, GAUSSIAN, base=wrong))


def test_new_members_have_no_base_where_a_root_would_lose_w() -> None:
    problem, initial = finite(), Law(0, 1, 1e-4)
    state = played("lazy_ensemble", problem, size=40, initial=initial, reward=GAUSSIAN)
    check(state, lazy(problem, 40, initial, GAUSSIAN))


@pytest.mark.parametrize("noise", range(5))
def test_kernels_draw_the_rewards_of_python(noise: int) -> None:
    """Draw rewards of all five kinds, NORMAL_NOISE to SALE_NOISE.

    There is one arm, and its feature is 1: then b is the sum of the rewards.
    """
    one = es.LinearProblem(es.FiniteArms([[1.0]]), [0.4], 0.3).place()
    assert isinstance(one, FiniteProblem)
    state = new_state(RunSize.of(one, 1), LAM, np.array([500]), np.zeros(1, np.int64))
    _core.simulate("epsilon_greedy", one._replace(noise=noise), state, generators(), {})
    rng = generators().noise
    rewards = [noisy_reward(noise, 0.4, 0.3, rng) for _ in range(500)]
    assert state.target[0] == pytest.approx(sum(rewards), rel=1e-12)
    assert sum(rewards) != pytest.approx(500 * 0.4, rel=1e-6), "the control: they are random"


def test_another_law_is_noticed() -> None:
    problem = finite()
    with pytest.raises(AssertionError):
        check(played("eager_ensemble", problem, size=7), eager(problem, 7, GAUSSIAN, UNIFORM))


@pytest.mark.parametrize("offered", [0, 5])
def test_moving_arms_play_as_their_plain_version(offered: int) -> None:
    problem, size = contextual(offered), 4
    fit, rngs = Regression(), generators()
    sums = np.array([vector(GAUSSIAN, rngs.perturbation) for _ in range(size)])
    for _ in range(ROUNDS):
        features = rngs.context.standard_normal((offered, DIM))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = fit.theta(sums[int(rngs.member.random() * size)])
        x = features[np.argmax(features @ theta)] if offered else theta / np.linalg.norm(theta)
        best = (features @ problem.theta).max() if offered else np.linalg.norm(problem.theta)
        mean = float(x @ problem.theta)
        fit.learn(x, noisy_reward(0, mean, spread_at(mean, 0.1, 0.4), rngs.noise), best - mean)
        sums += np.outer([draw(GAUSSIAN, 1, rngs.perturbation) for _ in range(size)], x)
    check(
        played("eager_moving", problem, size=size),
        Outcome(fit.regret, np.linalg.solve(fit.V, fit.b)),
    )


KERNELS = {
    "lazy_ensemble": finite,
    "eager_ensemble": finite,
    "lazy_moving": contextual,
    "eager_moving": contextual,
}


@pytest.mark.parametrize("size", [1, 5, 500])
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_levels_give_the_same_bits(kernel: str, size: int) -> None:
    used, outcomes = _core.level(), set()
    try:
        for level in _core.levels():
            _core.use_level(level)
            state = played(kernel, KERNELS[kernel](), 300, size=size)
            outcomes.add((state.regret.tobytes(), state.inverse.tobytes(), state.mean.tobytes()))
    finally:
        _core.use_level(used)
    assert len(outcomes) == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_run_ends_when_it_is_told_to_stop(kernel: str) -> None:
    problem = KERNELS[kernel]()
    state = new(problem, 2**30)
    state.stop[0] = 1
    _core.simulate(kernel, problem, state, generators(), ENSEMBLE | {"size": 3})
    assert np.isnan(state.regret).all() and state.counters["count"][0] == 0.0


def counters(**more: float) -> np.ndarray:
    values = new(finite()).counters
    for name, value in more.items():
        values[name] = value
    return values


BAD_PROBLEMS = {
    "features": np.zeros((ARMS, DIM + 1)),
    "means": np.zeros(ARMS - 1),
    "spreads": np.zeros(ARMS + 1),
    "noise": 5,
    "best": "much",
    "warmup": np.array([ARMS]),
    "opening": np.array([-1]),
    "mean_path": np.zeros((2, ARMS + 1)),
    "best_means": np.zeros(1),
    "period": -1,
    "by_coordinate": np.zeros((DIM, ARMS), np.float32),
}
BAD_STATES = {
    "gram": np.zeros((DIM, DIM + 1)),
    "inverse": np.zeros((DIM, DIM))[::-1],
    "scales": np.zeros((5, DIM)),
    "prior": np.zeros(DIM + 1),
    "mean": np.zeros(DIM, np.int64),
    "pulls": np.zeros(17, np.int32),
    "counted": np.zeros(32, np.int32),
    "scores": np.zeros(ARMS - 1),
    "checkpoints": np.array([9, 9]),
    "regret": np.zeros(1),
    "stop": np.zeros(0, np.int64),
    "counters": counters(next_checkpoint=1),
}
BAD_OPTIONS = {
    "size": 0,
    "stay": 0,
    "rule": 2,
    "initial": Law(4, 1, 1.0),
    "reward": SPHERE,
    "factor": 1.0,
    "symmetric": 1.5,
    "redraw_growth": -1.0,
    "basis": np.array([ARMS]),
}
BAD = {"problem": BAD_PROBLEMS, "state": BAD_STATES, "options": BAD_OPTIONS}


@pytest.mark.parametrize(
    ("argument", "field"), [(name, field) for name, fields in BAD.items() for field in fields]
)
def test_a_bad_call_is_refused_by_name(argument: str, field: str) -> None:
    problem = finite()
    call = {"problem": problem, "state": new(problem), "options": ENSEMBLE | {"size": 3}}
    good, bad = call[argument], BAD[argument][field]
    call[argument] = (
        good | {field: bad} if isinstance(good, dict) else good._replace(**{field: bad})
    )
    with pytest.raises((TypeError, ValueError), match="argument `"):
        _core.simulate("lazy_ensemble", rngs=generators(), **call)


def test_other_fields_of_counters_are_refused() -> None:
    problem = finite()
    state = new(problem)
    names = state.counters.dtype.names
    renamed = [
        (name if name != "growth" else "growing", state.counters.dtype[name]) for name in names
    ]
    with pytest.raises(ValueError, match="counters"):
        _core.simulate(
            "lazy_ensemble",
            problem,
            state._replace(counters=np.zeros(1, renamed)),
            generators(),
            ENSEMBLE,
        )


def test_a_name_that_is_not_known_is_refused() -> None:
    problem = finite()
    with pytest.raises(ValueError, match=r"`kernel`.*'lasy'"):
        _core.simulate("lasy", problem, new(problem), generators(), ENSEMBLE)
    with pytest.raises(TypeError, match=r"`options`.*`sise`"):
        _core.simulate("lazy_ensemble", problem, new(problem), generators(), {"sise": 3})
    with pytest.raises(ValueError, match="`rngs`"):
        _core.simulate(
            "lazy_ensemble", problem, new(problem), generators()._replace(member=None), ENSEMBLE
        )
    with pytest.raises(ValueError, match="`mean_path`"):
        moving = problem._replace(
            mean_path=np.zeros((2, ARMS)), best_means=np.zeros(2), period=ROUNDS // 2 - 1
        )
        _core.simulate("lazy_ensemble", moving, new(problem), generators(), ENSEMBLE)
