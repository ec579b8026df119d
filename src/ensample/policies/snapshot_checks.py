"""Checks of a snapshot before it is used: names, types, shapes, ranges of indices, finiteness."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, ChangingArms
from ensample.checks import LARGEST, LARGEST_REWARD
from ensample.errors import SnapshotError
from ensample.models.learning import names_of_finite
from ensample.policies.decision import LAST_ROUND, UNNUMBERED
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.tensors import Tensors
from ensample.registry import is_ours
from ensample.types import BoolArray

NO_ARM = -1  # an open decision whose arm is not numbered
LATEST_ROUND = LAST_ROUND + LAST_ROUND // 2  # room for more rounds in a log of 64 bits
ROUNDING = 1e-6  # of propensities, which earlier releases let exceed 1

Numbers = NDArray[Any]


def check_size_of_file(recipe: Recipe, arms: Arms, tensors: Tensors) -> None:
    """Raise, before a policy is made, unless the file has as many numbers as it needs at least."""
    if not is_ours(type(recipe)):
        return  # its arrays are its own affair
    members = 1 if getattr(recipe, "draws_fresh", False) else getattr(recipe, "size", 1)
    least = arms.dim * max(arms.dim, members)
    states = (values for name, values in tensors.items() if name.startswith("state."))
    found = max((values.size for values in states), default=0)
    if found < least:
        expected = f"one of at least {least} for {recipe!r}"
        raise SnapshotError.about("state", f"arrays of at most {found} numbers", expected)


def check_layout(expected: Tensors, found: Tensors) -> None:
    """Raise unless arrays have the names, types and, but for lengths, shapes of a new policy's."""
    if set(found) != set(expected):
        unknown, missing = sorted(set(found) - set(expected)), sorted(set(expected) - set(found))
        raise SnapshotError(f"arrays: {unknown} are not of this policy, {missing} are missing")
    for name, model in expected.items():
        values, grows = found[name], name.startswith(("log.", "open."))
        fits = values.ndim == model.ndim and values.shape[grows:] == model.shape[grows:]
        if values.dtype != model.dtype or not fits:
            lengths = ", ".join(
                ["n", *map(str, model.shape[1:])] if grows else map(str, model.shape)
            )
            shape = f"{model.dtype} of shape ({lengths})"
            raise SnapshotError(f"{name}: {values.dtype} of shape {values.shape}, expected {shape}")


def check_log(policy: Policy, log: Tensors, round: int, version: int) -> None:
    """Raise unless the log has `version` rounds, each once, and arms and numbers in range."""
    rounds, arms = log["rounds"], log["arms"]
    lengths = len(rounds), len(arms), len(log["rewards"]), len(log["propensities"])
    if set(lengths) != {version}:
        columns = "rounds, arms, rewards and propensities"
        raise SnapshotError.about("log", lengths, f"{version} {columns} each")
    standing = 0 if policy.arms.rows is None else len(policy.arms.rows)
    low, high = policy.recipe.model.reward_range
    ranges = {
        "rounds": (0, round - 1),
        "arms": (0 if policy.recipe.standing_only else UNNUMBERED, standing - 1),
        "others": (-LARGEST, LARGEST),
        "rewards": (max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)),
    }
    check_ranges("log", log, ranges)
    check_propensities("log.propensities", log["propensities"])
    once = np.zeros(version, np.bool_)
    once[np.unique(rounds, return_index=True)[1]] = True
    require("log.rounds", rounds, once, "each round once")
    unnumbered = int(np.count_nonzero(arms == UNNUMBERED))
    if len(log["others"]) != unnumbered * policy.arms.dim:
        expected = f"{policy.arms.dim} features for each of {unnumbered} arms that have no number"
        raise SnapshotError.about("log.others", log["others"], expected)


def check_open(policy: Policy, waiting: Tensors, limits: tuple[int, int], learned: Numbers) -> None:
    """Raise unless open decisions are of rounds that were not rewarded, with indices in range.

    `limits` are the numbers of rounds and rewards, `learned` the rounds in the log.
    """
    rounds, standing, arms = waiting["round"], waiting["standing"], waiting["arm"]
    if len({len(values) for values in waiting.values()}) != 1:
        lengths = {name: len(values) for name, values in waiting.items()}
        raise SnapshotError.about("open", lengths, "columns of one length")
    size = policy.model.size
    ranges = {
        "round": (0, limits[0] - 1),
        "version": (0, limits[1]),
        "features": (-LARGEST, LARGEST),
        "member": (0, LATEST_ROUND if size is None else size - 1),
        "arm": (NO_ARM, LATEST_ROUND),
    }
    check_ranges("open", waiting, ranges)
    check_propensities("open.propensity", waiting["propensity"])
    require("open.round", rounds, np.diff(rounds, prepend=-1) > 0, "increasing rounds")
    require("open.round", rounds, ~np.isin(rounds, learned), "a round that is not in the log")
    if not standing.all() and policy.recipe.standing_only:
        raise SnapshotError.about("open.standing", False, "True, a standing arm")
    if policy.arms.rows is None:
        changing = isinstance(policy.arms, ChangingArms)
        require("open.standing", standing, ~standing | (not changing), "False for changing arms")
        numbered = "a number for an arm of the round's own, and -1 for others"
        require("open.arm", arms, standing == (arms == NO_ARM), numbered)
        return
    count = len(policy.arms.rows)
    there = ~standing | ((arms >= 0) & (arms < count))
    require("open.arm", arms, there, f"a standing arm, 0 to {count - 1}")
    same = (policy.arms.rows[np.where(standing, arms, 0)] == waiting["features"]).all(axis=1)
    require("open.features", arms, ~standing | same, "the features of a standing arm")


def check_ranges(part: str, tensors: Tensors, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise on the first entry that is not within the bounds of its array, or is NaN."""
    for name, (least, most) in ranges.items():
        values = tensors[name]
        good = (values >= least) & (values <= most)
        require(f"{part}.{name}", values, good, f"a number from {least} to {most}")


def check_propensities(part: str, values: Numbers) -> None:
    known = (values >= 0.0) & (values <= 1.0 + ROUNDING)
    require(part, values, known | np.isnan(values), "a number from 0 to 1, or NaN for unknown")


def require(part: str, values: Numbers, good: BoolArray, expected: str) -> None:
    """Raise on the first entry that is not good."""
    if not good.all():
        place = tuple(np.argwhere(~good)[0].tolist())
        name = f"{part}[{', '.join(map(str, place))}]"
        raise SnapshotError.about(name, values[place].item(), expected)


def check_finite(policy: Policy, state: Tensors) -> None:
    """Raise on infinities and NaN in arrays of a file that had none in a new policy."""
    for name in names_of_finite(policy.model):  # a model of the user's own may have infinities
        require(f"state.{name}", state[name], np.isfinite(state[name]), "a finite number")


def check_state(policy: Policy) -> None:
    """Raise unless the model counts as many observations as the file, and finds no fault."""
    count, fault = policy.model.count, policy.model.fault()
    if count != policy.version:
        expected = f"{count}, as in the state"
        raise SnapshotError.about("content.version", policy.version, expected)
    if fault is not None:
        raise SnapshotError(f"state: {fault}")
