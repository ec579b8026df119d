"""Machine code on disk, as processes see it: found by the next one, never that of other sources."""

import os
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pip
import pytest

from installed import copied, edit, finish, kernels_copied, read_only, run, run_soon, start

TELL = """
import json, sys
def tell(kernel, value):
    hits, misses = (sum(counts.values()) for counts in (kernel.stats.cache_hits, kernel.stats.cache_misses))
    answer = {"value": value, "hits": hits, "misses": misses, "compiler": "numba.np.arraymath" in sys.modules}
    print(json.dumps(answer | {"file": sys.modules["ensample"].__file__}))
"""
SMALL = f"""{TELL}
from ensample.kernels.greedy import exploration
tell(exploration, exploration(0.5, 3.0, 9))
"""
"""A kernel that calls no other; its value is a quarter."""

PERTURB = f"""{TELL}
sys.path.append({sysconfig.get_path("purelib")!r})
import numpy as np
from ensample.kernels.draws import Law
from ensample.simulation.algorithms.eager import perturb
sums = np.zeros((1, 3))
perturb(sums, np.ones(1), np.zeros(3), Law(0, 1, 1.0), np.random.default_rng(0))
tell(perturb, sums[0].tolist())
"""
"""One that calls `draw_sum` of another file; its values are three normal numbers."""

COMPILED, FOUND = {"hits": 0, "misses": 1}, {"hits": 1, "misses": 0}


def counts(answer: dict[str, Any]) -> dict[str, int]:
    assert answer["said"] == ""
    return {name: answer[name] for name in COMPILED}


def wheel(package: Path, version: int, folder: Path) -> Path:
    """A wheel of these sources."""
    path, info = folder / f"ensample-{version}-py3-none-any.whl", f"ensample-{version}.dist-info"
    sources = [file for file in package.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    files = {str(file.relative_to(package.parent)): file.read_bytes() for file in sources}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: ensample\nVersion: {version}\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def environment(folder: Path) -> tuple[Path, Path]:
    """An empty virtual environment, and a folder with nothing but pip in it: pip must not see what is installed here."""
    venv.create(folder / "venv", symlinks=True)
    (folder / "pip").mkdir()
    os.symlink(Path(pip.__file__).parent, folder / "pip" / "pip")
    return folder / "venv" / "bin" / "python", folder / "pip"


def install(python: Path, only_pip: Path, archive: Path) -> None:
    arguments = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--upgrade", str(archive)]
    assert run(f"import pip._internal.cli.main as pip; print(pip.main({arguments}))", python, PYTHONPATH=only_pip) == 0


@pytest.mark.long
def test_a_wheel_with_another_callee_gives_its_own_numbers(tmp_path: Path) -> None:
    python, only_pip = environment(tmp_path)
    normal = np.random.default_rng(0).standard_normal(3)
    sources = copied(tmp_path / "sources")
    install(python, only_pip, wheel(sources, 1, tmp_path))
    first, again = (run(PERTURB, python, XDG_CACHE_HOME=tmp_path / "caches") for _ in range(2))
    assert first["value"] == again["value"] == normal.tolist()
    assert (counts(first), counts(again)) == (COMPILED, FOUND)

    edit(sources / "kernels/draws.py", "return law.scale * np.sqrt(n) *", "return 2.0 * law.scale * np.sqrt(n) *")
    install(python, only_pip, wheel(sources, 2, tmp_path))
    upgraded, again = (run(PERTURB, python, XDG_CACHE_HOME=tmp_path / "caches") for _ in range(2))
    assert upgraded["value"] == again["value"] == (2.0 * normal).tolist()
    assert (counts(upgraded), counts(again)) == (COMPILED, FOUND)
    assert upgraded["file"] == first["file"] and Path(upgraded["file"]).is_relative_to(tmp_path / "venv")
    assert len(list(Path(upgraded["file"]).parent.glob("kernels/__pycache__/ensample-*"))) == 1
    assert not (tmp_path / "caches").exists()


def test_the_folder_is_where_the_user_says(tmp_path: Path) -> None:
    package = kernels_copied(tmp_path / "site")
    places = {"PYTHONPATH": tmp_path / "site", "NUMBA_CACHE_DIR": tmp_path / "chosen", "XDG_CACHE_HOME": tmp_path / "caches"}
    assert [counts(run_soon(SMALL, **places)) for _ in range(2)] == [COMPILED, FOUND]
    assert len(list((tmp_path / "chosen").glob("ensample-*/ensample-*/*.code"))) == 1
    assert not list(package.rglob("*.code")) and not (tmp_path / "caches").exists()


def test_read_only_packages_use_the_users_cache_directory(tmp_path: Path) -> None:
    read_only(kernels_copied(tmp_path / "site"))
    places = {"PYTHONPATH": tmp_path / "site", "XDG_CACHE_HOME": tmp_path / "caches"}
    assert [counts(run_soon(SMALL, **places)) for _ in range(2)] == [COMPILED, FOUND]
    assert len(list((tmp_path / "caches").glob("ensample/*/ensample-*/*.code"))) == 1


def test_code_that_came_with_a_read_only_package_is_found(tmp_path: Path) -> None:
    package = kernels_copied(tmp_path / "site")
    assert counts(run_soon(SMALL, PYTHONPATH=tmp_path / "site")) == COMPILED
    places = {"PYTHONPATH": tmp_path / "site", "NUMBA_CACHE_DIR": "/dev/null/none", "XDG_CACHE_HOME": "/dev/null"}
    assert counts(run_soon(SMALL, **places)) == FOUND
    assert len(list(package.rglob("*.code"))) == 1


def test_without_any_folder_kernels_compile(tmp_path: Path) -> None:
    read_only(kernels_copied(tmp_path / "site"))
    for home in ("/dev/null", ""):  # the second is no absolute path: nothing may appear in the current directory
        answer = run_soon(SMALL, PYTHONPATH=tmp_path / "site", XDG_CACHE_HOME="caches", HOME=home, LOCALAPPDATA="")
        assert answer["value"] == 0.25 and counts(answer) == COMPILED
    assert not Path("caches").exists() and not Path(".cache").exists()


def test_zipped_packages_use_the_users_cache_directory(tmp_path: Path) -> None:
    package = copied(tmp_path / "sources")
    archive = wheel(package, 1, tmp_path)  # a zip, too
    places = {"PYTHONPATH": archive, "XDG_CACHE_HOME": tmp_path / "caches"}
    answers = [run_soon(SMALL, **places) for _ in range(2)]
    assert [counts(answer) for answer in answers] == [COMPILED, FOUND]
    assert answers[1]["file"].startswith(str(archive))


def test_what_is_found_needs_no_compiler(tmp_path: Path) -> None:
    """Loading what numba compiles with takes longer than all the rest of a first call; some kernels bring in a part of it."""
    kernels_copied(tmp_path / "site")
    answers = [ask(SMALL, PYTHONPATH=tmp_path / "site") for ask in (run_soon, run)]
    assert [(counts(answer), answer["compiler"]) for answer in answers] == [(COMPILED, True), (FOUND, False)]


def test_processes_at_once(tmp_path: Path) -> None:
    """They compile the same kernel while two of them compile it for other types, then all is found."""
    kernels_copied(tmp_path / "site")
    whole = SMALL.replace("exploration(0.5, 3.0, 9)", "exploration(1, 0, 9)")
    processes = [start(code, PYTHONPATH=tmp_path / "site") for code in (SMALL, whole, SMALL, whole)]
    answers = [finish(process) for process in processes]
    assert [answer["value"] for answer in answers] == [0.25, 1.0, 0.25, 1.0]
    assert [counts(run_soon(code, PYTHONPATH=tmp_path / "site")) for code in (SMALL, whole)] == [FOUND, FOUND]
    assert not list(tmp_path.rglob("*.code.*"))


def test_numba_may_be_told_not_to_compile(tmp_path: Path) -> None:
    kernels_copied(tmp_path / "site")
    code = SMALL.replace("tell(exploration, exploration(0.5, 3.0, 9))", "print(exploration(0.5, 3.0, 9))")
    imports = "import ensample.kernels.calibration, ensample.kernels.learning"
    answer = run(f"{imports}\n{code}", PYTHONPATH=tmp_path / "site", NUMBA_DISABLE_JIT=1)  # numba asks when it is imported
    assert answer == 0.25


@pytest.mark.parametrize(
    ("removal", "lack", "kept"),
    [
        ("from numba.core import compiler; del compiler.CompileResult._reduce", "place for machine code on disk", False),
        ("from numba.core.runtime import nrt; del nrt.rtsys", "place for machine code on disk", False),
        ("from numba.core import compiler; compiler.CompileResult._reduce = None", "way to keep machine code on disk", False),
        ("from numba.core import cpu; del cpu.CPUTargetOptions.__mro__[1]._nrt", "option _nrt", True),
    ],
)
def test_what_numba_does_not_promise_may_go(tmp_path: Path, removal: str, lack: str, kept: bool) -> None:
    kernels_copied(tmp_path / "site")
    answer = run_soon(removal + SMALL, PYTHONPATH=tmp_path / "site")
    assert answer["value"] == 0.25
    assert answer["said"].count("RuntimeWarning") == 1 and f"has no {lack}" in answer["said"]
    assert bool(list(tmp_path.rglob("*.code"))) == kept


INTERRUPTED = """
import json, signal
from numba.core import utils
from ensample.kernels.greedy import exploration
def pressing(items, old=utils.stream_list, taken=[0]):
    for part in old(items):
        taken[0] += 1
        if taken[0] == MOMENT:
            signal.raise_signal(signal.SIGINT)
        yield part
utils.stream_list = pressing
answers = []
for _ in range(3):
    try:
        answers.append(exploration(0.5, 3.0, 9))
    except KeyboardInterrupt:
        answers.append("interrupted")
print(json.dumps(answers))
"""


@pytest.mark.parametrize("moment", [1, 40])
def test_after_ctrl_c_kernels_compile(tmp_path: Path, moment: int) -> None:
    """Numba keeps books of what it can compile, of which one that is interrupted is closed for ever."""
    kernels_copied(tmp_path / "site")
    answers = run(INTERRUPTED.replace("MOMENT", str(moment)), PYTHONPATH=tmp_path / "site")
    assert answers == ["interrupted", 0.25, 0.25]
