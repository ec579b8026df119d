"""Whether a log and open decisions could be those of a policy: lengths, ranges, and what one says of the other."""

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Box, ChangingArms, OracleArms, UnitBall
from ensample.checks import LARGEST, LARGEST_REWARD
from ensample.errors import EnsampleError, SnapshotError
from ensample.policies.decision import LAST_ROUND, UNNUMBERED
from ensample.policies.information_directed import InformationDirectedPolicy
from ensample.policies.policy import Policy
from ensample.policies.snapshot import NO_ARM
from ensample.policies.tensor_file import Tensors
from ensample.types import BoolArray, FloatArray, IntArray

LATEST_ROUND = (
    LAST_ROUND + LAST_ROUND // 2
)  # beyond any that was ever begun, with room for more in a log of 64 bits
ROUNDING = 1e-6  # of sums over a log, in any order, and of shares that add up to 1


def check_log(policy: Policy, log: Tensors, round: int, version: int) -> None:
    """Columns of one length; rounds that were begun, each once; arms that stand; finite numbers."""
    rounds, arms, rewards = log["rounds"], log["arms"], log["rewards"]
    others, propensities = log["others"], log["propensities"]
    lengths = len(rounds), len(arms), len(rewards), len(propensities)
    if set(lengths) != {version}:
        raise SnapshotError.about(
            "log", lengths, f"{version} rounds, arms, rewards and propensities each"
        )
    require(
        "log.rounds",
        rounds,
        (rounds >= 0) & (rounds < round),
        f"a round that was begun, 0 to {round - 1}",
    )
    once = np.zeros(len(rounds), np.bool_)
    once[np.unique(rounds, return_index=True)[1]] = True
    require("log.rounds", rounds, once, "each round once")
    require(
        "log.rewards",
        rewards,
        np.abs(rewards) <= LARGEST_REWARD,
        f"a finite number of at most {LARGEST_REWARD:g}",
    )
    check_propensities("log.propensities", propensities)
    check_arms(policy, arms)
    check_others(policy, others, int(np.count_nonzero(arms == UNNUMBERED)))


def require(part: str, values: NDArray[np.generic], good: BoolArray, expected: str) -> None:
    """Raise on the first entry that is not good."""
    if not good.all():
        place = tuple(np.argwhere(~good)[0].tolist())
        raise SnapshotError.about(
            f"{part}[{', '.join(map(str, place))}]", values[place].item(), expected
        )


def standing_features(policy: Policy) -> FloatArray:
    """The rows of arms that are numbered: [K, d], K = 0 for others."""
    return np.zeros((0, policy.arms.dim)) if policy.arms.rows is None else policy.arms.rows


def check_arms(policy: Policy, arms: IntArray) -> None:
    """Numbers of standing arms."""
    count = len(standing_features(policy))
    named = (arms >= 0) & (arms < count)
    if not policy.recipe.standing_only:
        named |= arms == UNNUMBERED
    require("log.arms", arms, named, f"one of {count} standing arms, or {UNNUMBERED} for others")


def check_others(policy: Policy, others: FloatArray, count: int) -> None:
    """Features of what is no standing arm, one after the other."""
    if len(others) != count * policy.arms.dim:
        raise SnapshotError.about(
            "log.others",
            others,
            f"{policy.arms.dim} features for each of {count} arms that are not standing",
        )
    require(
        "log.others", others, np.abs(others) <= LARGEST, f"a finite number of at most {LARGEST:g}"
    )


def check_open(
    policy: Policy, waiting: Tensors, round: int, version: int, learned: IntArray
) -> None:
    """Decisions of rounds that were begun and not rewarded, the oldest first."""
    rounds = waiting["round"]
    if len({len(values) for values in waiting.values()}) != 1:
        raise SnapshotError.about(
            "open", {name: len(values) for name, values in waiting.items()}, "columns of one length"
        )
    require(
        "open.round",
        rounds,
        (rounds >= 0) & (rounds < round),
        f"a round that was begun, 0 to {round - 1}",
    )
    require("open.round", rounds, np.diff(rounds, prepend=-1) > 0, "increasing rounds")
    require("open.round", rounds, ~np.isin(rounds, learned), "a round that is not in the log")
    versions = waiting["version"]
    require(
        "open.version",
        versions,
        (versions >= 0) & (versions <= version),
        f"a number of rewards, 0 to {version}",
    )
    check_members(policy, waiting["member"], rounds)
    check_propensities("open.propensity", waiting["propensity"])
    features = waiting["features"]
    require(
        "open.features",
        features,
        np.abs(features) <= LARGEST,
        f"a finite number of at most {LARGEST:g}",
    )
    check_choices(policy, waiting["standing"], waiting["arm"], features)


def check_members(policy: Policy, members: IntArray, rounds: IntArray) -> None:
    first = isinstance(policy, InformationDirectedPolicy) or policy.model.is_fresh
    size = 1 if first else policy.model.size
    if size is None:
        require(
            "open.member",
            members,
            members == rounds,
            "the number of the round, which has a model of its own",
        )
    else:
        require(
            "open.member", members, (members >= 0) & (members < size), f"a member, 0 to {size - 1}"
        )


def check_propensities(part: str, values: FloatArray) -> None:
    known = (values >= 0.0) & (values <= 1.0 + ROUNDING)
    require(
        part, values, known | np.isnan(values), "a number from 0 to 1, or NaN where it is not known"
    )


def check_choices(
    policy: Policy, standing: BoolArray, arms: IntArray, features: FloatArray
) -> None:
    """Each arm one of those that were on offer, as far as that is still known."""
    require(
        "open.arm",
        arms,
        standing | (arms >= 0),
        "a whole number >= 0 for an arm that was offered for a round",
    )
    if not standing.all():
        try:
            policy._offer(features[~standing])
        except EnsampleError as error:
            raise SnapshotError(f"open.standing: expected standing arms only ({error})") from error
    if isinstance(policy.arms, ChangingArms):
        require("open.standing", standing, ~standing, "False for arms that change")
    elif policy.arms.rows is not None:
        count = len(policy.arms.rows)
        require(
            "open.arm",
            arms,
            ~standing | ((arms >= 0) & (arms < count)),
            f"a standing arm, 0 to {count - 1}",
        )
        chosen = policy.arms.rows[np.where(standing, arms, 0)]
        same = (chosen.view(np.int64) == features.copy().view(np.int64)).all(axis=1)
        require("open.features", arms, ~standing | same, "the features of a standing arm")
    elif isinstance(policy.arms, UnitBall | Box | OracleArms):
        require(
            "open.arm", arms, ~standing | (arms == NO_ARM), f"{NO_ARM} where arms are not numbered"
        )
        require(
            "open.features",
            features,
            ~standing[:, None] | inside(policy.arms, features),
            f"a point of {policy.arms!r}",
        )
    else:
        require("open.arm", arms, arms >= NO_ARM, f"a whole number >= {NO_ARM}")


def inside(arms: UnitBall | Box | OracleArms, features: FloatArray) -> BoolArray:
    """Whether points belong to arms, coordinate by coordinate; an oracle's are not known."""
    if isinstance(arms, UnitBall):
        return np.broadcast_to(
            np.linalg.norm(features, axis=1, keepdims=True) <= 1.0 + ROUNDING, features.shape
        )
    if isinstance(arms, Box):
        return np.asarray((features >= arms.low) & (features <= arms.high))
    return np.ones(features.shape, np.bool_)
