"""Folders of machine code: what is removed and what never is, damaged files, other types, other sources."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from numba import njit

from ensample import compiling
from ensample.kernels import compile, machine_code, shelf
from ensample.kernels.compile import kernel
from ensample.kernels.greedy import exploration
from ensample.kernels.interruption import let_in, uninterrupted
from ensample.kernels.rows import axpy
from ensample.kernels.shelf import Home, Shelf, sources_digest, tools_digest

OTHER, MONTH = "0123456789abcdef", 30 * 24 * 3600.0
FILE = f"ensample.kernels.world.adopt-{OTHER}.code"


def shelf_in(path: Path, beside: bool = True) -> Shelf:
    return Shelf(sources_digest(), tools_digest(), [Home(path, beside)])


def folder(path: Path, sources: str, tools: str = OTHER, age: float = 0.0) -> Path:
    """One with a file in it, last used some seconds ago."""
    made = path / f"ensample-{sources}-{tools}"
    made.mkdir()
    (made / FILE).write_bytes(b"code")
    (made / f"{FILE}.{OTHER * 2}").write_bytes(b"half a fi")
    os.utime(made, (time.time() - age,) * 2)
    return made


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """A shelf of its own for kernels made in a test."""
    monkeypatch.setattr(machine_code, "SHELF", shelf_in(tmp_path))
    yield machine_code.SHELF


def calls(*arguments: float) -> tuple[float, int, int]:
    """The value of a small kernel as another process would compute it, its hits and misses."""
    fresh = kernel(exploration.py_func)
    value = fresh(*arguments)
    return value, sum(fresh.stats.cache_hits.values()), sum(fresh.stats.cache_misses.values())


def test_what_is_written_is_read(tmp_path: Path) -> None:
    ours = shelf_in(tmp_path)
    assert ours.read(FILE) is None
    ours.write(FILE, b"code")
    assert shelf_in(tmp_path).read(FILE) == b"code"
    assert os.listdir(tmp_path / ours.name) == [FILE]


@pytest.mark.parametrize("beside", [True, False])
def test_a_new_folder_sweeps_the_needless(tmp_path: Path, beside: bool) -> None:
    ours = shelf_in(tmp_path, beside)
    replaced = folder(tmp_path, OTHER)
    unused = folder(tmp_path, ours.sources, "f" * 16, age=MONTH)
    used = folder(tmp_path, ours.sources, "e" * 16, age=3600.0)
    ours.write(FILE, b"code")
    assert replaced.exists() == (not beside)  # elsewhere another version may use it
    assert used.exists() and not unused.exists() and ours.read(FILE) == b"code"


def test_reading_is_use(tmp_path: Path) -> None:
    ours = shelf_in(tmp_path, beside=False)
    ours.write(FILE, b"code")
    os.utime(tmp_path / ours.name, (0.0, 0.0))
    ours.read(FILE)
    assert time.time() - (tmp_path / ours.name).stat().st_mtime < 3600.0


def test_the_folder_in_use_stays_whatever_the_clock_says(tmp_path: Path) -> None:
    ours = shelf_in(tmp_path)
    ours.write(FILE, b"code")
    os.utime(tmp_path / ours.name, (0.0, 0.0))
    ours.sweep(ours.homes[0])
    assert ours.read(FILE) == b"code"


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    old, home = folder(tmp_path, OTHER, age=MONTH), tmp_path / "elsewhere"
    home.mkdir()
    (home / f"ensample-{OTHER}-{OTHER}").symlink_to(old)
    mixed = folder(home, OTHER, "f" * 16)
    (mixed / "thesis.txt").write_text("mine")
    (home / f"ensample-{'f' * 16}-{OTHER}").write_text("a file with such a name")
    for name in ("ensample-mine", f"my-ensample-{OTHER}-{OTHER}", f"ensample-{OTHER}-{OTHER}-old"):
        (home / name).mkdir()
    (home / "world.cpython-311.pyc").touch()
    before = set(os.listdir(home))
    shelf_in(home).write(FILE, b"code")
    assert set(os.listdir(home)) == before | {shelf_in(home).name}
    assert os.listdir(mixed) == ["thesis.txt"] and len(os.listdir(old)) == 2


@pytest.mark.parametrize("beside", [True, False])
def test_files_of_numbas_own_cache_are_removed_beside_the_sources(tmp_path: Path, beside: bool) -> None:
    for name in ("world.adopt-147.py311.nbi", "world.adopt-147.py311.1.nbc", "world.cpython-311.pyc"):
        (tmp_path / name).touch()
    ours = shelf_in(tmp_path, beside)
    ours.write(FILE, b"code")
    assert len(set(os.listdir(tmp_path)) - {ours.name}) == (1 if beside else 3)


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 5000])
def test_damaged_files_are_not_read(tmp_path: Path, damage: bytes) -> None:
    ours = shelf_in(tmp_path)
    ours.write(FILE, b"code" * 1000)
    path = tmp_path / ours.name / FILE
    whole = path.read_bytes()
    for content in (damage, whole[:-1], whole[:100] + b"x" + whole[101:]):
        path.write_bytes(content)
        assert ours.read(FILE) is None
    ours.write(FILE, b"code")
    assert ours.read(FILE) == b"code"


def test_the_next_home_is_used_where_the_first_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    homes = [Home(tmp_path / "file", True), Home(tmp_path / "file" / "in", False), Home(tmp_path / "good", False)]
    ours = Shelf(sources_digest(), tools_digest(), homes)
    ours.write(FILE, b"code")
    assert ours.read(FILE) == b"code" and (tmp_path / "good" / ours.name / FILE).exists()
    Shelf(sources_digest(), tools_digest(), homes[:2]).write(FILE, b"code")


def test_sources_that_have_changed_since_are_neither_read_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = shelf_in(tmp_path)
    ours.write(FILE, b"code")
    monkeypatch.setattr(shelf, "sources_digest", lambda: OTHER)
    assert ours.read(FILE) is None
    ours.write(f"other-{OTHER}.code", b"code")
    assert os.listdir(tmp_path / ours.name) == [FILE]


def test_sweeping_while_others_write(tmp_path: Path) -> None:
    """Writers of a version that is gone, and of this one, never raise; this one's files stay."""
    ours, past = shelf_in(tmp_path), shelf_in(tmp_path)
    past.name, past.current = f"ensample-{OTHER}-{OTHER}", lambda: True  # type: ignore[method-assign]
    done, raised = Event(), []

    def writes(one: Shelf) -> None:
        try:
            while not done.is_set():
                one.write(FILE, b"code" * 1000)
                assert one.read(FILE) in (b"code" * 1000, None)
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=writes, args=(one,)) for one in (ours, past, past)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2000):
            ours.sweep(ours.homes[0])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not raised and ours.read(FILE) == b"code" * 1000
    ours.sweep(ours.homes[0])
    assert os.listdir(tmp_path) == [ours.name]


def test_every_signature_has_its_file(on_disk: Shelf) -> None:
    assert [calls(0.5, 3.0, 9), calls(1, 0, 9)] == [(0.25, 0, 1), (1.0, 0, 1)]
    assert [calls(0.5, 3.0, 9), calls(1, 0, 9)] == [(0.25, 1, 0), (1.0, 1, 0)]


def test_code_of_other_types_is_not_taken(on_disk: Shelf) -> None:
    """Not even from a file with the right name."""
    calls(0.5, 3.0, 9)
    (first,) = (on_disk.homes[0].path / on_disk.name).iterdir()
    calls(1, 0, 9)
    (second,) = set((on_disk.homes[0].path / on_disk.name).iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    assert [calls(1, 0, 9), calls(1, 0, 9)] == [(1.0, 0, 1), (1.0, 1, 0)]


def test_files_that_make_no_sense_are_compiled_again(on_disk: Shelf) -> None:
    calls(0.5, 3.0, 9)
    (file,) = (on_disk.homes[0].path / on_disk.name).iterdir()
    on_disk.write(file.name, b"no pickle")
    assert [calls(0.5, 3.0, 9), calls(0.5, 3.0, 9)] == [(0.25, 0, 1), (0.25, 1, 0)]


def test_kernels_can_be_compiled_afresh(on_disk: Shelf) -> None:
    calls(0.5, 3.0, 9)
    fresh = kernel(exploration.py_func)
    fresh(0.5, 3.0, 9)
    fresh.recompile()
    assert sum(fresh.stats.cache_misses.values()) == 1 and fresh(0.5, 3.0, 9) == 0.25


def test_functions_of_others_may_call_kernels_that_were_found(on_disk: Shelf) -> None:
    calls(0.5, 3.0, 9)
    found = kernel(exploration.py_func)
    twice = njit(lambda t: 2.0 * found(0.5, 3.0, t))
    assert 2.0 * found(0.5, 3.0, 9) == 0.5 and sum(found.stats.cache_hits.values()) == 1
    assert twice(9) == 0.5


def test_what_will_be_compiled_is_announced(on_disk: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(compiling, "LISTENERS", [said.append])
    calls(0.5, 3.0, 9)
    assert said == ["ensample.kernels.greedy.exploration"]
    calls(0.5, 3.0, 9)
    assert len(said) == 1, "what is found is not compiled"


def test_work_is_noted_with_its_sources_and_its_machine(on_disk: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not machine_code.is_noted("some work")
    machine_code.note("some work")
    assert machine_code.is_noted("some work") and not machine_code.is_noted("other work")
    monkeypatch.setattr(machine_code, "machine", lambda: ("another",))
    assert not machine_code.is_noted("some work")


def test_a_shelf_knows_whether_it_can_be_used(on_disk: Shelf) -> None:
    assert on_disk.usable()
    assert not Shelf(on_disk.sources, "tools", [Home(Path("/dev/null/none"), beside=False)]).usable()


def test_one_draft_serves_arrays_that_may_and_may_not_be_written_to() -> None:
    fixed = np.ones(3)
    fixed.setflags(write=False)
    before = len(axpy.draft.signatures)
    assert [kept_total(np.ones(3)), kept_total(fixed)] == [6.0, 6.0]
    assert len(axpy.draft.signatures) <= before + 1


def test_without_its_private_parts_numba_compiles_each_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile, "drafts", lambda: None)
    inner = kernel(exploration.py_func)
    assert not hasattr(inner, "draft") and njit(lambda t: 2.0 * inner(0.5, 3.0, t))(9) == 0.5


@kernel
def kept_total(x: np.ndarray) -> float:
    total = np.ones(x.size)
    axpy(total, 1.0, x)
    return total.sum()


def test_functions_of_others_are_not_kept(on_disk: Shelf) -> None:
    def nested(x: float) -> float:
        return x + 1.0

    nested.__module__ = "ensample.kernels.world"
    assert kernel(nested)(1.0) == 2.0
    assert kernel(alone)(1.0) == 2.0 and not on_disk.homes[0].path.joinpath(on_disk.name).exists()


def alone(x: float) -> float:
    return x + 1.0


def test_the_digest_is_of_all_kernels_and_their_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tools_digest()
    monkeypatch.setattr(np, "__version__", "2.0.0")
    assert tools_digest() != before
    names: list[str] = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: names.append(path.name) or read(path))
    sources_digest()
    kernels = Path(shelf.__file__).parent
    files = [*kernels.glob("*.py"), *(kernels.parent / "simulation" / "algorithms").glob("*.py")]
    assert sorted(names) == sorted(path.name for path in files) and {"world.py", "lazy.py"} <= set(names)


def test_installations_without_sources_keep_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shelf.resources, "files", lambda package: tmp_path)
    assert sources_digest() == ""
    monkeypatch.setattr(shelf.resources, "files", lambda package: tmp_path / "none")
    assert sources_digest() == ""
    monkeypatch.setattr(machine_code, "SHELF", shelf_in(tmp_path))
    assert [calls(0.5, 3.0, 9)[1:] for _ in range(2)] == [(0, 1), (0, 1)] and not list(tmp_path.iterdir())


def test_ctrl_c_waits_for_a_kernel_that_is_being_loaded() -> None:
    """Raised among LLVM's calls of Python it would be lost, or worse."""
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("loaded")
    assert done == ["loaded"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for handler in (signal.SIG_IGN, signal.default_int_handler):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with uninterrupted():
                pass
            assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)


def test_other_threads_load_kernels_too() -> None:
    loaded = []

    def load() -> None:
        with uninterrupted():
            loaded.append(1)

    thread = Thread(target=load)
    thread.start()
    thread.join()
    assert loaded == [1]


def test_seconds_are_added_up_for_all_processes(on_disk: Shelf) -> None:
    assert machine_code.seconds_noted(axpy) == 0.0
    for total in (0.5, 1.0):
        machine_code.note_seconds(axpy, 0.5)
        assert machine_code.seconds_noted(axpy) == total
    assert machine_code.seconds_noted(exploration) == 0.0
    on_disk.write(machine_code.seconds_file(axpy), b"many")
    assert machine_code.seconds_noted(axpy) == 0.0


def test_whether_code_is_kept_is_known_before_it_is_loaded(on_disk: Shelf) -> None:
    fresh, other = kernel(exploration.py_func), kernel(exploration.py_func)
    assert not machine_code.is_kept(fresh, (0.5, 3.0, 9))
    fresh(0.5, 3.0, 9)
    assert machine_code.is_kept(fresh, (0.5, 3.0, 9)) and machine_code.is_kept(other, (0.5, 3.0, 9))
    assert not machine_code.is_kept(other, (1, 3, 9)) and not other.signatures
    assert not machine_code.is_kept(njit(exploration.py_func), (0.5, 3.0, 9)), "which is not ours"


def test_ctrl_c_may_be_let_in() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        let_in()
        signal.raise_signal(signal.SIGINT)
        done.append("went on")
        let_in()
        done.append("never")
    assert done == ["went on"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    let_in()
