"""Kills a process that decides and rewards in four threads, again and again, and looks at what is
left.

    python -m experiments.try_kills KILLS FOLDER [answers-first]

The process is a fork of this one, which has everything imported. Each answer goes into a pipe once
it was given. It prints what was found as JSON: kills, answers given, answers of which nothing was
found, rewards that count twice, states that differ.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ensample as es
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.sqlite import SQLiteStorage
from experiments.test_power import AnswersFirst

THREADS = 4
RESTART = 25  # kills after which a new file is begun
GIVEN: dict[str, Any] = {
    "actions": ["a", "b", "c"],
    "recipe": es.EnsembleSampling(size=10),
    "reward": es.Reward(0, 1, wait="1 h", default=0),
}


def work(path: Path, kind: type[SQLiteStorage], pipe: int) -> None:
    """Until killed."""
    experiment = experiment_in(kind(path), {"name": "killed"}, GIVEN)
    say = threading.Lock()

    def answered(*what: Any) -> None:
        with say:
            os.write(pipe, json.dumps(what).encode() + b"\n")  # short enough to be written whole

    def loop(number: int) -> None:
        for step in range(1_000_000):
            decision = experiment.decide(
                {"x": step % 5, "city": f"c{number}"}, id=f"{os.getpid()}-{number}-{step}"
            )
            answered("decided", decision.id, decision.action, decision.propensity)
            value = (step % 7) / 7
            answered("rewarded", decision.id, experiment.reward(decision, value), value)
            if step % 5 == 0:
                answered("again", decision.id, experiment.reward(decision, value), value)

    for number in range(THREADS):
        threading.Thread(target=loop, args=(number,), daemon=True).start()
    time.sleep(3_600)


def killed(path: Path, kind: type[SQLiteStorage], rng: random.Random) -> list[list[Any]]:
    """Return the answers that a process gave until it was killed, at any moment."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(path, kind, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        read = b"".join(
            pipe.readline() for _ in range(rng.randrange(1, 30))
        )  # a busy machine gives them slowly
        time.sleep(rng.random() * 0.008)
        os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    os.waitpid(child, 0)
    lines = (read + rest).split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def look(path: Path, answers: list[list[Any]], found: dict[str, int]) -> None:
    """At all answers that this file should hold."""
    with es.open_experiment(path) as experiment:
        try:
            experiment.verify()
        except es.SnapshotError:
            found["differ"] += 1
        rows = {row["id"]: row for row in experiment.log().iter_rows(named=True)}
        counted = sum(row["outcome"] == "applied" for row in rows.values())
        found["doubled"] += abs(experiment.version - counted)
        for kind, id, *rest in answers:
            row = rows.get(id)
            if row is None:
                found["lost"] += 1
            elif kind == "decided":
                found["lost"] += [row["action"], row["propensity"]] != rest
            elif kind == "rewarded":
                found["lost"] += (
                    rest[0] != "applied" or row["outcome"] != "applied" or row["reward"] != rest[1]
                )
            else:
                found["doubled"] += rest[0] != "duplicate"


def main() -> None:
    kills, folder = int(sys.argv[1]), Path(sys.argv[2])
    kind = AnswersFirst if "answers-first" in sys.argv else SQLiteStorage
    first = es.Experiment("first", **GIVEN)  # the forks inherit what its calls import
    first.reward(first.decide({"x": 1}), 1)
    found = {"kills": 0, "answers": 0, "lost": 0, "doubled": 0, "differ": 0}
    rng = random.Random(7)
    answers: list[list[Any]] = []
    for number in range(kills):
        path = folder / f"{number // RESTART}.db"
        answers += killed(path, kind, rng)
        found["kills"] += 1
        if (number + 1) % RESTART == 0 or number + 1 == kills:
            found["answers"] += len(answers)
            look(path, answers, found)
            answers = []
    print(json.dumps(found))


if __name__ == "__main__":
    main()
