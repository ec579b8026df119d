"""All that is wrong with a study, collected and raised at once."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ensample.errors import InvalidArgument, StudyError

MOST = 200  # mistakes that are kept; more are of the same kind
STAND_IN = 1  # for an option that is needed and wrong, while the others are checked
OPTION = re.compile(r"[^.\[]*")


class Mistakes:
    """Mistakes in a study from one source.

    >>> mistakes = Mistakes("mine.toml")
    >>> with mistakes.collected("policy[0]"):
    ...     raise InvalidArgument("size", 0, "a whole number >= 1")
    >>> mistakes.concern("policy[0]"), mistakes.concern("policy[1]")
    (True, False)
    """

    def __init__(self, source: str) -> None:
        self.source = source
        # By their texts: a grid has the same mistake in many cells.
        self.found: dict[str, StudyError] = {}

    def __len__(self) -> int:
        return len(self.found)

    def add(self, key: str, value: object, expected: str) -> None:
        self._keep(StudyError(self.source, key, value, expected))

    def add_all(self, error: StudyError) -> None:
        """Add the mistakes of an error."""
        for mistake in error.mistakes:
            self._keep(mistake)

    def _keep(self, mistake: StudyError) -> None:
        if len(self.found) < MOST:
            self.found.setdefault(str(mistake), mistake)

    @contextmanager
    def collected(self, where: str = "") -> Iterator[None]:
        """Add an error that is raised inside, and go on."""
        try:
            yield
        except StudyError as error:
            self.add_all(error)
        except InvalidArgument as error:
            key = f"{where}.{error.argument}" if where else error.argument
            self.add(key, error.value, error.expected)

    def concern(self, where: str) -> bool:
        """Return True if there is a mistake at a place or inside it."""
        keys = [mistake.argument for mistake in self.found.values()]
        return any(key == where or key.startswith((f"{where}.", f"{where}[")) for key in keys)

    def raise_any(self) -> None:
        """Raise one error of all mistakes, if there are any."""
        if self.found:
            raise StudyError.about(list(self.found.values()))


def errors_in_options(
    build: Callable[[dict[str, Any]], object], table: dict[str, Any], vital: str
) -> Iterator[InvalidArgument]:
    """Yield what is wrong with each option of a table.

    An option that is wrong is left out, and the rest is tried again. `vital` is the option without
    which the others mean nothing; so is "theorem".
    """
    left, blamed = dict(table), set[str]()
    while True:
        try:
            build(left)
            return
        except InvalidArgument as error:
            key = OPTION.match(error.argument)[0]  # type: ignore[index]
            if key not in blamed:
                yield error
            if key in (vital, "theorem") or (key in blamed and key in left):
                return
            if key in left:
                del left[key]
            else:  # it is needed
                left[key] = STAND_IN
            blamed.add(key)
