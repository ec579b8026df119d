"""Differences between two descriptions of settings, short enough for a message."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ensample.errors import InvalidArgument

LONGEST = 60  # characters of a value
AROUND = 2  # entries of a list that are shown on either side of a difference
NAMES = 3  # of a dict that are shown
SHOWN = 3  # further differences of one error


class SettingDifference(NamedTuple):
    """A field, and both values as texts; with `names`, the names that only one of them has."""

    field: str
    given: str
    kept: str
    names: bool = False


class OtherSettings(InvalidArgument):
    """Settings were given that are not those of the experiment; `args` has all differences."""

    def __init__(self, found: list[SettingDifference]) -> None:
        first = found[0]
        expected = f"what the experiment was created with, {first.kept}{others(found)}"
        super().__init__(first.field, first.given, f"{expected}. {advice_for(first.field)}")
        self.args = (found,)

    def __str__(self) -> str:
        (found,) = self.args
        if not found[0].names:
            return f"{self.argument} = {self.value}: expected {self.expected}"
        return f"{instead(found[0])}{others(found)}. {advice_for(found[0].field)}"


def instead(found: SettingDifference) -> str:
    """Return one difference as a clause."""
    if found.names:
        return f"{found.field}: {', '.join(text for text in (found.given, found.kept) if text)}"
    return f"{found.field} = {found.given} instead of {found.kept}"


def others(found: list[SettingDifference]) -> str:
    """Return the part of the message that lists further differences.

    >>> others([SettingDifference("floor", "0.1", "0.02"), SettingDifference("seed", "3", "0")])
    '; also seed = 3 instead of 0'
    """
    more = [instead(each) for each in found[1 : 1 + SHOWN]]
    if len(found) > 1 + SHOWN:
        more.append(f"{len(found) - 1 - SHOWN} more")
    return f"; also {', '.join(more)}" if more else ""


def advice_for(field: str) -> str:
    """Say what to do instead."""
    name = field.partition(".")[0].partition("[")[0]
    if name == "actions":
        return (
            "Leave actions out to go on with it as it is, and add or remove some by add() and "
            "remove() (over HTTP: POST .../actions)"
        )
    return (
        f"Settings do not change: leave {name} out to go on with it as it is, or begin another "
        "experiment by another name"
    )


def differences(field: str, given: Any, kept: Any) -> list[SettingDifference]:
    """Return what differs between two values of plain data, by the names of their fields.

    >>> differences("reward", {"wait": 60.0, "low": 0.0}, {"wait": 1800.0, "low": 0.0})
    [SettingDifference(field='reward.wait', given='60.0', kept='1800.0', names=False)]
    >>> differences("actions", {"a": None, "c": None}, {"a": None, "b": None})
    [SettingDifference(field='actions', given="'c' is new",
                       kept="'b' is missing; 1 other is the same", names=True)]
    """
    return list(compare(field, given, kept))


def compare(field: str, given: Any, kept: Any) -> Iterator[SettingDifference]:
    if given == kept:
        return
    if isinstance(given, dict) and isinstance(kept, dict):
        yield from compare_dicts(field, given, kept)
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for place, (ours, theirs) in enumerate(zip(given, kept, strict=True)):
            yield from compare(f"{field}[{place}]", ours, theirs)
    else:
        yield SettingDifference(field, *write_both(given, kept))


def compare_dicts(
    field: str, given: dict[str, Any], kept: dict[str, Any]
) -> Iterator[SettingDifference]:
    if field.startswith("actions"):  # whose names are no fields
        yield from compare_names(field, given, kept)
        path = "{field}[{name!r}]"
    elif given.keys() == kept.keys() == {"own"}:  # an object of the user's, described by its repr
        yield from compare(field, given["own"], kept["own"])
        return
    elif given.get("kind") != kept.get("kind"):  # the fields of two classes cannot be compared
        yield SettingDifference(field, constructed(given), constructed(kept))
        return
    else:
        yield from compare_names(field, given, kept)
        path = "{field}.{name}"
    for name in given:
        if name in kept:
            yield from compare(path.format(field=field, name=name), given[name], kept[name])


def compare_names(
    field: str, given: dict[str, Any], kept: dict[str, Any]
) -> Iterator[SettingDifference]:
    """Yield the difference between the names of two dicts, if there is one."""
    if set(given) == set(kept):
        return
    same = sum(name in kept and kept[name] == value for name, value in given.items())
    rest = f"; {same} {'other is' if same == 1 else 'others are'} the same" if same else ""
    new, missing = names_only_in(given, kept, "new"), names_only_in(kept, given, "missing")
    if missing:
        yield SettingDifference(field, new, missing + rest, names=True)
    else:
        yield SettingDifference(field, new + rest, "", names=True)


def names_only_in(one: dict[str, Any], other: dict[str, Any], what: str) -> str:
    """Name what only one of two dicts has, and say what it is; empty if that is nothing."""
    own = [name for name in one if name not in other]
    shown = [shortened(repr(name), 0) for name in own[:NAMES]]
    if len(own) > NAMES:
        shown.append(f"{len(own) - NAMES} more")
    return f"{', '.join(shown)} {'is' if len(own) == 1 else 'are'} {what}" if own else ""


def constructed(description: dict[str, Any]) -> str:
    """Write a description as code would have it: its class, and what fits of its fields."""
    if description.keys() == {"own"} and isinstance(description["own"], str):
        return shortened(description["own"], 0)
    if "kind" not in description:
        return shortened(repr(description), 0)
    fields = ", ".join(f"{name}={value!r}" for name, value in description.items() if name != "kind")
    return f"{description['kind']}({shortened(fields, 0)})"


def write_both(given: Any, kept: Any) -> tuple[str, str]:
    """Write two values, each cut to what is around the first difference."""
    if isinstance(given, list) and isinstance(kept, list):
        place = next(
            (i for i, (a, b) in enumerate(zip(given, kept, strict=False)) if a != b),
            min(len(given), len(kept)),
        )
        return around(given, place), around(kept, place)
    texts = [
        constructed(value) if isinstance(value, dict) else repr(value) for value in (given, kept)
    ]
    place = next(
        (i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts))
    )
    return shortened(texts[0], place), shortened(texts[1], place)


def around(items: list[Any], place: int) -> str:
    """Write the entries of a list that are near a place, and how many there are."""
    start, stop = max(place - AROUND, 0), place + AROUND + 1
    shown = [shortened(repr(item), 0) for item in items[start:stop]]
    parts = [*(["..."] if start else []), *shown, *(["..."] if stop < len(items) else [])]
    return f"[{', '.join(parts)}] ({len(items)} entries)"


def shortened(text: str, place: int) -> str:
    """Cut a text to what is around a place.

    >>> shortened("a" * 100 + "b" * 100, 100)
    '...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...'
    """
    start = max(min(place - LONGEST // 2, len(text) - LONGEST), 0)
    cut = text[start : start + LONGEST]
    return f"{'...' if start else ''}{cut}{'...' if start + LONGEST < len(text) else ''}"
