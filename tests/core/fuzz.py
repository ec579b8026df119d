"""Bad calls of every binding of `ensample._core`.

Each returns or raises TypeError or ValueError, and never faults.

`python tests/core/fuzz.py --calls 1000000` calls all bindings so often in all, in a process, and
says which call ended it.
`make sanitize` runs it on a build with the address sanitizer.
"""

import argparse
import gc
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from core.calls import TABLE, Arguments, call, values_in

GUARD = 32  # items before and after an array that no kernel may write to
SLOW = 20.0  # seconds of a call
MOST_FAULTS = 20
WHOLE = [-1, 0, 1, 2, 7, 1 << 31, -(1 << 31), (1 << 62) + 1, (1 << 63) - 1, -(1 << 63), 1 << 64]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 5e-324, 1e308, -1e308, 1e-300, 0.5]
OTHERS = [None, True, 3, 2.5, "text", b"bytes", (), [1.0, 2.0], {}, object()]
OTHERS += [np.float64(1.0), np.array(1.0), 1j]
DTYPES = ["f8", "f4", ">f8", "i8", "i4", "i2", "u1", "u8", "?", "c16", "O", "U3", "M8[s]", "f8,i4"]
BIT_GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.SFC64]

Change = Callable[[Any, np.random.Generator], Any]


def pick(rng: np.random.Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# --- Changes of one argument ---------------------------------------------------------------------


def resized(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = list(array.shape)
    axis = int(rng.integers(len(shape)))
    size = shape[axis]
    shape[axis] = max(0, pick(rng, [0, 1, 2, size - 1, size + 1, 2 * size, 65]))
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def reshaped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flat = [array.ravel(), array.reshape(-1, 1), array.reshape(1, -1)]
    return pick(rng, [*flat, array[None], array[..., None], array.T])


def restrided(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    twice = np.repeat(np.repeat(array, 2, axis=0), 2, axis=-1)[::2, ...][..., ::2]
    same = np.broadcast_to(array.ravel()[:1], array.shape) if array.size else array
    return pick(rng, [twice, array[::-1], array[..., ::-1], np.asfortranarray(array), same])


def retyped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    dtype = np.dtype(pick(rng, DTYPES))
    with np.errstate(all="ignore"):
        try:
            return array.astype(dtype)
        except Exception:  # some casts are none
            return np.zeros(array.shape, dtype)


def misaligned(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.hasobject:
        return array[..., None]
    padded = np.zeros(array.nbytes + 1, np.uint8)
    moved = padded[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    array = array.copy()
    array.setflags(write=False)
    return array


def other_values(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change one item or all of them.

    The new numbers are outside every range, or one more than the largest.
    """
    array = array.copy()
    if not array.size:
        return array
    where = slice(None) if rng.random() < 0.3 else int(rng.integers(array.size))
    if array.dtype.kind == "f":
        array.flat[where] = pick(rng, FLOATS)
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        value = pick(rng, [*WHOLE, int(array.max()) + 1, int(array.min()) - 1, int(array.flat[0])])
        array.flat[where] = min(max(value, limits.min), limits.max)
    elif array.dtype.kind == "b":
        array.flat[where] = True
    return array


def subclassed(array: np.ndarray, rng: np.random.Generator) -> Any:
    return np.ma.masked_array(array, array != array)


ARRAYS: list[Change] = [resized, reshaped, restrided, retyped, misaligned, read_only, subclassed]
ARRAYS += [resized, other_values, other_values]  # more often than the others


def changed_tuple(value: Any, rng: np.random.Generator) -> Any:
    """Change an item of a tuple; of a named one also remove a field, or the names of its fields."""
    if not value:
        return pick(rng, OTHERS)
    if not hasattr(value, "_fields"):
        place = int(rng.integers(len(value)))
        items = (*value[:place], changed(value[place], rng), *value[place + 1 :])
        return items if rng.random() < 0.9 else items[:-1]
    if rng.random() < 0.1:
        return tuple(value)
    place = int(rng.integers(len(value)))
    fields = list(value)
    fields[place] = changed(fields[place], rng)
    return type(value)(*fields)


def changed_options(options: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Change or remove an option."""
    name = pick(rng, list(options))
    if rng.random() < 0.1:
        return {key: value for key, value in options.items() if key != name}
    return options | {name: changed(options[name], rng)}


def changed(value: Any, rng: np.random.Generator) -> Any:
    if rng.random() < 0.07:
        return pick(rng, OTHERS)
    if isinstance(value, np.ndarray) and value.ndim:
        return pick(rng, ARRAYS)(value, rng)
    if isinstance(value, tuple):
        return changed_tuple(value, rng)
    if isinstance(value, dict) and value:
        return changed_options(value, rng)
    if isinstance(value, np.random.Generator):
        other = np.random.Generator(pick(rng, BIT_GENERATORS)(1))
        return pick(rng, [None, value.bit_generator, np.random, other])
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return pick(rng, [*WHOLE, int(value) + 1, int(value) - 1, float(value)])
    if isinstance(value, float):
        return pick(rng, FLOATS)
    return pick(rng, OTHERS)


def bad_arguments(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    """Return the arguments with one or two of them changed, left out or added.

    Some are still valid.
    """
    arguments = dict(arguments)
    names = list(arguments)
    for _ in range(1 + int(rng.random() < 0.3) if names else 0):
        name = pick(rng, names)
        if rng.random() < 0.01:
            arguments.pop(name, None)
        elif name in arguments:
            arguments[name] = changed(arguments[name], rng)
    return arguments


# --- One call ------------------------------------------------------------------------------------


def guarded(value: Any, guards: list[np.ndarray]) -> Any:
    """Copy arrays into the middle of larger ones, whose ends are known."""
    if isinstance(value, tuple):
        items = [guarded(item, guards) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    plain = (
        type(value) is np.ndarray
        and value.flags.c_contiguous
        and value.flags.aligned
        and not value.dtype.hasobject
    )
    if not plain or not value.flags.writeable or value.dtype.kind not in "fiub":
        return value
    padded = np.empty(value.size + 2 * GUARD, value.dtype)
    padded.view(np.uint8)[:] = 0xA5
    inside = padded[GUARD : GUARD + value.size].reshape(value.shape)
    inside[...] = value
    guards.append(padded)
    return inside


def is_overwritten(padded: np.ndarray) -> bool:
    ends = np.concatenate([padded[:GUARD], padded[padded.size - GUARD :]])
    return bool((ends.view(np.uint8) != 0xA5).any())


def misbehaviour(name: str, seed: int, guard: bool = True) -> str | None:
    """Make a bad call and say what is wrong with what it did, if something is."""
    rng = np.random.default_rng(seed)
    arguments = bad_arguments(TABLE[name](rng), rng)
    guards: list[np.ndarray] = []
    if guard:
        arguments = {name: guarded(value, guards) for name, value in arguments.items()}
    before = [item for item in values_in(arguments) if isinstance(item, tuple)]
    started = time.monotonic()
    try:
        call(name, arguments)
    except (TypeError, ValueError, MemoryError):
        after = [item for item in values_in(arguments) if isinstance(item, tuple)]
        if before != after:
            return "an error, and arrays that have changed"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if any(is_overwritten(padded) for padded in guards):
        return "memory beside an array was written to"
    return "too slow" if time.monotonic() - started > SLOW else None


# --- Very many calls -----------------------------------------------------------------------------


def run_calls(names: list[str], first: int, last: int, place: Path) -> None:
    """Make calls of every binding, and write the number of each to a file before it is made."""
    np.seterr(all="ignore")
    guard, started = not os.environ.get("ENSAMPLE_SANITIZED"), time.monotonic()
    with place.open("r+b") as file, mmap.mmap(file.fileno(), 16) as at:
        for number, name in enumerate(names):
            for seed in range(first if number == 0 else 0, last):
                at[:16] = number.to_bytes(8, "little") + seed.to_bytes(8, "little")
                if found := misbehaviour(name, seed, guard):
                    print(f"FAULT {name} {seed}: {found}", flush=True)
                if seed % 10_000 == 0:
                    gc.collect()
            print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def fuzz(names: list[str], first: int, last: int) -> int:
    """Run calls in a process; go on behind each call that ends it. Return the number of faults."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        place, errors = Path(folder, "at"), Path(folder, "errors")
        while names and faults < MOST_FAULTS:
            place.write_bytes(bytes(8) + first.to_bytes(8, "little"))
            python = [sys.executable, *(["-S"] if sys.flags.no_site else [])]
            asked = ["--place", str(place), "--first", str(first), "--last", str(last), *names]
            with errors.open("w") as said:
                process = subprocess.Popen(
                    [*python, __file__, *asked], stdout=subprocess.PIPE, stderr=said, text=True
                )
                for line in process.stdout or ():
                    print(line, end="", flush=True)
                    faults += line.startswith("FAULT")
            code = process.wait()
            if code == 0:
                return faults
            text, at = errors.read_text(errors="replace"), place.read_bytes()
            number, seed = int.from_bytes(at[:8], "little"), int.from_bytes(at[8:], "little")
            if code == 1 and "Sanitizer" not in text and "runtime error:" not in text:
                raise RuntimeError(text)  # of this file, not of the core
            print(
                f"FAULT {names[number]} {seed}: the process ended with {code}\n{text[-3000:]}",
                flush=True,
            )
            faults, names, first = faults + 1, names[number:], seed + 1
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of bindings; all of them if none is given")
    parser.add_argument("--calls", type=int, default=1_000_000, help="of all bindings together")
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first call, to make a fault again"
    )
    parser.add_argument("--last", type=int, help="the seed after the last one")
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.names or sorted(TABLE)
    last = given.last or given.first + -(-given.calls // len(names))
    if given.place:
        return run_calls(names, given.first, last, given.place)
    faults = fuzz(names, given.first, last)
    print(
        f"{faults} faults in {(last - given.first) * len(names):,} calls of {len(names)} bindings"
    )
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
