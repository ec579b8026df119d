"""Options of commands that play on one problem."""

from typing import Annotated

import typer

from ensample.cli import complete
from ensample.problems import families_by_name

ProblemName = Annotated[
    str,
    typer.Option(
        help=f"one of {', '.join(families_by_name())}, or mymodule:my_problem",
        autocompletion=complete.problems,
    ),
]
Dim = Annotated[
    int | None, typer.Option(help="d, the number of features", show_default="the problem's own")
]
ArmCount = Annotated[
    int | None, typer.Option(help="K, the number of arms", show_default="the problem's own")
]
Noise = Annotated[
    float | None, typer.Option(help="sigma of the rewards", show_default="the problem's own")
]
