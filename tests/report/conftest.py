"""Results of small studies, run once."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ensample import Results, Study, evaluate, run_study
from ensample.report.evaluation import page
from ensample.report.study import write_report
from evaluation.logs import World

SPHERE = {"family": "sphere", "dim": 3, "arms": 20}
THOMPSON = {"label": "Thompson", "recipe": "ThompsonSampling", "scale": "noise"}
STUDIES: dict[str, dict[str, Any]] = {
    "sizes": {
        "question": "Does a larger ensemble hurt?",
        "horizon": 120,
        "runs": 12,
        "problem": SPHERE,
        "policy": [
            {
                "label": "ES",
                "recipe": "EnsembleSampling",
                "size": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
                "scale": "noise",
            },
            THOMPSON,
            {"label": "Theorem 1", "recipe": "EnsembleSampling", "theorem": True},
        ],
    },
    "grid": {
        "horizon": [40, 80, 160],
        "runs": 12,
        "problem": SPHERE | {"dim": [2, 3, 4]},
        "policy": [THOMPSON, {"recipe": "LinUCB", "radius": "noise"}],
        "baseline": "LinUCB",
    },
    "members": {
        "horizon": 60,
        "runs": 4,
        "problem": [
            SPHERE
            | {
                "noise": [
                    {"kind": kind, "scale": 0.3} for kind in ("GaussianNoise", "RademacherNoise")
                ]
            },
            {"family": "ball", "dim": 2},
        ],
        "policy": [
            {
                "label": "ES",
                "recipe": "EnsembleSampling",
                "size": 4,
                "member": ["UniformMember", "RoundRobin"],
                "scale": [0.1, 0.3, 1.0],
            },
            {"label": "Thompson", "recipe": "ThompsonSampling", "scale": [0.1, 0.3, 1.0]},
        ],
    },
    "tuned": {
        "horizon": 40,
        "runs": 3,
        "problem": [
            {"family": "sphere", "dim": 3, "arms": 8, "noise": [0.1, 0.3, 1.0, 3.0]},
            {"label": "flat", "family": "two-arms", "gap": 0.0},
        ],
        "policy": [
            {"label": "untuned", "recipe": "LinUCB"},
            {"label": "tuned", "recipe": "ThompsonSampling", "scale": ["0.5 noise", "2 noise"]},
            {"label": "on one", "recipe": "LinUCB", "radius": [1.0], "problems": ["flat"]},
        ],
    },
    "one": {"horizon": 30, "runs": 1, "problem": {"family": "ball", "dim": 2}, "policy": THOMPSON},
    "<script>alert(1)": {
        "question": "Is </p><script>alert('q')</script> & $x_$ shown as it is?",
        "horizon": 30,
        "runs": 3,
        "problem": SPHERE | {"label": "<img src=x onerror=alert(2)>"},
        "policy": [
            THOMPSON | {"label": '"><script>alert(3)</script>'},
            THOMPSON | {"label": "$\\frac{$ ]]> --> &amp;"},
        ],
    },
}


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Finished results by name; the hostile study is called `hostile`."""
    return {
        "hostile" if name.startswith("<") else name: run_study(
            Study(name=name, **about), tmp_path_factory.mktemp("results"), threads=1
        )
        for name, about in STUDIES.items()
    }


@pytest.fixture(scope="session")
def pages(studied: dict[str, Results], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {
        name: write_report(results, folder / f"{name}.html")[0] for name, results in studied.items()
    }
    pages["evaluation"] = folder / "evaluation.html"
    pages["evaluation"].write_text(evaluation_page(), encoding="utf-8")
    return pages


def evaluation_page() -> str:
    """Of a log whose names are hostile."""
    log = World(1).log(400, 2).with_columns(device=pl.lit("<script>alert(1)</script> & $x_$"))
    found = [
        evaluate(log, target, low=0, high=1, segments="device")
        for target in ("uniform", "action:a3")
    ]
    return page(found, "<img src=x onerror=alert(2)>.parquet")
