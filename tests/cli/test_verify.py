"""`ensample verify`, as a person and as a program sees it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from cli.test_cli import run
from ensample.claims import CLAIMS, Fault, Scale, find, verify
from ensample.cli import verify as command
from ensample.errors import InvalidArgument, MissingPackage


def check(ids: list[str], html: Path | None = None, markdown: Path | None = None) -> None:
    """Run the command in this process."""
    command.verify(ids, Scale.QUICK, html, markdown, None, 0, power=False, list_only=False)


def test_a_table_a_page_and_data(tmp_path: Path) -> None:
    shown = run(
        "verify",
        "chi-square",
        "--json",
        str(tmp_path / "a.json"),
        "--html",
        str(tmp_path / "a.html"),
        width=160,
    )
    assert shown.returncode == 0, shown.stderr
    for text in ("chi-square", "exceeds", "inequality", "<= 1", "holds", "1 holds"):
        assert text in shown.stdout, text
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["scale"] == "quick" and [row["verdict"] for row in answer["claims"]] == ["holds"]
    page = (tmp_path / "a.html").read_text()
    assert "chi-square" in page and "as printed in the paper" in page and "http" not in page, (
        "self-contained"
    )


def test_the_power_of_a_check(tmp_path: Path) -> None:
    """A bound far above what happens says that it was not tested sharply; the smallest fault refuted is found on demand."""
    file = tmp_path / "a.json"
    plain = run("verify", "chi-square", "rademacher-anticoncentration", width=200)
    assert "not tested sharply" in plain.stdout and "power" not in plain.stdout
    shown = run(
        "verify",
        "chi-square",
        "rademacher-anticoncentration",
        "--power",
        "--json",
        str(file),
        width=200,
    )
    assert shown.returncode == 0, shown.stderr
    assert "power: the smallest fault refuted" in shown.stdout and "1.34" in shown.stdout
    [tight, loose] = sorted(
        json.loads(file.read_text())["claims"], key=lambda row: row["sharp"], reverse=True
    )
    assert tight["sharp"] and tight["power"] == [pytest.approx(1.34, rel=0.05)]
    assert tight["faults"] == ["the term 2 sqrt(d x) divided by f"]
    assert not loose["sharp"] and loose["power"] == [
        pytest.approx(25, rel=0.1),
        pytest.approx(3, rel=0.1),
    ]
    assert tight["place"] == "Lemma 13 (Laurent and Massart 2000, Lemma 1)"


def test_without_scipy_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    fault = Fault("f", lambda scale, seed: pytest.fail("the work began"))
    claim = replace(find(["chi-square"])[0], faults=(fault,))
    with pytest.raises(
        MissingPackage, match="an interval or a p-value needs scipy: pip install scipy"
    ):
        verify([claim])


def test_the_list() -> None:
    shown = run("verify", "--list", width=200)
    assert shown.returncode == 0
    for claim in CLAIMS:
        assert claim.id in shown.stdout and claim.section.value in shown.stdout


def test_it_fits_a_narrow_terminal() -> None:
    shown = run("verify", "chi-square", width=80).stdout
    assert max(map(len, shown.splitlines())) <= 80 and "holds" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chi-sqare",), "claim = 'chi-sqare': expected one of"),
        (("chi-square", "--seed", "-1"), "seed = -1: expected"),
        (
            ("chi-square", "--html", "/nowhere/a.html"),
            "html = '/nowhere/a.html': expected a file that can be written",
        ),
        (("chi-square", "--json", "/"), "json = '/': expected a file that can be written"),
        (
            ("chi-square", "--json", "/dev/null"),
            "json = '/dev/null': expected a file that can be written, not a device",
        ),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    shown = run("verify", *arguments)
    assert shown.returncode == 2 and shown.stdout == ""
    assert (
        shown.stderr.startswith("error: ")
        and said in shown.stderr
        and "Traceback" not in shown.stderr
    )


def test_a_place_for_figures_is_looked_at_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("mine")
    with pytest.raises(
        InvalidArgument, match=r"^markdown = .*images/a': expected a directory one can write in"
    ):
        check(["chi-square"], markdown=tmp_path / "a.md")
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_an_unknown_scale_lists_the_scales() -> None:
    shown = run("verify", "--scale", "huge")
    assert shown.returncode == 2 and "quick" in shown.stderr and "paper" in shown.stderr


def test_a_refuted_claim_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [claim] = find(["chi-square"])
    broken = Fault("f", lambda scale, seed: lambda f: claim.check_broken(scale, seed))
    twin = replace(claim, faults=(broken,))
    monkeypatch.setattr(command, "find", lambda ids: (twin,))
    with pytest.raises(typer.Exit) as ending:
        check([])
    assert ending.value.exit_code == 1 and "refuted" in capsys.readouterr().out


def test_time_is_announced() -> None:
    assert "on two cores" in run("verify", "chi-square", "--scale", "standard").stderr
