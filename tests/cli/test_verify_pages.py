"""`ensample verify --html` and `--markdown`: the pages as a person asks for them."""

import sys
from pathlib import Path

import pytest

from cli.test_cli import run
from ensample.claims import Scale
from ensample.cli import verify as command
from ensample.errors import MissingPackage


def check(ids: list[str], html: Path | None = None, markdown: Path | None = None) -> None:
    """Run the command in this process."""
    command.verify(ids, Scale.QUICK, html, markdown, None, 0, power=False, list_only=False)


def test_the_page_and_the_document_say_the_same(tmp_path: Path) -> None:
    files = [tmp_path / "claims.html", tmp_path / "claims.md"]
    shown = run(
        "verify",
        "chi-square",
        "elliptical-potential",
        "--html",
        str(files[0]),
        "--markdown",
        str(files[1]),
        "--seed",
        "3",
    )
    assert shown.returncode == 0, shown.stderr
    for text in (path.read_text() for path in files):
        for part in (
            "The chi-square tail",
            "lma:chi-squared",
            "65.8%",
            "Lemma 13",
            "Power",
            "divided by 1.34",
            "as printed in the paper",
            "refuted",
            "2 hold",
        ):
            assert part in text, part
    assert "--scale quick --seed 3" in files[1].read_text()
    drawn = sorted(path.name for path in (tmp_path / "images" / "claims").iterdir())
    assert drawn == ["chi-square.svg", "elliptical-potential.svg"]


@pytest.mark.parametrize(
    "module", ["jinja2", "matplotlib.figure", "markdown_it", "latex2mathml.converter"]
)
def test_a_missing_package_is_named_before_the_work(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith("ensample.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(command, "run", lambda *arguments: pytest.fail("the work began"))
    package = module.partition(".")[0]
    with pytest.raises(
        MissingPackage,
        match=rf"^a page of ensample verify needs {package}: pip install {package.split('_')[0]}",
    ):
        check(["chi-square"], html=tmp_path / "a.html")
