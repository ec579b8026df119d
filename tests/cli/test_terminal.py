"""Terminals: letters that they lack, control characters in names, progress and Ctrl-C."""

import contextlib
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from pathlib import Path

import psutil
import pytest

import prompt
from cli.shell import run
from lab.studies import TOML

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LOCALES = {
    "LC_ALL=C": ({"LC_ALL": "C"}, "utf-8"),
    "ascii locale": (ASCII, "ascii"),
    "ascii output": ({"PYTHONIOENCODING": "ascii"}, "ascii"),
    "latin output": ({"PYTHONIOENCODING": "latin-1"}, "latin-1"),
}
STUDY = """
name = "small"
question = "Größe? ▁▂▃▅▇ 多少"
horizon = 30
runs = 2
[problem]
label = "Kugel θ"
family = "sphere"
dim = 2
arms = 5
[[policy]]
label = "größer ∞ 多少"
recipe = "Greedy"
"""
OWN = """
import ensample as es

class Größe(es.Greedy):
    "A recipe with a name of its own."
"""


def printed(words: str, folder: Path, locale: str = "ascii locale") -> tuple[str, str]:
    """Return what a command prints into files where Python starts in a locale."""
    variables, encoding = LOCALES[locale]
    start = prompt.Start(tuple(variables.items()), encoding=encoding)
    done = prompt.ensample(*words.split(), start=start, folder=folder, COLUMNS=120)
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("locale", LOCALES)
def test_labels_of_a_study_may_be_in_any_script(locale: str, folder: Path) -> None:
    shown, errors = printed("run mine.toml", folder, locale)
    assert "Traceback" not in errors and "error" not in errors, errors
    labels = {"utf-8": "größer ∞ 多少", "latin-1": "größer ? ??", "ascii": "gr??er ? ??"}
    assert labels[LOCALES[locale][1]] in shown and "mean regret" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--help", "Race policies on one problem"),
        ("race --list", "theta"),
        ("plan", "LinUCB (general theorem)"),
        ("verify --list", "chi-square"),
        ("verify chi-square --html page.html", "holds"),
        ("race --horizon 20 --runs 2 --dim 2 --policies own:Größe,greedy", "own:Gr??e"),
        ("race --horizon 20 --runs 2 --policies own:Größe --json --out ü", r"own:Gr\u00f6\u00dfe"),
    ],
)
def test_command_prints_in_ascii(words: str, expected: str, folder: Path) -> None:
    shown, errors = printed(words, folder)
    assert expected in shown
    assert all(line.startswith("warning: no kernel simulates Gr") for line in errors.splitlines())


def test_error_shows_a_text_in_letters_that_there_are(folder: Path) -> None:
    shown, errors = printed("race --policies own:Grösse", folder)
    assert shown == "" and r"'own:Gr\xf6sse': expected a name that is there" in errors
    (folder / "mine.toml").write_text(STUDY.replace('"small"', '"größer"'), encoding="utf-8")
    _, errors = printed("run mine.toml", folder)
    assert "cannot name a file where the encoding is ascii: set LC_ALL=C.UTF-8" in errors
    assert "Traceback" not in errors


ESCAPES = r"a\u001b]0;title\u0007\u001b[2J\u009b31m\r\n\u0000\u007f\u202eb"  # for TOML
LITERALLY = r"a\x1b]0;title\x07\x1b[2J\x9b31m\r\n\x00\x7f\u202eb"


def unseen(text: str) -> list[str]:
    kinds = ("Cc", "Cf", "Cs")
    return [sign for sign in text if unicodedata.category(sign) in kinds and sign != "\n"]


def test_labels_are_text_and_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    text = TOML.replace('"ES"', f'"{ESCAPES} [red]x[/red] [/foo]"')
    text = text.replace('family = "sphere"', f'family = "sphere"\nlabel = "{ESCAPES}"')
    (tmp_path / "mine.toml").write_text(f'question = "{ESCAPES}"\n{text}')
    for words in ("run mine.toml --dry-run", "run mine.toml"):
        done = run(words, tmp_path, width=400)
        assert done.returncode == 0 and not unseen(done.stdout + done.stderr)
        assert done.stdout.count(LITERALLY) >= 8, "shown in full, on one line"
        assert "[red]x[/red] [/foo]" in done.stdout
    done = run("report results/small", tmp_path)
    assert done.returncode == 0 and not unseen(done.stdout + done.stderr)
    assert "warning: Glyph 27" in done.stderr, "as figures have no letter for it"


def test_errors_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    text = TOML.replace('"ES"', f'"{ESCAPES}"').replace("runs = 6", 'baseline = "nobody"')
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "other.toml").write_text(TOML.replace("runs = 6", f'"{ESCAPES}" = 6'))
    (tmp_path / "\x1b[31mred.toml").write_text("=")
    for name, shown in (
        ("mine.toml", r"one of a\x1b]0;"),
        ("other.toml", r"a\x1b]0;"),
        ("\x1b[31mred.toml", r"\x1b[31mred.toml"),
    ):
        done = run(f"run '{name}'", tmp_path)
        assert done.returncode == 2 and shown in done.stderr and not unseen(done.stderr)


def heed_interrupts() -> None:
    """A test run in the background inherits that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_on(terminal: int, shown: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # how Linux reports that the other end is closed
        while block := os.read(terminal, 4096):
            shown.append(block)


def test_ctrl_c_ends_a_race_in_a_line_and_leaves_nothing(tmp_path: Path) -> None:
    words = [
        "race",
        "--policies",
        "es-10",
        "--runs",
        "4",
        "--threads",
        "2",
        "--horizon",
        "1000000000",
    ]
    terminal, inside = pty.openpty()
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.Popen(
        [*prompt.ENSAMPLE, *words],
        stdout=subprocess.PIPE,
        stderr=inside,
        cwd=tmp_path,
        preexec_fn=heed_interrupts,
    )
    os.close(inside)
    shown = [os.read(terminal, 4096)]  # a bar: it is under way
    reader = threading.Thread(target=read_on, args=(terminal, shown))  # or its writer would wait
    reader.start()
    time.sleep(1.0)
    before = psutil.Process(process.pid).cpu_times().user
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    # Two threads for five seconds at most, in work; under one on a machine of one's own.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - others - before < 10.0
    reader.join()
    os.close(terminal)
    assert process.returncode == 130 and output == b"" and not list(tmp_path.iterdir())
    text = b"".join(shown)
    assert b"es-10" in text and text.rstrip().endswith(b"stopped") and b"Traceback" not in text


def test_ctrl_c_of_a_study_tells_how_to_go_on(tmp_path: Path) -> None:
    slow = TOML.replace("horizon = 60", "horizon = 400_000")
    (tmp_path / "mine.toml").write_text(slow.replace("dim = [2, 3]", "dim = [2, 3, 4, 5]"))
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [*prompt.ENSAMPLE, "run", "mine.toml"],
        cwd=tmp_path,
        stderr=inside,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120"},
        preexec_fn=heed_interrupts,
    )
    os.close(inside)
    deadline = time.monotonic() + 240
    while not list(tmp_path.glob("results/small/cells/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    shown: list[bytes] = []
    read_on(terminal, shown)
    os.close(terminal)
    text = b"".join(shown)
    for part in (b"/12 cells", b"rounds/s", b"the same command goes on from here"):
        assert part in text


def test_no_figure_library_is_imported_before_a_race() -> None:
    code = "import sys, ensample, ensample.cli.main; print('matplotlib' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
