"""From a snapshot back to a live policy."""

import os
import warnings
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from ensample.arms import Arms
from ensample.checks import boolean, instance, whole
from ensample.errors import EnsampleError, InvalidArgument, SnapshotError, SnapshotWarning
from ensample.models import Linear
from ensample.policies.decision import Decision
from ensample.policies.describe import describe, rebuild, upgraded, wherever
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.ledger import LogSink
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.snapshot import NO_ARM, read
from ensample.policies.sound_replay import check_bits, is_short, take_replayed
from ensample.policies.sound_state import check_state
from ensample.policies.soundness import LATEST_ROUND, check_log, check_open
from ensample.policies.tensor_file import Tensors
from ensample.registry import is_ours, name_of, public_object

FLOAT, WHOLE, FLAG = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)

Layout = dict[str, tuple[np.dtype[Any], tuple[int | None, ...]]]
"""The type and shape of every array of a snapshot; None for a length that is free."""


def load(
    path: str | os.PathLike[str],
    *,
    recipe: Recipe | None = None,
    arms: Arms | None = None,
    verify: bool | None = None,
    log: LogSink | bool | None = True,
) -> Policy:
    """The policy of a snapshot: it goes on bit for bit as the saved one would have.

    A recipe, law or rule of your own is found by its name where its module is imported already: no file makes `load` import
    anything but this library. Functions and `OracleArms` cannot be stored: hand them in again as `recipe` and `arms`.

    A file that is damaged, foreign or cannot be a policy's snapshot raises `SnapshotError`: names, types, shapes, ranges and
    what its parts say of each other are checked before anything is used. The learned state is a fold of the log, and `verify`
    says how closely it is compared with it:

    - None: where learning the log again takes about a second at most, it is learned again. A state that does not come out is
      refused; digits that rounding decides may differ, as between processors, and are taken from the replay. So what is loaded
      is what the log gives. By rounding passes what is within a hundredth of an array's largest number: networks that were
      trained with other processors' matrix products differed by 1e-11 of it at most after thousands of rounds. The rule is
      rounds x (10 us + 1 ns x numbers in the state) <= 1 s, some 70,000 rounds of 100 members in 10 dimensions, and a recipe
      that is all this library's; of networks it is 10 ns x `steps` x `batch` / 64. A longer log is compared with sums over it,
      among them V, b and the counts of arms; members' perturbations, which only a replay can draw again, are then believed
      where chance may have come to them. Without its log a state is compared with itself: V with V^-1 and theta_hat, counts
      with rounds.
    - True: the log is learned again however long that takes, and every bit must come out as it was saved; this asks for the
      versions of ensample and NumPy that saved it.
    - False: never, as for a file of an earlier release whose draws were others.

    Recipe, arms, seed, log and open decisions are the file's word in any case: nothing here tells who wrote it.

    `log` as in `start`: True goes on with the log that the file has, if it has one; None drops it; a function is given what is
    learned from now on, and the file's is dropped.
    """
    if verify is not None:
        boolean("verify", verify)
    try:
        with np.errstate(all="ignore"):  # what cannot be may overflow on the way to its refusal
            policy = restored(*read(path), recipe, arms)
            if verify:
                check_bits(policy)
            elif verify is None and is_short(policy):
                take_replayed(policy)
        policy._log_to(log)
        return policy
    except SnapshotError as error:
        error.args = (f"{os.fspath(path)}: {error}",)
        raise


def restored(content: Any, tensors: Tensors, recipe: Recipe | None, arms: Arms | None) -> Policy:
    """A policy, if content and tensors are those of one."""
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
    ledger = policy._ledger
    if log:
        check_log(policy, log, round, version)
    check_open(policy, waiting, round, version, log["rounds"] if log else np.zeros(0, np.int64))
    for name, values in ledger.model.arrays().items():
        values[...] = tensors[f"state.{name}"]
    for name, column in ledger.columns().items() if log else ():
        values = (
            np.minimum(log[name], 1.0) if name == "propensities" else log[name]
        )  # as those of open decisions
        column.frombytes(values.tobytes())
    ledger.round, ledger.version = round, version
    check_state(policy)
    ledger.update_checks()
    for row in range(len(waiting["round"])):
        decision = open_decision(waiting, row, policy._origin)
        ledger.open[decision.round] = decision
    return policy


def checked_content(content: Any) -> tuple[dict[str, Any], int, int, int]:
    """(description of the arms, seed, round, version)."""
    if not isinstance(content, dict) or set(content) != {
        "recipe",
        "arms",
        "seed",
        "round",
        "version",
    }:
        raise SnapshotError.about("content", content, "recipe, arms, seed, round and version")
    arms, seed, round = content["arms"], content["seed"], content["round"]
    if (
        not isinstance(arms, dict)
        or set(arms) != {"kind", "dim"}
        or not isinstance(arms["kind"], str)
    ):
        raise SnapshotError.about("content.arms", arms, "kind and dim")
    whole_number("content.arms.dim", arms["dim"], 1)
    whole_number("content.round", round, 0, LATEST_ROUND)
    return (
        arms,
        whole_number("content.seed", seed, 0),
        round,
        whole_number("content.version", content["version"], 0, round),
    )


def whole_number(part: str, value: object, least: int, most: int | None = None) -> int:
    try:
        return whole(part, value, least, most)
    except EnsampleError as error:
        raise SnapshotError(str(error)) from None


def restored_recipe(description: Any, given: Recipe | None) -> Recipe:
    description = upgraded(description)
    if given is not None:
        if wherever(describe(instance("recipe", given, Recipe, "a recipe"))) != wherever(
            description
        ):
            raise InvalidArgument("recipe", given, f"the saved recipe, {description}")
        return given
    built = rebuild(description)
    if not isinstance(built, Recipe):
        raise SnapshotError.about("content.recipe", description, "a recipe")
    return built


def with_stored_members(description: Any, recipe: Recipe) -> Recipe:
    """Return the recipe that goes on with the members of a snapshot; those of releases without `fresh` were all stored."""
    if not isinstance(recipe, EnsembleSampling) or "fresh" in description:
        return recipe
    if (
        description.get("bold")
        and recipe.learns_scale
        and isinstance(recipe.model, Linear)
        and not recipe.rule.looks
    ):
        warnings.warn(
            "an earlier release saved this policy and boosted some of its rounds, which this one does not: what it learned is "
            "kept, but it decides otherwise from now on",
            SnapshotWarning,
            stacklevel=4,
        )
    return replace(recipe, fresh=False) if recipe.draws_fresh else recipe


def restored_arms(description: dict[str, Any], tensors: Tensors, given: Arms | None) -> Arms:
    name, dim, stored = description["kind"], description["dim"], part_of(tensors, "arms")
    if given is not None:
        instance("arms", given, Arms, "arms")
        same = name_of(type(given)) == name and given.dim == dim
        parameters = given.parameters or {}
        if not same or not all(
            part in parameters and np.array_equal(stored[part], parameters[part]) for part in stored
        ):
            raise InvalidArgument("arms", given, f"the saved arms, {name} of dim {dim}")
        return given
    kind = public_object(name)
    if (
        not (isinstance(kind, type) and issubclass(kind, Arms))
        or kind.parameters is Arms.parameters
    ):
        raise SnapshotError(f"{name} cannot be stored: hand them to load(path, arms=...)")
    expected = set(signature(kind).parameters)
    arguments = {"dim": dim} if expected == {"dim"} else stored
    if set(arguments) != expected:
        raise SnapshotError.about(
            "arms", sorted(stored), f"the arrays of {name}: {', '.join(sorted(expected))}"
        )
    try:
        built: Arms = kind(**arguments)
    except EnsampleError as error:
        raise SnapshotError(f"arms.{error}") from error
    if built.dim != dim:
        raise SnapshotError.about("content.arms.dim", dim, f"{built.dim}, as the arms have")
    return built


def check_size_of_file(recipe: Recipe, arms: Arms, tensors: Tensors) -> None:
    """V and stored members' sums are in the file: what they take is known before a policy is made that takes as much."""
    if not is_ours(type(recipe)):
        return  # whose arrays are its own affair
    members = 1 if getattr(recipe, "draws_fresh", False) else getattr(recipe, "size", 1)
    least = arms.dim * max(arms.dim, members)
    found = max((values.size for values in part_of(tensors, "state").values()), default=0)
    if found < least:
        raise SnapshotError.about(
            "state", f"arrays of at most {found} numbers", f"one of at least {least} for {recipe!r}"
        )


def layout_of(policy: Policy) -> Layout:
    """What a snapshot of a policy has, as `snapshot.save` writes it."""
    stored = {
        name: values
        for name, values in (policy.arms.parameters or {}).items()
        if isinstance(values, np.ndarray)
    }
    layout: Layout = {
        f"arms.{name}": (values.dtype, values.shape) for name, values in stored.items()
    }
    layout |= {
        f"state.{name}": (values.dtype, values.shape)
        for name, values in policy.model.arrays().items()
    }
    if policy._ledger.keeps_log:
        columns = policy._ledger.columns()
        layout |= {
            f"log.{name}": (np.dtype(column.typecode), (None,)) for name, column in columns.items()
        }
    layout |= {f"open.{name}": (WHOLE, (None,)) for name in ("round", "version", "member", "arm")}
    layout |= {"open.standing": (FLAG, (None,)), "open.propensity": (FLOAT, (None,))}
    return layout | {"open.features": (FLOAT, (None, policy.arms.dim))}


def check_layout(layout: Layout, tensors: Tensors) -> None:
    if set(tensors) != set(layout):
        strange, missing = sorted(set(tensors) - set(layout)), sorted(set(layout) - set(tensors))
        raise SnapshotError(f"arrays: {strange} are not of this policy, {missing} are missing")
    for name, (dtype, shape) in layout.items():
        found = tensors[name]
        fits = len(found.shape) == len(shape) and all(
            n is None or n == m for n, m in zip(shape, found.shape, strict=True)
        )
        if found.dtype != dtype or not fits:
            expected = ", ".join("n" if n is None else str(n) for n in shape)
            raise SnapshotError(
                f"{name}: {found.dtype} of shape {found.shape}, expected {dtype} of shape ({expected})"
            )


def part_of(tensors: Tensors, part: str) -> Tensors:
    return {
        name.removeprefix(f"{part}."): values
        for name, values in tensors.items()
        if name.startswith(f"{part}.")
    }


def open_decision(waiting: Tensors, row: int, origin: str) -> Decision:
    """A decision that was waiting when the snapshot was taken."""
    features = waiting["features"][row].copy()
    features.setflags(write=False)
    arm, propensity = int(waiting["arm"][row]), float(waiting["propensity"][row])
    return Decision(
        round=int(waiting["round"][row]),
        arm=None if arm == NO_ARM else arm,
        features=features,
        member=int(waiting["member"][row]),
        version=int(waiting["version"][row]),
        propensity=None
        if np.isnan(propensity)
        else min(propensity, 1.0),  # earlier releases let rounding exceed it
        standing=bool(waiting["standing"][row]),
        origin=origin,
    )
