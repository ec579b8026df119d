"""Snapshots of policies: safetensors files with a format version and a checksum.

A file has three parts beside the description of recipe and arms: `state.*`, the arrays of the
model; `open.*`, decisions that wait for a reward; and `log.*`, if the log was saved.
"""

import json
import os
import warnings
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from ensample.arms import Arms
from ensample.checks import boolean, file_path, instance, whole
from ensample.codec import describe, rebuild, upgrade, without_modules
from ensample.errors import EnsampleError, InvalidArgument, SnapshotError, SnapshotWarning
from ensample.files import write_whole
from ensample.member_rules import as_member_rule
from ensample.models import Linear
from ensample.plain_data import parse_json
from ensample.policies.bookkeeping import LogSink
from ensample.policies.decision import Decision
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.snapshot_checks import (
    LATEST_ROUND,
    NO_ARM,
    check_finite,
    check_layout,
    check_log,
    check_open,
    check_size_of_file,
    check_state,
)
from ensample.policies.tensors import (
    Tensors,
    checksum,
    storable,
    tensors_from_bytes,
    tensors_to_bytes,
)
from ensample.registry import name_of, public_object

FORMAT = "ensample policy"
VERSION = 2
CONTENT = {"recipe", "arms", "seed", "round", "version"}


def save(policy: Policy, path: str | os.PathLike[str], log: bool = True) -> None:
    """Write state, open decisions and, if `log`, the log: complete or not at all."""
    file = file_path("path", path)
    if log:
        policy.bookkeeping.require_log("save(log=True)")
    tensors = {name: storable(name, values) for name, values in tensors_of(policy, log).items()}
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


def tensors_of(policy: Policy, log: bool) -> Tensors:
    """Return all arrays of a snapshot."""
    waiting = policy.open_decisions
    arms = [NO_ARM if decision.arm is None else decision.arm for decision in waiting]
    known = [np.nan if d.propensity is None else d.propensity for d in waiting]
    features = np.array([decision.features for decision in waiting], np.float64)
    columns = policy.bookkeeping.columns() if log else {}
    parts = {
        "state": policy.model.arrays(),
        "log": {name: np.array(column) for name, column in columns.items()},
        "arms": stored_parameters(policy.arms),
        "open": {
            "round": np.array([decision.round for decision in waiting], np.int64),
            "version": np.array([decision.version for decision in waiting], np.int64),
            "member": np.array([decision.member for decision in waiting], np.int64),
            "arm": np.array(arms, np.int64),
            "standing": np.array([decision.standing for decision in waiting], np.bool_),
            "features": features.reshape(-1, policy.arms.dim),
            "propensity": np.array(known, np.float64),
        },
    }
    return {f"{part}.{name}": x for part, arrays in parts.items() for name, x in arrays.items()}


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
    version, names = metadata.get("version", ""), sorted(metadata)
    if version != str(VERSION):
        newer = version.isdecimal() and len(version) < 9 and int(version) > VERSION
        advice = "update ensample" if newer else "read it with the release that wrote it"
        raise SnapshotError(f"snapshot version {version!r}, this release reads {VERSION}; {advice}")
    if names != ["checksum", "content", "format", "version"]:
        expected = "format, version, content and checksum"
        raise SnapshotError.about("the header's __metadata__", names, expected)
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
    check_layout(tensors_of(policy, bool(log)), tensors)
    if log:
        check_log(policy, log, round, version)
    check_open(policy, waiting, (round, version), log.get("rounds", np.zeros(0, np.int64)))
    bookkeeping = policy.bookkeeping
    check_finite(policy, part_of(tensors, "state"))
    bookkeeping.restore(part_of(tensors, "state"), version)
    for name, column in bookkeeping.columns().items() if log else ():
        values = np.minimum(log[name], 1.0) if name == "propensities" else log[name]
        column.frombytes(values.tobytes())
    bookkeeping.round = round
    check_state(policy)
    for row in range(len(waiting["round"])):
        decision = open_decision(waiting, row, policy.origin)
        bookkeeping.open[decision.round] = decision
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
    values = {name: column[row].tolist() for name, column in waiting.items()}
    values["features"] = features = waiting["features"][row].copy()
    features.setflags(write=False)
    known = values["propensity"]
    values["propensity"] = None if np.isnan(known) else min(known, 1.0)
    values["arm"] = None if values["arm"] == NO_ARM else values["arm"]
    return Decision(**values, origin=origin)
