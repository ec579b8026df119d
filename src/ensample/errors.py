"""Everything that ensample raises on purpose.

    EnsampleError
    ├── InvalidArgument     (also ValueError) an argument, the value it got, what was expected
    │   ├── WrongType       (also TypeError)  an object of the wrong type
    │   ├── NonFiniteError  an observation with which a model would not stay finite
    │   ├── DecisionError   a decision that is not open: unknown here, or rewarded before
    │   └── StudyError      a key of a study file, or a folder of results that cannot be used
    ├── AssumptionError     (also ValueError) a theorem called outside its assumptions
    ├── MissingPackage      (also ImportError) an optional package that is not installed
    ├── ForkError           (also RuntimeError) used in a process that inherited it through a fork
    ├── PropensityError     a propensity that is not known exactly
    ├── SnapshotError       (also ValueError) a damaged, foreign or too new snapshot
    ├── ServiceError        what `ensample.client` was refused, or had no answer to
    └── StorageError        (also OSError)    a file that cannot be written, as on a full disk

A call that raises one of these has changed nothing; where a service gave no answer, nobody knows.
And what it warns of:

    LiveSimulationWarning   (a UserWarning) a simulation for which there is no kernel
    FeatureCapWarning       (a UserWarning) an experiment with more features than columns allowed
    IdentifierWarning       (a UserWarning) a field of contexts whose texts are all different
    SnapshotWarning         (a UserWarning) a failed snapshot, or one of an earlier release
    ConvergenceWarning      (a UserWarning) a fit that stopped before it converged
    LeftOutWarning          (a UserWarning) a stored reward that a model cannot learn
"""

import errno
import reprlib
from collections.abc import Sequence
from pathlib import PurePath
from typing import Self

import numpy as np

SHOWN = 40  # mistakes of a study that are written out


class EnsampleError(Exception):
    """The root of the tree."""


class InvalidArgument(EnsampleError, ValueError):
    """An argument has a value that cannot be used.

    >>> raise InvalidArgument("size", 0, "a whole number >= 1")
    Traceback (most recent call last):
    ...
    ensample.errors.InvalidArgument: size = 0: expected a whole number >= 1
    """

    def __init__(self, argument: str, value: object, expected: str) -> None:
        super().__init__(argument, value, expected)
        self.argument = argument
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.argument} = {show(self.value)}: expected {self.expected}"


class WrongType(InvalidArgument, TypeError):
    """An argument is an object of the wrong type."""

    def __str__(self) -> str:
        given = f"{self.argument} = {show(self.value)} ({type(self.value).__name__})"
        return f"{given}: expected {self.expected}"


class NonFiniteError(InvalidArgument):
    """An observation would make a number of a model infinite or NaN."""


class DecisionError(InvalidArgument):
    """A reward was offered for a decision that is not open."""


class StudyError(InvalidArgument):
    """A study cannot be run as it is written, or not into this folder.

    `source` is the file, or the name of a study that has none. `mistakes` has an error for each
    thing that is wrong; the argument, the value and what was expected are those of the first.

    >>> raise StudyError("mine.toml", "policy[0].size", 0, "a whole number >= 1")
    Traceback (most recent call last):
    ...
    ensample.errors.StudyError: mine.toml: policy[0].size = 0: expected a whole number >= 1
    """

    def __init__(
        self,
        source: str,
        key: str,
        value: object,
        expected: str,
        others: "tuple[StudyError, ...]" = (),
    ) -> None:
        super().__init__(key, value, expected)
        self.args = (source, key, value, expected, others)
        self.source = source
        self.others = others

    @classmethod
    def about(cls, mistakes: "Sequence[StudyError]") -> Self:
        """One error for all of them."""
        first, *others = mistakes
        return cls(first.source, first.argument, first.value, first.expected, tuple(others))

    @property
    def mistakes(self) -> "tuple[StudyError, ...]":
        return (StudyError(self.source, self.argument, self.value, self.expected), *self.others)

    def __str__(self) -> str:
        first = f"{self.source}: {super().__str__()}"
        if not self.others:
            return first
        lines = [first, *map(str, self.others[: SHOWN - 1])]
        more = [f"... and {len(self.others) - SHOWN + 1} more"] if len(self.others) >= SHOWN else []
        return "\n".join([f"{self.source}: {len(self.others) + 1} mistakes", *lines, *more])


class AssumptionError(EnsampleError, ValueError):
    """A theorem was called outside its assumptions.

    `assumption` is what the theorem asks, `found` what it was given.
    """

    def __init__(self, theorem: str, assumption: str, found: str) -> None:
        super().__init__(theorem, assumption, found)
        self.theorem = theorem
        self.assumption = assumption
        self.found = found

    def __str__(self) -> str:
        return f"{self.theorem} assumes {self.assumption}; here {self.found}"


class MissingPackage(EnsampleError, ImportError):
    """An optional package that is not installed. `user` needs it, `command` installs it.

    >>> raise MissingPackage("open_experiment", ("apsw",), "pip install apsw")
    Traceback (most recent call last):
    ...
    ensample.errors.MissingPackage: open_experiment needs apsw: pip install apsw
    """

    def __init__(self, user: str, packages: tuple[str, ...], command: str) -> None:
        super().__init__(user, packages, command)
        self.user = user
        self.packages = packages
        self.command = command

    def __str__(self) -> str:
        *others, last = self.packages
        names = " and ".join([", ".join(others), last] if others else [last])
        return f"{self.user} needs {names}: {self.command}"


class PropensityError(EnsampleError):
    """The probability of a decision is not known exactly, and a guess would be worse than none."""


class SnapshotError(EnsampleError, ValueError):
    """A snapshot cannot be read.

    >>> raise SnapshotError.about("log.arms[3]", 999, "a standing arm, 0 to 6")
    Traceback (most recent call last):
    ...
    ensample.errors.SnapshotError: log.arms[3] = 999: expected a standing arm, 0 to 6
    """

    @classmethod
    def about(cls, part: str, value: object, expected: str) -> Self:
        """Name the part of the file, its value and what was expected."""
        return cls(f"{part} = {show(value)}: expected {expected}")


class StorageError(EnsampleError, OSError):
    """A file could not be written. `errno`, `strerror` and `filename` are those of the system.

    >>> print(StorageError(28, "No space left on device", "my.safetensors"))
    path = 'my.safetensors': expected a place to write to (No space left on device)
    """

    def __str__(self) -> str:
        expected = (
            "an experiment that is open" if self.errno == errno.EBADF else "a place to write to"
        )
        return f"path = {self.filename!r}: expected {expected} ({self.strerror})"


class ForkError(EnsampleError, RuntimeError):
    """A process made by `fork` used what belongs to its parent or was being changed at the fork.

    >>> print(ForkError("the experiment", "opened in this process"))
    the experiment was inherited through a fork: expected one opened in this process
    """

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(what, expected)
        self.what, self.expected = what, expected

    def __str__(self) -> str:
        return f"{self.what} was inherited through a fork: expected one {self.expected}"


class ServiceError(EnsampleError):
    """The decision service refused a call, or did not answer it.

    `status` is that of HTTP, None where there was no answer; `code` is for programs: conflict,
    paused, unreachable, ...

    >>> raise ServiceError(409, "paused", "the experiment is paused")
    Traceback (most recent call last):
    ...
    ensample.errors.ServiceError: paused (409): the experiment is paused
    """

    def __init__(
        self, status: int | None, code: str, message: str, argument: str | None = None
    ) -> None:
        super().__init__(status, code, message, argument)
        self.status, self.code, self.message, self.argument = status, code, message, argument

    def __str__(self) -> str:
        return f"{self.code}{'' if self.status is None else f' ({self.status})'}: {self.message}"


class LiveSimulationWarning(UserWarning):
    """No kernel simulates this recipe on this problem; its live policy does, at Python's pace."""


class FeatureCapWarning(UserWarning):
    """An experiment has seen more features than it may have columns: new ones share some."""


class IdentifierWarning(UserWarning):
    """A field of contexts had many texts, all different, like an identifier: each is a column."""


class SnapshotWarning(UserWarning):
    """A snapshot failed and the experiment goes on, or one of an earlier release was read."""


class ConvergenceWarning(UserWarning):
    """A fit was given up before its last step was short enough; what it had come to is used."""


class LeftOutWarning(UserWarning):
    """An experiment leaves a reward of its log out of its model, which it would make infinite."""


def show(value: object) -> str:
    """Return a value in short: arrays by shape, type and first entries, frames by columns."""
    if isinstance(value, np.ndarray) and value.size > 8:
        head = np.array2string(value.ravel()[:3], precision=4, separator=", ")[1:-1]
        return f"array of shape {value.shape}, type {value.dtype} [{head}, ...]"
    if hasattr(value, "to_numpy") and hasattr(
        value, "shape"
    ):  # a Series or a frame, which would fill a page
        columns, dtype = getattr(value, "columns", None), getattr(value, "dtype", None)
        more = f"dtype {dtype}" if columns is None else f"columns {SHORT.repr(list(columns))}"
        return f"{type(value).__name__} of shape {value.shape}, {more}"
    return SHORT.repr(str(value) if isinstance(value, PurePath) else value)


class Short(reprlib.Repr):
    """Write whole numbers of any length; Python refuses more than a few thousand digits."""

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > LONG:
            return f"{'-' if x < 0 else ''}1e{x.bit_length() * 0.30103:.0f} or so"
        return super().repr_int(x, level)

    def repr_Decision(self, x: object, level: int) -> str:  # noqa: N802 (named by its type)
        """Whole: what it is known by is its round."""
        return repr(x)


LONG = 10_000  # bits
SHORT = Short()
