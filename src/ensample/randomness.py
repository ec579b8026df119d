"""Random numbers with an address: a pure function of (seed, stream, index).

A live policy never walks along a generator. What it draws in round t it can draw again at any time
and in any order, so what it learns is a fold of its log and nothing about a generator needs saving.

An address is a jump of NumPy's PCG64DXSM: as `PCG64DXSM.jumped`, index i lies i times 2^128 divided
by the golden ratio along the stream's cycle of 2^128 numbers, which keeps the first n indices more
than 2^126 / n numbers apart. (Philox, whose counter is an address by itself, takes 12 ns for a
normal where this takes 10: and that is half of a large ensemble's round.)
"""

import hashlib
import secrets
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from ensample import _core
from ensample.checks import whole
from ensample.types import FloatArray, Shape

PERIOD = 1 << 128
JUMP = 0x9E3779B97F4A7C15F39CC0605CEDC835  # odd, next to 2^128 / golden ratio
UNIFORMS = 1024  # uniforms drawn together: moving the generator costs more than drawing one
SEED_BITS = 53  # whole numbers that JSON readers with doubles only keep exactly


def drawn_seed() -> int:
    """Draw a seed below 2^53 from the entropy of the operating system."""
    return secrets.randbits(SEED_BITS)


def seed_of_stream(seed: int, stream: str) -> int:
    """Return the seed of a named stream. Streams of different names are independent.

    >>> seed_of_stream(0, "news") == seed_of_stream(0, "shop")
    False
    """
    digest = hashlib.sha256(f"{seed} {stream}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:16], "little")


class Stream(IntEnum):
    """Purposes of random numbers. Streams have independent starts and increments of their own."""

    INITIAL = 1
    PERTURBATION = 2
    MEMBER = 3
    FADING = 4
    MIXTURE = 5
    REPLAY = 6
    RESERVOIR = 7
    SAMPLE = 8


class Origins(dict[Stream, Any]):
    """First states of a seed's streams, computed on first use: 10 us each, and few are needed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def __missing__(self, stream: Stream) -> Any:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(Stream(stream),))
        self[stream] = found = np.random.PCG64DXSM(sequence).state
        return found


class Address:
    """The random numbers of one seed.

    >>> address = Address(0)
    >>> first = address.generator(Stream.PERTURBATION, 7).random()
    >>> other = address.generator(Stream.PERTURBATION, 8).random()
    >>> first == address.generator(Stream.PERTURBATION, 7).random() != other
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = whole("seed", seed, 0)
        self._origins = Origins(self.seed)
        self._bits = np.random.PCG64DXSM(0)
        self._generator = np.random.Generator(self._bits)
        # Uniforms from an index on, replaced in one step, since Ctrl-C may come.
        self._drawn: tuple[int, list[float]] = 0, []

    def generator(self, stream: Stream, index: int) -> np.random.Generator:
        """The one generator, moved to (stream, index): draw from it before the next call."""
        self._bits.state = self._origins[stream]
        self._bits.advance(index * JUMP % PERIOD)
        return self._generator

    def normals(self, index: int, shape: Shape, *streams: Stream) -> list[FloatArray]:
        """Return standard normals of some streams at an index, as `generator` would draw them."""
        bits, found = self._bits, []
        for stream in streams:
            bits.state = self._origins[stream]
            bits.advance(index * JUMP % PERIOD)
            draws = np.empty(shape)
            with bits.lock:
                _core.draw_normal(self._generator, draws.reshape(-1))
            found.append(draws)
        return found

    def uniform(self, index: int) -> float:
        """Number `index` of the MEMBER stream's uniform numbers in [0, 1)."""
        first, uniforms = self._drawn
        if not first <= index < first + len(uniforms):
            block = index // UNIFORMS
            first = block * UNIFORMS
            uniforms = self.generator(Stream.MEMBER, block).random(UNIFORMS).tolist()
            self._drawn = first, uniforms
        return uniforms[index - first]


class RunStream(IntEnum):
    """Purposes of random numbers in a simulated run."""

    NOISE = 0
    MEMBER = 1
    PERTURBATION = 2
    PROBLEM = 3
    CONTEXT = 4


def run_generator(seed: int, cell: int, replicate: int, stream: RunStream) -> np.random.Generator:
    """Return the generator of one stream of one replicate, the same for all recipes."""
    return np.random.Generator(run_bits(seed, cell, replicate, stream))


@lru_cache(maxsize=1 << 15)
def first_state(seed: int, cell: int, replicate: int, stream: RunStream) -> tuple[int, int]:
    """Return the first state of that generator, cached: NumPy takes 20 us, and recipes share it."""
    found: Any = run_bits(seed, cell, replicate, stream).state["state"]
    return found["state"], found["inc"]


def run_bits(seed: int, cell: int, replicate: int, stream: RunStream) -> np.random.PCG64:
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(cell, replicate, stream)))


class RunGenerators:
    """The random numbers of one simulated run after the other, by what they are for.

    A generator is created when it is first used and then moved from replicate to replicate, by
    first states that are cached for the next recipe. One thread at a time.

    >>> rngs = RunGenerators(seed=0, cell=0).move(7)
    >>> rngs.noise.random() == run_generator(0, 0, 7, RunStream.NOISE).random()
    True
    """

    def __init__(self, seed: int, cell: int) -> None:
        self.seed, self.cell, self.replicate = seed, cell, 0
        self._generators: dict[RunStream, np.random.Generator] = {}
        self._begun: set[RunStream] = set()  # those that are at this replicate

    def move(self, replicate: int) -> "RunGenerators":
        """To the beginning of a replicate, also of the one it is at."""
        self.replicate = replicate
        self._begun.clear()
        return self

    def generator(self, stream: RunStream) -> np.random.Generator:
        """One stream of the replicate, going on where it was left."""
        if stream not in self._begun:
            if stream not in self._generators:
                self._generators[stream] = np.random.Generator(np.random.PCG64(0))
            state, increment = first_state(self.seed, self.cell, self.replicate, stream)
            self._generators[stream].bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": state, "inc": increment},
                "has_uint32": 0,
                "uinteger": 0,
            }
            self._begun.add(stream)
        return self._generators[stream]

    @property
    def noise(self) -> np.random.Generator:
        return self.generator(RunStream.NOISE)

    @property
    def member(self) -> np.random.Generator:
        return self.generator(RunStream.MEMBER)

    @property
    def perturbation(self) -> np.random.Generator:
        return self.generator(RunStream.PERTURBATION)

    @property
    def problem(self) -> np.random.Generator:
        return self.generator(RunStream.PROBLEM)

    @property
    def context(self) -> np.random.Generator:
        return self.generator(RunStream.CONTEXT)
