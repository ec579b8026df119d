"""Products of matrices half of whose numbers are 0, as units behind a rectifier and their errors are: zeros are left out.

A row of such a product is a sum of rows of the other matrix, one for each number that is not 0. It stays in registers, and
comes from there through the activation, or as a row of a gradient. Sums have one of few lengths; matrices of weights are copied
to rows of these, in which vectors begin with a cache line, units and errors are read where they are.

Code is written with llvmlite and with numba's own code generator, which may change: checked with numba 0.61 to 0.68. Written
as a kernel, once for each length, it would take a second to compile.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numpy.typing import NDArray

from ensample.kernels.compile import embedded
from ensample.kernels.fused import FUSED, fused_lanes, fuses
from ensample.kernels.lanes import DOUBLE, Typed, data_of, equal_to, lanes_of, load, ones, operation, spread
from ensample.kernels.private import machine
from ensample.types import FloatArray

__all__ = [
    "BITS",
    "LEAST",
    "LONGEST",
    "SPARE",
    "Marks",
    "covering",
    "covering_at",
    "mark",
    "padded",
    "padded_at",
    "raise_live",
    "registered",
    "send_live",
    "weigh_live",
    "weigh_pieces",
]

LENGTHS = 16, 32, 56, 64  # that rows are padded to; 56 is for the usual 50
BITS = 64  # of a word, which has one for each number of a row
SPARE = 24  # numbers that may be read or written after the last row, more than are ever added to one
LEAST = 32  # rows of a product: with fewer, copying the other matrix takes longer than what is left out
FEW = 0.6  # of all numbers: where more are not 0, a product of BLAS takes less time
OVERLAP = 1.25  # numbers in pieces that cover a row, over those of the row, at the most: with more BLAS takes less time


def registered(machine: tuple[Any, ...]) -> int:
    """The longest row of sums that stays in the registers of a machine (triple, name, features), beside a number.

    AVX-512 has 32 for 8 numbers, AVX2 16 for 4. 0 where it was not tried, and for those that do not fuse: BLAS multiplies.
    """
    features = machine[2].split(",") if fuses(machine) else ()
    return 64 if "+avx512f" in features else 56 if "+avx2" in features else 0


LONGEST = registered(machine())
"""Of this one: units of the layers between which zeros are left out."""

Marks = NDArray[np.uint64]
Finish = Callable[[int, Any], None]
WORD, EIGHT = ir.IntType(64), ir.VectorType(DOUBLE, 8)


def padded(width: int) -> int:
    """The least of LENGTHS that is no less; beyond the longest, the width itself."""
    for length in LENGTHS:
        if width <= length:
            return length
    return width


padded_at = embedded(padded)
"""`padded` in kernels."""


def covering(width: int) -> int:
    """The length of pieces that cover a row of any width with the least overlap; 0 where that is too much."""
    found, least = 0, OVERLAP * width
    for length in LENGTHS:
        numbers = (width + length - 1) // length * length
        if length <= min(width, LONGEST) and numbers <= least:
            found, least = length, float(numbers)
    return found


covering_at = embedded(covering)
"""`covering` in kernels."""


@embedded
def mark(values: FloatArray, marks: Marks) -> bool:
    """Which numbers of each row [B, h] are not 0, as bits [B]; and whether these are few.

    Up to 7 numbers after the last are read.
    """
    rows, width = values.shape
    full, found = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width), 0
    for b in range(rows):
        bits = np.uint64(0)
        for k in range(0, width, 8):
            bits |= (equal_to(load(lanes_of(0.0, 8), values, b * width + k), 0.0) ^ np.uint64(255)) << np.uint64(k)
        marks[b] = bits & full
        found += ones(marks[b])
    return found <= FEW * rows * width


@embedded
def raise_live(given: FloatArray, marks: Marks, by: FloatArray, step: int, reached: FloatArray) -> None:
    """reached [B, d] <- max(0, given [B, h] times by[:h], plus by[h]): `by` [.] has rows of `step`, which is d, padded.

    What is written beyond a row is written again with the next one, so there has to be room for SPARE numbers after the last.
    """
    width, d = given.shape[1], reached.shape[1]
    for b in range(given.shape[0]):
        raise_row(marks[b], given, b * width, by, step, width * step, reached, b * d)


@embedded
def send_live(
    errors: FloatArray, marks: Marks, by: FloatArray, step: int, given: FloatArray, further: FloatArray, totals: FloatArray
) -> None:
    """further [B, d] <- errors [B, h] times by, and 0 where `given` [B, d] is; their totals, padded, into `totals`.

    Rows of `by`, and room after the last rows, are as above.
    """
    width, d = errors.shape[1], given.shape[1]
    for i in range(step):
        totals[i] = 0.0
    for b in range(errors.shape[0]):
        send_row(marks[b], errors, b * width, by, step, given, further, b * d, totals)


@embedded
def weigh_live(given: FloatArray, marks: Marks, errors: FloatArray, out: FloatArray, spare: FloatArray) -> None:
    """out [h d] <- given [h, B] times errors [B, d], after which there have to be SPARE numbers to read.

    What is written beyond a row is written again with those after it. The last rows, which would go beyond `out`, come by way
    of `spare`, as long as one is, padded.
    """
    (h, batch), d = given.shape, errors.shape[1]
    length = padded_at(d)
    inside = max(0, h - (length + d - 1) // d + 1)
    for k in range(inside):
        weigh_row(marks[k], given, k * batch, errors, d, length, out, k * d)
    for k in range(inside, h):
        weigh_row(marks[k], given, k * batch, errors, d, length, spare, 0)
        for i in range(d):
            out[k * d + i] = spare[i]


@embedded
def weigh_pieces(given: FloatArray, marks: Marks, rows: FloatArray, begin: int, pieces: FloatArray) -> None:
    """pieces [h, p] <- given [h, B] times so many columns of `rows` [B, d], from `begin` on."""
    batch, (d, length) = given.shape[1], (rows.shape[1], pieces.shape[1])
    first = rows.reshape(-1)[begin:]
    for k in range(given.shape[0]):
        weigh_row(marks[k], given, k * batch, first, d, length, pieces, k * length)


@operation
def raise_row(typing: Any, bits: Any, given: Any, start: Any, by: Any, step: Any, shift: Any, out: Any, place: Any) -> Typed:
    """max(u, 0 u), so that no number stays none, of u, the sum of rows plus what `by` has from `shift` on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(number: int, begin: Any = None) -> Any:
            return part(context, builder, signature.args[number], args[number], begin)

        more, reached = data(3, args[5]), data(6, args[7])

        def finish(chunk: int, total: Any) -> None:
            u = builder.fadd(total, builder.load(chunk_of(builder, more, chunk), align=8))
            least = builder.fmul(u, ir.Constant(EIGHT, [0.0] * 8))
            kept = builder.select(builder.fcmp_ordered(">", least, u), least, u)
            builder.store(kept, chunk_of(builder, reached, chunk), align=8)

        sum_marked(builder, args[0], data(1, args[2]), data(3), args[4], args[4], finish)
        return context.get_dummy_value()

    i = types.intp
    return types.void(types.uint64, given, i, by, i, i, out, i), code


@operation
def send_row(
    typing: Any, bits: Any, errors: Any, start: Any, by: Any, step: Any, given: Any, out: Any, place: Any, totals: Any
) -> Typed:
    """The sum of rows where `given` is above 0, and 0 of it elsewhere; added to `totals`."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(number: int, begin: Any = None) -> Any:
            return part(context, builder, signature.args[number], args[number], begin)

        units, further, sums = data(5, args[7]), data(6, args[7]), data(8)

        def finish(chunk: int, total: Any) -> None:
            unit = builder.load(chunk_of(builder, units, chunk), align=8)
            nothing = builder.fmul(total, ir.Constant(EIGHT, [0.0] * 8))
            passed = builder.select(builder.fcmp_ordered(">", unit, ir.Constant(EIGHT, None)), total, nothing)
            builder.store(passed, chunk_of(builder, further, chunk), align=8)
            place = chunk_of(builder, sums, chunk)
            builder.store(builder.fadd(builder.load(place, align=8), passed), place, align=8)

        sum_marked(builder, args[0], data(1, args[2]), data(3), args[4], args[4], finish)
        return context.get_dummy_value()

    i = types.intp
    return types.void(types.uint64, errors, i, by, i, given, out, i, totals), code


@operation
def weigh_row(typing: Any, bits: Any, given: Any, start: Any, rows: Any, step: Any, length: Any, out: Any, place: Any) -> Typed:
    """The sum of rows, which are of `step`; of each as many numbers are taken as `length` says, one of LENGTHS."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(number: int, begin: Any = None) -> Any:
            return part(context, builder, signature.args[number], args[number], begin)

        reached = data(6, args[7])

        def finish(chunk: int, total: Any) -> None:
            builder.store(total, chunk_of(builder, reached, chunk), align=8)

        sum_marked(builder, args[0], data(1, args[2]), data(3), args[4], args[5], finish)
        return context.get_dummy_value()

    i = types.intp
    return types.void(types.uint64, given, i, rows, i, i, out, i), code


def part(context: Any, builder: Any, kind: Any, array: Any, begin: Any) -> Any:
    """The address of an array, or of its element number `begin`."""
    data = data_of(context, builder, kind, array)
    return data if begin is None else builder.gep(data, [begin])


def chunk_of(builder: Any, data: Any, chunk: int) -> Any:
    """The address of eight numbers."""
    return builder.bitcast(builder.gep(data, [ir.Constant(WORD, 8 * chunk)]), EIGHT.as_pointer())


def sum_marked(builder: Any, bits: Any, numbers: Any, rows: Any, step: Any, length: Any, finish: Finish) -> None:
    """Code for the sum of numbers[k] rows[k] over the bits k, rows being of `step`: for each length that a sum may have."""
    end = builder.append_basic_block("end")
    lengths = builder.switch(length, end)
    for known in LENGTHS:
        builder.position_at_end(builder.append_basic_block(f"length{known}"))
        lengths.add_case(ir.Constant(WORD, known), builder.block)
        for chunk, total in enumerate(chunk_sums(builder, bits, numbers, rows, step, known // 8)):
            finish(chunk, total)
        builder.branch(end)
    builder.position_at_end(end)


def chunk_sums(builder: Any, bits: Any, numbers: Any, rows: Any, step: Any, count: int) -> list[Any]:
    """Code for one length: `count` sums, each in a register, in a loop that takes the lowest bit away until there is none."""
    zero, one, start = ir.Constant(WORD, 0), ir.Constant(WORD, 1), builder.block
    body, done = builder.append_basic_block("bit"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_unsigned("!=", bits, zero), body, done)
    builder.position_at_end(body)
    left, sums = builder.phi(WORD), [builder.phi(EIGHT) for _ in range(count)]
    k = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
    number = spread(builder, builder.load(builder.gep(numbers, [k])), 8)
    row = builder.gep(rows, [builder.mul(k, step)])
    found = [added(builder, sums[c], number, builder.load(chunk_of(builder, row, c), align=8)) for c in range(count)]
    rest = builder.and_(left, builder.sub(left, one))
    builder.cbranch(builder.icmp_unsigned("!=", rest, zero), body, done)
    for value, first, next in (
        (left, bits, rest),
        *((s, ir.Constant(EIGHT, None), f) for s, f in zip(sums, found, strict=True)),
    ):
        value.add_incoming(first, start)
        value.add_incoming(next, body)
    builder.position_at_end(done)
    totals = [builder.phi(EIGHT) for _ in range(count)]
    for value, last in zip(totals, found, strict=True):
        value.add_incoming(ir.Constant(EIGHT, None), start)
        value.add_incoming(last, body)
    return totals


def added(builder: Any, total: Any, number: Any, row: Any) -> Any:
    """total + number * row, rounded once where FUSED."""
    if FUSED:
        return builder.call(fused_lanes(builder.module, EIGHT), [number, row, total])
    return builder.fadd(total, builder.fmul(number, row))
