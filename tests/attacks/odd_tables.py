"""Study files that nobody would write.

A good one with a few things wrong, or bytes that are no TOML at all.
"""

import copy
import json
import random
from typing import Any


class Raw(str):
    """TOML that stands as it is.

    Dates, numbers too long for Python, and what is nested deeper than Python can follow.
    """


BASE: dict[str, Any] = {
    "name": "odd",
    "horizon": [3, 5],
    "runs": 2,
    "seed": 1,
    "checkpoints": 4,
    "evaluation": "auto",
    "baseline": "TS",
    "question": "Does it stand?",
    "problem": [
        {"label": "p", "family": "sphere", "dim": [2, 3], "arms": 4, "noise": 0.5},
        {
            "label": "q",
            "family": "two-arms",
            "horizon": 4,
            "noise": {"kind": "RademacherNoise", "scale": 1.0},
        },
    ],
    "policy": [
        {
            "label": "ES",
            "recipe": "EnsembleSampling",
            "size": [1, 2],
            "reward": {"kind": "Gaussian", "scale": "noise"},
        },
        {"label": "TS", "recipe": "ThompsonSampling", "scale": "0.5 noise", "problems": ["p", "q"]},
        {"label": "G", "recipe": "Greedy", "regularization": 2.0},
    ],
    "published": [
        {"policy": "TS", "problem": "q", "value": 3.0, "standard_error": 0.5, "source": "nobody"}
    ],
    "scales": {"paper": {"runs": 3, "problem": {"dim": [2]}}},
}
SMALL = [0, 1, 2, 3, -1, True, False, 0.5, 1.5, -0.0]
LARGE = [2**31 - 1, 2**31, 2**63, 10**30, -(10**30), 10**9, 1e308, 5e-324, 1e16]
WORDS = ["", " ", "none", "noise", "2 noise", "nan noise", "1e400 noise", "-1 radius"]
WORDS += ["inf radius", " noise", "noise noise", "auto", "paper", "p", "ES", "sphere", "ball"]
WORDS += ["contextual", "trap", "kveton", "Gaussian", "UniformMember", "RoundRobin", "LinUCB"]
WORDS += ["PerturbedHistory", "EpsilonGreedy", "SharpEnsembleSampling", "InformationDirected"]
WORDS += ["EnsembleSampling", "x" * 5000, "\0", "\x1b[31mred\x1b[0m", "\r\n", "\u202egnp", "=1+1"]
WORDS += ["@x", "../..", ".", "/", "é\u0301", "🎲", "\ue000"]
ODD = [Raw("nan"), Raw("inf"), Raw("-inf"), Raw("1979-05-27"), Raw("07:32:00")]
ODD += [Raw("1979-05-27T07:32:00Z"), Raw("0x" + "f" * 6000), Raw("9" * 6000)]
ODD += [Raw("[" * 1000 + "]" * 1000), Raw("{a=" * 1000 + "1" + "}" * 1000)]
ODD += [Raw("[" * 60 + "1" + "]" * 60), [], [[]], {}, [1, "a"], [[1], [2]], [{}]]
ODD += [{"kind": "Gaussian"}, {"kind": []}, {"kind": {}}, {"kind": 3}, {"": 1}]
ODD += [{"kind": "CenteredBinomial", "trials": 3}]
ODD += [{"kind": "HeteroscedasticNoise", "low": 2, "high": 1}, {"kind": "StickyMember"}]
ODD += [["noise", "2 noise"], ["RoundRobin", "UniformMember"], list(range(1, 300)), [0.1, 0.1]]
ODD += [[1, 1.0, True], ["1", 1]]
KEYS = ["", " ", "name", "self", "cls", "kind", "label", "problems", "setting", "theorem"]
KEYS += ["delta", "scale", "size", "member", "__class__", "dim", "arms", "noise", "family"]
KEYS += ["recipe", "horizon", "initial", "evaluation", "source", "text", "cells", "\x1b[2J", "\0"]
KEYS += ["k" * 2000, "a.b", "a\nb", "🎲", "problem", "policy", "published", "scales", "measure"]
KEYS += ["runs", "radius"]


def odd_file(rng: random.Random) -> bytes:
    """The bytes of a file."""
    table = copy.deepcopy(BASE)
    if rng.random() < 0.7:
        del table["scales"]  # they are read first and would hide what else is wrong
    for _ in range(rng.choice((1, 1, 2, 4))):
        spoil(rng, table)
    content = written(table).encode("utf-8", "surrogatepass")
    return torn(rng, content) if rng.random() < 0.15 else content


def spoil(rng: random.Random, table: dict[str, Any]) -> None:
    """One thing wrong, anywhere."""
    places = list(containers(table))
    place = rng.choice(places)
    key = (
        rng.choice(list(place) if isinstance(place, dict) else range(len(place))) if place else None
    )
    way = rng.choice(
        ("value",) * 9 + ("add", "add", "drop", "rename", "wrap", "wrap", "move", "move", "deep")
    )
    if key is None or way == "add":
        put(place, rng.choice(KEYS), value(rng))
    elif way == "value":
        place[key] = value(rng)
    elif way == "drop":
        del place[key]
    elif way == "rename" and isinstance(place, dict):
        place[rng.choice(KEYS)] = place.pop(key)
    elif way == "wrap":
        place[key] = rng.choice(([place[key]], [place[key], place[key]], {"kind": place[key]}))
    elif way == "deep" and isinstance(place, dict):
        place[Raw(".".join(["a"] * 1000))] = 1
    else:
        put(place, rng.choice(KEYS), copy.deepcopy(rng.choice(places)))


def put(place: Any, key: str, item: Any) -> None:
    if isinstance(place, dict):
        place[key] = item
    else:
        place.append(item)


def value(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(rng.choice((SMALL, LARGE, WORDS, ODD))))


def containers(item: Any) -> Any:
    """Every table and array in it, itself first."""
    if isinstance(item, dict | list):
        yield item
        for inner in item.values() if isinstance(item, dict) else item:
            yield from containers(inner)


def written(table: dict[str, Any]) -> str:
    """As TOML, every value on the line of its key."""
    return "".join(f"{written_key(key)} = {written_value(item)}\n" for key, item in table.items())


def written_key(key: str) -> str:
    return key if isinstance(key, Raw) else json.dumps(key)


def written_value(item: Any) -> str:
    if isinstance(item, dict):
        return (
            "{"
            + ", ".join(
                f"{written_key(key)} = {written_value(inner)}" for key, inner in item.items()
            )
            + "}"
        )
    if isinstance(item, list):
        return "[" + ", ".join(map(written_value, item)) + "]"
    return (
        str(item) if isinstance(item, Raw) else json.dumps(item, ensure_ascii="\x7f" in repr(item))
    )


def torn(rng: random.Random, content: bytes) -> bytes:
    """Bytes changed, lost or doubled."""
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    end = min(end, start + 40)
    middle = rng.choice(
        (b"", rng.randbytes(5), content[start:end] * 2, b"\xff", b"\x00", b"[[", b"= =", b'"""')
    )
    return content[:start] + middle + content[end:]
