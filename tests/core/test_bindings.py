"""What every binding of the core promises.

Checked arguments, the same bits at all levels, no GIL.
"""

import ctypes
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attempts import attempts
from core.calls import (
    CONTEXTUAL_KERNELS,
    KERNELS,
    LEVEL_CALLS,
    TABLE,
    bindings,
    call,
    copied,
    values_in,
)
from core.fuzz import misbehaviour
from ensample import _core

ROOT = Path(__file__).parents[2]
BAD_CALLS = attempts(150, 20_000)
every_binding = pytest.mark.parametrize("name", sorted(TABLE))
needs_glibc = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="the mode is set with fesetenv of glibc for x86-64",
)


def test_every_binding_and_every_simulation_has_valid_calls() -> None:
    assert bindings() == sorted(TABLE)
    text = (ROOT / "cpp" / "kernels_simulation.cpp").read_text(encoding="utf-8")
    kernels = re.findall(r'^\s+\{"(\w+)", (?=.*(?:nullptr|stream))', text, re.MULTILINE)
    assert sorted(kernels) == sorted([*KERNELS, *CONTEXTUAL_KERNELS])
    assert all(hasattr(_core, name) for name in LEVEL_CALLS)


@every_binding
def test_valid_calls_are_accepted(name: str) -> None:
    for seed in range(10):
        call(name, TABLE[name](np.random.default_rng(seed)))


@every_binding
@pytest.mark.filterwarnings("ignore")
def test_bad_calls_do_no_harm(name: str) -> None:
    """TypeError or ValueError, and never a fault; `core/fuzz.py` makes a million of them."""
    faults = {seed: found for seed in range(BAD_CALLS) if (found := misbehaviour(name, seed))}
    assert faults == {}


STATE, MATRIX = np.zeros((15, 2)), np.eye(3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("learn_ridge", {"x": np.zeros(3)}, r"`x`: expected an array \[d\] with d = 2, got \[3\]"),
        ("learn_ridge", {"state": np.zeros((14, 2))}, r"`state`: expected an array \[3d\+9\|3d"),
        ("learn_ridge", {"state": np.zeros((9, 0))}, r"`state`: .* got \[9, 0\]"),
        ("learn_members", {"z": np.zeros(3)}, r"`z`: expected an array \[m\] with m = 4"),
        ("learn_members", {"sums": np.zeros((5, 4))}, r"`sums`: expected an array \[2d\|3d, m\]"),
        ("learn_members", {"origin": np.zeros(2)}, "`origin`"),
        ("learn_members", {"origin": np.zeros(1)}, "`x`: expected one number for each feature"),
        ("learn_members", {"state": np.ones((17, 2))}, "`fresh`: .* where the past fades"),
        ("learn_members", {"learning": (np.zeros((5, 2)), 0.0, False, False)}, "`learning`"),
        ("member_theta", {"member": 4}, r"`member`: expected a number in 0\.\.m with m = 4"),
        ("learn_pull", {"arm": -2}, r"`arm`: expected a number in -1\.\.K with K = 3"),
        ("invert", {"matrix": MATRIX[:2].copy()}, r"`matrix`: .*, got \[2, 3\]"),
        ("unplayed", {"basis": np.array([3])}, "`basis`: expected indices of `pulls`"),
        ("draw_binomial", {"trials": -1}, "`trials`"),
    ],
)
def test_a_bad_call_names_its_argument(name: str, change: dict[str, Any], message: str) -> None:
    observed = {"state": STATE, "x": np.zeros(2), "y": 1.0}
    members = {"state": STATE, "sums": np.zeros((4, 4))}
    good: dict[str, Any] = {
        "learn_ridge": observed,
        "learn_members": observed | members | {"z": np.zeros(4)},
        "member_theta": members | {"factor": 1.0, "member": 0},
        "learn_pull": observed | {"pulls": np.zeros(3, np.int64), "arm": 0},
        "invert": {"matrix": MATRIX},
        "unplayed": {"basis": np.array([0]), "pulls": np.zeros(3, np.int64), "round": 0},
        "draw_binomial": {"rng": np.random.default_rng(0), "trials": 1, "out": np.zeros(1)},
    }[name]
    with pytest.raises(ValueError, match=f"argument {message}"):
        call(name, good | change)


@pytest.mark.parametrize(
    "matrix", [MATRIX.astype(np.float32), np.asfortranarray(np.ones((3, 4))), [[1.0]], None]
)
def test_arrays_of_another_type_or_layout_are_refused(matrix: Any) -> None:
    with pytest.raises(TypeError):
        _core.invert(matrix)


# --- Levels --------------------------------------------------------------------------------------


@contextmanager
def level(name: str) -> Iterator[None]:
    usual = _core.level()
    _core.use_level(name)
    try:
        yield
    finally:
        _core.use_level(usual)


@pytest.mark.skipif(len(_core.levels()) < 2, reason="this build or this machine has one level")
@every_binding
def test_every_level_gives_the_same_bits(name: str) -> None:
    for seed in range(40 if name == "simulate" else 15):
        found = set()
        for each in _core.levels():
            arguments = TABLE[name](np.random.default_rng(seed))
            with level(each):
                returned = call(name, arguments)
            found.add(tuple(values_in((returned, arguments))))
        assert len(found) == 1, f"seed {seed}"


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="argument `level`"):
        _core.use_level("x86_64_v9")


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
def test_every_weak_symbol_carries_the_name_of_its_level() -> None:
    """A linker keeps one of several functions of a name: AVX-512's would run on old machines."""
    folders = [*(ROOT / "build").glob("*/CMakeFiles/kernels_x86_64*.dir/cpp")]
    if not folders:
        pytest.skip("there are no objects of a build below build/")
    newest = max(folder.stat().st_mtime for folder in folders)
    for folder in folders:
        name = folder.parent.name.removeprefix("kernels_").removesuffix(".dir")
        if folder.stat().st_mtime < newest - 3600.0:
            continue
        for file in folder.glob("*.o"):
            command = ["nm", "-C", str(file)]
            symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            weak = [line[19:] for line in symbols.splitlines() if line[17] == "W"]
            assert [symbol for symbol in weak if f"::{name}::" not in symbol] == [], file


# --- How kernels are called ----------------------------------------------------------------------


@contextmanager
def flush_to_zero() -> Iterator[None]:
    """Flush denormal numbers to zero, as libraries do that are built with fast-math."""
    libm = ctypes.CDLL("libm.so.6")
    usual, other = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()  # MXCSR comes last
    libm.fegetenv(usual)
    libm.fegetenv(other)
    other[7] |= 0x8040  # bits 15 and 6
    libm.fesetenv(other)
    try:
        yield
    finally:
        libm.fesetenv(usual)


@needs_glibc
def test_foreign_flush_to_zero_changes_nothing() -> None:
    tiny, columns = np.array([5e-324]), np.array([[1.0, 2.0]])
    with flush_to_zero():
        flushed = float(np.float64(1e-308) * 0.5)
        arm = _core.greedy_arm(tiny, columns)
        still = float(np.float64(1e-308) * 0.5)
    assert flushed == still == 0.0, "the mode was set, and is what it was"
    assert arm == 1


@needs_glibc
@every_binding
def test_every_binding_runs_in_default_floating_point_mode(name: str) -> None:
    for seed in range(3):
        arguments = TABLE[name](np.random.default_rng(seed))
        again = copied(arguments)
        expected = call(name, arguments)
        with flush_to_zero():
            found = call(name, again)
        assert [*values_in((found, again))] == [*values_in((expected, arguments))]


def test_other_threads_run_beside_a_kernel() -> None:
    rows, theta = np.zeros((500_000, 8)), np.zeros(8)
    ready, ran = threading.Lock(), threading.Event()
    ready.acquire()

    def run() -> None:
        with ready:
            ran.set()

    thread, usual = threading.Thread(target=run), sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(1000.0)  # no thread requests the GIL: its holder has to release it
    try:
        ready.release()
        stop = time.monotonic() + 10.0
        while not ran.is_set() and time.monotonic() < stop:
            _core.scan_arms(rows, theta)
        assert ran.is_set()
    finally:
        sys.setswitchinterval(usual)
        thread.join()
