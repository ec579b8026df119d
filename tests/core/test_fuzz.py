"""Bad calls of every binding: TypeError or ValueError, and never a fault.

`core/fuzz.py` says how many more are made.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from attempts import attempts
from core import calls_simulation
from core.calls import bindings, call, table
from core.fuzz import misbehaviour

CALLS = attempts(150, 20_000)


def test_every_binding_has_valid_calls_in_the_table() -> None:
    """Arguments of a valid call are made by an entry `CALLS["name"]` in a file core/calls_<group>.py."""
    assert sorted(set(bindings()) - set(table())) == []
    assert sorted(set(table()) - set(bindings())) == []


@pytest.mark.parametrize("name", sorted(set(bindings()) & set(table())))
def test_calls_of_the_table_are_valid(name: str) -> None:
    for seed in range(10):
        call(name, table()[name](np.random.default_rng(seed)))


def test_calls_of_simulate_name_every_kernel() -> None:
    text = (Path(__file__).parents[2] / "cpp" / "kernels_simulation.cpp").read_text(
        encoding="utf-8"
    )
    table = re.findall(r'^\s+\{"(\w+)", (?=.*(?:nullptr|stream))', text, re.MULTILINE)
    assert sorted(table) == sorted(
        [*calls_simulation.KERNELS, *calls_simulation.CONTEXTUAL_KERNELS]
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(bindings()) & set(table())))
def test_bad_calls_do_no_harm(name: str) -> None:
    faults = {seed: found for seed in range(CALLS) if (found := misbehaviour(name, seed))}
    assert faults == {}
