"""How often a policy explores blindly."""

from ensample.kernels.compile import kernel

__all__ = ["exploration"]


@kernel
def exploration(epsilon: float, decay: float, t: int) -> float:
    """eps_t: `epsilon` or, where `decay` is not 0, decay / (decay + t)."""
    return epsilon if decay == 0.0 else decay / (decay + t)
