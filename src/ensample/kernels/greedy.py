"""The ridge estimate alone on finitely many arms, with or without rounds of blind exploration."""

from numpy.random import Generator

from ensample.kernels.compile import kernel
from ensample.kernels.world import Track, World, begin, greedy_arm, pull, stopped

__all__ = ["epsilon_greedy", "exploration"]


@kernel
def exploration(epsilon: float, decay: float, t: int) -> float:
    """eps_t: `epsilon` or, where `decay` is not 0, decay / (decay + t)."""
    return epsilon if decay == 0.0 else decay / (decay + t)


@kernel
def epsilon_greedy(
    world: World, track: Track, epsilon: float, decay: float, noise_rng: Generator, member_rng: Generator
) -> None:
    """With probability eps_t any arm, else argmax_k x_k'theta_hat; observations of the warm-up count as rounds."""
    arms = world.by_coordinate.shape[1]
    for t in range(begin(world, track, noise_rng), track.checkpoints[-1]):
        if stopped(track, t):
            return
        chance = exploration(epsilon, decay, world.warmup.size + t)
        if chance > 0.0 and member_rng.random() < chance:
            arm = int(member_rng.random() * arms)
        else:
            arm = greedy_arm(world, track, track.mean)
        pull(world, track, t, arm, noise_rng)
