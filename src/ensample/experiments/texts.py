"""Ids and other texts that callers give, and ids of our own."""

import secrets
import time
from typing import Any

from ensample.checks import check_label
from ensample.errors import WrongType
from ensample.experiments.decision import NamedDecision


def random_id() -> str:
    """Time and 64 random bits: nobody guesses one, no two are alike, and neighbours in time are neighbours in an index."""
    return f"{time.time_ns() // 1_000:014x}{secrets.token_hex(8)}"


def as_function(argument: str, value: Any, answer: str) -> Any:
    if not callable(value):
        raise WrongType(argument, value, f"a function without arguments that answers with {answer}")
    return value


def as_id(value: object) -> str:
    if isinstance(value, NamedDecision):
        return value.id
    return as_text("id", value)


def as_text(argument: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 1_000:
        raise WrongType(argument, value, "a text of 1 to 1,000 characters")
    check_label(argument, value)
    return str(value)
