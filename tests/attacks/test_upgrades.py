"""A callee in another file is replaced while processes start: none may run code of other sources than it has imported."""

import os
import random
import subprocess
import time
from pathlib import Path

from attempts import attempts
from installed import finish, kernels_copied, start

CALLEE = """
from ensample.kernels.compile import kernel
VERSION = {version}
@kernel
def callee():
    return VERSION
"""
CALLER = """
from ensample.kernels.callee import callee
from ensample.kernels.compile import kernel
@kernel
def caller():
    return callee()
"""
CODE = """
import json, os, sys
class Upgrade:
    '''Replaces the callee when a module is looked for.'''
    def find_spec(self, name, path, target=None):
        if name == os.environ.get("MOMENT") and os.path.exists(os.environ["NEW"]):
            os.replace(os.environ["NEW"], os.environ["CALLEE"])
sys.meta_path.insert(0, Upgrade())
from ensample.kernels import callee, caller
print(json.dumps([callee.VERSION, caller.caller(), sum(caller.caller.stats.cache_hits.values())]))
"""
MOMENTS = ("numba", "callee", "compile", "caller", "llvmlite", "shelf", "private", "machine_code", "numba.core.serialize")
START = 1.5  # seconds in which processes begin, import and compile


def new_callee(kernels: Path, version: int) -> Path:
    """Not yet in place: installers replace a file in one step."""
    (kernels / "new").write_text(CALLEE.format(version=version))
    return kernels / "new"


def package_in(path: Path) -> Path:
    """Kernels with a caller and a callee."""
    kernels = kernels_copied(path) / "kernels"
    (kernels / "caller.py").write_text(CALLER)
    os.replace(new_callee(kernels, 1000), kernels / "callee.py")
    return kernels


def begin(path: Path, **more: object) -> subprocess.Popen[str]:
    """Without files of bytecode, which Python does not renew when a file changes twice in a second."""
    return start(CODE, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE=1, **more)


def test_upgrades_while_processes_import(tmp_path: Path) -> None:
    """One upgrade at each moment of an import: what the process keeps on disk must not deceive the next one."""
    kernels, moments = package_in(tmp_path), MOMENTS[: attempts(3, len(MOMENTS))]
    wrong = 0
    for version, moment in enumerate(moments, 1001):
        name = moment if moment.startswith(("numba", "llvmlite")) else f"ensample.kernels.{moment}"
        new = new_callee(kernels, version)
        imported, value, _ = finish(begin(tmp_path, MOMENT=name, NEW=new, CALLEE=kernels / "callee.py"))
        assert not new.exists()
        wrong += imported != value
        wrong += finish(begin(tmp_path))[:2] != [version, version]
    print(f"upgrades at {len(moments)} moments, {2 * len(moments)} processes: {wrong} ran old code")
    assert wrong == 0


def test_upgrades_while_processes_start(tmp_path: Path) -> None:
    kernels, chance, rounds = package_in(tmp_path), random.Random(0), attempts(1, 100)
    wrong = lost = 0
    for version in range(1001, 1001 + rounds):
        processes = [begin(tmp_path) for _ in range(2)]
        time.sleep(chance.uniform(0.0, START))
        os.replace(new_callee(kernels, version), kernels / "callee.py")
        answers = [finish(process) for process in processes]
        answers += [finish(begin(tmp_path)) for _ in range(2)]
        wrong += sum(imported != value for imported, value, _ in answers) + sum(answer[0] != version for answer in answers[2:])
        lost += answers[-1][2] != 1
    folders = len(list(kernels.glob("__pycache__/ensample-*")))
    print(f"{rounds} upgrades, {4 * rounds} processes: {wrong} ran old code, {lost} compiled again, {folders} folders are left")
    assert (wrong, lost, folders) == (0, 0, 1)
