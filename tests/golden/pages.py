"""What the pages of reports tell, without layout and pictures: headings, sentences, tables and
words in figures."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from ensample.claims import CLAIMS, Curve, Figure, Outcome, Scale, Verdict
from ensample.report.paper import Finding, page
from ensample.report.paper.page import document
from ensample.report.study import write_report
from ensample.version import __version__
from report.conftest import STUDIES, evaluation_page

FIXED = {
    "at": "2026-01-01",
    "command": ["run"],
    "processor": "any",
    "machine": "any",
    "packages": {},
}
FIXED |= {"python": "3.x", "engine": "1 thread", "seconds_per_round": 1e-6}

BLOCKS = {"h1", "h2", "h3", "p", "li", "td", "th", "dt", "dd", "figcaption", "summary", "pre"}
SKIPPED = {"style", "script", "math", "title"}
VOID = {"meta", "link", "br", "img", "hr", "input", "wbr", "mspace"}
NUMBER = re.compile(r"[\d.,\s×\u2212⁰¹²³⁴⁵⁶⁷⁸⁹⁻-]*")


class PageData(HTMLParser):
    """The blocks of a page by section, and the words in its drawings; numbers beside axes are
    layout."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.section = "top"
        self.found: dict[str, Any] = {"top": {"blocks": [], "drawn": []}}
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.section = str(dict(attrs)["id"])
            self.found[self.section] = {"blocks": [], "drawn": []}
        if tag in BLOCKS:
            self.end_block()
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self.end_block()
        while self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "svg" in self.open:
            words = data.strip()
            if not NUMBER.fullmatch(words):
                self.found[self.section]["drawn"].append(words)
        elif not SKIPPED & set(self.open):
            self.words.append(data)

    def end_block(self) -> None:
        said = " ".join("".join(self.words).split()).replace(__version__, "VERSION")
        if said:
            self.found[self.section]["blocks"].append(said)
        self.words = []


def told(text: str) -> dict[str, Any]:
    """The data of a page: by section its blocks in order, and its figures' words in alphabetical
    order."""
    found = PageData(text).found
    for part in found.values():
        part["drawn"] = sorted(set(part["drawn"]))
    return found


def study_page(name: str, folder: Path) -> dict[str, Any]:
    """The page of a study that is run here, with the times and machine of nobody in particular."""
    results = es.run_study(es.Study(name=name, **STUDIES[name]), folder / name, threads=1)
    journal = results.folder / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        line |= {key: value for key, value in FIXED.items() if key in line}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (page,) = write_report(es.Results(results.folder), folder / f"{name}.html")
    return told(page.read_text(encoding="utf-8"))


def curves(figure: Any) -> list[dict[str, Any]]:
    """Each panel of a figure of matplotlib: its names, and where its lines begin and end."""
    return [
        {
            "labels": [
                axes.get_title("left"),
                axes.get_xlabel(),
                axes.get_ylabel(),
                axes.get_xscale(),
            ],
            "lines": [
                [len(line.get_xdata()), *np.asarray(line.get_xydata())[[0, -1]].ravel().tolist()]
                for line in axes.lines
            ],
        }
        for axes in figure.axes
    ]


def figures(folder: Path) -> dict[str, Any]:
    """What `plot` draws of a study, and of the runs of one policy."""
    study = es.Study(name="grid", **STUDIES["grid"])
    results = es.run_study(study, folder / "figures", threads=1)
    runs = es.simulate(es.LinUCB(), es.problem("sphere", dim=3, arms=5), 200, 20)
    return {
        "study": curves(results.plot()),
        "study, log": curves(results.plot(log=True)),
        "runs": curves(runs.plot()),
    }


def claims_page() -> dict[str, Any]:
    """Three findings with words that no claim has."""
    words = {
        "title": "A bound on theta_hat & more",
        "statement": "|theta~|_V <= gamma~_T, with probability 1 - delta",
        "latex": r"\Big(\sum_{t=1}^T |x|^2\Big) \le \sqrt{T}",
        "reference": "lma:a",
        "assumptions": ("lam > 0", "U'Z is subGaussian"),
        "note": "of <b>sums</b>, not of x*",
    }
    claims = [replace(claim, **words) for claim in CLAIMS[:2]]
    curve = Curve("sum, lam = 1", (1.0, 10.0, 100.0), (1.0, 2.0, 5.0))
    bound = Curve("bound", (1.0, 100.0), (2.0, 9.0), bound=True)
    figure = Figure("A figure of beta_T", "T", "beta_T", (curve, bound), log_x=True, log_y=True)
    holds = Outcome(0.25, "<=", 1.0, 0.75, Verdict.HOLDS, 1234, "largest at d = 3", figure=figure)
    unsure = Outcome(0.9, ">=", 0.9, -0.1, Verdict.INCONCLUSIVE, 100, decides=5000)
    refuted = Outcome(3.0, "<=", 1.0, -2.0, Verdict.REFUTED, 1234)
    powers = [tuple(1.5 for _ in claim.faults) for claim in claims]
    found = [
        Finding(claims[0], holds, refuted, 1.5, True, powers[0]),
        Finding(claims[1], unsure, refuted, 70.0, False, powers[1]),
    ]
    kept = told(page(found, Scale.QUICK, 7))
    path = document(found, Scale.QUICK, 7, "paper")
    return kept | {"markdown": path.split("## Notation")[0].split("\n") + path.split("\n")[-40:]}


def pages(folder: Path) -> dict[str, Any]:
    """All that is stored."""
    names = ("sizes", "grid", "members", "tuned", "one")
    studies = {name: study_page(name, folder) for name in names}
    return studies | {
        "evaluation": told(evaluation_page()),
        "claims": claims_page(),
        "figures": figures(folder),
    }
