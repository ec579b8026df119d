"""What a study may be made of: text, numbers, lists and tables, as a file can say them again."""

from collections.abc import Iterator
from typing import Any

from ensample.errors import InvalidArgument

DEEPEST = 20  # lists and tables in one another: deeper is an accident, and Python would follow only so far
LARGEST = 10**100  # a whole number that can be written down


def not_plain(table: dict[str, Any]) -> Iterator[InvalidArgument]:
    """What in it is not plain, each with its place. Works through a list, so depth cannot exhaust the stack.

    >>> [str(error) for error in not_plain({"policy": [{"recipe": b"Greedy"}]})]
    ["policy[0].recipe = b'Greedy': expected text, a number, true or false, a list or a table"]
    """
    left: list[tuple[str, Any, int]] = [("", table, 0)]
    while left:
        where, item, depth = left.pop()
        try:
            if not isinstance(item, dict | list | tuple):
                check_single(where, item)
            elif depth > DEEPEST:
                raise InvalidArgument(
                    where[:100], item, f"at most {DEEPEST} lists and tables in one another"
                )
            else:
                left += [(place, inner, depth + 1) for place, inner in reversed(parts(where, item))]
        except InvalidArgument as error:
            yield error


def parts(where: str, item: Any) -> list[tuple[str, Any]]:
    """What a list or a table holds, each with its place."""
    if not isinstance(item, dict):
        return [(f"{where}[{place}]", inner) for place, inner in enumerate(item)]
    for key in item:
        if not isinstance(key, str) or not encodable(key):
            raise InvalidArgument(where or "study", key, "keys that are text")
    return [(f"{where}.{key}" if where else key, inner) for key, inner in item.items()]


def check_single(where: str, item: Any) -> None:
    if isinstance(item, str):
        if not encodable(item):
            raise InvalidArgument(where, item, "text that can be written as UTF-8")
    elif isinstance(item, int):
        if abs(item) > LARGEST:
            raise InvalidArgument(where, item, "a number of at most 100 digits")
    elif item is not None and not isinstance(item, float):
        raise InvalidArgument(where, item, "text, a number, true or false, a list or a table")


def encodable(text: str) -> bool:
    """Not so for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
