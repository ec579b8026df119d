"""JSON from files of unknown hands."""

import json
import math
from typing import Any, NoReturn

from ensample.errors import SnapshotError

DEEPEST = 32  # levels; a snapshot has four


def plain_json(part: str, content: str | bytes) -> Any:
    """What a JSON text says: no name twice in an object, no NaN or infinity, nothing nested beyond use."""
    try:
        text = content if isinstance(content, str) else content.decode()
        found = json.loads(
            text, object_pairs_hook=distinct, parse_constant=no_number, parse_float=finite
        )
    except (ValueError, RecursionError) as error:
        raise SnapshotError.about(
            part, content[:60], f"JSON ({type(error).__name__}: {error})"
        ) from None
    level = [found]
    for _ in range(DEEPEST):
        level = [item for value in level for item in members_of(value)]
    if level:
        raise SnapshotError.about(part, content[:60], f"JSON of at most {DEEPEST} levels")
    return found


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice in one object")
    return found


def no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else no_number(text)


def members_of(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
