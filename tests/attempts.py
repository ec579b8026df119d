"""How often an attack is tried: a sample in every run of the tests, all of it in `make attack`."""

import os
from typing import TypeVar

Number = TypeVar("Number")


def attempts(sample: Number, full: Number) -> Number:
    """The number of attempts in this run, or the numbers."""
    return full if os.environ.get("ENSAMPLE_ATTACK") == "full" else sample
