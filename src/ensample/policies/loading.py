"""From a snapshot back to a live policy."""

import os
from typing import Any

import numpy as np

from ensample.arms import Arms
from ensample.checks import instance
from ensample.errors import InvalidArgument, SnapshotError
from ensample.policies.decision import Decision
from ensample.policies.describe import ARMS, PARTS, describe, rebuild
from ensample.policies.ensemble_plus_plus import EnsemblePlusPlus
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.epsilon_greedy import EpsilonGreedy
from ensample.policies.greedy import Greedy
from ensample.policies.information_directed import InformationDirected
from ensample.policies.kveton_phe import KvetonPHE
from ensample.policies.linucb import LinUCB
from ensample.policies.perturbed_history import PerturbedHistory
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.refreshed import RefreshedEnsembleSampling
from ensample.policies.sharp import SharpEnsembleSampling
from ensample.policies.snapshot import NO_ARM, Tensors, read
from ensample.policies.symmetrized import SymmetrizedEnsembleSampling
from ensample.policies.thompson_sampling import ThompsonSampling

__all__ = ["load"]

RECIPES = (
    *(EnsembleSampling, SymmetrizedEnsembleSampling, SharpEnsembleSampling, RefreshedEnsembleSampling),
    *(PerturbedHistory, KvetonPHE, ThompsonSampling, EnsemblePlusPlus, InformationDirected),
    *(LinUCB, Greedy, EpsilonGreedy),
)
KINDS = PARTS | {kind.__name__: kind for kind in RECIPES}


def load(path: str | os.PathLike[str], *, recipe: Recipe | None = None, arms: Arms | None = None) -> Policy:
    """The policy of a snapshot: it goes on bit for bit as the saved one would have.

    A law or member rule of your own, and `OracleArms`, cannot be stored: hand them in again as `recipe` and `arms`.
    """
    content, tensors = read(path)
    if recipe is None:
        recipe = rebuild(content["recipe"], KINDS)
    elif describe(instance("recipe", recipe, Recipe, "a recipe")) != content["recipe"]:
        raise InvalidArgument("recipe", recipe, f"the saved recipe, {content['recipe']}")
    log = True if "log.rounds" in tensors else None
    policy = recipe.start(restored_arms(content["arms"], tensors, arms), content["seed"], log=log)
    ledger = policy._ledger
    for name, values in ledger.model.arrays().items():
        values[...] = tensors[f"state.{name}"]
    if "log.rounds" in tensors:
        for name, column in ledger.columns().items():
            column.frombytes(tensors[f"log.{name}"].tobytes())
    for row in range(len(tensors["open.round"])):
        decision = open_decision(tensors, row, policy._origin)
        ledger.open[decision.round] = decision
    ledger.round, ledger.version = content["round"], content["version"]
    return policy


def restored_arms(description: dict[str, Any], tensors: Tensors, given: Arms | None) -> Arms:
    kind = ARMS.get(description["kind"])
    if kind is None and given is None:
        raise SnapshotError(f"{description['kind']} cannot be stored: hand them to load(path, arms=...)")
    stored = {name.removeprefix("arms."): values for name, values in tensors.items() if name.startswith("arms.")}
    if given is None:
        assert kind is not None
        return kind(**(stored or {"dim": description["dim"]}))  # type: ignore[no-any-return]
    instance("arms", given, Arms, "arms")
    same = type(given).__name__ == description["kind"] and given.dim == description["dim"]
    parameters = given.parameters or {}
    if not same or not all(np.array_equal(values, parameters[name]) for name, values in stored.items()):
        raise InvalidArgument("arms", given, f"the saved arms, {description['kind']} of dim {description['dim']}")
    return given


def open_decision(tensors: Tensors, row: int, origin: str) -> Decision:
    """A decision that was waiting when the snapshot was taken."""
    features = tensors["open.features"][row].copy()
    features.setflags(write=False)
    arm, propensity = int(tensors["open.arm"][row]), float(tensors["open.propensity"][row])
    return Decision(
        round=int(tensors["open.round"][row]),
        arm=None if arm == NO_ARM else arm,
        features=features,
        member=int(tensors["open.member"][row]),
        version=int(tensors["open.version"][row]),
        propensity=None if np.isnan(propensity) else propensity,
        standing=bool(tensors["open.standing"][row]),
        origin=origin,
    )
