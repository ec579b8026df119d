"""Compiling ahead: in processes, once for each installation, and nothing is broken by who stops it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import ensample as es
from ensample.policies import Recipe
from ensample.simulation import tasks, warming
from ensample.simulation.dispatch import KERNELS
from installed import copied, edit, finish, read_only, start

NETWORKS = tuple(f"EnsembleSampling(size=3,model=Neural(hidden=(2,),optimizer='{name}'))" for name in ("sgd", "adam"))
TWO = [name for name in tasks.names() if name.endswith("by gradient descent") or name == "very many arms"]
"""Tasks that share no kernel. What takes a while of the second is left out, see `small`."""

COUNT = """
import json
from ensample.compiling import LISTENERS
from ensample.simulation import tasks, warming
compiled = []
LISTENERS.append(compiled.append)
"""
AHEAD = f"""{COUNT}
steps = []
left = tasks.waiting(AMONG)
warming.compile_ahead(left, 2, lambda done, total: steps.append([done, total]))
print(json.dumps(dict(left=left, steps=steps, after=tasks.waiting(AMONG), here=compiled)))
"""
USE = f"""{COUNT}
for name in {TWO}:
    tasks.do(name)
print(json.dumps(dict(here=compiled)))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An installation that cannot be written to, and an empty cache."""
    folder = tmp_path_factory.mktemp("warm")
    small(folder / "site")
    return {"PYTHONPATH": folder / "site", "XDG_CACHE_HOME": folder / "caches"}


def small(target: Path) -> Path:
    """An installation that cannot be written to, where of very many arms only what encodes them is compiled: a sixth of it."""
    package = read_only(copied(target))
    edit(package / "simulation" / "tasks.py", "Screen(rows, standing).best(rows[0].copy())", "Screen(rows, standing).known()")
    edit(package / "simulation" / "tasks.py", "    Screen(rows, True).votes(np.eye(2))\n", "")
    return package


def ahead(among: list[str], places: dict[str, Path]) -> Any:
    return finish(start(f"AMONG = {among}\n{AHEAD}", **places))


@pytest.mark.long
def test_processes_fill_the_cache_of_a_read_only_installation(site: dict[str, Path], tmp_path: Path) -> None:
    assert len(TWO) == 2
    warmed = ahead(TWO, site)
    assert sorted(warmed["left"]) == sorted(TWO) and warmed["steps"] == [[1, 2], [2, 2]]
    assert warmed["after"] == [] and warmed["here"] == [], "others have compiled"
    files = list(site["XDG_CACHE_HOME"].glob("ensample/*/ensample-*/*"))
    assert files and all(file.suffix == ".code" for file in files)
    assert finish(start(USE, **site))["here"] == [], "another process finds everything compiled"
    assert ahead(TWO, site) == {"left": [], "steps": [], "after": [], "here": [], "said": ""}
    said = races(site, tmp_path)
    assert said == [["compiling, once for each installation: 1 to do"], []], "one network is known to be warm, the other is not"


def ensample(*arguments: str, **places: Path) -> subprocess.Popen[str]:
    code = f"import os, sys; os.setsid(); sys.argv = ['ensample', *{arguments}]; from ensample.cli.main import main; main()"
    return start(code, COLUMNS=200, **places)


def races(site: dict[str, Path], out: Path) -> list[list[str]]:
    """What two races say of compiling: of a policy whose task is done and one whose task is not."""
    options = ("--policies", ",".join(NETWORKS), "--runs", "2", "--horizon", "20", "--json", "--out", str(out))
    said = []
    for _ in range(2):
        race = ensample("race", *options, **site)
        said.append([line for line in race.communicate()[1].splitlines() if line.startswith("compiling")])
        assert race.returncode == 0
    return said


def test_a_kernel_that_nobody_foresaw_is_announced_too(site: dict[str, Path]) -> None:
    code = """
from ensample.cli.main import tell_of_compiling
from ensample.compiling import announce, LISTENERS
LISTENERS.append(tell_of_compiling)
announce("one"); announce("another"); print(0)
"""
    process = start(code, **site)
    assert process.communicate() == ("0\n", "compiling, once for each installation: a moment\n")


@pytest.mark.long
def test_stopped_by_ctrl_c_it_goes_on_later(tmp_path: Path) -> None:
    site = small(tmp_path / "site")
    edit(
        site / "simulation" / "tasks.py", "[name for name in tasks() if", "[name for name in reversed(tasks()) if"
    )  # shortest first
    places = {"PYTHONPATH": tmp_path / "site", "XDG_CACHE_HOME": tmp_path / "caches"}
    process = ensample("warm-up", **places)
    shelves = tmp_path / "caches" / "ensample"
    until = time.monotonic() + 240.0
    while not list(shelves.glob("*/*/ensample.*.code")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "" and said.splitlines()[-1] == "stopped", said
    assert list(shelves.glob("*/*/ensample.*.code"))
    assert all(file.suffix == ".code" for file in shelves.glob("*/*/*")), "whole files only"
    with pytest.raises(ProcessLookupError):  # nobody of its session is left behind
        os.killpg(process.pid, 0)
    later = ahead(TWO, places)
    assert TWO[0] in later["left"] and later["after"] == []


def test_a_bar_on_a_terminal(site: dict[str, Path]) -> None:
    code = """
import os, pty, sys
def shown():
    from ensample.cli import compiling
    from ensample.simulation import tasks, warming
    tasks.waiting = lambda among: among
    warming.compile_ahead = lambda among, processes, progress: [progress(done, 23) for done in range(1, 24)]
    assert compiling.compiled_ahead(["task"] * 23) == 23
child, screen = pty.fork()
if child == 0:
    shown()
    os._exit(0)
seen = b""
try:
    while piece := os.read(screen, 1000):
        seen += piece
except OSError:  # the other end is closed
    pass
print("23/23" in seen.decode() and "compiling, once for each installation" in seen.decode() and "to do" not in seen.decode())
"""
    process = start(code, COLUMNS=200, TERM="xterm", **site)
    assert process.communicate() == ("True\n", "")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The processes that were started, none of which may be left."""
    made: list[subprocess.Popen[str]] = []
    begin = warming.start_worker

    def recorded() -> subprocess.Popen[str]:
        made.append(begin())
        return made[-1]

    monkeypatch.setattr(warming, "start_worker", recorded)
    return made


def test_an_interrupt_ends_the_processes(started: list[subprocess.Popen[str]]) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warming.compile_ahead(TWO, 2, interrupt)
    assert len(started) == 2 and all(process.poll() is not None for process in started)


def test_a_process_that_fails_keeps_nobody_waiting(started: list[subprocess.Popen[str]]) -> None:
    done: list[int] = []
    warming.compile_ahead(["no such task", "nor this"], 2, lambda count, _: done.append(count))
    assert done == [] and all(process.poll() is not None for process in started)


class Echo:
    """A process that answers with the task it was given, its first one when others have theirs."""

    def __init__(self, others: threading.Barrier) -> None:
        self.others, self.did = others, []
        self.stdin = self.stdout = self

    def write(self, text: str) -> None:
        self.did += text.split()

    def readline(self) -> str:
        if len(self.did) == 1:
            self.others.wait()
        return f"{self.did[-1]}\n"

    def wait(self, seconds: float) -> None: ...

    flush = close = terminate = lambda self: None


def test_every_other_process_begins_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours share what is compiled on the way."""
    both, made = threading.Barrier(2, timeout=60.0), []
    monkeypatch.setattr(warming, "start_worker", lambda: made.append(Echo(both)) or made[-1])
    assert sorted(warming.in_processes([*"abcdef"], 2)) == [*"abcdef"]
    one, other = (process.did for process in made)
    assert one[0] == "a" and other[0] == "f" and one + other[::-1] == [*"abcdef"]


def test_a_single_task_needs_no_process(started: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[str] = []
    monkeypatch.setattr(warming, "do", did.append)
    warming.compile_ahead(TWO[:1])
    warming.compile_ahead(TWO, 1)
    monkeypatch.setattr(sys, "executable", "")
    warming.compile_ahead(TWO, 2)
    assert did == TWO[:1] + TWO + TWO and started == []


def test_warm_up_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "waiting", lambda among: among[:3])
    monkeypatch.setattr(warming, "do", lambda name: None)
    steps: list[tuple[int, int]] = []
    assert es.warm_up(processes=1, progress=lambda done, total: steps.append((done, total))) == 3
    assert steps == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(warming, "waiting", lambda among: [])
    assert es.warm_up() == 0


@pytest.mark.parametrize("wrong", [{"processes": 0}, {"processes": 1.5}, {"processes": True}, {"progress": 3}])
def test_bad_input(wrong: dict[str, Any]) -> None:
    with pytest.raises(es.InvalidArgument, match=rf"^{next(iter(wrong))} = "):
        es.warm_up(**wrong)


def test_every_recipe_with_a_kernel_is_compiled_ahead() -> None:
    ours = {type(recipe) for recipe in tasks.recipes()}
    registered = {kind for kind, _ in KERNELS if kind.__module__.startswith("ensample.")}
    assert registered <= ours
    assert ours == {kind for kind in subclasses(Recipe) if kind.__module__.startswith("ensample.policies.") and is_final(kind)}


def test_recipes_with_kernels_of_their_own_have_tasks_of_their_own() -> None:
    arms = es.problem("sphere", dim=2, arms=3)
    for recipe, task in (
        (es.EnsembleSampling(5), "lazy EnsembleSampling drawn anew on a World"),
        (es.EnsembleSampling(5, fresh=False), "lazy EnsembleSampling on a World"),
        (es.InformationDirected(5), "eager InformationDirected on a World"),
        (es.InformationDirected(5, fresh=True), "eager InformationDirected drawn anew on a World"),
        (es.EnsembleSampling(5, member=es.OptimisticMember()), "eager EnsembleSampling on a World"),
        (es.PerturbedHistory(reward=es.Rademacher()), "eager PerturbedHistory on a World, sums"),
    ):
        assert tasks.needed(recipe, arms) == task and task in tasks.names()
    moving = es.problem("contextual", dim=2, arms=3)
    for recipe, task in (
        (es.EnsembleSampling(5), "lazy EnsembleSampling drawn anew on a Scene"),
        (es.EnsembleSampling(5, intercept=True), "live EnsembleSampling drawn anew with an intercept"),
        (es.EnsembleSampling(5, intercept=True, fresh=False), "live EnsembleSampling with an intercept"),
        (es.EnsembleSampling(5, half_life=4), "live EnsembleSampling drawn anew that forgets"),
        (es.EnsembleSampling(5, 0.3, half_life=4), "live EnsembleSampling that forgets"),
        (es.EnsembleSampling(5, reward=es.Rademacher()), "eager EnsembleSampling on a Scene"),
        (es.LinUCB(half_life=3), "live LinUCB that forgets"),
    ):
        assert tasks.needed(recipe, moving) == task and task in tasks.names()
    assert tasks.live_name(es.ThompsonSampling(scale=0.3)) == "live ThompsonSampling of a known scale"
    assert tasks.live_name(es.ThompsonSampling()) == tasks.live_name(es.ThompsonSampling(0.3, half_life=4))


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


def is_final(kind: type) -> bool:
    """Whether it is one that people use."""
    return kind.__name__ in es.__all__ and kind is not Recipe
