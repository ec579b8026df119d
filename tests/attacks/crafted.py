"""Snapshot files that nobody saved.

Honest ones with one to three changes, most with a fitting checksum.

    python -m attacks.crafted FIRST LAST FOLDER

loads mutants one after the other and plays on with those that load. It prints the number of each
before it and a line of JSON after it, so that who started it knows which one ended it.
"""

import hashlib
import json
import math
import resource
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from conformance.policies import ARMS, EVERY, MIXING, RECIPES, offered, play, reward

MEMORY = 12 << 30  # bytes of addresses; a policy of these tests takes a few kilobytes
BYTES = {"F64": 8, "F32": 4, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1, "F8_E4M3": 1}
NUMPY = {"F64": np.float64, "I64": np.int64, "BOOL": np.uint8}
NAMES = {"F64": "float64", "F32": "float32", "I64": "int64", "I32": "int32", "U8": "uint8"}
NAMES |= {"BOOL": "bool"}
ODD = {
    "F64": [math.nan, math.inf, -math.inf, 0.0, -1.0, 0.5, 1e300, -1e300, 5e-324, 1e101],
    "I64": [-5, -1, 0, 1, 7, 12, 25, 999, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63)],
    "BOOL": [0, 1, 2, 255],
}
ODD_JSON: list[Any] = [None, True, 0, -1, 3, 999, 1 << 40, 1 << 63, 10**400, 0.5, -0.5, 1e308]
ODD_JSON += ["", "own", "\ud800", "EnsembleSampling", [], [[]], {}, {"own": "x"}, math.nan]
ODD_JSON += [{"kind": "Gaussian"}, {"kind": ["Gaussian"]}, {"kind": "RoundRobin"}, math.inf]
ODD_SHAPES: list[Any] = [
    [],
    [0],
    [-1],
    ["7"],
    "7",
    None,
    [0, 1 << 62],
    [1 << 32, 1 << 32],
    [1] * 40,
]

Random = np.random.Generator


class Mutant:
    """A snapshot in its parts: arrays as [type, shape, bytes], metadata, and the description."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        self.metadata: dict[str, Any] = header.pop("__metadata__")
        self.content: Any = json.loads(self.metadata["content"])
        self.arrays: dict[str, list[Any]] = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            data = bytearray(content[8 + length :][begin:end])
            self.arrays[name] = [entry["dtype"], entry["shape"], data]
        self.edits: list[Callable[[dict[str, Any]], None]] = []  # of the header
        self.raw: list[Callable[[bytes], bytes]] = []  # of the file

    def values(self, name: str) -> np.ndarray | None:
        """Return an array's numbers, which may be changed; None where there are none."""
        kind, _, data = self.arrays[name]
        if kind not in NUMPY or len(data) == 0 or len(data) % BYTES[kind]:
            return None
        return np.frombuffer(data, NUMPY[kind])

    def file(self) -> bytes:
        """Return the file as somebody would write it who knows how to compute a checksum."""
        described = isinstance(self.content, str)
        text = self.content if described else json.dumps(self.content, sort_keys=True)
        self.metadata |= {"content": text, "checksum": self.checksum(text)}
        header: dict[str, Any] = {"__metadata__": self.metadata}
        data = b""
        for name, (kind, shape, values) in self.arrays.items():
            offsets = [len(data), len(data) + len(values)]
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": offsets}
            data += values
        for edit in self.edits:
            edit(header)
        start = json.dumps(header).encode()
        whole = struct.pack("<Q", len(start)) + start + data
        for change in self.raw:
            whole = change(whole)
        return whole

    def checksum(self, text: str) -> str:
        digest = hashlib.sha256(text.encode(errors="surrogatepass"))
        for name in sorted(self.arrays):
            kind, shape, data = self.arrays[name]
            shape = tuple(shape) if isinstance(shape, list) else shape
            words = f"{name} {NAMES.get(kind, kind)} {shape}"
            digest.update(words.encode(errors="surrogatepass") + bytes(data))
        return digest.hexdigest()


@cache
def base(number: int) -> bytes:
    """Return an honest snapshot, with late rewards, open decisions and arms of a round's own."""
    recipe, arms = EVERY[number]
    policy = RECIPES[recipe].start(ARMS[arms](), seed=number)
    play(policy, 20)
    waiting = [policy.decide(offered(policy, t)) for t in range(20, 25)]
    policy.update(waiting[3], 0.5)
    if arms == "finite" and recipe in MIXING:
        policy.decide(np.eye(3))
        policy.update([0.1, 0.2, 0.3], 1.0)
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "base")
        return (Path(folder) / "base").read_bytes()


def mutated(number: int) -> tuple[str, bytes]:
    """Return what was done to which base, and the file, of mutant `number`: always the same."""
    rng = np.random.default_rng([9, number])
    which = number % len(EVERY)
    mutant, done = Mutant(base(which)), []
    for _ in range(1 + int(rng.choice(3, p=[0.7, 0.2, 0.1]))):
        change = CHANGES[rng.integers(len(CHANGES))]
        change(mutant, rng)
        done.append(change.__name__)
    return f"{EVERY[which]}: {', '.join(done)}", mutant.file()


def pick(rng: Random, items: Any) -> Any:
    return (items := list(items))[rng.integers(len(items))]


def any_array(mutant: Mutant, rng: Random) -> str:
    """Return the name of an array, of the learned state in half of the cases."""
    names = [name for name in mutant.arrays if mutant.arrays[name][2]]
    state = [name for name in names if name.startswith("state.")]
    return pick(rng, state if state and rng.random() < 0.5 else names or mutant.arrays)


def odd_entry(mutant: Mutant, rng: Random) -> None:
    name = any_array(mutant, rng)
    values = mutant.values(name)
    if values is not None:
        place = ... if rng.random() < 0.1 else rng.integers(values.size)
        values[place] = pick(rng, ODD[mutant.arrays[name][0]])


def other_entry(mutant: Mutant, rng: Random) -> None:
    """Copy a number from elsewhere, or change it a little."""
    one, other = (mutant.values(any_array(mutant, rng)) for _ in range(2))
    if one is not None and other is not None and one.dtype == other.dtype:
        one[rng.integers(one.size)] = other[rng.integers(other.size)]
    elif one is not None and one.dtype != np.uint8:
        one[rng.integers(one.size)] += pick(rng, [1, -1])


def flipped_bytes(mutant: Mutant, rng: Random) -> None:
    data = mutant.arrays[any_array(mutant, rng)][2]
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        data[rng.integers(len(data))] ^= int(rng.integers(1, 256))


def other_type(mutant: Mutant, rng: Random) -> None:
    array = mutant.arrays[any_array(mutant, rng)]
    array[0] = pick(rng, BYTES)
    if rng.random() < 0.5:
        array[1] = [len(array[2]) // BYTES[array[0]]]


def other_shape(mutant: Mutant, rng: Random) -> None:
    array = mutant.arrays[any_array(mutant, rng)]
    count = len(array[2]) // BYTES[array[0]]
    array[1] = pick(rng, [*ODD_SHAPES, [count], [1, count], [count, 1], [2, count // 2]])


def other_length(mutant: Mutant, rng: Random) -> None:
    """Add or drop rows, with shape and bytes to match."""
    kind, shape, data = array = mutant.arrays[any_array(mutant, rng)]
    if isinstance(shape, list) and shape and all(type(n) is int and n >= 0 for n in shape):
        shape = [max(0, shape[0] + pick(rng, [-1, 1, 5, -shape[0]])), *shape[1:]]
        size = math.prod(shape) * BYTES[kind]
        array[1], array[2] = shape, bytearray((bytes(data) + bytes(size))[:size])


def other_arrays(mutant: Mutant, rng: Random) -> None:
    """Drop an array, add one, or exchange two."""
    one, other = any_array(mutant, rng), any_array(mutant, rng)
    match rng.integers(3):
        case 0 if len(mutant.arrays) > 1:
            del mutant.arrays[one]
        case 1:
            name = pick(rng, ["", "x", "state.x", "log.x", "arms.dim", "\ud800", "a" * 9999])
            mutant.arrays.setdefault(name, ["F64", [2], bytearray(16)])
        case _:
            mutant.arrays[one], mutant.arrays[other] = mutant.arrays[other], mutant.arrays[one]


def header(mutant: Mutant, rng: Random) -> None:
    """Change an entry of the header: its type, shape, place, or all of it."""
    name = pick(rng, ["__metadata__", any_array(mutant, rng)])
    fields = ("version", "content", "checksum") if name[0] == "_" else ("dtype", "data_offsets")
    field, odd = pick(rng, fields), pick(rng, [*ODD_JSON, [0, 8], [8, 0], [0, 1 << 63], "BF16"])
    drop, replace = rng.random() < 0.2, rng.random() < 0.2

    def edit(entries: dict[str, Any]) -> None:
        if replace or not isinstance(entries.get(name), dict):
            entries[name] = odd
        elif drop:
            entries[name].pop(field, None)
        else:
            entries[name][field] = odd

    mutant.edits.append(edit)


def file_bytes(mutant: Mutant, rng: Random) -> None:
    """Damage the file: the checksum does not know of it."""
    length = struct.pack("<Q", pick(rng, [0, 7, 10**8, 10**15, (1 << 64) - 1]))
    share, mask = rng.random(), bytes([rng.integers(1, 256)])
    ways: list[Callable[[bytes], bytes]] = [
        lambda whole: length + whole[8:],
        lambda whole: whole[: int(share * len(whole))],
        lambda whole: whole + mask * 9,
        lambda whole: whole[: (at := int(share * len(whole)))] + mask + whole[at + 1 :],
        lambda whole: struct.pack("<Q", 100_000) + b"[" * 100_000,
    ]
    mutant.raw.append(pick(rng, ways))


def description(mutant: Mutant, rng: Random) -> None:
    """Change, add or drop a value of recipe, arms, seed, round or version."""
    if not isinstance(mutant.content, dict):
        return
    parts = [part for part in ("recipe", "arms") if isinstance(mutant.content.get(part), dict)]
    parent = pick(rng, [mutant.content, *(mutant.content[part] for part in parts)])
    key = pick(rng, [*parent, "more"])
    if rng.random() < 0.2:
        parent.pop(key, None)
    else:
        parent[key] = pick(rng, [*ODD_JSON, "UnitBall", "LinUCB", "Setting", 13, 1 << 30])


def description_text(mutant: Mutant, rng: Random) -> None:
    text = json.dumps(mutant.content)
    ways = ["", "null", "{", text + "x", text.replace("0.5", "NaN"), text.replace("0.5", "1e999")]
    ways += [
        "[" * 100_000,
        text.replace("0.5", "9" * 5000),
        text.replace('"seed"', '"seed": 1, "seed"'),
    ]
    mutant.content = pick(rng, ways)


CHANGES: list[Callable[[Mutant, Random], None]] = [
    *(odd_entry, odd_entry, odd_entry, other_entry, other_entry, flipped_bytes),
    *(other_type, other_shape, other_length, other_arrays, header, header, file_bytes),
    *(description, description, description_text),
]


def main(first: int, last: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, last):
        changes, content = mutated(number)
        (folder / "mutant").write_bytes(content)
        print(number, flush=True)
        outcome = judged(folder / "mutant", EVERY[number % len(EVERY)][1])
        print(json.dumps({"changes": changes, "outcome": outcome}), flush=True)


def judged(path: Path, arms: str) -> str:
    """Return "refused", "loads", or what is wrong."""
    given = ARMS[arms]() if arms == "oracle" else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # looking at a file warns of nothing
            policy = es.load(path, arms=given)
    except es.SnapshotError:
        return "refused"
    except es.InvalidArgument as error:  # of arms that were handed in
        return "refused" if given is not None and error.argument == "arms" else f"load: {error!r}"
    except BaseException as error:
        return f"load: {type(error).__name__}: {error}"[:300]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of overflow in numbers that are absurd and believed
            go_on(policy)
    except es.EnsampleError:
        return "loads"  # and refuses what no number can come of
    except BaseException:
        return "after load: " + traceback.format_exc(limit=-3)[-600:]
    return "loads"


def go_on(policy: es.Policy) -> None:
    for decision in policy.open_decisions:
        policy.update(decision, 0.25)
    policy.votes()
    for t in range(5):
        decision = policy.decide(offered(policy, t))
        policy.update(decision, reward(policy, t, decision))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
