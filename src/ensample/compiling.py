"""Who is told when a kernel is about to be compiled: it takes seconds, and somebody may be waiting."""

from collections.abc import Callable

__all__ = ["LISTENERS", "announce"]

LISTENERS: list[Callable[[str], None]] = []
"""Each is called with the name of the kernel, in the thread that compiles it."""


def announce(kernel: str) -> None:
    for listener in LISTENERS:
        listener(kernel)
