"""What decides the numbers of a cell, as plain data: the name of its results, whatever grid it stands in.

A cell's label, its number and the grid around it are words about it. Its definition is all that makes its problem and its
recipe, the horizon, the checkpoints, the evaluation and the seed. Replicate r of a definition is the same in every study,
so results are found by a digest of it and a study can change around them.
"""

import hashlib
import json
from typing import Any

Definition = dict[str, Any]
DIGITS = 20  # of a digest in hexadecimal: a million cells share one with probability 4e-13


def digest(definition: Definition) -> str:
    """
    >>> digest({"horizon": 5, "seed": 0}) == digest({"seed": 0, "horizon": 5})
    True
    """
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:DIGITS]


def differences(before: Definition, now: Definition) -> str:
    """What is not the same, in words.

    >>> differences({"recipe": {"size": 1}, "horizon": 60}, {"recipe": {"size": 1, "scale": 2.0}, "horizon": 61})
    'recipe.scale by default -> 2.0, horizon 60 -> 61'
    >>> differences({"code": {"pair": "47b7"}}, {"code": {"pair": "ec6d"}})
    'pair was edited'
    """
    olds, news = flat(before), flat(now)
    keys = [key for key in (olds | news) if said(olds, key) != said(news, key)]
    keys.sort(key=lambda key: list(now | before).index(key.partition(".")[0]))
    return ", ".join(changed(key, olds, news) for key in keys)


def changed(key: str, olds: dict[str, Any], news: dict[str, Any]) -> str:
    """Of one option; of two digests of a module's source nobody can read more than that they differ."""
    if key.startswith("code.") and key in olds and key in news:
        return f"{key.removeprefix('code.')} was edited"
    return f"{key} {said(olds, key)} -> {said(news, key)}"


def said(values: dict[str, Any], key: str) -> str:
    return json.dumps(values[key]) if key in values else "by default"


def flat(definition: Definition) -> dict[str, Any]:
    """With one entry for each option of the problem and of the recipe."""
    values: dict[str, Any] = {}
    for key, value in definition.items():
        values |= (
            {f"{key}.{option}": inner for option, inner in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
    return values
