"""The ridge estimate alone on finitely many arms, with or without rounds of blind exploration."""

from ensample.kernels.compile import kernel
from ensample.kernels.greedy import exploration
from ensample.kernels.rngs import Rngs
from ensample.kernels.track import Track, stopped
from ensample.kernels.world import World, begin, greedy_arm, pull
from ensample.policies import EpsilonGreedy, Greedy
from ensample.randomness import RunGenerators
from ensample.simulation.registry import Evaluation, simulates

__all__: list[str] = []


@simulates(Greedy, World, Evaluation.EAGER)
def greed(recipe: Greedy, world: World, track: Track, rngs: RunGenerators) -> None:
    epsilon_greedy(world, track, 0.0, 0.0, Rngs(rngs.noise, rngs.member))


@simulates(EpsilonGreedy, World, Evaluation.EAGER)
def now_and_then(recipe: EpsilonGreedy, world: World, track: Track, rngs: RunGenerators) -> None:
    epsilon_greedy(world, track, recipe.epsilon, recipe.decay or 0.0, Rngs(rngs.noise, rngs.member))


@kernel
def epsilon_greedy(world: World, track: Track, epsilon: float, decay: float, rngs: Rngs) -> None:
    """With probability eps_t any arm, else argmax_k x_k'theta_hat; observations of the warm-up count as rounds."""
    arms = world.by_coordinate.shape[1]
    for t in range(begin(world, track, rngs.noise), track.checkpoints[-1]):
        if stopped(track):
            return
        chance = exploration(epsilon, decay, world.warmup.size + t)
        if chance > 0.0 and rngs.member.random() < chance:
            arm = int(rngs.member.random() * arms)
        else:
            arm = greedy_arm(world, track, track.mean)
        pull(world, track, t, arm, rngs.noise)
