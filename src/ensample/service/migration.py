"""Migration of all experiments of a service: of its folder, or of its PostgreSQL."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from ensample.errors import InvalidArgument
from ensample.experiments.migration import carry_over_file, sole_writer, staged
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.postgres import is_address
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.extras import package
from ensample.service.maintenance import copy_database
from ensample.service.store import FILE, experiment_file, service_files

ShowExperiment = Callable[[str, int, int], object]
"""A callback that gets (name of the experiment, steps done, steps in all)."""


def migrate(old: str, new: str, show: ShowExperiment) -> dict[str, int]:
    """Carry over a file, a folder of a service or a PostgreSQL. Return the rows of each log."""
    if is_address(old) or is_address(new):
        if not (is_address(old) and is_address(new)):
            raise InvalidArgument(
                "new", "postgresql", "two addresses postgresql://..., or two paths"
            )
        from ensample.service.postgres_migration import migrate_database

        return migrate_database(old, new, show)
    source, target = Path(old), Path(new)
    if source.is_dir():
        return migrate_folder(source, target, show)
    if not source.is_file():
        raise InvalidArgument(
            "old", old, "the file of an experiment or the folder of a service: there is none"
        )
    with staged(target) as part:
        rows = carry_over_file(source, part, show=partial(show, source.stem))
        return {name_in(part): rows}


def name_in(path: Path) -> str:
    """Return the name of the experiment of a file that nobody writes to."""
    with closing(SQLiteReader(path, alone=True)) as events:
        return str(creation(events).settings["name"])


def migrate_folder(old: Path, new: Path, show: ShowExperiment) -> dict[str, int]:
    """Carry over all experiments of a service's folder, with its keys."""
    found = service_files(old)
    expected = "the folder of a service that is not running: stop it first"
    with staged(new) as part, sole_writer("old", old / "service", expected, old):
        rows = {}
        for name, path in found.items():
            target = experiment_file(part, name)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows[name] = carry_over_file(path, target, show=partial(show, name))
        if (old / FILE).is_file():
            apsw = package("apsw", "ensample migrate")
            copy_database(apsw, old / FILE, part / FILE, alone=True)
        return rows
