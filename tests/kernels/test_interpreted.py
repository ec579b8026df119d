"""Rare kernels read by Python: the same bits as machine code, all at once or not at all, and compiled once it is worth it."""

import math
import signal
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import interrupts
from conformance.interrupts import interrupted
from conformance.policies import EVERY, fingerprint, play, start
from ensample.kernels import interpreted as tier
from ensample.kernels.calibration import calibrate_if_due, first_prior, new_scales
from ensample.kernels.compile import kernel
from ensample.kernels.fading import take_in
from ensample.kernels.fused import times_plus
from ensample.kernels.interpreted import LARGEST, Rare, compiled_at_once, in_place, interpreted, product_error
from ensample.kernels.machine_code import is_kept
from ensample.kernels.ridge import new_ridge, polish_alone
from ensample.kernels.rows import dot
from ensample.models.linear import LinearModel
from ensample.simulation import tasks
from ensample.types import FloatArray
from installed import copied, run

RARE = calibrate_if_due, polish_alone
ROUNDS = 12
LINEAR = [(recipe, arms) for recipe, arms in EVERY if isinstance(start(recipe, arms).model, LinearModel)]


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rare kernels are interpreted, whatever there is on disk, and however long it takes."""
    for each in RARE:
        monkeypatch.setattr(each, "seconds_left", math.inf)
        monkeypatch.setattr(each, "_is_worth_compiling", lambda args: False)
    yield


@kernel
def fused(a: float, b: float, c: float) -> float:
    return times_plus(a, b, c)


class Seen:
    """A calibrated ridge regression that has seen something, ready to be looked at twice."""

    def __init__(self, dim: int, seed: int, size: float, *, standing: bool, lam: float, intercept: bool, rate: float) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.standard_normal((ROUNDS, dim)) * size ** rng.integers(-1, 2, dim) * rng.integers(0, 2, (ROUNDS, dim))
        if intercept:
            self.rows[:, -1] = 1.0
        self.rewards = rng.standard_normal(ROUNDS) * size
        sizes = np.sqrt(np.square(self.rows).mean(axis=0)) if standing else np.zeros(dim)
        self.settings = standing, lam, intercept
        self.scales = new_scales(sizes, lam)
        self.state = new_ridge(dim, first_prior(sizes, lam, intercept), rate)

    def disagreements(self) -> Iterator[str]:
        """Where Python and machine code come to other bits, round after round."""
        for t, (x, y) in enumerate(zip(self.rows, self.rewards, strict=True)):
            take_in(self.state, x, y)
            copies = self.state.copy(), self.scales.copy()
            in_place(interpreted(calibrate_if_due.kernel), (*copies, *self.settings))  # type: ignore[attr-defined]
            calibrate_if_due.kernel(self.state, self.scales, *self.settings)  # type: ignore[attr-defined]
            for name, ours, theirs in zip(("state", "scales"), copies, (self.state, self.scales), strict=True):
                if ours.tobytes() != theirs.tobytes():
                    yield f"{name} after {t + 1} rounds"


@settings(max_examples=60, deadline=None)
@given(
    dim=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1.0, 1e3, 1e-40, 1e40, 1e70, 1e-75]),
    standing=st.booleans(),
    lam=st.sampled_from([0.0, 0.5]),
    intercept=st.booleans(),
    rate=st.sampled_from([0.0, 0.1]),
)
def test_python_comes_to_the_same_bits(
    dim: int, seed: int, size: float, standing: bool, lam: float, intercept: bool, rate: float
) -> None:
    seen = Seen(dim, seed, size, standing=standing, lam=lam, intercept=intercept, rate=rate)
    assert not list(seen.disagreements())


def in_another_order(x: FloatArray, y: FloatArray) -> float:
    """A dot product, but one sum after the other: a unit in the last place here and there."""
    return float(np.add.accumulate(x * y)[-1]) if x.size else 0.0


def test_a_twin_that_rounds_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setitem(tier.TWINS, id(dot), in_another_order)
    found = [list(Seen(9, seed, 1.0, standing=True, lam=0.0, intercept=False, rate=0.0).disagreements()) for seed in range(5)]
    assert any(found)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_error_of_a_product_is_rounded_once(a: float, b: float) -> None:
    ours, theirs = product_error(a, b, -(a * b)), fused(a, b, -(a * b))
    assert struct.pack("d", ours) == struct.pack("d", theirs) or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize(("recipe", "arms"), LINEAR)
def test_every_linear_policy_is_the_same(recipe: str, arms: str, request: pytest.FixtureRequest) -> None:
    by_code = start(recipe, arms, 7)
    decisions = play(by_code, 40)
    request.getfixturevalue("by_python")
    policy = start(recipe, arms, 7)
    assert play(policy, 40) == decisions and fingerprint(policy) == fingerprint(by_code)


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


class Pressing(np.ndarray):
    """An array during whose change somebody presses Ctrl-C."""

    def __setitem__(self, place: Any, values: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        super().__setitem__(place, values)


def test_arrays_change_all_at_once() -> None:
    """Ctrl-C that comes while they do waits for the last of them."""
    arrays = np.zeros(2).view(Pressing), np.zeros(2)

    def change(first: FloatArray, second: FloatArray) -> None:
        first += 1.0
        second += 1.0

    with pytest.raises(KeyboardInterrupt):
        in_place(change, arrays)
    assert [array.tolist() for array in arrays] == [[1.0, 1.0], [1.0, 1.0]]


def add_one(values: FloatArray) -> None:
    for k in range(values.size):
        values[k] += 1.0


class Compiled:
    """What stands for a kernel and counts its calls."""

    def __init__(self) -> None:
        self.py_func, self.signatures, self.calls = add_one, (), 0
        self.__doc__ = "Add one."

    def __call__(self, values: FloatArray) -> None:
        self.calls += 1
        add_one(values)


def test_interpreting_ends_when_it_has_taken_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0.0, 100.0, 1.0).tolist())
    monkeypatch.setattr(tier.time, "perf_counter", lambda: next(clock))  # every call takes a second
    compiled = Compiled()
    rare, values = Rare(compiled), np.zeros(3)
    calls = []
    for _ in range(6):
        rare(values)
        calls.append(compiled.calls)
    assert values.tolist() == [6.0] * 3 and calls == [0, 0, 0, 1, 2, 3] and tier.PATIENCE == 3.0


def test_large_arrays_are_for_machine_code_which_is_then_there_for_all() -> None:
    compiled = Compiled()
    rare, calls = Rare(compiled), []
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
    rare, values = Rare(compiled), np.zeros(2)
    rare(values)
    assert values.tolist() == [1.0, 1.0] and compiled.calls == 1


def test_who_compiles_ahead_compiles_everything() -> None:
    compiled = Compiled()
    rare = Rare(compiled)
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
    policy = es.EnsembleSampling(10).start(es.FiniteArms(np.random.default_rng(0).standard_normal((20, 5))))
    for _ in range(1000):
        decision = policy.decide()
        policy.update(decision, float(decision.features[0]))
print(json.dumps({"compiled": compiled, "state": policy.mean.tobytes().hex()}))
"""


@pytest.mark.long
def test_the_first_rounds_compile_two_kernels(tmp_path: Path) -> None:
    """The third is interpreted until somebody compiles it; then it is found, and the numbers are the same."""
    copied(tmp_path)
    first, ahead, after = (
        run(FIRST.replace("AHEAD", how), PYTHONPATH=tmp_path)
        for how in ("nullcontext()", "compiled_at_once()", "nullcontext()")
    )
    assert first["compiled"] == ["ensemble.choose", "learning.learn"]
    assert ahead["compiled"] == ["calibration.calibrate_if_due"] and not after["compiled"]
    assert first["state"] == ahead["state"] == after["state"]


def test_what_is_compiled_is_kept_and_what_is_not_is_not() -> None:
    fresh, values = kernel(add_one), np.zeros(3)
    assert not is_kept(fresh, (values,))
    fresh(values)
    assert is_kept(fresh, (values,))
