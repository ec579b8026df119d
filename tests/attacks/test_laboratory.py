"""The laboratory among damaged journals and study files that nobody would write."""

import json
import random
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ensample as es
from attacks.odd_tables import odd_file
from attempts import attempts
from ensample.cli.main import app
from lab.studies import small

JOURNALS, REPORTED = attempts(60, 600), attempts(12, 1)  # every so many is reported as well
FILES = attempts(300, 15_000)
SMALL_ENOUGH = 2_000  # rounds of a study that is run, not only read


class Tally(Counter[str]):
    """What became of the attempts, and the traceback of each crash."""

    def __init__(self) -> None:
        super().__init__()
        self.crashes: list[str] = []

    @contextmanager
    def of(self, attempt: int) -> Iterator[None]:
        """What an attempt raises is a crash, unless it is an error of ours that can be said."""
        try:
            try:
                yield
            except es.EnsampleError as error:
                self["refused"] += bool(str(error))
        except Exception:
            self.crashes.append(f"attempt {attempt}: {traceback.format_exc()[-2000:]}")


def invoke(*arguments: object) -> None:
    """A command; raises what it would raise."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception


@pytest.mark.filterwarnings(
    "ignore::ensample.LiveSimulationWarning"
)  # said of what has no kernel, and no fault
def test_odd_study_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is read, and then given to the command.

    Run where it is small, refused again where it was refused.
    """
    monkeypatch.chdir(tmp_path)
    file, tally = tmp_path / "odd.toml", Tally()
    for attempt in range(FILES):
        file.write_bytes(odd_file(random.Random(attempt)))
        with tally.of(attempt):
            study = read(file)
            if study is None or modest(study):
                invoke("run", file, "--threads", 1, "--out", tmp_path / str(attempt))
                assert study is not None, "the command takes what reading refuses"
                tally["run"] += 1
    print(
        f"\n{FILES:,} odd study files: {tally['refused']:,} refused, {tally['run']:,} run, "
        f"{len(tally.crashes)} crashes"
    )
    assert not tally.crashes, tally.crashes[0]
    assert tally["refused"] > FILES / 2 and tally["run"] > FILES / 100


def read(file: Path) -> es.Study | None:
    try:
        return es.Study.read(file)
    except es.EnsampleError:
        return None


def modest(study: es.Study) -> bool:
    """Not of sizes that are allowed and would take all day."""
    sizes = [getattr(cell.family, name, 1) for cell in study.cells for name in ("dim", "arms")]
    sizes += [getattr(cell.recipe, "size", 1) for cell in study.cells]
    return (
        max(sizes) <= 1_000
        and sum(cell.horizon for cell in study.cells) * study.runs <= SMALL_ENOUGH
    )


ODD = ["null", "true", "-1", "0", "1e400", "-Infinity", "NaN", "1e-320", "9" * 5000, '""', '"x"']
ODD += ['"\\ud800"', '"\\u0000\\u001b[31m"', "[]", "{}", "[1, null]", '{"a": 1}']
ODD += ['{"\\udfff": "\\ud800"}', "[" * 2000 + "]" * 2000, '{"a":' * 2000 + "1" + "}" * 2000]
ODD += ['["\\ud800"]', '[["a"]]', '{"a": ["b"]}', '"session"', '"cell"', "1.5", "3"]


def damaged(rng: random.Random, journal: bytes) -> bytes:
    """A journal with one to four of its lines damaged."""
    lines = journal.splitlines()
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(lines))
        lines[place] = rng.choice((torn, torn, field, field, field, foreign))(rng, lines[place])
    return b"\n".join(lines) + rng.choice((b"\n", b"", b"\r\n", b"\0" * 20))


def torn(rng: random.Random, line: bytes) -> bytes:
    start = rng.randrange(len(line) + 1)
    return (
        line[:start]
        + rng.choice((b"", rng.randbytes(6), b"\xff\xfe", b"\x00", line[::2]))
        + line[start + rng.randrange(9) :]
    )


def field(rng: random.Random, line: bytes) -> bytes:
    """The same line with something else in one of its fields, or without it."""
    try:
        event: Any = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not event:
        return foreign(rng, line)
    key = rng.choice(list(event))
    rest = {name: value for name, value in event.items() if name != key}
    if rng.random() < 0.2:
        return json.dumps(rest).encode()
    start = f"{json.dumps(rest)[:-1]}{', ' if rest else ''}"
    return f"{start}{json.dumps(key)}: {rng.choice(ODD)}}}".encode()


def foreign(rng: random.Random, _: bytes) -> bytes:
    value = rng.choice(ODD)
    return rng.choice(
        (
            value,
            f'{{"event": "session", "packages": {value}}}',
            f'{{"event": "cell", "cell": {value}}}',
        )
    ).encode()


def test_damaged_journals(tmp_path: Path) -> None:
    """Whatever is in the journal, results are read and reported, with the same numbers."""
    whole = es.run_study(small(problem={"family": "sphere", "dim": 2, "arms": 3}, runs=3), tmp_path)
    expected = whole.cells.drop("seconds_per_round")
    journal, tally = (tmp_path / "journal.jsonl").read_bytes(), Tally()
    for attempt in range(JOURNALS):
        (tmp_path / "journal.jsonl").write_bytes(damaged(random.Random(attempt), journal))
        with tally.of(attempt):
            assert es.Results(tmp_path).cells.drop("seconds_per_round").equals(expected)
            if attempt % REPORTED == 0:
                invoke("report", tmp_path)
                tally["reported"] += 1
            tally["read"] += 1
    print(
        f"\n{JOURNALS:,} damaged journals: {tally['read']:,} read with the same numbers, "
        f"{tally['reported']:,} reported, "
        f"{tally['refused']:,} refused, {len(tally.crashes)} crashes"
    )
    assert not tally.crashes, tally.crashes[0]
    assert tally["read"] == JOURNALS
