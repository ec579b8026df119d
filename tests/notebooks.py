"""Notebooks, run cell by cell in one namespace.

`python tests/notebooks.py FILE` stores their outputs.

There are no magics in ours, so a kernel, and the thirty packages that bring one, would add nothing
but seconds.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "examples"
RICH = {"text/html": "_repr_html_", "image/png": "_repr_png_"}


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the code cells in order, in a temporary folder, and return their outputs."""
    space: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(code_cells(notebook), 1):
                outputs.append(shown("".join(cell["source"]), space, number))
        finally:
            os.chdir(here)
    return outputs


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(source: str, space: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line."""
    tree = ast.parse(source)
    last = (
        tree.body.pop()
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
        else None
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), space)
        value = (
            eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)
            if last is not None
            else None
        )
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append(
            {
                "output_type": "stream",
                "name": "stdout",
                "text": printed.getvalue().splitlines(keepends=True),
            }
        )
    if value is not None:
        found.append(result(value, number))
    return found


def result(value: Any, number: int) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    metadata: dict[str, Any] = {}
    for kind, method in RICH.items():
        made = getattr(value, method)() if hasattr(value, method) else None
        if isinstance(made, tuple):
            made, metadata[kind] = made
        if made is not None:
            data[kind] = (
                base64.b64encode(made).decode()
                if isinstance(made, bytes)
                else made.splitlines(keepends=True)
            )
    return {
        "output_type": "execute_result",
        "execution_count": number,
        "data": data,
        "metadata": metadata,
    }


def store(path: Path) -> None:
    """Run a notebook and keep what it shows in it."""
    notebook = read(path)
    for number, (cell, outputs) in enumerate(
        zip(code_cells(notebook), run(notebook), strict=True), 1
    ):
        cell |= {"outputs": outputs, "execution_count": number}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        store(Path(name))
