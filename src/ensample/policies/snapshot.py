"""Snapshots of policies: safetensors files with a format version and a checksum.

A file has three parts beside the description of recipe and arms: `state.*`, the arrays of the
model; `open.*`, decisions that wait for a reward; and `log.*`, if the log was saved.
"""

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensample.arms import Arms, ChangingArms
from ensample.checks import LARGEST, LARGEST_REWARD, boolean, file_path, instance, whole
from ensample.codec import describe, rebuild, upgrade, without_modules
from ensample.errors import EnsampleError, InvalidArgument, SnapshotError, SnapshotWarning
from ensample.files import write_whole
from ensample.member_rules import as_member_rule
from ensample.models import Linear
from ensample.models.learning import names_of_finite
from ensample.plain_data import parse_json
from ensample.policies.bookkeeping import LogSink
from ensample.policies.decision import LAST_ROUND, UNNUMBERED, Decision
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.tensors import (
    Tensors,
    checksum,
    storable,
    tensors_from_bytes,
    tensors_to_bytes,
)
from ensample.registry import is_ours, name_of, public_object
from ensample.types import BoolArray

FORMAT = "ensample policy"
VERSION = 2
NO_ARM = -1  # an open decision whose arm is not numbered
LATEST_ROUND = LAST_ROUND + LAST_ROUND // 2  # room for more rounds in a log of 64 bits
ROUNDING = 1e-6  # of propensities, which earlier releases let exceed 1
CONTENT = {"recipe", "arms", "seed", "round", "version"}
FLOAT, WHOLE, FLAG = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)

Layout = dict[str, tuple[np.dtype[Any], tuple[int | None, ...]]]
"""Type and shape of every array of a snapshot; None for a length that is free."""


def save(policy: Policy, path: str | os.PathLike[str], log: bool = True) -> None:
    """Write state, open decisions and, if `log`, the log: complete or not at all."""
    file = file_path("path", path)
    tensors: Tensors = {f"state.{name}": values for name, values in policy.model.arrays().items()}
    if log:
        policy.bookkeeping.require_log("save(log=True)")
        columns = policy.bookkeeping.columns()
        tensors |= {f"log.{name}": np.array(column) for name, column in columns.items()}
    tensors |= open_columns(policy.open_decisions, policy.arms.dim)
    tensors |= {f"arms.{name}": values for name, values in stored_parameters(policy.arms).items()}
    tensors = {name: storable(name, values) for name, values in tensors.items()}
    description = {
        "recipe": describe(policy.recipe),
        "arms": {"kind": name_of(type(policy.arms)), "dim": policy.arms.dim},
        "seed": policy.seed,
        "round": policy.round,
        "version": policy.version,
    }
    content = json.dumps(description, sort_keys=True)
    metadata = {"format": FORMAT, "version": str(VERSION), "content": content}
    metadata["checksum"] = checksum(content, tensors)
    write_whole(file, lambda opened: opened.write(tensors_to_bytes(tensors, metadata)))


def open_columns(waiting: Sequence[Decision], dim: int) -> Tensors:
    """Return the columns of open decisions."""
    arms = [NO_ARM if decision.arm is None else decision.arm for decision in waiting]
    known = [np.nan if d.propensity is None else d.propensity for d in waiting]
    features = [decision.features for decision in waiting]
    return {
        "open.round": np.array([decision.round for decision in waiting], np.int64),
        "open.version": np.array([decision.version for decision in waiting], np.int64),
        "open.member": np.array([decision.member for decision in waiting], np.int64),
        "open.arm": np.array(arms, np.int64),
        "open.standing": np.array([decision.standing for decision in waiting], np.bool_),
        "open.features": np.array(features, np.float64).reshape(-1, dim),
        "open.propensity": np.array(known, np.float64),
    }


def stored_parameters(arms: Arms) -> Tensors:
    """Return the parameters of arms that are arrays."""
    parameters = arms.parameters or {}
    return {name: value for name, value in parameters.items() if isinstance(value, np.ndarray)}


def load(
    path: str | os.PathLike[str],
    *,
    recipe: Recipe | None = None,
    arms: Arms | None = None,
    verify: bool = False,
    log: LogSink | bool | None = True,
) -> Policy:
    """Return the policy of a snapshot, which goes on bit for bit as the saved one would have.

    A recipe, law or rule of your own is found by its name where its module is imported already: no
    file makes `load` import anything but this library. Functions and `OracleArms` cannot be stored:
    hand them in again as `recipe` and `arms`.

    A file that is damaged or foreign raises `SnapshotError`: checksum, names, types, shapes, ranges
    of indices and finiteness are checked before anything is used. The state is believed to be what
    its log gives, unless `verify` is True: then the log is learned again, and every bit must come
    out as it was saved. That takes as long as the rewards took, and the versions of ensample and
    NumPy that saved the file. Nothing here tells who wrote a file.

    `log` as in `start`: True goes on with the log that the file has, if it has one; None drops it;
    a function is given what is learned from now on, and the file's log is dropped.
    """
    boolean("verify", verify)
    try:
        with np.errstate(all="ignore"):  # absurd numbers may overflow on the way to their refusal
            policy = restored(*read(path), recipe, arms)
            if verify:
                check_replay(policy)
        if log is not True:
            policy.recipe.check_log(policy.arms, log)
            policy.bookkeeping.log_to(log)
        return policy
    except SnapshotError as error:
        error.args = (f"{os.fspath(path)}: {error}",)
        raise


def read(path: str | os.PathLike[str]) -> tuple[Any, Tensors]:
    """Return description and arrays of a file that is whole, of this format and version."""
    metadata, tensors = tensors_from_bytes(file_content(path))
    if metadata.get("format") != FORMAT:
        raise SnapshotError("a safetensors file, but not a snapshot of a policy")
    check_version(metadata.get("version", ""))
    if set(metadata) != {"format", "version", "content", "checksum"}:
        expected = "format, version, content and checksum"
        raise SnapshotError.about("the header's __metadata__", sorted(metadata), expected)
    if metadata["checksum"] != checksum(metadata["content"], tensors):
        raise SnapshotError("damaged, its checksum does not fit its content")
    return parse_json("content", metadata["content"]), tensors


def file_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file. A pipe or a device would not begin, or not end."""
    place = file_path("path", path)
    try:
        with open(place, "rb", opener=without_waiting) as file:
            is_file = os.path.isfile(file.fileno())
            content = file.read() if is_file else b""
    except (OSError, ValueError, MemoryError) as error:
        raise SnapshotError(f"expected a snapshot file ({error})") from error
    if not is_file:
        raise SnapshotError("expected a snapshot file, not a device or a pipe")
    return content


def without_waiting(path: str, flags: int) -> int:
    """Open a file, and do not wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_version(version: str) -> None:
    if version != str(VERSION):
        newer = version.isdecimal() and len(version) < 9 and int(version) > VERSION
        advice = "update ensample" if newer else "read it with the release that wrote it"
        raise SnapshotError(f"snapshot version {version!r}, this release reads {VERSION}; {advice}")


def restored(content: Any, tensors: Tensors, recipe: Recipe | None, arms: Arms | None) -> Policy:
    """Return a policy with this description and these arrays."""
    description, seed, round, version = checked_content(content)
    recipe = with_stored_members(content["recipe"], restored_recipe(content["recipe"], recipe))
    arms = restored_arms(description, tensors, arms)
    check_size_of_file(recipe, arms, tensors)
    log, waiting = part_of(tensors, "log"), part_of(tensors, "open")
    try:
        policy = recipe.start(arms, seed, log=True if log else None)
    except (EnsampleError, MemoryError) as error:
        raise SnapshotError(f"recipe, arms and seed do not fit together: {error}") from error
    check_layout(layout_of(policy), tensors)
    if log:
        check_log(policy, log, round, version)
    check_open(policy, waiting, round, version, log.get("rounds", np.zeros(0, np.int64)))
    books = policy.bookkeeping
    check_finite(policy, part_of(tensors, "state"))
    books.restore(part_of(tensors, "state"), version)
    for name, column in books.columns().items() if log else ():
        values = np.minimum(log[name], 1.0) if name == "propensities" else log[name]
        column.frombytes(values.tobytes())
    books.round = round
    check_state(policy)
    for row in range(len(waiting["round"])):
        decision = open_decision(waiting, row, policy.origin)
        books.open[decision.round] = decision
    return policy


def checked_content(content: Any) -> tuple[dict[str, Any], int, int, int]:
    """Return the description of the arms, seed, round and version."""
    if not isinstance(content, dict) or set(content) != CONTENT:
        raise SnapshotError.about("content", content, "recipe, arms, seed, round and version")
    arms, seed, round = content["arms"], content["seed"], content["round"]
    if not (
        isinstance(arms, dict) and set(arms) == {"kind", "dim"} and isinstance(arms["kind"], str)
    ):
        raise SnapshotError.about("content.arms", arms, "kind and dim")
    try:
        whole("content.arms.dim", arms["dim"], 1)
        whole("content.seed", seed, 0)
        whole("content.round", round, 0, LATEST_ROUND)
        return arms, seed, round, whole("content.version", content["version"], 0, round)
    except EnsampleError as error:
        raise SnapshotError(str(error)) from None


def restored_recipe(description: Any, given: Recipe | None) -> Recipe:
    description = upgrade(description)
    if given is not None:
        own = describe(instance("recipe", given, Recipe, "a recipe"))
        if without_modules(own) != without_modules(description):
            raise InvalidArgument("recipe", given, f"the saved recipe, {description}")
        return given
    built = rebuild(description)
    if not isinstance(built, Recipe):
        raise SnapshotError.about("content.recipe", description, "a recipe")
    return built


def with_stored_members(description: Any, recipe: Recipe) -> Recipe:
    """Return the recipe that goes on with the members of a snapshot.

    Those of releases that did not know `fresh` were all stored.
    """
    if not isinstance(recipe, EnsembleSampling) or "fresh" in description:
        return recipe
    linear = isinstance(recipe.model, Linear) and not as_member_rule(recipe.member).looks
    if description.get("bold") and recipe.learns_scale and linear:
        warnings.warn(
            "an earlier release saved this policy and boosted some of its rounds, which this one "
            "does not: what it learned is kept, but it decides otherwise from now on",
            SnapshotWarning,
            stacklevel=4,
        )
    return replace(recipe, fresh=False) if recipe.draws_fresh else recipe


def restored_arms(description: dict[str, Any], tensors: Tensors, given: Arms | None) -> Arms:
    name, dim, stored = description["kind"], description["dim"], part_of(tensors, "arms")
    if given is not None:
        instance("arms", given, Arms, "arms")
        own = stored_parameters(given)
        same = name_of(type(given)) == name and given.dim == dim and stored.keys() <= own.keys()
        if not same or not all(np.array_equal(stored[part], own[part]) for part in stored):
            raise InvalidArgument("arms", given, f"the saved arms, {name} of dim {dim}")
        return given
    kind = public_object(name)
    is_arms = isinstance(kind, type) and issubclass(kind, Arms)
    if not is_arms or kind.parameters is Arms.parameters:
        raise SnapshotError(f"{name} cannot be stored: hand them to load(path, arms=...)")
    expected = set(signature(kind).parameters)
    arguments = {"dim": dim} if expected == {"dim"} else stored
    if set(arguments) != expected:
        names = f"the arrays of {name}: {', '.join(sorted(expected))}"
        raise SnapshotError.about("arms", sorted(stored), names)
    try:
        built: Arms = kind(**arguments)
    except EnsampleError as error:
        raise SnapshotError(f"arms.{error}") from error
    if built.dim != dim:
        raise SnapshotError.about("content.arms.dim", dim, f"{built.dim}, as the arms have")
    return built


def check_size_of_file(recipe: Recipe, arms: Arms, tensors: Tensors) -> None:
    """Raise, before a policy is made, unless the file has as many numbers as it needs at least."""
    if not is_ours(type(recipe)):
        return  # its arrays are its own affair
    members = 1 if getattr(recipe, "draws_fresh", False) else getattr(recipe, "size", 1)
    least = arms.dim * max(arms.dim, members)
    found = max((values.size for values in part_of(tensors, "state").values()), default=0)
    if found < least:
        expected = f"one of at least {least} for {recipe!r}"
        raise SnapshotError.about("state", f"arrays of at most {found} numbers", expected)


def layout_of(policy: Policy) -> Layout:
    """Return the arrays that a snapshot of a policy has."""
    fixed = {f"arms.{name}": values for name, values in stored_parameters(policy.arms).items()}
    fixed |= {f"state.{name}": values for name, values in policy.model.arrays().items()}
    layout: Layout = {name: (values.dtype, values.shape) for name, values in fixed.items()}
    if policy.bookkeeping.keeps_log:
        columns = policy.bookkeeping.columns().items()
        layout |= {f"log.{name}": (np.dtype(column.typecode), (None,)) for name, column in columns}
    layout |= {f"open.{name}": (WHOLE, (None,)) for name in ("round", "version", "member", "arm")}
    layout |= {"open.standing": (FLAG, (None,)), "open.propensity": (FLOAT, (None,))}
    return layout | {"open.features": (FLOAT, (None, policy.arms.dim))}


def check_layout(layout: Layout, tensors: Tensors) -> None:
    if set(tensors) != set(layout):
        unknown, missing = sorted(set(tensors) - set(layout)), sorted(set(layout) - set(tensors))
        raise SnapshotError(f"arrays: {unknown} are not of this policy, {missing} are missing")
    for name, (dtype, shape) in layout.items():
        found = tensors[name]
        fits = len(found.shape) == len(shape) and all(
            n is None or n == m for n, m in zip(shape, found.shape, strict=True)
        )
        if found.dtype != dtype or not fits:
            expected = (
                f"{dtype} of shape ({', '.join('n' if n is None else str(n) for n in shape)})"
            )
            raise SnapshotError(
                f"{name}: {found.dtype} of shape {found.shape}, expected {expected}"
            )


def check_log(policy: Policy, log: Tensors, round: int, version: int) -> None:
    """Raise unless the log has `version` rounds, each once, and arms and numbers in range."""
    rounds, arms, others = log["rounds"], log["arms"], log["others"]
    lengths = len(rounds), len(arms), len(log["rewards"]), len(log["propensities"])
    if set(lengths) != {version}:
        columns = "rounds, arms, rewards and propensities"
        raise SnapshotError.about("log", lengths, f"{version} {columns} each")
    check_range("log.rounds", rounds, 0, round - 1)
    once = np.zeros(version, np.bool_)
    once[np.unique(rounds, return_index=True)[1]] = True
    require("log.rounds", rounds, once, "each round once")
    standing = 0 if policy.arms.rows is None else len(policy.arms.rows)
    check_range("log.arms", arms, 0 if policy.recipe.standing_only else UNNUMBERED, standing - 1)
    unnumbered = int(np.count_nonzero(arms == UNNUMBERED))
    if len(others) != unnumbered * policy.arms.dim:
        expected = f"{policy.arms.dim} features for each of {unnumbered} arms that have no number"
        raise SnapshotError.about("log.others", others, expected)
    check_range("log.others", others, -LARGEST, LARGEST)
    low, high = policy.recipe.model.reward_range
    least, most = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
    check_range("log.rewards", log["rewards"], least, most)
    check_propensities("log.propensities", log["propensities"])


def check_open(
    policy: Policy, waiting: Tensors, round: int, version: int, learned: NDArray[Any]
) -> None:
    """Raise unless open decisions are of rounds that were not rewarded, with indices in range."""
    rounds, standing, arms = waiting["round"], waiting["standing"], waiting["arm"]
    if len({len(values) for values in waiting.values()}) != 1:
        lengths = {name: len(values) for name, values in waiting.items()}
        raise SnapshotError.about("open", lengths, "columns of one length")
    check_range("open.round", rounds, 0, round - 1)
    require("open.round", rounds, np.diff(rounds, prepend=-1) > 0, "increasing rounds")
    require("open.round", rounds, ~np.isin(rounds, learned), "a round that is not in the log")
    check_range("open.version", waiting["version"], 0, version)
    check_propensities("open.propensity", waiting["propensity"])
    check_range("open.features", waiting["features"], -LARGEST, LARGEST)
    size = policy.model.size
    check_range("open.member", waiting["member"], 0, LATEST_ROUND if size is None else size - 1)
    check_range("open.arm", arms, NO_ARM, LATEST_ROUND)
    if not standing.all() and policy.recipe.standing_only:
        raise SnapshotError.about("open.standing", False, "True, a standing arm")
    if policy.arms.rows is None:
        changing = isinstance(policy.arms, ChangingArms)
        require("open.standing", standing, ~standing | (not changing), "False for changing arms")
        numbered = "a number for an arm of the round's own, and -1 for others"
        require("open.arm", arms, standing == (arms == NO_ARM), numbered)
    else:
        count = len(policy.arms.rows)
        there = ~standing | ((arms >= 0) & (arms < count))
        require("open.arm", arms, there, f"a standing arm, 0 to {count - 1}")
        chosen = policy.arms.rows[np.where(standing, arms, 0)]
        same = (chosen == waiting["features"]).all(axis=1)
        require("open.features", arms, ~standing | same, "the features of a standing arm")


def check_range(part: str, values: NDArray[Any], least: float, most: float) -> None:
    """Raise on the first entry that is not within these bounds, or is NaN."""
    good = (values >= least) & (values <= most)
    require(part, values, good, f"a number from {least} to {most}")


def check_propensities(part: str, values: NDArray[Any]) -> None:
    known = (values >= 0.0) & (values <= 1.0 + ROUNDING)
    require(part, values, known | np.isnan(values), "a number from 0 to 1, or NaN for unknown")


def require(part: str, values: NDArray[Any], good: BoolArray, expected: str) -> None:
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


def check_replay(policy: Policy) -> None:
    """Raise unless the learned state is what the log gives, bit for bit."""
    if not policy.bookkeeping.keeps_log:
        raise SnapshotError("saved without its log, so that nothing can be verified")
    try:
        again = policy.recipe.replay(policy.arms, policy.log(), policy.seed).model.arrays()
    except EnsampleError as error:
        raise SnapshotError(f"the log cannot be replayed: {error}") from error
    for name, values in policy.model.arrays().items():
        if values.tobytes() != again[name].tobytes():
            raise SnapshotError(f"state.{name}: expected what replaying the log gives")


def part_of(tensors: Tensors, part: str) -> Tensors:
    prefix = f"{part}."
    named = ((name, values) for name, values in tensors.items() if name.startswith(prefix))
    return {name.removeprefix(prefix): values for name, values in named}


def open_decision(waiting: Tensors, row: int, origin: str) -> Decision:
    """Return a decision that was waiting when the snapshot was taken."""
    features = waiting["features"][row].copy()
    features.setflags(write=False)
    arm, propensity = int(waiting["arm"][row]), float(waiting["propensity"][row])
    return Decision(
        round=int(waiting["round"][row]),
        arm=None if arm == NO_ARM else arm,
        features=features,
        member=int(waiting["member"][row]),
        version=int(waiting["version"][row]),
        propensity=None if np.isnan(propensity) else min(propensity, 1.0),
        standing=bool(waiting["standing"][row]),
        origin=origin,
    )
