"""`ensample run` and `ensample studies` as a person uses them."""

import os
import pty
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

import ensample as es
import prompt
from ensample.lab import BUNDLED
from lab.studies import TOML

SLOW = TOML.replace("horizon = 60", "horizon = 400_000").replace(
    "dim = [2, 3]", "dim = [2, 3, 4, 5]"
)


def ensample(
    *arguments: object, cwd: Path, columns: int = 160
) -> "subprocess.CompletedProcess[str]":
    return prompt.ensample(*arguments, folder=cwd, COLUMNS=columns)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(TOML)
    return tmp_path


def test_a_study_runs_and_resumes_into_the_folder_of_its_name(folder: Path) -> None:
    first = ensample("run", "mine.toml", cwd=folder)
    assert (
        first.returncode == 0
        and "ES" in first.stdout
        and "next: ensample report results/small" in first.stdout
    )
    assert first.stderr == "small: 6 cells, 0 of them finished before\n", (
        "plain and quiet where there is no terminal"
    )
    again = ensample("run", "mine.toml", cwd=folder)
    assert (
        again.stderr == "small: 6 cells, 6 of them finished before\n"
        and again.stdout.splitlines()[-2:] == first.stdout.splitlines()[-2:]
    )
    paper = ensample("run", "mine.toml", "--scale", "paper", cwd=folder)
    assert (
        paper.returncode == 0 and len(es.Results(folder / "results" / "small-paper").outcomes) == 9
    )


def test_a_dry_run_shows_the_grid_and_the_cost_and_writes_nothing(folder: Path) -> None:
    done = ensample("run", "mine.toml", "--dry-run", cwd=folder)
    assert done.returncode == 0 and "size=4" in done.stdout
    assert (
        "2,160 rounds to go: about" in done.stdout
        and "of memory" in done.stdout
        and "on disk" in done.stdout
    )
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]


def test_a_dry_run_says_where_threads_are_of_no_use(folder: Path) -> None:
    (folder / "live.toml").write_text(f'evaluation = "live"\n{TOML}')
    done = ensample("run", "live.toml", "--dry-run", "--threads", "3", cwd=folder)
    assert done.returncode == 0 and "on 3 threads, live policies on one of them, " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.toml"], "nothing.toml: file"),
        (["ensemble-sise"], "ensemble-size"),
        (["mine.toml", "--scale", "papper"], "paper"),
        (["mine.toml", "--threads", "0"], "threads = 0"),
        (["mine.toml", "--threads", "2", "--cluster", "local"], "threads = 2"),
        (["mine.toml", "--cluster-security", "keys.toml"], "cluster_security = 'keys.toml'"),
        (["mine.toml", "--cluster", "tls://127.0.0.1:9"], "cluster_security = None"),
        (
            ["mine.toml", "--cluster", "tls://127.0.0.1:9", "--cluster-security", "keys.toml"],
            "cluster_security = 'keys.toml'",
        ),
        (["mine.toml", "--out", "mine.toml"], "out = 'mine.toml'"),
        (["mine.toml", "--out", "/proc/here"], "out = '/proc/here'"),
        (["bad.toml"], "bad.toml: policy[0].sise = 1"),
    ],
)
def test_an_error_is_one_line_that_says_what_is_wrong(
    arguments: list[str], said: str, folder: Path
) -> None:
    (folder / "bad.toml").write_text(TOML.replace("size =", "sise ="))
    done = ensample("run", *arguments, cwd=folder)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["bad.toml", "mine.toml"]


def test_all_mistakes_are_said_at_once(folder: Path) -> None:
    text = TOML.replace("runs = 6", "rums = 6").replace("horizon = 60", "horizon = 0")
    text = text.replace("size = [1, 4]", "sise = 1")
    (folder / "bad.toml").write_text(text.replace('"ThompsonSampling"', '"Thomson"'))
    done = ensample("run", "bad.toml", cwd=folder)
    first, *lines = done.stderr.splitlines()
    assert (
        done.returncode == 2
        and first == "error: bad.toml: 4 mistakes"
        and "Traceback" not in done.stderr
    )
    wrong = ["rums = 6", "horizon = 0", "policy[0].sise = 1", "policy[1].recipe = 'Thomson'"]
    assert [line.partition(": expected ")[0] for line in lines] == [
        f"bad.toml: {mistake}" for mistake in wrong
    ]


def test_help_says_how_to_grow(folder: Path) -> None:
    shown = ensample("run", "--help", cwd=folder).stdout
    assert (
        "--grow" in shown and "ensample run mine.toml --grow" in shown and "computed anew" in shown
    )


@pytest.mark.parametrize("package", ["polars", "scipy"])
def test_a_missing_package_is_named_before_the_work(package: str, folder: Path) -> None:
    code = (
        f"import sys; sys.modules |= dict.fromkeys([{package!r}, 'scipy.special']); "
        "from ensample.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "mine.toml"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 2 and f" needs {package}: pip install {package}" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]


def test_a_changed_study_shows_the_difference_and_grows_when_asked_to(folder: Path) -> None:
    ensample("run", "mine.toml", cwd=folder)
    changed = TOML.replace("runs = 6", "runs = 8", 1).replace("size = [1, 4]", "size = [1, 9]")
    (folder / "mine.toml").write_text(changed)
    refused = ensample("run", "mine.toml", cwd=folder)
    assert refused.returncode == 2 and "--grow" in refused.stderr
    for row in (
        "runs     6 -> 8",
        "added    ES, sphere, dim=2, size=9",
        "dropped  ES, sphere, dim=3, size=4",
    ):
        assert f"  {row}\n" in refused.stderr
    planned = ensample("run", "mine.toml", "--dry-run", cwd=folder)
    assert planned.returncode == 0 and "with --grow these are the changes" in planned.stdout
    assert "6 runs" in planned.stdout and f"{(4 * 2 + 2 * 8) * 60:,} rounds to go" in planned.stdout
    assert es.Results(folder / "results" / "small").study.runs == 6, "neither has changed anything"
    grown = ensample("run", "mine.toml", "--grow", cwd=folder)
    assert grown.returncode == 0 and "size=9" in grown.stdout and "size=4" not in grown.stdout
    assert "of 6 cells 0 stay, 4 go on from the runs they have, 2 to compute anew" in grown.stderr
    assert "│ dropped │ ES, sphere, dim=3, size=4" in grown.stderr
    assert "\nsmall: 6 cells, 0 of them finished before, 4 have 6 of 8 runs\n" in grown.stderr
    again = ensample("run", "mine.toml", "--grow", cwd=folder)
    assert again.stderr == "small: 6 cells, 6 of them finished before\n", "nothing more to grow"


def test_labels_are_text(folder: Path) -> None:
    (folder / "mine.toml").write_text(TOML.replace('"ES"', '"[red]x[/red] [/foo]"'))
    for arguments in (["--dry-run"], []):
        done = ensample("run", "mine.toml", *arguments, cwd=folder)
        assert done.returncode == 0 and "[red]x[/red] [/foo]" in done.stdout


ESCAPES = r"a\u001b]0;title\u0007\u001b[2J\u009b31m\r\n\u0000\u007f\u202eb"  # for TOML
LITERALLY = r"a\x1b]0;title\x07\x1b[2J\x9b31m\r\n\x00\x7f\u202eb"


def test_labels_do_nothing_to_a_terminal(folder: Path) -> None:
    text = TOML.replace('"ES"', f'"{ESCAPES}"').replace(
        'family = "sphere"', f'family = "sphere"\nlabel = "{ESCAPES}"'
    )
    (folder / "mine.toml").write_text(f'question = "{ESCAPES}"\n{text}')
    for arguments in (["--dry-run"], []):
        done = ensample("run", "mine.toml", *arguments, cwd=folder, columns=300)
        assert done.returncode == 0 and not unseen(done.stdout + done.stderr)
        assert done.stdout.count(LITERALLY) >= 8, "shown in full, on one line"
    done = ensample("report", folder / "results" / "small", cwd=folder)
    assert done.returncode == 0 and not unseen(done.stdout + done.stderr)
    assert "warning: Glyph 27" in done.stderr, "as figures have no letter for it"


def test_errors_do_nothing_to_a_terminal(folder: Path) -> None:
    text = TOML.replace('"ES"', f'"{ESCAPES}"').replace("runs = 6", 'baseline = "nobody"')
    (folder / "mine.toml").write_text(text)
    (folder / "other.toml").write_text(TOML.replace("runs = 6", f'"{ESCAPES}" = 6'))
    (folder / "\x1b[31mred.toml").write_text("=")
    for name, said in (
        ("mine.toml", r"one of a\x1b]0;"),
        ("other.toml", r"a\x1b]0;"),
        ("\x1b[31mred.toml", r"\x1b[31mred.toml"),
    ):
        done = ensample("run", name, cwd=folder)
        assert done.returncode == 2 and said in done.stderr and not unseen(done.stderr)


def unseen(text: str) -> list[str]:
    return [
        letter
        for letter in text
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs") and letter != "\n"
    ]


def test_a_journal_that_is_lost_costs_no_number(folder: Path) -> None:
    first = ensample("run", "mine.toml", cwd=folder)
    (folder / "results" / "small" / "journal.jsonl").write_bytes(
        b'{"event": "cell", "cell": 0}\n\xff\n'
    )
    again = ensample("run", "mine.toml", cwd=folder)
    assert again.returncode == 0 and "nan" not in again.stdout
    assert [row.split("│")[4:7] for row in again.stdout.splitlines()] == [
        row.split("│")[4:7] for row in first.stdout.splitlines()
    ]


def test_the_studies_are_listed() -> None:
    done = ensample("studies", cwd=Path.cwd())
    assert all(f" {name} " in done.stdout for name in BUNDLED)


def test_ctrl_c_says_how_to_go_on_and_a_terminal_sees_progress(folder: Path) -> None:
    (folder / "mine.toml").write_text(SLOW)
    leader, follower = pty.openpty()
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from ensample.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "mine.toml"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stderr=follower,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120"},
    )
    os.close(follower)
    deadline = time.monotonic() + 240
    while not list(folder.glob("results/small/cells/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    said = b""
    try:
        while chunk := os.read(leader, 65536):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    assert (
        b"/12 cells" in said
        and b"rounds/s" in said
        and b"the same command goes on from here" in said
    )
