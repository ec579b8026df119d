"""`ensample verify`: its table, its files and its exit code."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from cli.shell import refused, run
from ensample.claims import CLAIMS, Fault, find, verify
from ensample.cli import verify as command
from ensample.cli.verify import VerifyOptions
from ensample.errors import InvalidArgument, MissingPackage


def test_claim_is_shown_in_a_table_a_page_and_data(tmp_path: Path) -> None:
    shown = run("verify chi-square --json a.json --html a.html", tmp_path, width=160)
    assert shown.returncode == 0, shown.stderr
    for text in ("chi-square", "exceeds", "inequality", "<= 1", "holds", "1 holds"):
        assert text in shown.stdout, text
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["scale"] == "quick" and [row["verdict"] for row in answer["claims"]] == ["holds"]
    page = (tmp_path / "a.html").read_text()
    assert "chi-square" in page and "as printed in the paper" in page
    assert "http:" not in page and "https:" not in page, "self-contained"


def test_power_is_the_smallest_fault_that_is_refuted(tmp_path: Path) -> None:
    claims = "chi-square rademacher-anticoncentration"
    plain = run(f"verify {claims}", width=200)
    assert "not tested sharply" in plain.stdout and "power" not in plain.stdout
    shown = run(f"verify {claims} --power --json a.json", tmp_path, width=200)
    assert shown.returncode == 0, shown.stderr
    assert "power: the smallest fault refuted" in shown.stdout and "1.34" in shown.stdout
    rows = json.loads((tmp_path / "a.json").read_text())["claims"]
    tight, loose = sorted(rows, key=lambda row: row["sharp"], reverse=True)
    assert tight["sharp"] and tight["power"] == [pytest.approx(1.34, rel=0.05)]
    assert tight["faults"] == ["the term 2 sqrt(d x) divided by f"]
    powers = [pytest.approx(25, rel=0.1), pytest.approx(3, rel=0.1)]
    assert not loose["sharp"] and loose["power"] == powers
    assert tight["place"] == "Lemma 13 (Laurent and Massart 2000, Lemma 1)"


def test_page_and_document_say_the_same(tmp_path: Path) -> None:
    files = "--html claims.html --markdown claims.md --seed 3"
    shown = run(f"verify chi-square elliptical-potential {files}", tmp_path)
    assert shown.returncode == 0, shown.stderr
    facts = ["The chi-square tail", "lma:chi-squared", "65.8%", "Lemma 13", "Power", "2 hold"]
    facts += ["divided by 1.34", "as printed in the paper", "refuted"]
    for name in ("claims.html", "claims.md"):
        text = (tmp_path / name).read_text()
        assert not [fact for fact in facts if fact not in text]
    assert "--scale quick --seed 3" in (tmp_path / "claims.md").read_text()
    drawn = sorted(path.name for path in (tmp_path / "images" / "claims").iterdir())
    assert drawn == ["chi-square.svg", "elliptical-potential.svg"]


def test_list_has_every_claim() -> None:
    shown = run("verify --list", width=200)
    assert shown.returncode == 0
    for claim in CLAIMS:
        assert claim.id in shown.stdout and claim.section.value in shown.stdout


def test_table_fits_a_narrow_terminal() -> None:
    shown = run("verify chi-square", width=80).stdout
    assert max(map(len, shown.splitlines())) <= 80 and "holds" in shown


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("chi-sqare", "claim = 'chi-sqare': expected one of"),
        ("chi-square --seed -1", "seed = -1: expected"),
        ("chi-square --html /nowhere/a.html", "'/nowhere/a.html': expected a file that can be"),
        ("chi-square --json /dev/null", "expected a file that can be written, not a device"),
    ],
)
def test_error_of_verify_is_one_line(options: str, error: str) -> None:
    assert error in refused(f"verify {options}")


def test_folder_of_figures_is_checked_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"^markdown = .*images/a': expected a directory"):
        command.verify(VerifyOptions(claims=["chi-square"], markdown=tmp_path / "a.md"))
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_unknown_scale_lists_the_scales() -> None:
    shown = run("verify --scale huge")
    assert shown.returncode == 2 and "quick" in shown.stderr and "paper" in shown.stderr


def test_refuted_claim_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [claim] = find(["chi-square"])
    broken = Fault("f", lambda scale, seed: lambda f: claim.check_broken(scale, seed))
    monkeypatch.setattr(command, "find", lambda ids: (replace(claim, faults=(broken,)),))
    with pytest.raises(typer.Exit) as ending:
        command.verify(VerifyOptions())
    assert ending.value.exit_code == 1 and "refuted" in capsys.readouterr().out


def test_time_is_announced() -> None:
    assert "on two cores" in run("verify chi-square --scale standard").stderr


def test_without_scipy_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    fault = Fault("f", lambda scale, seed: pytest.fail("the work began"))
    with pytest.raises(MissingPackage, match="needs scipy: pip install scipy"):
        verify([replace(find(["chi-square"])[0], faults=(fault,))])


@pytest.mark.parametrize(
    "module", ["jinja2", "matplotlib.figure", "markdown_it", "latex2mathml.converter"]
)
def test_missing_package_of_a_page_is_named_before_the_work(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith("ensample.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(command, "verify_claims", lambda *arguments: pytest.fail("the work began"))
    package = module.partition(".")[0]
    expected = f"^a page of ensample verify needs {package}: pip install {package.split('_')[0]}"
    with pytest.raises(MissingPackage, match=expected):
        command.verify(VerifyOptions(claims=["chi-square"], html=tmp_path / "a.html"))
