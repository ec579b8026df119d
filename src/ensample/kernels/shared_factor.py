"""What linear Ensemble++ learns."""

from ensample.kernels.compile import kernel
from ensample.kernels.rows import axpy
from ensample.types import FloatArray

__all__ = ["learn_direction"]


@kernel
def learn_direction(directions: FloatArray, x: FloatArray, z: FloatArray) -> None:
    """S += x z', kept transposed: [M, d]."""
    for j in range(z.size):
        axpy(directions[j], z[j], x)
