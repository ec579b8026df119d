"""Load mutants one after the other, in a process of its own: python -m attacks.try_mutants FIRST LAST FOLDER

Prints a line before each and a line of JSON after it, so that who started this knows which one ended it.
"""

import json
import resource
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

import ensample as es
from attacks.mutants import BASES, mutated
from conformance.policies import ARMS, fingerprint, offered, reward
from ensample.models import FreshEnsemble
from ensample.models.ridge import ridge_views
from ensample.policies.generalized import StreamPosterior
from ensample.policies.multiplier_bootstrap import ReweighedModel
from ensample.policies.sup_linucb import StagedModel

MEMORY = 12 << 30  # of addresses; a policy of these tests takes a few kilobytes


def main(first: int, last: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")  # of overflow in numbers that are absurd and believed
    path = folder / "mutant"
    for number in range(first, last):
        changes, content = mutated(number)
        path.write_bytes(content)
        print(number, flush=True)
        outcome = judged(path, BASES[number % len(BASES)][2], folder)
        print(json.dumps({"number": number, "changes": changes, "outcome": outcome}), flush=True)


def judged(path: Path, arms: str, folder: Path) -> str:
    """'refused', 'equal', 'found' (by the replay), 'mended' (digits taken from it), or what is wrong."""
    given = ARMS[arms]() if arms == "oracle" else None
    outcome = believed(path, given, folder)
    if outcome not in ("refused", "equal", "close", "believed"):
        return outcome
    try:
        policy = loaded(path, given, None)
    except es.SnapshotError:
        kept_out = {"refused": "refused", "close": "found", "believed": "found"}
        return kept_out.get(outcome, "refused, though it is what its log gives")
    except es.InvalidArgument:  # of arms that were handed in
        return outcome if outcome == "refused" else "refused for its arms"
    except BaseException as error:
        return f"load: {type(error).__name__}: {error}"[:300]
    if outcome == "refused":
        return "loads, though what is asked of every file refuses it"
    if differing(policy):
        return f"lies: {differing(policy)} are not what the log gives"
    if outcome == "equal":
        return outcome
    try:  # a policy that could have been saved: that of its log
        return (
            "mended"
            if as_if_saved(policy, given, folder) == "equal"
            else "another policy than that of its log"
        )
    except BaseException:
        return "after load: " + traceback.format_exc(limit=-3)[-600:]


def loaded(path: Path, given: es.Arms | None, verify: bool | None) -> es.Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # looking at a file warns of nothing
        return es.load(path, arms=given, verify=verify)


def believed(path: Path, given: es.Arms | None, folder: Path) -> str:
    """Without a replay: 'refused', 'equal', 'close', 'believed', or what is wrong."""
    try:
        policy = loaded(path, given, False)
    except es.SnapshotError:
        return "refused"
    except es.InvalidArgument as error:  # of arms that were handed in
        return "refused" if given is not None and error.argument == "arms" else f"load: {error!r}"
    except BaseException as error:
        return f"load: {type(error).__name__}: {error}"[:300]
    try:
        go_on(
            es.load(path, arms=given, verify=False)
        )  # at once, before saving may stumble over what learning would
        replayed = against_replay(policy, path, given)
        outcome = as_if_saved(policy, given, folder, verify=False)
        return replayed if outcome == "equal" else outcome
    except BaseException:
        return "after load: " + traceback.format_exc(limit=-3)[-600:]


def differing(policy: es.Policy) -> list[str]:
    """The arrays that are not what the log gives, to the last bit."""
    again = policy.recipe.replay(policy.arms, policy.log(), policy.seed).model.arrays()
    return [
        name
        for name, values in policy.model.arrays().items()
        if values.tobytes() != again[name].tobytes()
    ]


BELIEVED = {  # what was drawn or trained, which only a replay can tell; also what follows from it, or from past moments
    "sums",
    "directions",
    "weights",
    "rewards.misses",
    "features.sizes",
    "scales",
    "last",
    "largest",
}


def against_replay(policy: es.Policy, path: Path, given: es.Arms | None) -> str:
    """Whether the log gives the state: 'equal' to the last bit, 'close', 'believed' where it was drawn, or what is wrong.

    With `verify` nothing but the first is loaded.
    """
    again = policy.recipe.replay(policy.arms, policy.log(), policy.seed)
    states = {
        name: (values, again.model.arrays()[name]) for name, values in policy.model.arrays().items()
    }
    different = [
        name
        for name, (values, expected) in states.items()
        if values.tobytes() != expected.tobytes()
    ]
    try:
        es.load(path, arms=given, verify=True)
        verified = True
    except es.SnapshotError:
        verified = False
    if verified == bool(different):
        return f"verify: {'loads' if verified else 'refused'}, and {different} are not what the log gives"
    far = [name for name in different if not is_close(name, *states[name])]
    told = [name for name in far if name not in BELIEVED and not is_drawn(policy, name)]
    if told:
        return f"lies: {told} are not what the log gives"
    return "equal" if not different else "believed" if far else "close"


def is_drawn(policy: es.Policy, name: str) -> bool:
    """Whether an array depends on draws, or on scales and weights that were learned on the way."""
    model = policy.model
    if name == "ridge":
        return model.unknown is not None or model.weighted
    if name in ("root", "gram_root"):
        return isinstance(model, StreamPosterior) or (
            isinstance(model, FreshEnsemble) and model.weighted
        )
    return name in ("grams", "targets", "inverses", "means") and isinstance(
        model, ReweighedModel | StagedModel
    )


def is_close(name: str, values: np.ndarray, expected: np.ndarray) -> bool:
    """To two digits of the largest; of a ridge regression, in each part that anything is computed from."""
    if name != "ridge":
        return bool(
            (np.abs(values - expected) <= 1e-2 * np.abs(expected).max(initial=1e-300)).all()
        )
    own, theirs = ridge_views(values), ridge_views(expected)
    used = ("gram", "inverse", "target", "mean", "prior", "lengths")
    pairs = [(getattr(own, part), getattr(theirs, part)) for part in used]
    pairs += [
        (getattr(own, part).ravel()[:1], getattr(theirs, part).ravel()[:1])
        for part in ("seen", "information", "rate")
    ]
    return all(
        (np.abs(one - other) <= 1e-2 * np.abs(other).max(initial=1e-300)).all()
        for one, other in pairs
    )


def as_if_saved(
    policy: es.Policy, given: es.Arms | None, folder: Path, verify: bool | None = None
) -> str:
    """Whether a policy could have been saved: it saves, loads, decides, learns and saves again as its twin does."""
    policy.save(folder / "again")
    twin = es.load(folder / "again", arms=given, verify=verify)
    if not same(policy, twin):
        return "another policy after saving and loading"
    answers = [go_on(one) for one in (policy, twin)]
    if answers[0] != answers[1] or not same(policy, twin):
        return "goes on otherwise after saving and loading"
    policy.save(folder / "later")
    return (
        "equal"
        if same(policy, es.load(folder / "later", arms=given, verify=verify))
        else "another policy after going on"
    )


def go_on(policy: es.Policy) -> list[str]:
    """Reward what is open, then decide and learn; what a fresh policy of the recipe refuses too may be refused."""
    for k, decision in enumerate(policy.open_decisions):
        policy.update(decision, 0.25 * k)
    policy.log(), policy.votes(), policy.open_decisions
    answers = []
    for t in range(5):
        features = offered(policy, t)
        try:
            decision = policy.decide(features)
        except es.EnsampleError as error:
            if fresh_refuses(policy, features):
                answers.append(type(error).__name__)
                continue
            raise
        policy.update(decision, reward(policy, t, decision))
        answers.append(repr(decision))
    return answers


def fresh_refuses(policy: es.Policy, features: np.ndarray | None) -> bool:
    try:
        policy.recipe.start(policy.arms, policy.seed).decide(features)
    except es.EnsampleError:
        return True
    return False


def same(one: es.Policy, other: es.Policy) -> bool:
    equal = (
        one.recipe == other.recipe and one.seed == other.seed and repr(one.arms) == repr(other.arms)
    )
    return equal and type(one) is type(other) and fingerprint(one) == fingerprint(other)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
