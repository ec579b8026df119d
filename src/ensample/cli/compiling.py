"""What is said of compilation, on the error stream: nothing where nothing is compiled."""

import threading

from ensample.cli.console import errors, progress
from ensample.compiling import WORDS

__all__ = ["compiled_ahead", "tell"]

SAYING = threading.Lock()
SAID: list[str] = []


def tell(kernel: str) -> None:
    """That a kernel is being compiled in this process: once."""
    with SAYING:
        if SAID:
            return
        SAID.append(kernel)
    errors.print(f"{WORDS}: a moment", highlight=False)


def compiled_ahead(tasks: list[str], processes: int | None = None) -> int:
    """Do those of these tasks that are not done yet, with a bar or, where there is no terminal, a line: how many there were."""
    from ensample.simulation.tasks import waiting
    from ensample.simulation.warming import compile_ahead

    left = waiting(tasks)
    if not left:
        return 0
    SAID.append(WORDS)
    if not errors.is_terminal:
        errors.print(f"{WORDS}: {len(left)} to do", highlight=False)
    with progress() as bars:
        task = bars.add_task(WORDS, total=len(left))
        compile_ahead(left, processes, lambda done, _: bars.update(task, completed=done))
    return len(left)
