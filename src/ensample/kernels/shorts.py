"""Vectors of whole numbers of 16 bits that stay in registers: 64 arms at once, two of their codes to a byte.

Sums may wrap around on the way: they are right in the end if the end has room for them. Written as `lanes` is, with llvmlite
and numba's own code generator: checked with numba 0.61 to 0.68.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import models, register_model

from ensample.kernels.lanes import INDEX, Typed, address, operation

__all__ = ["TILE", "keep_shorts", "largest_short", "plus_codes", "shorts_of"]

TILE = 64
"""Arms that are looked at together."""

SHORT = ir.IntType(16)
VECTOR, BYTES = ir.VectorType(SHORT, TILE), ir.VectorType(ir.IntType(8), TILE)


class Shorts(types.Type):
    """The numba type of TILE whole numbers of 16 bits."""

    def __init__(self) -> None:
        super().__init__(name=f"Shorts({TILE})")


@register_model(Shorts)
class ShortsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Shorts) -> None:
        super().__init__(manager, kind, VECTOR)  # type: ignore[no-untyped-call]


SHORTS = Shorts()


def spread(builder: Any, value: Any) -> Any:
    """A vector with `value` in every place."""
    blank = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(blank, value, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(first, blank, ir.Constant(ir.VectorType(INDEX, TILE), [0] * TILE))


@operation
def shorts_of(typing: Any, value: Any) -> Typed:
    """`value` in every place."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread(builder, args[0])

    return SHORTS(types.int16), code


@operation
def plus_codes(typing: Any, shorts: Any, codes: Any, start: Any, weight: Any, other: Any) -> Typed:
    """shorts + weight * (the lower half of each byte) + other * (its upper half); the bytes are TILE from `start` on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        read = builder.load(address(context, builder, codes, args[1], args[2], BYTES), align=1)
        pairs = builder.zext(read, VECTOR)
        lower = builder.and_(pairs, ir.Constant(VECTOR, [15] * TILE))
        upper = builder.lshr(pairs, ir.Constant(VECTOR, [4] * TILE))
        total = builder.add(args[0], builder.mul(lower, spread(builder, args[3])))
        return builder.add(total, builder.mul(upper, spread(builder, args[4])))

    return shorts(shorts, codes, types.intp, types.int16, types.int16), code


@operation
def largest_short(typing: Any, shorts: Any) -> Typed:
    """The largest of them: of both halves, then of both halves of that, and so on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found, count = args[0], TILE
        while count > 1:
            count //= 2
            places = ir.VectorType(INDEX, count)
            left = builder.shuffle_vector(found, found, ir.Constant(places, list(range(count))))
            right = builder.shuffle_vector(found, found, ir.Constant(places, list(range(count, 2 * count))))
            found = builder.select(builder.icmp_signed(">", left, right), left, right)
        return builder.extract_element(found, ir.Constant(INDEX, 0))

    return types.int16(shorts), code


@operation
def keep_shorts(typing: Any, shorts: Any, array: Any) -> Typed:
    """array[:TILE] = shorts."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[0], address(context, builder, array, args[1], ir.Constant(ir.IntType(64), 0), VECTOR), align=2)
        return context.get_dummy_value()

    return types.void(shorts, array), code
