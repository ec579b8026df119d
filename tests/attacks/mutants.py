"""Snapshot files that nobody saved: honest ones with one to three changes, most with a checksum that fits."""

import functools
import hashlib
import json
import math
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es
from conformance.policies import ARMS, EVERY, MIXING, RECIPES, offered, play

SETTING = es.Setting(dim=3, arms=7, horizon=1000, noise=0.5, norm=1.0)
THEOREMS = {
    "LinPHE": es.PerturbedHistory.from_theorem(SETTING),
    "Thompson sampling": es.ThompsonSampling.from_theorem(SETTING),
    "LinUCB": es.LinUCB.from_theorem(SETTING),
    "ensemble, sticky": es.EnsembleSampling(
        size=12, scale=0.5, member=es.StickyMember(3), reward=es.CenteredBinomial(4, 0.5)
    ),
}
BASES: list[tuple[str, es.Recipe, str]] = [
    *((f"{recipe} on {arms}", RECIPES[recipe], arms) for recipe, arms in EVERY),
    *((f"{name} of a theorem", recipe, "ball") for name, recipe in THEOREMS.items()),
]
TYPES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
}
NUMPY = {"F64": np.float64, "I64": np.int64, "BOOL": np.uint8}
ODD_FLOATS = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    -1.0,
    0.5,
    1.5,
    999.0,
    1e300,
    -1e300,
    5e-324,
    1e101,
    1.0 + 1e-9,
]
ODD_WHOLES = [
    -5,
    -1,
    0,
    1,
    2,
    7,
    12,
    20,
    24,
    25,
    26,
    999,
    1 << 31,
    1 << 40,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
]
ODD_JSON = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        -5,
        2,
        3,
        12,
        999,
        1 << 40,
        1 << 62,
        1 << 63,
        10**400,
        0.5,
        -0.5,
        1e-12,
        1e50,
        1e99,
        1e308,
    ),
    *(
        "",
        "0",
        "nan",
        "own",
        "\ud800",
        "\0",
        "EnsembleSampling",
        "FiniteArms",
        [],
        [1],
        [[]],
        {},
        {"own": "x"},
        {"kind": "Gaussian"},
    ),
    *(
        {"kind": ["Gaussian"]},
        {"kind": "Gaussian", "scale": 1.0},
        {"kind": "Greedy", "regularization": 1.0},
        {"kind": "Sphere"},
    ),
    *({"kind": "RoundRobin"}, {"kind": "UniformMember"}, math.nan, math.inf, -math.inf),
]
KINDS = [
    "UnitBall",
    "FiniteArms",
    "Box",
    "ChangingArms",
    "OracleArms",
    "Greedy",
    "LinUCB",
    "EnsembleSampling",
    "KvetonPHE",
    "Setting",
]


class Mutant:
    """A snapshot in its parts: arrays as [type, shape, bytes], metadata, and text that is put in place of JSON in the end."""

    def __init__(self, content: bytes) -> None:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        self.metadata: dict[str, Any] = header.pop("__metadata__")
        self.arrays: dict[str, list[Any]] = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            data = bytearray(content[8 + length :][begin:end])
            self.arrays[name] = [entry["dtype"], entry["shape"], data]
        self.content: Any = json.loads(self.metadata["content"])
        self.edits: list[
            Callable[[dict[str, Any]], None]
        ] = []  # of the header, when all is put together
        self.texts: list[Callable[[bytes], bytes]] = []  # of the header's text
        self.raw: list[Callable[[bytearray], bytearray]] = []  # of the file

    def values(self, name: str) -> np.ndarray | None:
        """An array's numbers, which may be changed; None where there are none, or not of a type that a snapshot has."""
        kind, _, data = self.arrays[name]
        if kind not in NUMPY or len(data) == 0 or len(data) % TYPES[kind]:
            return None
        return np.frombuffer(data, NUMPY[kind])

    def file(self) -> bytes:
        """As it would be written by somebody who knows how to compute a checksum."""
        header: dict[str, Any] = {"__metadata__": self.metadata}
        data = b""
        for name, (kind, shape, values) in self.arrays.items():
            header[name] = {
                "dtype": kind,
                "shape": shape,
                "data_offsets": [len(data), len(data) + len(values)],
            }
            data += values
        self.metadata["content"] = (
            self.content
            if isinstance(self.content, str)
            else json.dumps(self.content, sort_keys=True)
        )
        self.metadata["checksum"] = self.checksum()
        for edit in self.edits:
            edit(header)
        text = json.dumps(header).encode()
        for change in self.texts:
            text = change(text)
        whole = bytearray(struct.pack("<Q", len(text)) + text + data)
        for flip in self.raw:
            whole = flip(whole)
        return bytes(whole)

    def checksum(self) -> str:
        """What `ensample.policies.snapshot.checksum` computes."""
        names = {
            "F64": "float64",
            "F32": "float32",
            "F16": "float16",
            "I64": "int64",
            "I32": "int32",
            "I16": "int16",
        }
        names |= {"I8": "int8", "U64": "uint64", "U8": "uint8", "BOOL": "bool"}
        digest = hashlib.sha256(self.metadata["content"].encode(errors="surrogatepass"))
        for name in sorted(self.arrays):
            kind, shape, data = self.arrays[name]
            digest.update(
                f"{name} {names.get(kind, kind)} {shape_text(shape)}".encode(errors="surrogatepass")
            )
            digest.update(bytes(data))
        return digest.hexdigest()


def shape_text(shape: Any) -> str:
    return str(tuple(shape)) if isinstance(shape, list) else str(shape)


@functools.cache
def base(number: int) -> bytes:
    """An honest snapshot with a log, rewards out of order, open decisions and, where that is possible, arms of a round."""
    name, recipe, arms = BASES[number]
    policy = recipe.start(ARMS[arms]() if "theorem" not in name else es.UnitBall(3), seed=number)
    play(policy, 20)
    waiting = [policy.decide(offered(policy, t)) for t in range(20, 25)]
    policy.update(waiting[3], 0.5)
    if arms == "finite" and name.split(" on ")[0] in MIXING:
        policy.decide(np.eye(3))
        policy.update([0.1, 0.2, 0.3], 1.0)
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "base")
        return (Path(folder) / "base").read_bytes()


def mutated(number: int) -> tuple[str, bytes]:
    """(what was done to which base, the file) of mutant `number`, always the same."""
    rng = np.random.default_rng([9, number])
    which = number % len(BASES)
    mutant = Mutant(base(which))
    done = []
    for _ in range(1 + int(rng.choice(3, p=[0.7, 0.2, 0.1]))):
        change = CHANGES[rng.integers(len(CHANGES))]
        change(mutant, rng)
        done.append(change.__name__)
    return f"{BASES[which][0]}: {', '.join(done)}", mutant.file()


def pick(rng: np.random.Generator, items: Any) -> Any:
    items = list(items)
    return items[rng.integers(len(items))] if items else None


def any_array(mutant: Mutant, rng: np.random.Generator) -> str:
    """The name of an array, rather one that has numbers."""
    full = [name for name in mutant.arrays if len(mutant.arrays[name][2])]
    return pick(rng, full if full and rng.random() < 0.9 else mutant.arrays)


def flip_array_bytes(mutant: Mutant, rng: np.random.Generator) -> None:
    data = mutant.arrays[any_array(mutant, rng)][2]
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        data[rng.integers(len(data))] ^= int(rng.integers(1, 256))


def odd_entry(mutant: Mutant, rng: np.random.Generator) -> None:
    """One entry, or all of them, becomes a value that is odd in its place."""
    values = mutant.values(any_array(mutant, rng))
    if values is not None:
        odd = pick(rng, ODD_WHOLES) if values.dtype == np.int64 else pick(rng, ODD_FLOATS)
        if values.dtype == np.uint8:
            odd = pick(rng, [0, 1, 2, 255])
        values[... if rng.random() < 0.1 else rng.integers(values.size)] = odd


def odd_record(mutant: Mutant, rng: np.random.Generator) -> None:
    """As `odd_entry`, in the log or the open decisions."""
    name = pick(rng, [name for name in mutant.arrays if name.startswith(("log.", "open."))])
    values = mutant.values(name) if name else None
    if values is not None and values.dtype != np.uint8:
        odd = pick(rng, ODD_WHOLES) if values.dtype == np.int64 else pick(rng, ODD_FLOATS)
        values[rng.integers(values.size)] = odd


def nudged_entry(mutant: Mutant, rng: np.random.Generator) -> None:
    """A number that could nearly be."""
    values = mutant.values(any_array(mutant, rng))
    if values is not None and values.dtype != np.uint8:
        values[rng.integers(values.size)] += pick(
            rng, [1, -1] if values.dtype == np.int64 else [1e-12, 1e-3, -1e-3, 1.0]
        )


def copied_entry(mutant: Mutant, rng: np.random.Generator) -> None:
    """A round twice, two equal rows, an arm in another's place."""
    values = mutant.values(any_array(mutant, rng))
    if values is not None:
        values[rng.integers(values.size)] = values[rng.integers(values.size)]


def entry_of_another(mutant: Mutant, rng: np.random.Generator) -> None:
    """Between arrays of one type: an open round that is in the log, a count for an arm."""
    one, other = mutant.values(any_array(mutant, rng)), mutant.values(any_array(mutant, rng))
    if one is not None and other is not None and one.dtype == other.dtype:
        one[rng.integers(one.size)] = other[rng.integers(other.size)]


def other_type(mutant: Mutant, rng: np.random.Generator) -> None:
    """Another type, with as many bytes as it needs, as it has, or with a shape that makes up for it."""
    array = mutant.arrays[any_array(mutant, rng)]
    _, shape, data = array
    array[0] = pick(rng, TYPES)
    count = math.prod(shape) if sizes(shape) else 0
    way = rng.integers(3)
    if way == 0 and count < 1 << 20:
        array[2] = bytearray((bytes(data) * 8)[: count * TYPES[array[0]]])
    elif way == 1:
        array[1] = [len(data) // TYPES[array[0]]]


def other_shape(mutant: Mutant, rng: np.random.Generator) -> None:
    """The same bytes in another shape."""
    array = mutant.arrays[any_array(mutant, rng)]
    shape, count = array[1], len(array[2]) // TYPES[array[0]]
    odd = [
        [count],
        [1, count],
        [count, 1],
        list(reversed(shape)) if sizes(shape) else [],
        [],
        [0],
        [*shape, 1],
        [2, count // 2],
    ]
    odd += [
        [-1],
        [count, -1],
        [1.0],
        ["7"],
        "7",
        None,
        [0, 10**15],
        [0, 2**62],
        [2**32, 2**32],
        [10**15],
        [True],
        [1] * 40,
    ]
    array[1] = pick(rng, odd)


def other_length(mutant: Mutant, rng: np.random.Generator) -> None:
    """Rows more or less, with shape and bytes to match."""
    array = mutant.arrays[any_array(mutant, rng)]
    kind, shape, data = array
    if not sizes(shape) or not shape:
        return
    axis = int(rng.integers(len(shape)))
    length = pick(rng, [0, 1, shape[axis] - 1, shape[axis] + 1, 2 * shape[axis], 1000])
    shape = [*shape[:axis], max(length, 0), *shape[axis + 1 :]]
    size = math.prod(shape) * TYPES[kind]
    if size < 1 << 22:
        repeated = bytes(data) * (size // max(len(data), 1) + 1) if data else bytes(size)
        array[1], array[2] = shape, bytearray(repeated[:size])


def log_row_more_or_less(mutant: Mutant, rng: np.random.Generator) -> None:
    """In all columns at once, so that the log agrees with itself and not with the state."""
    for name in ("log.rounds", "log.arms", "log.rewards"):
        array = mutant.arrays.get(name)
        if array and len(array[2]) >= 8:
            array[2] = array[2][:-8]
            array[1] = [len(array[2]) // 8]


def missing_array(mutant: Mutant, rng: np.random.Generator) -> None:
    mutant.arrays.pop(any_array(mutant, rng), None) if len(mutant.arrays) > 1 else None


def strange_array(mutant: Mutant, rng: np.random.Generator) -> None:
    name = pick(
        rng,
        [
            "",
            "x",
            "state.x",
            "log.x",
            "open.x",
            "arms.x",
            "arms.dim",
            "arms.features",
            "__metadata",
            "\ud800",
            "a" * 9999,
        ],
    )
    mutant.arrays.setdefault(name, ["F64", [2], bytearray(16)])


def renamed_array(mutant: Mutant, rng: np.random.Generator) -> None:
    one, other = any_array(mutant, rng), any_array(mutant, rng)
    mutant.arrays[one], mutant.arrays[other] = mutant.arrays[other], mutant.arrays[one]


def header_entry(mutant: Mutant, rng: np.random.Generator) -> None:
    """Places that overlap, leave gaps or lie outside; fields too many or too few; no object at all."""
    name, field = any_array(mutant, rng), pick(rng, ["dtype", "shape", "data_offsets"])
    odd = pick(
        rng,
        [
            *ODD_JSON,
            [0, 8],
            [8, 0],
            [-8, 0],
            [0, 1 << 63],
            [0, 10**15],
            [0.0, 8.0],
            "F64",
            "BF16",
            [10**15],
        ],
    )
    way = rng.integers(5)

    def edit(header: dict[str, Any]) -> None:
        entry = header.get(name)
        if not isinstance(entry, dict):
            return
        if way == 0:
            entry.pop(field, None)
        elif way == 1:
            entry["more"] = odd
        elif way == 2:
            header[name] = odd
        elif way == 3 and isinstance(entry.get("data_offsets"), list):
            entry["data_offsets"] = [
                entry["data_offsets"][0] + pick(rng, [-8, 8, 1]),
                *entry["data_offsets"][1:],
            ]
        else:
            entry[field] = odd

    mutant.edits.append(edit)


def header_metadata(mutant: Mutant, rng: np.random.Generator) -> None:
    name = pick(rng, ["format", "version", "content", "checksum", "more"])
    odd = pick(rng, [*ODD_JSON, "2", "1.0", "01", "-1", "٢", "ensample policy"])

    def edit(header: dict[str, Any]) -> None:
        metadata = header.get("__metadata__")
        if rng.random() < 0.2 or not isinstance(metadata, dict):
            header["__metadata__"] = odd
        elif rng.random() < 0.3:
            metadata.pop(name, None)
        else:
            metadata[name] = odd

    mutant.edits.append(edit)


def header_text(mutant: Mutant, rng: np.random.Generator) -> None:
    """JSON that is not, or is too much."""
    first = next(iter(mutant.arrays), "x")
    ways: list[Callable[[bytes], bytes]] = [
        lambda text: b'{"a":' * 100_000 + text + b"}" * 100_000,
        lambda text: b"[" * 100_000,
        lambda text: b'{"__metadata__":{"format":' + b"[" * 900 + b"]" * 900 + b"}}",
        lambda text: text[:-1] + b',"x":NaN}',
        lambda text: text[:-1] + b',"x":' + b"9" * 5000 + b"}",
        lambda text: text[:-1] + b"," + json.dumps(first).encode() + b":{}}",
        lambda text: b"\xff" + text,
        lambda text: text + b" " * 7,
        lambda text: text + b"{}",
        lambda text: b"",
        lambda text: b"null",
        lambda text: text.decode(errors="replace").encode("utf-16"),
    ]
    mutant.texts.append(pick(rng, ways))


def header_length(mutant: Mutant, rng: np.random.Generator) -> None:
    odd = pick(rng, [0, 1, 7, 8, 100, 10**8, 10**8 + 1, 10**15, 1 << 63, (1 << 64) - 1])
    mutant.raw.append(lambda whole: bytearray(struct.pack("<Q", odd)) + whole[8:])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything in a JSON value."""
    if not isinstance(value, dict):
        return [path]
    return [path, *(place for key in value for place in places(value[key], (*path, key)))]


def content_value(mutant: Mutant, rng: np.random.Generator) -> None:
    """A value in the description of recipe, arms, seed and round."""
    path = pick(rng, places(mutant.content))
    if not path:
        mutant.content = pick(rng, ODD_JSON)
        return
    parent = mutant.content
    for key in path[:-1]:
        parent = parent[key]
    old = parent[path[-1]]
    odd = [
        *ODD_JSON,
        *(KINDS if isinstance(old, str) else []),
        *([old + 1, old - 1, 2 * old] if isinstance(old, int | float) else []),
    ]
    parent[path[-1]] = pick(rng, odd)


def content_size(mutant: Mutant, rng: np.random.Generator) -> None:
    """A recipe or arms that would take terabytes."""
    if isinstance(mutant.content, dict):
        part, field = pick(rng, [("recipe", "size"), ("arms", "dim")])
        if isinstance(mutant.content.get(part), dict):
            mutant.content[part][field] = pick(rng, [1, 13, 1 << 20, 1 << 30, 1 << 40, 1 << 62])


def content_key(mutant: Mutant, rng: np.random.Generator) -> None:
    """A key too many or too few."""
    path = pick(rng, [path for path in places(mutant.content) if path])
    parent = mutant.content
    for key in path[:-1] if path else ():
        parent = parent[key]
    if path and isinstance(parent, dict):
        if rng.random() < 0.5:
            del parent[path[-1]]
        else:
            parent[pick(rng, ["more", "kind", "own", "size", "__class__"])] = pick(rng, ODD_JSON)


def content_text(mutant: Mutant, rng: np.random.Generator) -> None:
    text = mutant.content if isinstance(mutant.content, str) else json.dumps(mutant.content)
    deep = '{"kind": "Gaussian", "scale": ' * 300
    ways = [
        *(
            "",
            "null",
            "[]",
            "{",
            text + "x",
            text.replace("1.0", "NaN"),
            text.replace("0.5", "-Infinity"),
            text.replace("0.5", "1e999"),
        ),
        *(
            text.replace("0.5", "9" * 5000),
            "[" * 100_000,
            '{"recipe": ' + deep + "1" + "}" * 300 + ', "arms": 1, "seed": 1, "round": 1}',
        ),
        *(
            text.replace('"recipe": {', '"recipe": {"kind": "Greedy", ', 1),
            text.replace('"seed": ', '"seed": 1, "seed": ', 1),
        ),
    ]
    mutant.content = pick(rng, ways)


def cut(mutant: Mutant, rng: np.random.Generator) -> None:
    share = rng.random()
    mutant.raw.append(lambda whole: whole[: int(share * len(whole))])


def extended(mutant: Mutant, rng: np.random.Generator) -> None:
    more = rng.bytes(pick(rng, [1, 8, 1000]))
    mutant.raw.append(lambda whole: whole + bytearray(more))


def flip_file_bytes(mutant: Mutant, rng: np.random.Generator) -> None:
    """Damage: the checksum does not know of it."""
    shares, masks = rng.random(3), rng.integers(1, 256, 3)
    count = int(rng.integers(1, 4))

    def flip(whole: bytearray) -> bytearray:
        for share, mask in zip(shares[:count], masks[:count], strict=True):
            if whole:
                whole[int(share * len(whole))] ^= int(mask)
        return whole

    mutant.raw.append(flip)


def sizes(shape: Any) -> bool:
    return isinstance(shape, list) and all(type(length) is int and length >= 0 for length in shape)


CHANGES: list[Callable[[Mutant, np.random.Generator], None]] = [
    *(
        flip_array_bytes,
        odd_entry,
        odd_entry,
        odd_record,
        odd_record,
        nudged_entry,
        copied_entry,
        entry_of_another,
    ),
    *(
        other_type,
        other_shape,
        other_length,
        log_row_more_or_less,
        missing_array,
        strange_array,
        renamed_array,
    ),
    *(header_entry, header_metadata, header_text, header_length, cut, extended, flip_file_bytes),
    *(content_value, content_value, content_value, content_size, content_key, content_text),
]
