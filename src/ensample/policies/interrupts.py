"""Ctrl-C in the middle of a kernel's answer.

Where numba hands an array to Python it calls Python to find its dtype. A Ctrl-C that is raised there comes out as
`SystemError: ... returned a result with an exception set`, which nobody who waits for Ctrl-C would catch.
"""

__all__ = ["meant_by"]


def meant_by(error: SystemError) -> BaseException:
    """The Ctrl-C that an error comes from; otherwise the error itself."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return cause if isinstance(cause, KeyboardInterrupt) else error
