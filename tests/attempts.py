"""How often an attack is tried: a sample in every run of the tests, all of it in `make attack`."""

import os

__all__ = ["attempts"]


def attempts(sample: int, full: int) -> int:
    """The number of attempts in this run."""
    return full if os.environ.get("ENSAMPLE_ATTACK") == "full" else sample
