"""Rare kernels read by Python: the same bits as machine code, all at once or not at all, and compiled once it is worth it."""

import math
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ensample as es
from conformance import interrupts
from conformance.interrupts import interrupted
from conformance.policies import EVERY, RECIPES, fingerprint, play, start
from ensample.kernels import interpreted as tier
from ensample.kernels.calibration import calibrate_if_due, first_prior, new_scales
from ensample.kernels.compile import kernel
from ensample.kernels.fading import take_in
from ensample.kernels.fused import times_plus
from ensample.kernels.interpreted import LARGEST, Rare, compiled_at_once, in_place, product_error, read_by_python
from ensample.kernels.ridge import new_ridge, polish_alone
from ensample.kernels.rows import dot
from ensample.models.linear import LinearModel
from ensample.simulation import tasks
from ensample.types import FloatArray
from installed import copied, run

RARE = calibrate_if_due, polish_alone
ROUNDS = 12
SECONDS = 3
LINEAR = [(recipe, arms) for recipe, arms in EVERY if isinstance(start(recipe, arms).model, LinearModel)]


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody asks for machine code, or has spent time on doing without."""
    monkeypatch.setattr(tier, "seconds_noted", lambda kernel: 0.0)
    monkeypatch.setattr(tier, "note_seconds", lambda kernel, seconds: None)
    before = tier.AT_ONCE.set(False)
    yield
    tier.AT_ONCE.reset(before)


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rare kernels are interpreted, whatever there is on disk, and however long it takes; which were."""
    called: list[str] = []
    for each in RARE:
        monkeypatch.setattr(each, "compiles", False)
        monkeypatch.setattr(each, "_look", lambda args, each=each: called.append(each.kernel.__name__))
    return called


@kernel
def fused(a: float, b: float, c: float) -> float:
    return times_plus(a, b, c)


class Seen:
    """A calibrated ridge regression that has seen something, ready to be looked at twice."""

    def __init__(
        self, rows: FloatArray, rewards: FloatArray, *, standing: bool, lam: float, intercept: bool, rate: float
    ) -> None:
        self.rows, self.rewards = rows.copy(), rewards
        if intercept:
            self.rows[:, -1] = 1.0
        sizes = np.sqrt(np.square(self.rows).mean(axis=0)) if standing else np.zeros(rows.shape[1])
        self.settings = standing, lam, intercept
        self.scales = new_scales(sizes, lam)
        self.state = new_ridge(rows.shape[1], first_prior(sizes, lam, intercept), rate)

    def disagreements(self) -> Iterator[str]:
        """Where Python and machine code come to other bits, round after round."""
        for t, (x, y) in enumerate(zip(self.rows, self.rewards, strict=True), 1):
            take_in(self.state, x, y)
            yield from (f"{name} after {t} rounds" for name in differing(polish_alone, self.state.copy()))
            yield from (
                f"{name} after {t} rounds" for name in differing(calibrate_if_due, self.state, self.scales, *self.settings)
            )


def differing(rare: Any, *args: Any) -> Iterator[str]:
    """Which arrays Python makes others of; they become what machine code makes of them."""
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    in_place(read_by_python(rare.kernel), tuple(copies))
    rare.kernel(*args)
    for k, (ours, theirs) in enumerate(zip(copies, args, strict=True)):
        if isinstance(ours, np.ndarray) and ours.tobytes() != theirs.tobytes():
            yield f"array {k} of {rare.kernel.__name__}"


def drawn(dim: int, seed: int, size: float, kind: str) -> tuple[FloatArray, FloatArray]:
    """Features in units of their own, half of them 0; those of named actions; or next to the same direction."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((ROUNDS, dim)) * size ** rng.integers(-1, 2, dim)
    if kind == "named":
        rows = size * np.eye(dim)[rng.integers(0, dim, ROUNDS)]
    elif kind == "collinear":
        rows = rows[:1] * (1.0 + 1e-9 * rng.standard_normal((ROUNDS, dim)))
    else:
        rows *= rng.integers(0, 2, (ROUNDS, dim))
    return rows, rng.standard_normal(ROUNDS) * size


@settings(max_examples=100, deadline=None)
@given(
    dim=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1.0, 1e3, 1e-40, 1e40, 1e70, 1e-75]),
    kind=st.sampled_from(["sparse", "named", "collinear"]),
    standing=st.booleans(),
    lam=st.sampled_from([0.0, 0.5]),
    intercept=st.booleans(),
    rate=st.sampled_from([0.0, 0.1]),
)
def test_python_comes_to_the_same_bits(dim: int, seed: int, size: float, kind: str, **given: Any) -> None:
    assert not list(Seen(*drawn(dim, seed, size, kind), **given).disagreements())


def in_another_order(x: FloatArray, y: FloatArray) -> float:
    """A dot product, but one sum after the other: a unit in the last place here and there."""
    return float(np.add.accumulate(x * y)[-1]) if x.size else 0.0


def test_a_twin_that_rounds_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setitem(tier.TWINS, dot, in_another_order)
    usual = {"standing": True, "lam": 0.0, "intercept": False, "rate": 0.0}
    assert any(list(Seen(*drawn(9, seed, 1.0, "sparse"), **usual).disagreements()) for seed in range(5))


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_error_of_a_product_is_rounded_once(a: float, b: float) -> None:
    ours, theirs = product_error(a, b, -(a * b)), fused(a, b, -(a * b))
    assert struct.pack("d", ours) == struct.pack("d", theirs) or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize(("recipe", "arms"), LINEAR)
def test_every_linear_policy_is_the_same(recipe: str, arms: str, request: pytest.FixtureRequest) -> None:
    with compiled_at_once():
        by_code = start(recipe, arms, 7)
        decisions = play(by_code, 40)
    called = request.getfixturevalue("by_python")
    policy = start(recipe, arms, 7)
    assert play(policy, 40) == decisions and fingerprint(policy) == fingerprint(by_code)
    assert policy.calibration is None or "calibrate_if_due" in called


@pytest.mark.parametrize(
    "recipe", ["ensemble", "LinUCB", "LinUCB, watched norm", "Thompson sampling", "greedy", "LinUCB, forgetting"]
)
def test_where_features_are_long_v_is_inverted_anew(recipe: str, request: pytest.FixtureRequest) -> None:
    def played() -> bytes:
        policy = RECIPES[recipe].start(es.FiniteArms(1e6 * np.tri(3)), seed=7)
        for t in range(20):
            policy.update(policy.decide(), math.sin(t))
        return fingerprint(policy)

    with compiled_at_once():
        by_code = played()
    called = request.getfixturevalue("by_python")
    assert played() == by_code and "polish" in called


@pytest.mark.parametrize("moment", [1, 40, 400, 2_000])
@pytest.mark.parametrize(("recipe", "file"), [("ensemble, calibrated", "calibration.py"), ("LinUCB, calibrated", "pairs.py")])
def test_ctrl_c_leaves_an_update_whole(
    recipe: str, file: str, moment: int, by_python: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, other = start(recipe, "finite", 3), start(recipe, "finite", 3)
    assert play(policy, 6) == play(other, 6)  # scales are due with the next
    monkeypatch.setattr(interrupts, "OURS", str(Path(tier.__file__).with_name(file)))
    decision = policy.decide()
    assert interrupted(lambda: policy.update(decision, 0.7), moment) is not None
    other.update(other.decide(), 0.7)
    assert play(policy, 5, 7) == play(other, 5, 7) and fingerprint(policy) == fingerprint(other)


def test_arrays_change_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes, and whenever it does, both have changed or none."""

    def change(first: FloatArray, second: FloatArray) -> None:
        first += 1.0
        second += 1.0

    monkeypatch.setattr(interrupts, "OURS", tier.__file__)
    ends = set()
    for moment in range(1, 1_000):
        arrays = np.zeros(1), np.zeros(1)
        error = interrupted(lambda arrays=arrays: in_place(change, arrays), moment)  # type: ignore[misc]
        ends.add((float(arrays[0][0]), float(arrays[1][0])))
        if error is None:
            break
    assert error is None and moment > 30 and ends == {(0.0, 0.0), (1.0, 1.0)}


def add_one(values: FloatArray) -> None:
    for k in range(values.size):
        values[k] += 1.0


class Compiled:
    """What stands for a kernel and counts its calls."""

    def __init__(self) -> None:
        self.py_func: Any = add_one
        self.signatures: tuple[str, ...] = ()
        self.calls = 0
        self.__doc__ = "Add one."

    def __call__(self, values: FloatArray) -> None:
        self.calls += 1
        add_one(values)


@pytest.fixture
def each_call_takes_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(tier.time, "perf_counter", lambda: float(next(clock)))


def test_interpreting_ends_when_it_has_taken_long(each_call_takes_a_second: None) -> None:
    compiled = Compiled()
    rare, values = Rare(compiled, SECONDS), np.zeros(3)
    calls = []
    for _ in range(6):
        rare(values)
        calls.append(compiled.calls)
    assert values.tolist() == [6.0] * 3 and calls == [0] * SECONDS + list(range(1, 7 - SECONDS))


def test_what_other_processes_have_spent_counts(each_call_takes_a_second: None, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[float] = []
    monkeypatch.setattr(tier, "seconds_noted", lambda kernel: sum(noted))
    monkeypatch.setattr(tier, "note_seconds", lambda kernel, seconds: noted.append(seconds))
    calls = []
    for _ in range(5):  # processes, of one call each
        compiled = Compiled()
        Rare(compiled, SECONDS)(np.zeros(3))
        calls.append(compiled.calls)
    assert calls == [0] * SECONDS + [1] * (5 - SECONDS) and noted == [1.0] * SECONDS


def test_code_that_came_meanwhile_is_used(each_call_takes_a_second: None) -> None:
    compiled = Compiled()
    rare = Rare(compiled, SECONDS)
    rare(np.zeros(3))
    compiled.signatures = ("some",)
    rare(np.zeros(3))
    assert compiled.calls == 1


def test_large_arrays_are_for_machine_code_which_is_then_there_for_all() -> None:
    compiled = Compiled()
    rare, calls = Rare(compiled, SECONDS), []
    for size in (LARGEST, LARGEST + 1, 2):
        rare(np.zeros(size))
        calls.append(compiled.calls)
    assert calls == [0, 1, 2]


def test_what_python_refuses_is_left_to_machine_code() -> None:
    def refuse(values: FloatArray) -> None:
        values[0] = 7.0
        values[1] = math.log(values[1])

    compiled = Compiled()
    compiled.py_func = refuse
    rare, values = Rare(compiled, SECONDS), np.zeros(2)
    rare(values)
    assert values.tolist() == [1.0, 1.0] and compiled.calls == 1


def test_who_compiles_ahead_compiles_everything() -> None:
    compiled = Compiled()
    rare = Rare(compiled, SECONDS)
    with compiled_at_once():
        rare(np.zeros(2))
    rare(np.zeros(2))
    assert compiled.calls == 2
    seen: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "tasks", lambda: {"this": lambda: seen.append(tier.AT_ONCE.get())})
        patch.setattr(tasks, "note", lambda name: None)
        tasks.do("this")
    assert seen == [True] and not tier.AT_ONCE.get()


FIRST = """
import json
import numpy as np
import ensample as es
from ensample.compiling import LISTENERS
from ensample.kernels.interpreted import compiled_at_once
from contextlib import nullcontext
compiled = []
LISTENERS.append(lambda name: compiled.append(name.removeprefix("ensample.kernels.")))
with AHEAD:
    arms = es.FiniteArms(np.random.default_rng(0).standard_normal((20, 5)))
    policy = es.EnsembleSampling(10, fresh=FRESH).start(arms, seed=0)
    for _ in range(1000):
        decision = policy.decide()
        policy.update(decision, float(decision.features[0]))
print(json.dumps({"compiled": compiled, "state": policy.mean.tobytes().hex()}))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("fresh", "kernels"),
    [(False, ["ensemble.choose", "learning.learn"]), (True, ["fresh.candidates", "ensemble.greedy", "fresh.learn_fresh"])],
)
def test_the_first_rounds_compile_what_every_round_needs(fresh: bool, kernels: list[str], tmp_path: Path) -> None:
    """Calibration is interpreted until somebody compiles it; then it is found, and the numbers are the same."""
    copied(tmp_path)
    first, ahead, after = (
        run(FIRST.replace("AHEAD", how).replace("FRESH", str(fresh)), PYTHONPATH=tmp_path)
        for how in ("nullcontext()", "compiled_at_once()", "nullcontext()")
    )
    assert first["compiled"] == kernels
    assert ahead["compiled"] == ["calibration.calibrate_if_due"] and not after["compiled"]
    assert first["state"] == ahead["state"] == after["state"]
