"""Who is told when a kernel is about to be compiled: it takes seconds, and somebody may be waiting."""

import sys
from collections.abc import Callable

__all__ = ["LISTENERS", "WORDS", "announce"]

LISTENERS: list[Callable[[str], None]] = []
"""Each is called with the name of the kernel, in the thread that compiles it. Where there are none, it is said once."""

WORDS = "compiling, once for each installation"
SAID: list[str] = []


def announce(kernel: str) -> None:
    for listener in LISTENERS or (say,):
        listener(kernel)


def say(kernel: str) -> None:
    """On the error stream where somebody looks, at a terminal or in a notebook; of many processes the first one does."""
    from multiprocessing import parent_process  # ten milliseconds, for those who wait for seconds

    watched = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not SAID and watched and parent_process() is None:
        SAID.append(kernel)
        print(f"ensample is {WORDS}: a moment (`ensample warm-up` does all of it ahead)", file=sys.stderr)
