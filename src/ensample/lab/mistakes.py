"""All that is wrong with a study, collected and said at once."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ensample.errors import InvalidArgument, StudyError

MOST = 200  # that are kept; who makes more has made one of another kind
STAND_IN = 1  # for what is needed and wrong, while the rest is looked at
FIRST = re.compile(r"[^.\[]*")


class Mistakes:
    """What is wrong with a study from one source.

    >>> mistakes = Mistakes("mine.toml")
    >>> with mistakes.noted("policy[0]"):
    ...     raise InvalidArgument("size", 0, "a whole number >= 1")
    >>> mistakes.touch("policy[0]"), mistakes.touch("policy[1]")
    (True, False)
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: dict[
            str, StudyError
        ] = {}  # by what they say: a grid has the same one in many cells

    def __len__(self) -> int:
        return len(self.found)

    def add(self, key: str, value: object, expected: str) -> None:
        self._keep(StudyError(self.source, key, value, expected))

    def add_all(self, error: StudyError) -> None:
        """Those of an error."""
        for mistake in error.mistakes:
            self._keep(mistake)

    def _keep(self, mistake: StudyError) -> None:
        if len(self.found) < MOST:
            self.found.setdefault(str(mistake), mistake)

    @contextmanager
    def noted(self, where: str = "") -> Iterator[None]:
        """An error inside is noted, with its place, and ends there."""
        try:
            yield
        except StudyError as error:
            self.add_all(error)
        except InvalidArgument as error:
            self.add(
                f"{where}.{error.argument}" if where else error.argument,
                error.value,
                error.expected,
            )

    def touch(self, where: str) -> bool:
        """Whether something is wrong at a place or inside it."""
        keys = [mistake.argument for mistake in self.found.values()]
        return any(key == where or key.startswith((f"{where}.", f"{where}[")) for key in keys)

    def complain(self) -> None:
        """Raise if there is anything to raise."""
        if self.found:
            raise StudyError.about(list(self.found.values()))


def mistakes_of(
    build: Callable[[dict[str, Any]], object], table: dict[str, Any], vital: str
) -> Iterator[InvalidArgument]:
    """What is wrong with each option of a table: one that is wrong is left out, and the rest is tried again.

    `vital` is the option without which the others mean nothing; so is "theorem", which says what they mean.
    """
    left, blamed = dict(table), set[str]()
    while True:
        try:
            build(left)
            return
        except InvalidArgument as error:
            key = FIRST.match(error.argument)[0]  # type: ignore[index]
            if key not in blamed:
                yield error
            if key in (vital, "theorem") or (key in blamed and key in left):
                return
            if key in left:
                del left[key]
            else:  # it is missed
                left[key] = STAND_IN
            blamed.add(key)
