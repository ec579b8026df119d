"""Sums over rows, by tiles of columns that stay in registers while all rows go by: what almost every kernel is made of.

Columns that are left over come first, one at a time, then tiles of 4, 8 and so on up to the widest, which is repeated. Every
column does what the formula says in the order of the rows: the bits are the same whatever the machine's vectors are.

Loops are written out for LLVM: numba would take most of a second to find their types and translate them.

Code is written with llvmlite and with numba's own code generator, which may change: checked with numba 0.61 to 0.68.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import alloca_once_value, for_range, for_range_slice

from ensample.kernels.fused import exact_sum
from ensample.kernels.lanes import DOUBLE, Typed, address, data_of, operation, spread

__all__ = ["add_outer_tiles", "add_square_tiles", "weigh_some_tiles", "weigh_tiles"]

INDEX = ir.IntType(64)


class Vectors(NamedTuple):
    """The arrays of a call, as their elements are loaded and stored: one, or as many as a tile is wide."""

    context: Any
    builder: Any
    kinds: Any
    values: Any

    def size(self, array: int) -> Any:
        """The number of elements."""
        return self._made(array).nitems

    def item(self, array: int, place: Any, element: Any = DOUBLE) -> Any:
        data = data_of(self.context, self.builder, self.kinds[array], self.values[array], element)
        return self.builder.load(self.builder.gep(data, [place]))

    def at(self, array: int, start: Any, count: int) -> Any:
        """Where a tile is."""
        lanes = ir.VectorType(DOUBLE, count)
        return address(self.context, self.builder, self.kinds[array], self.values[array], start, lanes)

    def in_row(self, array: int, row: Any, width: Any, start: Any, count: int) -> Any:
        """Where a row of this width has its part of a tile."""
        return self.at(array, self.builder.add(self.builder.mul(row, width), start), count)

    def load(self, address: Any) -> Any:
        return self.builder.load(address, align=8)

    def store(self, tile: Any, address: Any) -> None:
        self.builder.store(tile, address, align=8)

    def plus_times(self, tile: Any, weight: Any, other: Any) -> Any:
        """tile + weight * other, rounded twice; `weight` is a number."""
        return self.builder.fadd(tile, self.builder.fmul(spread(self.builder, weight, tile.type.count), other))

    def _made(self, array: int) -> Any:
        return self.context.make_array(self.kinds[array])(self.context, self.builder, self.values[array])


def each_tile(builder: Any, width: Any, widest: int, body: Callable[[Any, int], None]) -> None:
    """Write body(start, count) for all tiles of so many columns; `widest` is a power of two, 8 or more."""
    start = builder.and_(width, width.type(3))
    with for_range(builder, start) as single:
        body(single.index, 1)
    count = 4
    while count < widest:
        columns = builder.and_(width, width.type(count))
        with builder.if_then(builder.icmp_unsigned("!=", columns, width.type(0))):
            body(start, count)
        start = builder.add(start, columns)
        count *= 2
    with for_range_slice(builder, start, width, width.type(widest)) as (index, _):
        body(index, widest)


@operation
def weigh_tiles(typing: Any, total: Any, rows: Any, weights: Any, keep: Any) -> Typed:
    """total = sum_i weights[i] rows[i], row after row, added to what there is if `keep`."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = Vectors(context, builder, signature.args[:3], args[:3])
        width, last = vectors.size(0), vectors.size(2)

        def body(start: Any, count: int) -> None:
            place, zero = vectors.at(0, start, count), ir.Constant(ir.VectorType(DOUBLE, count), None)
            tile = alloca_once_value(builder, builder.select(args[3], vectors.load(place), zero))
            with for_range(builder, last) as loop:
                weight, row = vectors.item(2, loop.index), vectors.load(vectors.in_row(1, loop.index, width, start, count))
                builder.store(vectors.plus_times(builder.load(tile), weight, row), tile)
            vectors.store(builder.load(tile), place)

        each_tile(builder, width, 32, body)
        return context.get_dummy_value()

    return types.void(total, rows, weights, types.boolean), code


@operation
def weigh_some_tiles(typing: Any, total: Any, rows: Any, which: Any, weights: Any, last: Any) -> Typed:
    """total += sum_i weights[i] rows[which[i]] for i < last."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = Vectors(context, builder, signature.args[:4], args[:4])
        width = vectors.size(0)

        def body(start: Any, count: int) -> None:
            place = vectors.at(0, start, count)
            tile = alloca_once_value(builder, vectors.load(place))
            with for_range(builder, args[4]) as loop:
                number = vectors.item(2, loop.index, INDEX)
                weight, row = vectors.item(3, loop.index), vectors.load(vectors.in_row(1, number, width, start, count))
                builder.store(vectors.plus_times(builder.load(tile), weight, row), tile)
            vectors.store(builder.load(tile), place)

        each_tile(builder, width, 16, body)
        return context.get_dummy_value()

    return types.void(total, rows, which, weights, types.intp), code


@operation
def add_outer_tiles(typing: Any, matrix: Any, weight: Any, left: Any, right: Any) -> Typed:
    """matrix += (weight left) right'."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = Vectors(context, builder, signature.args, args)
        width, last = vectors.size(3), vectors.size(2)

        def body(start: Any, count: int) -> None:
            tile = vectors.load(vectors.at(3, start, count))
            with for_range(builder, last) as loop:
                place = vectors.in_row(0, loop.index, width, start, count)
                by = builder.fmul(args[1], vectors.item(2, loop.index))
                vectors.store(vectors.plus_times(vectors.load(place), by, tile), place)

        each_tile(builder, width, 16, body)
        return context.get_dummy_value()

    return types.void(matrix, types.float64, left, right), code


@operation
def add_square_tiles(typing: Any, high: Any, low: Any, x: Any) -> Typed:
    """(high, low) += x x' by `exact.add_product`, on machines that fuse."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = Vectors(context, builder, signature.args, args)
        width = vectors.size(2)

        def body(start: Any, count: int) -> None:
            tile = vectors.load(vectors.at(2, start, count))
            with for_range(builder, width) as loop:
                first, rest = (vectors.in_row(array, loop.index, width, start, count) for array in (0, 1))
                weights = spread(builder, vectors.item(2, loop.index), count)
                total, error = exact_sum(builder, vectors.load(first), vectors.load(rest), weights, tile)
                vectors.store(total, first)
                vectors.store(error, rest)

        each_tile(builder, width, 8, body)
        return context.get_dummy_value()

    return types.void(high, low, x), code
