"""How kernels are compiled: with loops as they are, and with nobody looking for garbage meanwhile."""

import gc
from typing import Any

import numpy as np
import pytest
from numba.core.codegen import CPUCodegen
from numba.core.errors import TypingError

from ensample.kernels.compile import kernel
from ensample.kernels.draft import Rolled

LENGTH = 1001


def doubled(values: Any) -> float:
    """A sum that LLVM may not reorder, so that all it could do is to unroll it."""
    total = 0.0
    for k in range(values.size):
        total += 2.0 * values[k]
    return total


@pytest.mark.skipif(not hasattr(CPUCodegen, "_pass_builder"), reason="this numba has no way to leave loops as they are")
def test_loops_are_not_unrolled() -> None:
    from numba import njit

    ours, theirs = kernel(doubled), njit(error_model="numpy")(doubled)
    assert ours(np.ones(LENGTH)) == theirs(np.ones(LENGTH)) == 2.0 * LENGTH
    (compiled,) = ours.overloads.values()  # type: ignore[attr-defined]
    assert isinstance(compiled.library._codegen, Rolled)
    sums = [next(iter(each.overloads.values())).library.get_llvm_str().count("fadd") for each in (ours, theirs)]
    assert sums[0] < sums[1], "the control: numba does unroll"


@pytest.mark.parametrize("looking", [True, False])
def test_garbage_is_looked_for_again_also_after_an_error(looking: bool) -> None:
    seen = []

    @kernel
    def wrong(values: Any) -> Any:
        return values.no_such_thing

    before = gc.isenabled()
    try:
        (gc.enable if looking else gc.disable)()
        with pytest.raises(TypingError):
            wrong(np.ones(3))
        seen.append(gc.isenabled())
        kernel(doubled)(np.ones(3))
        seen.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [looking, looking]
