"""Who is told when a kernel is about to be compiled: it takes seconds, and somebody may be waiting."""

import sys
from collections.abc import Callable

__all__ = ["LISTENERS", "WORDS", "announce", "listen"]

LISTENERS: list[Callable[[str], None]] = []
"""Each is called with the name of the kernel, in the thread that compiles it."""

WORDS = "compiling, once for each installation"
SAID: list[str] = []


def announce(kernel: str) -> None:
    for listener in LISTENERS:
        listener(kernel)


def listen() -> None:
    """Have it said on the error stream, once, unless somebody listens already."""
    if not LISTENERS:
        LISTENERS.append(say)


def say(kernel: str) -> None:
    """Where somebody is looking: at a terminal, or in a notebook."""
    if not SAID and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        SAID.append(kernel)
        print(f"ensample is {WORDS}: a moment (`ensample warm-up` does all of it ahead)", file=sys.stderr)
