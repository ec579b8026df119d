"""Whether a learned state is what its log gives: learned again, and compared."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.errors import EnsampleError, SnapshotError, show
from ensample.models.model import Model
from ensample.models.network_ensemble import NetworkEnsemble
from ensample.policies.describe import describe
from ensample.policies.ledger import Observation
from ensample.policies.policy import Policy

SECONDS_A_ROUND = 1e-5  # to learn an observation, whatever the model
SECONDS_A_NUMBER = 1e-9  # and for each number that was learned
SECONDS_A_WEIGHT = 1e-8  # of networks, which go through a batch
USUAL_BATCH = 64  # observations, in one step a round
SHORT = 1.0  # seconds
CLOSE = 1e-2  # of the largest number in an array: what rounding leaves of long trained networks elsewhere

Arrays = NDArray[Any]


def is_short(policy: Policy) -> bool:
    """Whether replaying the log takes about a second at most, by its length and the size of the state: not by a clock, so that
    a file is looked at in the same way everywhere. Of what is not all ours nobody knows how long it takes.
    """
    numbers = sum(values.size for values in policy.model.arrays().values())
    seconds = policy.version * (SECONDS_A_ROUND + seconds_a_number(policy.model) * numbers)
    return policy._ledger.keeps_log and seconds <= SHORT and is_all_ours(describe(policy.recipe))


def seconds_a_number(model: Model) -> float:
    """What a round takes for each number that was learned; a recipe may ask networks for much more work than usual."""
    if not isinstance(model, NetworkEnsemble):
        return SECONDS_A_NUMBER
    training = model.training
    return SECONDS_A_WEIGHT * training.steps * max(1.0, training.batch / USUAL_BATCH)


def is_all_ours(description: Any) -> bool:
    """Whether nothing in a recipe is somebody else's: no class, no function."""
    if isinstance(description, list):
        return all(map(is_all_ours, description))
    if not isinstance(description, dict):
        return True
    return (
        "own" not in description
        and ":" not in description["kind"]
        and all(map(is_all_ours, description.values()))
    )


def check_bits(policy: Policy) -> None:
    """Raise unless the learned state is what the log gives, bit for bit."""
    if not policy._ledger.keeps_log:
        raise SnapshotError("saved without its log, so that nothing can be verified")
    compare(policy, lambda values, expected: False, "")


def take_replayed(policy: Policy) -> None:
    """Raise unless the learned state is what the log gives, but for digits that rounding decides; take those of the replay."""
    advice = "; of a file that an earlier release or another processor wrote, load(path, verify=False) believes it"
    for name, expected in compare(policy, are_close, advice).items():
        policy.model.arrays()[name][...] = expected


def compare(
    policy: Policy, alike: Callable[[Arrays, Arrays], bool], advice: str
) -> dict[str, Arrays]:
    """What replaying the log gives, by name. Raise where it is not what was saved, and not alike either."""
    again = policy.recipe.start(policy.arms, policy.seed)
    try:
        again._ledger.learn_all(observations(policy))
    except EnsampleError as error:
        raise SnapshotError(f"the log cannot be replayed: {error}") from error
    arrays = again.model.arrays()
    for name, values in policy.model.arrays().items():
        expected = arrays[name]
        if values.tobytes() != expected.tobytes() and not alike(values, expected):
            raise SnapshotError.about(
                f"state.{name}", values, f"what replaying the log gives, {show(expected)}{advice}"
            )
    return arrays


def observations(policy: Policy) -> list[Observation]:
    """The log, which `soundness` has looked at."""
    rounds, features, rewards, arms, propensities = policy.log()
    features.setflags(write=False)  # as those of arms and decisions are
    return list(
        zip(
            rounds.tolist(),
            arms.tolist(),
            features,
            rewards.tolist(),
            propensities.tolist(),
            strict=True,
        )
    )


def are_close(values: Arrays, expected: Arrays) -> bool:
    """Whole numbers to the last bit, others to two digits of the largest."""
    if expected.dtype.kind != "f":
        return False
    return bool((np.abs(values - expected) <= CLOSE * np.abs(expected).max(initial=0.0)).all())
