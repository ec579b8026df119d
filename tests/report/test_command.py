"""`ensample report` as a command."""

import os
import subprocess
from pathlib import Path

import pytest

import ensample as es
from ensample.cli import studies as command
from prompt import ENSAMPLE, PLAIN, ensample


def run(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return ensample("report", *arguments, folder=folder, COLUMNS=100, **PLAIN)


def test_paths_are_printed(studied: dict[str, es.Results], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = run(str(studied["grid"].folder), "--out", str(page), "--baseline", "Thompson")
    assert (shown.returncode, shown.stderr, shown.stdout) == (0, "", f"{page}\n")
    assert "Differences are from Thompson" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "folder = 'nowhere': expected a folder of results"),
        (
            ["", "--baseline", "LinUBC"],
            "baseline = 'LinUBC': expected one of Thompson, LinUCB (did you mean 'LinUCB'?)",
        ),
        (
            ["", "--out", "nowhere/page.html"],
            "out = 'nowhere/page.html': expected a file that can be written",
        ),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], words: str, studied: dict[str, es.Results], tmp_path: Path
) -> None:
    shown = run(arguments[0] or str(studied["grid"].folder), *arguments[1:], folder=tmp_path)
    assert shown.returncode == 2 and shown.stdout == ""
    assert words in shown.stderr and shown.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("package", ["matplotlib", "jinja2", "polars", "scipy", "tomli_w"])
def test_a_missing_package_is_named(package: str, studied: dict[str, es.Results]) -> None:
    without = f"import sys; sys.modules[{package!r}] = None; "
    command = [*ENSAMPLE[:2], without + ENSAMPLE[2], "report", str(studied["grid"].folder)]
    shown = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | PLAIN, check=False
    )
    assert (
        shown.returncode == 2
        and f"ensample report needs {package}: pip install {package.replace('_', '-')}"
        in shown.stderr
    )


def test_open_shows_the_page(
    studied: dict[str, es.Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", opened.append)
    page = tmp_path / "page.html"
    options = command.ReportOptions(folder=studied["one"].folder, open_page=True, out=page)
    command.report(options)
    assert opened == [(tmp_path / "page.html").as_uri()]
