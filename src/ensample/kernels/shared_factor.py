"""What linear Ensemble++ learns."""

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import observe
from ensample.kernels.rows import axpy
from ensample.types import FloatArray

__all__ = ["learn_direction", "learn_shared"]


@kernel
def learn_direction(directions: FloatArray, x: FloatArray, z: FloatArray) -> None:
    """S += x z', kept transposed: [M, d]."""
    for j in range(z.size):
        axpy(directions[j], z[j], x)


@kernel
def learn_shared(state: FloatArray, directions: FloatArray, x: FloatArray, y: float, z: FloatArray) -> bool:
    """Take in (x, y) for a live policy."""
    learn_direction(directions, x, z)
    return observe(state, x, y)
