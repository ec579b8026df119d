"""`ensample run` and `ensample studies` as a person uses them."""

import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
from cli.shell import refused, run
from ensample.lab import BUNDLED
from lab.studies import TOML


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(TOML)
    return tmp_path


def test_study_runs_and_resumes_into_the_folder_of_its_name(folder: Path) -> None:
    first = run("run mine.toml", folder, width=160)
    assert first.returncode == 0 and "next: ensample report results/small" in first.stdout
    assert first.stderr == "small: 6 cells, 0 of them finished before\n"
    again = run("run mine.toml", folder, width=160)
    assert again.stderr == "small: 6 cells, 6 of them finished before\n"
    paper = run("run mine.toml --scale paper", folder)
    assert paper.returncode == 0
    assert len(es.Results(folder / "results" / "small-paper").outcomes) == 9
    journal = folder / "results" / "small" / "journal.jsonl"
    journal.write_bytes(b'{"event": "cell", "cell": 0}\n\xff\n')
    lost = run("run mine.toml", folder, width=160)
    assert lost.returncode == 0 and "nan" not in lost.stdout
    numbers = [[row.split("│")[4:7] for row in done.stdout.splitlines()] for done in (first, lost)]
    assert numbers[0] == numbers[1], "a journal that is lost costs no number"


def test_dry_run_shows_the_grid_and_the_cost_and_writes_nothing(folder: Path) -> None:
    done = run("run mine.toml --dry-run", folder, width=160)
    assert done.returncode == 0 and "size=4" in done.stdout
    for text in ("2,160 rounds to go: about", "of memory", "on disk"):
        assert text in done.stdout
    (folder / "mine.toml").write_text(f'evaluation = "live"\n{TOML}')
    live = run("run mine.toml --dry-run --threads 3", folder, width=160)
    assert "on 3 threads, live policies on one of them, " in live.stdout
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("nothing.toml", "nothing.toml: file"),
        ("ensemble-sise", "ensemble-size"),
        ("mine.toml --scale papper", "paper"),
        ("mine.toml --threads 0", "threads = 0"),
        ("mine.toml --threads 2 --cluster local", "threads = 2"),
        ("mine.toml --cluster-security keys.toml", "cluster_security = 'keys.toml'"),
        ("mine.toml --cluster tls://127.0.0.1:9", "cluster_security = None"),
        (
            "mine.toml --cluster tls://127.0.0.1:9 --cluster-security keys.toml",
            "cluster_security = 'keys.toml'",
        ),
        ("mine.toml --out mine.toml", "out = 'mine.toml'"),
        ("mine.toml --out /proc/here", "out = '/proc/here'"),
        ("bad.toml", "bad.toml: policy[0].sise = 1"),
    ],
)
def test_study_that_cannot_run_leaves_nothing(options: str, error: str, folder: Path) -> None:
    (folder / "bad.toml").write_text(TOML.replace("size =", "sise ="))
    done = run(f"run {options}", folder)
    assert done.returncode == 2 and error in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["bad.toml", "mine.toml"]


def test_all_mistakes_of_a_study_are_told_at_once(folder: Path) -> None:
    text = TOML.replace("runs = 6", "rums = 6").replace("horizon = 60", "horizon = 0")
    text = text.replace("size = [1, 4]", "sise = 1").replace('"ThompsonSampling"', '"Thomson"')
    (folder / "bad.toml").write_text(text)
    first, *lines = refused("run bad.toml", folder).splitlines()
    assert first == "error: bad.toml: 4 mistakes"
    wrong = ["rums = 6", "horizon = 0", "policy[0].sise = 1", "policy[1].recipe = 'Thomson'"]
    found = [line.partition(": expected ")[0] for line in lines]
    assert found == [f"bad.toml: {mistake}" for mistake in wrong]


@pytest.mark.parametrize("package", ["polars", "scipy"])
def test_missing_package_is_named_before_the_work(package: str, folder: Path) -> None:
    code = (
        f"import sys; sys.modules |= dict.fromkeys([{package!r}, 'scipy.special']); "
        "from ensample.cli.main import main; main()"
    )
    command = [sys.executable, "-c", code, "run", "mine.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and f" needs {package}: pip install {package}" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]


def test_changed_study_shows_the_difference_and_grows_when_asked_to(folder: Path) -> None:
    run("run mine.toml", folder)
    changed = TOML.replace("runs = 6", "runs = 8", 1).replace("size = [1, 4]", "size = [1, 9]")
    (folder / "mine.toml").write_text(changed)
    done = run("run mine.toml", folder)
    assert done.returncode == 2
    changes = ["runs     6 -> 8", "added    ES, sphere, dim=2, size=9"]
    for row in [*changes, "dropped  ES, sphere, dim=3, size=4"]:
        assert f"  {row}\n" in done.stderr
    assert "--grow" in done.stderr
    planned = run("run mine.toml --dry-run", folder, width=160)
    assert planned.returncode == 0 and "with --grow these are the changes" in planned.stdout
    assert "6 runs" in planned.stdout and f"{(4 * 2 + 2 * 8) * 60:,} rounds to go" in planned.stdout
    assert es.Results(folder / "results" / "small").study.runs == 6, "neither has changed anything"
    grown = run("run mine.toml --grow", folder, width=160)
    assert grown.returncode == 0 and "size=9" in grown.stdout and "size=4" not in grown.stdout
    assert "of 6 cells 0 stay, 4 go on from the runs they have, 2 to compute anew" in grown.stderr
    assert "│ dropped │ ES, sphere, dim=3, size=4" in grown.stderr
    assert "\nsmall: 6 cells, 0 of them finished before, 4 have 6 of 8 runs\n" in grown.stderr
    again = run("run mine.toml --grow", folder)
    assert again.stderr == "small: 6 cells, 6 of them finished before\n", "nothing more to grow"


def test_studies_are_listed() -> None:
    assert all(f" {name} " in run("studies").stdout for name in BUNDLED)
