"""Kill and interrupt saves at random moments, in a process of its own.

Python -m attacks.try_saves KILLS INTERRUPTS FOLDER

Prints one line of JSON: how often the file was damaged, how much was left over, and whether the
next save removed it.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import ensample as es
from conformance.policies import fingerprint, play, start


def main(kills: int, interrupts: int, folder: Path) -> None:
    policies = [start("ensemble", "finite"), start("ensemble", "finite")]
    play(policies[1], 20)
    path = folder / "policy"
    begun = time.perf_counter()
    for policy in policies * 5:
        policy.save(path)
    longest = (
        1.3 * (time.perf_counter() - begun) / 10
    )  # until a blow falls: somewhere in a save, or just after it
    known = {fingerprint(policy) for policy in policies}
    counts = Counter(killed=0, interrupted=0, damaged=0)
    left: set[str] = set()
    kept: set[str] = set()
    moments = random.Random(0)
    for attempt in range(kills):
        counts["killed"] += kill(
            policies, path, longest * moments.random(), inside=attempt % 2 == 1
        )
        counts["damaged"] += damaged(path, known)
        left |= others(path)
        policies[attempt % 2].save(path)
        kept |= others(path)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for attempt in range(interrupts):
        counts["interrupted"] += interrupt(policies[attempt % 2], path, longest * moments.random())
        counts["damaged"] += damaged(path, known)
        kept |= others(path)  # an interrupt leaves nothing to begin with
    print(json.dumps({**counts, "leftovers": len(left), "kept": len(kept)}))


def others(path: Path) -> set[str]:
    return set(os.listdir(path.parent)) - {path.name}


def kill(policies: list[es.Policy], path: Path, after: float, inside: bool) -> bool:
    """Let a child save again and again, until it is killed.

    After some time, or then as soon as a file is half written.
    """
    child = os.fork()
    if child == 0:
        while True:
            for policy in policies:
                policy.save(path)
    time.sleep(after)
    if inside:
        stop_inside_a_save(child, path, pause=after)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def stop_inside_a_save(child: int, path: Path, pause: float) -> None:
    """Stop the child where its new file stands beside the old one, however fast the disk is."""
    while True:
        os.kill(child, signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)
        if others(path):
            return
        os.kill(child, signal.SIGCONT)
        time.sleep(pause)


def interrupt(policy: es.Policy, path: Path, after: float) -> bool:
    """KeyboardInterrupt, as by Ctrl-C, after some time; False if the save was faster."""
    try:
        signal.setitimer(signal.ITIMER_REAL, after + 1e-6)
        policy.save(path)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        return True
    return False


def damaged(path: Path, known: set[bytes]) -> bool:
    """Whether the file is something else than one of the policies that were saved."""
    try:
        return fingerprint(es.load(path)) not in known
    except es.SnapshotError:
        return True


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
