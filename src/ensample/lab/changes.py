"""From the study that a folder holds to another one: what stays, what is computed, what is no longer shown."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ensample.lab.definition import differences
from ensample.lab.study import Study

SHOWN = 12  # rows of a kind


class Changes(NamedTuple):
    """Cells by their names. Empty where the studies differ in words only, such as labels and the question."""

    name: tuple[str, str] | None  # of the study, before and now
    added: list[str]
    dropped: list[str]
    changed: list[str]  # each with what differs
    runs: tuple[int, int] | None  # of every cell that stays, before and now

    def __bool__(self) -> bool:
        return any(self)

    def rows(self) -> Iterator[tuple[str, str]]:
        """(kind, what) of each, the first few of a kind."""
        if self.name:
            yield "name", " -> ".join(map(repr, self.name))
        if self.runs:
            yield "runs", " -> ".join(f"{count:,}" for count in self.runs)
        for kind, cells in (
            ("added", self.added),
            ("changed", self.changed),
            ("dropped", self.dropped),
        ):
            yield from ((kind, cell) for cell in cells[:SHOWN])
            if len(cells) > SHOWN:
                yield kind, f"... and {len(cells) - SHOWN:,} more"

    def __str__(self) -> str:
        return "\n".join(f"  {kind:8} {what}" for kind, what in self.rows())


NOTHING = Changes(None, [], [], [], None)


def changes_between(before: Study, now: Study) -> Changes:
    """Cells of one definition are the same; of the others those of one name have changed."""
    there, wanted = set(before.digests), set(now.digests)
    old = {
        cell.name: cell
        for cell, digest in zip(before.cells, before.digests, strict=True)
        if digest not in wanted
    }
    new = {
        cell.name: cell
        for cell, digest in zip(now.cells, now.digests, strict=True)
        if digest not in there
    }
    return Changes(
        (before.name, now.name) if before.name != now.name else None,
        [name for name in new if name not in old],
        [name for name in old if name not in new],
        [
            f"{name}: {differences(before.definition(old[name]), now.definition(cell))}"
            for name, cell in new.items()
            if name in old
        ],
        (before.runs, now.runs) if before.runs != now.runs and there & wanted else None,
    )


def outlook(study: Study, there: Mapping[str, int]) -> str:
    """What running the study means where so many runs of a definition are there."""
    runs = [there.get(digest, 0) for digest in study.digests]
    whole = sum(count >= study.runs for count in runs)
    begun = sum(0 < count < study.runs for count in runs)
    anew = len(runs) - whole - begun
    return f"of {len(runs):,} cells {whole:,} stay, {begun:,} go on from the runs they have, {anew:,} to compute anew"
