"""When Ctrl-C is let in.

Raised among LLVM's calls of Python it would be lost, or end the process; raised where numba takes note of what there is to
compile with, it would leave numba unable to compile anything until the process ends. So it waits, and what may take seconds
lets it in now and then.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["let_in", "uninterrupted"]

WAITING: list[tuple[Any, list[tuple[Any, ...]]]] = []
"""Of each `uninterrupted` that the main thread is in: the handler to be called after it, and with what."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of this."""
    before = signal.getsignal(signal.SIGINT)
    pressed: list[tuple[Any, ...]] = []
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    WAITING.append((before, pressed))
    try:
        yield
    finally:
        WAITING.pop()
        signal.signal(signal.SIGINT, before)
        if pressed:
            before(*pressed[-1])


def let_in() -> None:
    """Here Ctrl-C that waits may be raised."""
    if WAITING and threading.current_thread() is threading.main_thread():
        before, pressed = WAITING[-1]
        if pressed:
            given = pressed[-1]
            pressed.clear()
            before(*given)
