"""`ensample warm-up`: compile now what would be compiled on its first use."""

import time
from enum import StrEnum
from typing import Annotated

import typer

from ensample.checks import whole
from ensample.cli.compiling import compiled_ahead
from ensample.cli.console import output
from ensample.cli.policies import POLICIES
from ensample.cli.preparing import prepare
from ensample.errors import InvalidArgument
from ensample.kernels.machine_code import SHELF
from ensample.numerals import duration
from ensample.problems import problem
from ensample.simulation.tasks import names, needed

__all__ = ["warm_up"]


class WarmPart(StrEnum):
    """What may be asked for."""

    EVERYTHING = "everything"
    RACE = "race"
    LIVE = "live"


def warm_up(
    only: Annotated[WarmPart, typer.Option(help="what `ensample race` needs, or live policies")] = WarmPart.EVERYTHING,
    processes: Annotated[int | None, typer.Option(help="that compile at a time", show_default="all cores")] = None,
) -> None:
    """Compile ahead what would be compiled when it is first called. That is done once for each installation.

    Machine code is kept beside the package, or in the user's cache directory where that cannot be written; NUMBA_CACHE_DIR
    names another place. Ctrl-C loses nothing but what is being compiled.

    Example: `ensample warm-up`

    Example: `ensample warm-up --only race`
    """
    if processes is not None:
        whole("processes", processes, 1)
    if not SHELF.usable():
        raise InvalidArgument("NUMBA_CACHE_DIR", None, "a folder that can be written: there is none to keep machine code in")
    start = time.perf_counter()
    count = compiled_ahead(tasks_of(only), processes)
    said = f"{count} compiled in {duration(time.perf_counter() - start)}" if count else "nothing is left to compile"
    output.print(said, highlight=False)


def tasks_of(part: WarmPart) -> list[str]:
    if part is WarmPart.RACE:
        family = problem("sphere")
        recipes, _ = prepare(",".join(POLICIES), family, horizon=1000)
        return [needed(recipe, family) for recipe in recipes.values()]
    return [name for name in names() if part is WarmPart.EVERYTHING or name.startswith("live ")]
