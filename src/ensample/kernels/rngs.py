"""The random numbers of a simulated run, as its kernel takes them in."""

from functools import cache
from typing import NamedTuple, cast

import numpy as np
from numba import typeof, types
from numba.extending import typeof_impl
from numpy.random import Generator

__all__ = ["Rngs"]

UNUSED = cast(Generator, None)


class Rngs(NamedTuple):
    """By what they are for: those that its kernel draws, as taking in a generator takes time."""

    noise: Generator
    member: Generator = UNUSED
    perturbation: Generator = UNUSED
    context: Generator = UNUSED


@typeof_impl.register(Rngs)
def type_of(rngs: Rngs, context: object) -> types.Type:
    """As for any tuple, but made once: numba would build it at each call."""
    return type_with(tuple(rng is not UNUSED for rng in rngs))


@cache
def type_with(used: tuple[bool, ...]) -> types.Type:
    generator = typeof(np.random.default_rng(0))
    return types.BaseTuple.from_types([generator if one else types.none for one in used], Rngs)
