"""Vectors of doubles that stay in registers, for the loops that a round is made of.

Left to itself LLVM keeps a running sum in memory and goes through each row in a loop of its own, with checks for overlap before
it and single elements after it: half of a round's time. Here a kernel says which elements it handles together. A lane does
what the kernel says in the order that it says it, so the bits are the same whatever the machine's vectors are.

Code is written with llvmlite and with numba's own code generator, which may change: checked with numba 0.61 to 0.68.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

__all__ = [
    "BLOCK",
    "LARGE",
    "equal_to",
    "lanes_of",
    "larger",
    "load",
    "lowest",
    "minus",
    "ones",
    "over_root",
    "plus_times",
    "single",
    "store",
    "times",
    "turn_square",
    "unequal",
    "where_positive",
]

BLOCK = 16
"""Counts that `unequal` compares together."""

LARGE = 1e36
"""A square beyond it is left to doubles: in single precision it may be no number."""

DOUBLE, FLOAT, INDEX = ir.DoubleType(), ir.FloatType(), ir.IntType(32)
Typed = tuple[Any, Callable[..., Any]]


class Lanes(types.Type):
    """The numba type of `count` doubles."""

    def __init__(self, count: int) -> None:
        super().__init__(name=f"Lanes({count})")
        self.count = count


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(DOUBLE, kind.count))  # type: ignore[no-untyped-call]


def operation(emit: Callable[..., Typed]) -> Callable[..., Any]:
    """A function of lanes, arrays and numbers for kernels to call; `emit` gives its type and writes its code."""
    return cast(Callable[..., Any], intrinsic(prefer_literal=True)(emit))


def spread(builder: Any, value: Any, count: int) -> Any:
    """A vector with `value` in every lane."""
    blank = ir.Constant(ir.VectorType(DOUBLE, count), ir.Undefined)
    first = builder.insert_element(blank, value, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(first, blank, ir.Constant(ir.VectorType(INDEX, count), [0] * count))


def data_of(context: Any, builder: Any, kind: Any, array: Any, element: Any = DOUBLE) -> Any:
    """Where the elements of an array are, one after the other: others would be taken for what they are not, in silence."""
    if kind.layout != "C" or context.get_data_type(kind.dtype) != element:
        raise TypingError(f"expected a contiguous array of {element}, not {kind}")
    return context.make_array(kind)(context, builder, array).data


def address(context: Any, builder: Any, kind: Any, array: Any, start: Any, lanes: Any) -> Any:
    """Of some lanes in an array; `start` counts its elements, whatever its shape."""
    data = data_of(context, builder, kind, array, lanes.element)
    return builder.bitcast(builder.gep(data, [start]), lanes.as_pointer())


@operation
def lanes_of(typing: Any, value: Any, count: Any) -> Typed:
    """`count` lanes (a literal number) that all hold `value`."""
    kind = Lanes(count.literal_value)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread(builder, args[0], kind.count)

    return kind(types.float64, count), code


@operation
def load(typing: Any, like: Any, array: Any, start: Any) -> Typed:
    """As many lanes as `like` has."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(address(context, builder, array, args[1], args[2], context.get_value_type(like)), align=8)

    return like(like, array, types.intp), code


@operation
def store(typing: Any, lanes: Any, array: Any, start: Any) -> Typed:
    """array[start:] = lanes, as far as they go."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[0], address(context, builder, array, args[1], args[2], context.get_value_type(lanes)), align=8)
        return context.get_dummy_value()

    return types.void(lanes, array, types.intp), code


@operation
def plus_times(typing: Any, lanes: Any, weight: Any, other: Any) -> Typed:
    """lanes + weight * other, rounded twice; `weight` is a number or lanes."""
    varied = isinstance(weight, Lanes)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights = args[1] if varied else spread(builder, args[1], lanes.count)
        return builder.fadd(args[0], builder.fmul(weights, args[2]))

    return lanes(lanes, lanes if varied else types.float64, lanes), code


@operation
def times(typing: Any, lanes: Any, weight: Any) -> Typed:
    """weight * lanes; `weight` is a number or lanes."""
    varied = isinstance(weight, Lanes)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(args[1] if varied else spread(builder, args[1], lanes.count), args[0])

    return lanes(lanes, lanes if varied else types.float64), code


@operation
def minus(typing: Any, lanes: Any, other: Any) -> Typed:
    """lanes - other."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return lanes(lanes, lanes), code


@operation
def over_root(typing: Any, lanes: Any, squares: Any, shift: Any) -> Typed:
    """lanes / (sqrt(squares) + shift) in single precision, whose roots and quotients take a third of the time of doubles'.

    Both are rounded as IEEE 754 says, so the bits are NumPy's, with float32 for each of the steps. 0 where squares are LARGE.
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half = ir.VectorType(FLOAT, lanes.count)
        take_root = get_or_insert_function(builder.module, ir.FunctionType(half, [half]), f"llvm.sqrt.v{lanes.count}f32")  # type: ignore[no-untyped-call]
        over, under, more = (builder.fptrunc(value, half) for value in (*args[:2], spread(builder, args[2], lanes.count)))
        quotient = builder.fpext(builder.fdiv(over, builder.fadd(builder.call(take_root, [under]), more)), args[0].type)
        large = builder.fcmp_ordered(">", args[1], ir.Constant(args[0].type, [LARGE] * lanes.count))
        return builder.select(large, ir.Constant(args[0].type, None), quotient)

    return lanes(lanes, lanes, types.float64), code


@operation
def where_positive(typing: Any, lanes: Any, one: Any, other: Any) -> Typed:
    """lanes > 0 ? one : other."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], ir.Constant(args[0].type, None)), args[1], args[2])

    return lanes(lanes, lanes, lanes), code


@operation
def turn_square(typing: Any, values: Any, start: Any, step: Any, turned: Any, place: Any, stride: Any) -> Typed:
    """A square of 4 x 4 in a matrix with rows of `step`, from element `start` on, to one with rows of `stride`, turned."""
    four = ir.VectorType(DOUBLE, 4)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def at(kind: Any, given: Any, row: int) -> Any:
            array, start, step = given
            begin = builder.add(start, builder.mul(step, ir.Constant(step.type, row)))
            return address(context, builder, kind, array, begin, four)

        def mixed(one: Any, other: Any, places: list[int]) -> Any:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(INDEX, 4), places))

        a, b, c, d = (builder.load(at(values, args[:3], row), align=8) for row in range(4))
        low, high = [0, 4, 2, 6], [1, 5, 3, 7]
        pairs = [mixed(one, other, places) for places in (low, high) for one, other in ((a, b), (c, d))]
        for row, (near, places) in enumerate([(0, [0, 1, 4, 5]), (2, [0, 1, 4, 5]), (0, [2, 3, 6, 7]), (2, [2, 3, 6, 7])]):
            builder.store(mixed(pairs[near], pairs[near + 1], places), at(turned, args[3:], row), align=8)
        return context.get_dummy_value()

    return types.void(values, types.intp, types.intp, turned, types.intp, types.intp), code


@operation
def larger(typing: Any, lanes: Any, other: Any) -> Typed:
    """other > lanes ? other : lanes."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[1], args[0]), args[1], args[0])

    return lanes(lanes, lanes), code


@operation
def equal_to(typing: Any, lanes: Any, value: Any) -> Typed:
    """The lanes that hold `value`, as the bits of a number: lane 0 is the lowest."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        equal = builder.fcmp_ordered("==", args[0], spread(builder, args[1], lanes.count))
        return builder.zext(builder.bitcast(equal, ir.IntType(lanes.count)), ir.IntType(64))

    return types.uint64(lanes, types.float64), code


@operation
def single(typing: Any, lanes: Any, place: Any) -> Typed:
    """One lane; `place` is a literal number."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], ir.Constant(INDEX, place.literal_value))

    return types.float64(lanes, place), code


@operation
def unequal(typing: Any, counts: Any, others: Any, start: Any) -> Typed:
    """Where BLOCK counts differ from others, as the bits of a number."""
    block = ir.VectorType(ir.IntType(32), BLOCK)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, other = (
            builder.load(address(context, builder, kind, array, args[2], block), align=4)
            for kind, array in zip((counts, others), args[:2], strict=True)
        )
        differ = builder.icmp_signed("!=", one, other)
        return builder.zext(builder.bitcast(differ, ir.IntType(BLOCK)), ir.IntType(64))

    return types.uint64(counts, others, types.intp), code


@operation
def lowest(typing: Any, bits: Any) -> Typed:
    """The place of the lowest bit that is set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), code


@operation
def ones(typing: Any, bits: Any) -> Typed:
    """How many bits are set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.intp(types.uint64), code
