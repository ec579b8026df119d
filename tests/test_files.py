"""Files are written whole or not at all, whatever happens meanwhile."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
from ensample import files
from ensample.files import write_whole

NEW = b"new content" * 1000


def put(path: Path, content: bytes = NEW) -> None:
    write_whole(path, lambda file: file.write(content))


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"old")
    return tmp_path / "file"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        put(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444, 0o755])
def test_a_file_keeps_its_mode(old: Path, mode: int) -> None:
    old.chmod(mode)
    put(old)
    assert old.read_bytes() == NEW and stat.S_IMODE(old.stat().st_mode) == mode


def test_what_only_some_may_read_nobody_reads_meanwhile(old: Path) -> None:
    old.chmod(0o644)
    seen = []
    write_whole(old, lambda file: seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert seen == [0o600]


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "." + "y" * 254])
def test_names_as_long_as_names_can_be(tmp_path: Path, name: str) -> None:
    put(tmp_path / name)
    put(tmp_path / name)
    assert names(tmp_path) == [name]


def test_a_link_stays_a_link(old: Path) -> None:
    link, dangling = old.with_name("link"), old.with_name("dangling")
    link.symlink_to("file")
    dangling.symlink_to("missing")
    put(link)
    put(dangling)
    assert link.is_symlink() and old.read_bytes() == NEW
    assert dangling.is_symlink() and old.with_name("missing").read_bytes() == NEW


def test_what_is_no_file_is_refused_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "file").write_bytes(b"old")
    before = names(tmp_path)
    paths = [
        "pipe",
        "folder",
        "loop",
        "device",
        "missing/file",
        "file/file",
        "x" * 256,
        "a\0b",
        ".",
        "/dev/null",
    ]
    for path in paths:
        with pytest.raises(es.InvalidArgument, match=r"^path = .*expected (a|the path of a) file"):
            write_whole(tmp_path / path, lambda file: pytest.fail("written to"))
    assert names(tmp_path) == before and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_disk_that_takes_no_more(old: Path) -> None:
    """The system itself refuses, in a process that may not write files beyond 5,000 bytes."""
    code = f"""
import resource
from pathlib import Path
import ensample as es
from ensample.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_whole(Path({str(old)!r}), lambda file: file.write(b"x" * 100_000))
except es.EnsampleError as error:
    assert isinstance(error, OSError)
    print(error.errno, error.filename)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == f"{errno.EFBIG} {old}\n"
    assert old.read_bytes() == b"old" and names(old.parent) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_error_of_the_system_at_any_step(old: Path, step: str, monkeypatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    with pytest.raises(
        es.StorageError, match=r"^path = '.*file': expected a place to write to \(No space left"
    ) as caught:
        put(old)
    assert caught.value.errno == errno.ENOSPC and isinstance(caught.value, OSError)
    assert old.read_bytes() == b"old" and names(old.parent) == ["file"]


def test_an_error_of_the_writer_is_its_own(old: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_whole(old, lambda file: 1 // 0)
    assert old.read_bytes() == b"old" and names(old.parent) == ["file"]


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # a file that nobody but the interpreter was left to close
def test_an_interrupt_at_every_step_leaves_the_old_file_or_the_new(old: Path) -> None:
    """KeyboardInterrupt before each bytecode instruction of `files` in turn."""
    finished, step = False, 0
    while not finished:
        old.write_bytes(b"old")
        finished = interrupted_at(step, lambda: put(old))
        assert names(old.parent) == ["file"], f"instruction {step} left something"
        assert old.read_bytes() in (b"old", NEW)
        step += 1
    assert step > 200 and old.read_bytes() == NEW


def interrupted_at(step: int, call) -> bool:
    """Whether the call came to its end before that many instructions."""
    left = [step]

    def trace(frame, event, argument):
        if frame.f_code.co_filename != files.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        call()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True


WRITER = """
import sys
from pathlib import Path
from ensample.files import write_whole

def slowly(file):
    file.write(b"theirs")
    file.flush()
    print("half", flush=True)
    sys.stdin.readline()

write_whole(Path(sys.argv[1]), slowly)
"""


@pytest.fixture
def other_writer(old: Path):
    """Another process, in the middle of writing to the same file."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(old)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "half\n"
        yield process
        process.kill()


def test_what_a_killed_writer_left_is_swept_by_the_next(old: Path, other_writer) -> None:
    assert len(names(old.parent)) == 2
    other_writer.send_signal(signal.SIGKILL)
    other_writer.wait()
    assert old.read_bytes() == b"old" and len(names(old.parent)) == 2
    put(old.with_name("another"))
    assert names(old.parent) == ["another", "file"]


def test_a_writer_under_way_is_left_alone(old: Path, other_writer) -> None:
    put(old)
    put(old.with_name("another"))
    assert old.read_bytes() == NEW and len(names(old.parent)) == 3
    other_writer.communicate("\n")
    assert other_writer.returncode == 0
    assert old.read_bytes() == b"theirs" and names(old.parent) == ["another", "file"]


def test_others_files_are_left_alone(old: Path) -> None:
    """Only names of ours, and no links."""
    kept = [
        ".file.part",
        ".ensample-0123456789abcdef.parts",
        ".ensample-0123456789abcdeg.part",
        ".ensample-.part",
    ]
    for name in kept:
        old.with_name(name).write_bytes(b"")
    link, folder = ".ensample-0123456789abcdef.part", ".ensample-0000000000000000.part"
    old.with_name(link).symlink_to("file")
    old.with_name(folder).mkdir()
    put(old.with_name("another"))
    assert names(old.parent) == sorted([*kept, link, folder, "another", "file"])


def test_a_file_that_a_sweeper_took_before_it_was_locked_is_written_again(
    old: Path, monkeypatch
) -> None:
    lock, taken = files.lock, []

    def late(part: Path, file) -> bool:
        if not taken:
            files.sweep(part.parent)
            taken.append(part)
        return lock(part, file)

    monkeypatch.setattr(files, "lock", late)
    put(old)
    assert taken
    assert not taken[0].exists()
    assert old.read_bytes() == NEW
    assert names(old.parent) == ["file"]


def test_a_folder_that_cannot_be_listed_can_be_written_to(old: Path, monkeypatch) -> None:
    real = os.open

    def no_listing(path, flags, *rest, **more):
        if Path(path) == old.parent:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", no_listing)
    put(old)
    assert old.read_bytes() == NEW


def test_bytes_are_content_too(old: Path) -> None:
    write_whole(old, NEW)
    assert old.read_bytes() == NEW and names(old.parent) == ["file"]


def test_a_link_that_is_not_followed_gives_its_place(old: Path) -> None:
    for name, target in (
        ("link", "file"),
        ("dangling", "missing"),
        ("loop", "loop"),
        ("away", "/dev/null"),
    ):
        old.with_name(name).symlink_to(target)
        write_whole(old.with_name(name), NEW, follow=False)
        assert not old.with_name(name).is_symlink() and old.with_name(name).read_bytes() == NEW
    assert old.read_bytes() == b"old" and not old.with_name("missing").exists()
    with pytest.raises(es.InvalidArgument, match="not a folder"):
        write_whole(old.parent, NEW, follow=False)


def test_who_sweeps_a_folder_need_not_do_so_at_every_file(old: Path) -> None:
    left = old.with_name(".ensample-0123456789abcdef.part")
    left.write_bytes(b"half")
    write_whole(old, NEW, tidy=False)
    assert left.exists() and old.read_bytes() == NEW
    files.sweep(old.parent)
    assert names(old.parent) == ["file"]


def test_a_place_for_a_file_is_looked_at_before_the_work(tmp_path: Path, monkeypatch) -> None:
    """The same places that are refused later, by the name of the option, and nothing is made."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_bytes(b"old")
    before = names(tmp_path)
    for path in ("pipe", "device", "loop", ".", "missing/file", "file/file", "x" * 256):
        with pytest.raises(
            es.InvalidArgument,
            match=r"^json = .*expected (a file that can be written, |the path of a file)",
        ):
            files.check_file("json", tmp_path / path)
    for path in ("file", "new"):
        files.check_file("json", tmp_path / path)
    monkeypatch.chdir(tmp_path)
    files.check_file("json", Path("new"))
    assert names(tmp_path) == before
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(es.InvalidArgument, match="in a folder one can write in"):
        files.check_file("json", tmp_path / "new")


def test_a_place_for_a_folder_is_looked_at_before_the_work(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "dangling").symlink_to("missing")
    for path in (tmp_path, tmp_path / "new" / "deep"):
        files.check_folder("out", path)
    for path in ("file", "file/inside", "dangling", "dangling/inside"):
        with pytest.raises(
            es.InvalidArgument,
            match=r"out = .*a directory one can write in, and '.*(file|dangling)' is none",
        ):
            files.check_folder("out", tmp_path / path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(es.InvalidArgument, match="a directory one can write in"):
        files.check_folder("out", tmp_path)
    assert names(tmp_path) == ["dangling", "file"]
