"""Instruction-set levels do not mix and give the same bits; kernels run without the GIL."""

import ast
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

import numpy as np
import pytest

from core.calls import call, copied, kernels, table, values_in
from ensample import _core

ROOT = Path(__file__).parents[2]
SEEDS = 15
X86_64 = platform.machine() == "x86_64"

needs_glibc = pytest.mark.skipif(
    not (X86_64 and sys.platform == "linux" and platform.libc_ver()[0] == "glibc"),
    reason="the mode is set with fesetenv of glibc for x86-64",
)


@contextmanager
def level(name: str) -> Iterator[None]:
    usual = _core.level()
    _core.use_level(name)
    try:
        yield
    finally:
        _core.use_level(usual)


def outcome(name: str, seed: int) -> list[object]:
    """Return what a call returns and what it leaves in its arguments."""
    arguments = table()[name](np.random.default_rng(seed))
    returned = call(name, arguments)
    return [*values_in(returned), *values_in(arguments)]


@pytest.mark.skipif(len(_core.levels()) < 2, reason="this build or this machine has one level")
@pytest.mark.parametrize("name", kernels())
def test_every_level_gives_the_same_bits(name: str) -> None:
    for seed in range(SEEDS):
        found = {}
        for each in _core.levels():
            with level(each):
                found[each] = outcome(name, seed)
        for each in _core.levels():
            assert found[each] == found[_core.levels()[0]], f"{each}, seed {seed}"


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="argument `level`"):
        _core.use_level("x86_64_v9")


def objects() -> dict[str, list[Path]]:
    """Return the newest objects of kernels by level, if this package was built from this tree."""
    folders: dict[str, Path] = {}
    for folder in (ROOT / "build").glob("*/CMakeFiles/kernels_*.dir/cpp"):
        name = folder.parent.name.removeprefix("kernels_").removesuffix(".dir")
        if name not in folders or folders[name].stat().st_mtime < folder.stat().st_mtime:
            folders[name] = folder
    return {
        name: sorted(folder.glob("*.o")) for name, folder in folders.items() if name != "portable"
    }


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
def test_every_weak_symbol_carries_the_name_of_its_level() -> None:
    """A linker keeps one of several functions of the same name.

    The one for AVX-512 would run on old machines.
    """
    if not objects():
        pytest.skip("there are no objects of a build below build/")
    for name, files in objects().items():
        assert files
        for file in files:
            symbols = subprocess.run(
                ["nm", "-C", file], capture_output=True, text=True, check=True
            ).stdout.splitlines()
            weak = [line[19:] for line in symbols if line[17] == "W"]
            assert [symbol for symbol in weak if f"::{name}::" not in symbol] == [], file


@contextmanager
def flush_to_zero() -> Iterator[None]:
    """Flush denormal numbers to zero, as libraries do that are built with fast-math.

    Bits 15 and 6 of MXCSR.
    """
    libm = ctypes.CDLL("libm.so.6")
    usual, other = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()  # MXCSR comes last
    libm.fegetenv(usual)
    libm.fegetenv(other)
    other[7] |= 0x8040
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
    assert flushed == still == 0.0  # the mode was set, and is what it was
    assert arm == 1


@needs_glibc
@pytest.mark.parametrize("name", kernels())
def test_every_binding_runs_in_default_floating_point_mode(name: str) -> None:
    for seed in range(3):
        arguments = table()[name](np.random.default_rng(seed))
        again = copied(arguments)
        expected = call(name, arguments)
        with flush_to_zero():
            found = call(name, again)
        assert [*values_in(found), *values_in(again)] == [
            *values_in(expected),
            *values_in(arguments),
        ]


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


def private_uses(tree: ast.Module) -> Iterator[str]:
    """Yield private modules, names and attributes of packages that are neither ours nor Python's own."""
    foreign: set[str] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            foreign |= {
                alias.asname or alias.name.split(".")[0]
                for alias in node.names
                if is_foreign(alias.name)
            }
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if is_foreign(name) and any(is_private(part) for part in name.split(".")):
                yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in foreign:
                yield ast.unparse(node)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_foreign(module: str) -> bool:
    root = module.split(".")[0]
    ours = (
        root == "ensample"
        or (ROOT / "tests" / root).exists()
        or (ROOT / "tests" / f"{root}.py").exists()
    )
    return not ours and root not in sys.stdlib_module_names


@pytest.mark.parametrize(
    "source", ["import numba.core._x", "from scipy import _lib", "import numpy as np\nnp.core._y.z"]
)
def test_private_uses_are_found(source: str) -> None:
    assert list(private_uses(ast.parse(source)))


def sources() -> Iterator[tuple[Path, str]]:
    for folder in ("src", "tests", "examples"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file, file.read_text(encoding="utf-8")


def test_no_private_part_of_a_dependency_is_used() -> None:
    assert {
        file: uses for file, text in sources() if (uses := list(private_uses(ast.parse(text))))
    } == {}


def test_nothing_imports_numba() -> None:
    assert [
        file
        for file, text in sources()
        if re.search(r"^\s*(import|from) (numba|llvmlite)\b", text, re.MULTILINE)
    ] == []


def test_every_file_of_the_core_that_is_named_exists() -> None:
    pages = [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "CONTRIBUTING.md",
        ROOT / "src/ensample/_core.pyi",
    ]
    texts = [*sources(), *((page, page.read_text(encoding="utf-8")) for page in pages)]
    named = {name for _, text in texts for name in re.findall(r"\bcpp/[\w/]+\.[hc]pp\b", text)}
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()
