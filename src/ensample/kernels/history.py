"""What Thompson sampling remembers."""

from ensample.kernels.compile import kernel
from ensample.kernels.ridge import observe as ridge_observe
from ensample.kernels.ridge import rotate
from ensample.types import FloatArray

__all__ = ["remember_rewards"]


@kernel
def remember_rewards(state: FloatArray, root: FloatArray, rewards: FloatArray, x: FloatArray, y: float) -> bool:
    """Take in (x, y) for a live policy: a root of V, and number, mean and squared deviations of the rewards (Welford)."""
    rotate(root, x)
    step = (y - rewards[1]) / (rewards[0] + 1.0)
    rewards[2] += (y - rewards[1]) * (y - rewards[1] - step)
    rewards[1] += step
    rewards[0] += 1.0
    return ridge_observe(state, x, y)
