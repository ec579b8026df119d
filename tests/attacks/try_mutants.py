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
    """'refused', 'equal', or what is wrong."""
    given = ARMS[arms]() if arms == "oracle" else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # looking at a file warns of nothing
            policy = es.load(path, arms=given)
    except es.SnapshotError:
        return "refused"
    except es.InvalidArgument as error:  # of arms that were handed in
        return "refused" if given is not None and error.argument == "arms" else f"load: {error!r}"
    except BaseException as error:
        return f"load: {type(error).__name__}: {error}"[:300]
    try:
        go_on(es.load(path, arms=given))  # at once, before saving may stumble over what learning would
        return as_if_saved(policy, given, folder)
    except BaseException:
        return "after load: " + traceback.format_exc(limit=-3)[-600:]


def as_if_saved(policy: es.Policy, given: es.Arms | None, folder: Path) -> str:
    """Whether a policy could have been saved: it saves, loads, decides, learns and saves again as its twin does."""
    policy.save(folder / "again")
    twin = es.load(folder / "again", arms=given)
    if not same(policy, twin):
        return "another policy after saving and loading"
    answers = [go_on(one) for one in (policy, twin)]
    if answers[0] != answers[1] or not same(policy, twin):
        return "goes on otherwise after saving and loading"
    policy.save(folder / "later")
    return "equal" if same(policy, es.load(folder / "later", arms=given)) else "another policy after going on"


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
    equal = one.recipe == other.recipe and one.seed == other.seed and repr(one.arms) == repr(other.arms)
    return equal and type(one) is type(other) and fingerprint(one) == fingerprint(other)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
