"""The scripts in `examples` do what they say."""

import runpy
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_every_script_is_here() -> None:
    names = {"clicks", "own_recipe", "policies", "serve_demo"}  # the last one by `make serve-demo`
    assert {path.stem for path in EXAMPLES.glob("*.py")} == names


def test_phones_are_shown_the_short_headline() -> None:
    assert example("clicks")["main"]()["short"] > 0.6


def test_a_policy_goes_through_a_file() -> None:
    arm, regret = example("policies")["main"]()
    assert 0 <= arm < 20 and regret > 0.0


def test_ones_own_recipe_is_simulated() -> None:
    found = example("own_recipe")["main"](2, 20)
    assert set(found) == {"ours", "bolder", "LinUCB"}
    assert all(0.0 < regret < 40.0 for regret in found.values())
