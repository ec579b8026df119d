"""Changes from the study that a folder holds to another one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ensample.lab.cell import Definition
from ensample.lab.study import Study

SHOWN = 12  # rows of a kind


class Changes(NamedTuple):
    """Cells by their names. Empty where the studies differ in words only, such as labels."""

    name: tuple[str, str] | None = None  # of the study, before and now
    runs: tuple[int, int] | None = None  # of every cell that stays, before and now
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()  # each with what differs
    dropped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield (kind, description) of each change, the first few of a kind."""
        if self.name:
            yield "name", " -> ".join(map(repr, self.name))
        if self.runs:
            yield "runs", " -> ".join(f"{count:,}" for count in self.runs)
        for kind in ("added", "changed", "dropped"):
            cells = getattr(self, kind)
            yield from ((kind, cell) for cell in cells[:SHOWN])
            if len(cells) > SHOWN:
                yield kind, f"... and {len(cells) - SHOWN:,} more"

    def __str__(self) -> str:
        return "\n".join(f"  {kind:8} {description}" for kind, description in self.rows())


def changes_between(before: Study, now: Study) -> Changes:
    """Compare cells by definition; of those that differ, cells of one name have changed."""
    there, wanted = set(before.digests), set(now.digests)
    old, new = definitions(before, without=wanted), definitions(now, without=there)
    return Changes(
        (before.name, now.name) if before.name != now.name else None,
        (before.runs, now.runs) if before.runs != now.runs and there & wanted else None,
        tuple(name for name in new if name not in old),
        tuple(f"{name}: {differences(old[name], new[name])}" for name in new if name in old),
        tuple(name for name in old if name not in new),
    )


def definitions(study: Study, without: set[str]) -> dict[str, Definition]:
    """Return the definitions of the cells whose digests are not among these, by name."""
    pairs = zip(study.cells, study.digests, strict=True)
    return {cell.name: study.definition(cell) for cell, digest in pairs if digest not in without}


def outlook(study: Study, done: Mapping[str, int]) -> str:
    """Describe what running the study means where so many runs of a definition are done."""
    runs = [done.get(digest, 0) for digest in study.digests]
    kept = sum(count >= study.runs for count in runs)
    begun = sum(0 < count < study.runs for count in runs)
    stay = f"of {len(runs):,} cells {kept:,} stay, {begun:,} go on from the runs they have"
    return f"{stay}, {len(runs) - kept - begun:,} to compute anew"


def differences(before: Definition, now: Definition) -> str:
    """Describe what differs between two definitions.

    >>> before = {"recipe": {"size": 1}, "horizon": 60, "code": {"pair": "47b7"}}
    >>> now = {"recipe": {"size": 1, "scale": 2.0}, "horizon": 61, "code": {"pair": "ec6d"}}
    >>> differences(before, now)
    'recipe.scale by default -> 2.0, horizon 60 -> 61, pair was edited'
    """
    olds, news = flat(before), flat(now)
    parts = []
    for key in news | olds:
        old, new = olds.get(key, "by default"), news.get(key, "by default")
        if old != new:
            edited = key.startswith("code.") and key in olds and key in news
            module = key.removeprefix("code.")
            parts.append(f"{module} was edited" if edited else f"{key} {old} -> {new}")
    return ", ".join(parts)


def flat(definition: Definition) -> dict[str, str]:
    """Return a text for each option of the problem and of the recipe, in JSON."""
    values: dict[str, Any] = {}
    for key, value in definition.items():
        inner = value if isinstance(value, dict) else None
        values |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
    return {key: json.dumps(value) for key, value in values.items()}
