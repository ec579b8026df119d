"""A callee in another file is replaced while processes start: none may run code of other sources than it has imported."""

import os
import random
import time
from pathlib import Path

from attempts import attempts
from installed import finish, kernels_copied, run, start

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
import json
from ensample.kernels import callee, caller
print(json.dumps([callee.VERSION, caller.caller(), sum(caller.caller.stats.cache_hits.values())]))
"""
START = 1.5  # seconds in which processes begin, import and compile


def replace(kernels: Path, version: int) -> None:
    """As installers do it: in one step."""
    (kernels / "new").write_text(CALLEE.format(version=version))
    os.replace(kernels / "new", kernels / "callee.py")


def test_upgrades_while_processes_start(tmp_path: Path) -> None:
    kernels, chance, rounds = kernels_copied(tmp_path) / "kernels", random.Random(0), attempts(2, 100)
    (kernels / "caller.py").write_text(CALLER)
    replace(kernels, 1000)
    wrong = lost = 0
    for version in range(1001, 1001 + rounds):
        # without files of bytecode, which Python does not renew when a file changes twice in a second
        processes = [start(CODE, PYTHONPATH=tmp_path, PYTHONDONTWRITEBYTECODE=1) for _ in range(2)]
        time.sleep(chance.uniform(0.0, START))
        replace(kernels, version)
        answers = [finish(process) for process in processes]
        answers += [run(CODE, PYTHONPATH=tmp_path, PYTHONDONTWRITEBYTECODE=1) for _ in range(2)]
        wrong += sum(imported != value for imported, value, _ in answers) + sum(answer[0] != version for answer in answers[2:])
        lost += answers[-1][2] != 1
    folders = len(list(kernels.glob("__pycache__/ensample-*")))
    print(f"{rounds} upgrades, {4 * rounds} processes: {wrong} ran old code, {lost} compiled again, {folders} folders are left")
    assert (wrong, lost, folders) == (0, 0, 1)
