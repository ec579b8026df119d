"""a * b + c with one rounding, where the machine does that in one step.

It is as quick as a product alone, and gives the error of a product at once, which takes fifteen steps without it
(`exact.two_product`).

Code is written with llvmlite and with numba's own code generator, which may change: checked with numba 0.61 to 0.68.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import get_or_insert_function

from ensample.kernels.lanes import Lanes, Typed, operation, spread
from ensample.kernels.private import machine

__all__ = ["FUSED", "exact_sum", "fuses", "plus_fused", "times_plus"]


def fuses(machine: tuple[Any, ...]) -> bool:
    """Whether code for a machine (triple, name, features) may fuse: all of ARM's with 64 bits do, others say so."""
    return len(machine) == 3 and (machine[0].startswith(("aarch64", "arm64")) or "+fma" in machine[2].split(","))


FUSED = fuses(machine())
"""Whether this machine does. Where it does not, LLVM would call a function that takes fifty times as long."""


@operation
def times_plus(typing: Any, a: Any, b: Any, c: Any) -> Typed:
    """a * b + c of numbers, rounded once."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), code


@operation
def plus_fused(typing: Any, lanes: Any, weight: Any, other: Any) -> Typed:
    """lanes + weight * other, rounded once where FUSED and twice elsewhere; `weight` is a number or lanes."""
    varied = isinstance(weight, Lanes)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        weights = args[1] if varied else spread(builder, args[1], lanes.count)
        if FUSED:
            return builder.call(fused_lanes(builder.module, args[0].type), [weights, args[2], args[0]])
        return builder.fadd(args[0], builder.fmul(weights, args[2]))

    return lanes(lanes, lanes if varied else types.float64, lanes), code


def exact_sum(builder: Any, first: Any, rest: Any, weights: Any, others: Any) -> tuple[Any, Any]:
    """(first, rest) + weights * others for vectors: `exact.add_product`, step by step, in each of their lanes."""
    plus, less = builder.fadd, builder.fsub
    fuse = fused_lanes(builder.module, first.type)
    product = builder.fmul(weights, others)
    product_error = builder.call(fuse, [weights, others, builder.fneg(product)])
    total = plus(first, product)
    part = less(total, first)
    error = plus(less(first, less(total, part)), less(product, part))
    error = plus(error, plus(rest, product_error))
    result = plus(total, error)
    return result, less(error, less(result, total))


def fused_lanes(module: Any, kind: Any) -> Any:
    """LLVM's own function of three vectors."""
    return get_or_insert_function(module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{kind.count}f64")  # type: ignore[no-untyped-call]
