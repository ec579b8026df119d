"""Compare this version with one in another environment: `--against PYTHON`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import Step, Times, Turn, take_turns
from ensample.errors import InvalidArgument

WORKER = Path(__file__).with_name("version_worker.py")
OTHER = "other"


class VersionProcess:
    """Process that measures one version, case by case."""

    def __init__(self, python: str, level: str) -> None:
        environment = dict(os.environ)
        if python != sys.executable:
            environment.pop("PYTHONPATH", None)  # it leads to this version
        self.process = subprocess.Popen(
            [python, str(WORKER), level],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def measure(self, case: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise InvalidArgument(
                "against", self.process.args, f"a Python whose ensample can measure {case!r}"
            )
        return float(answer)

    def turn(self, case: str) -> Turn:
        return lambda: self.measure(case)


@contextmanager
def workers(other: str, levels: list[str]) -> Iterator[dict[str, VersionProcess]]:
    started = {OTHER: VersionProcess(other, "")} | {
        level: VersionProcess(sys.executable, level) for level in levels
    }
    try:
        yield started
    finally:
        for worker in started.values():
            worker.process.kill()
            worker.process.communicate()


def compare_versions(
    other: str, cases: list[str], levels: list[str], turns: int, step: Step
) -> Iterator[tuple[str, Times]]:
    """Yield the times of each case: of the other version, and of this one at each level."""
    with workers(other, levels) as started:
        for case in cases:
            contestants = {name: worker.turn(case) for name, worker in started.items()}
            yield case, take_turns(contestants, turns, step)
