"""The notebooks run, and show what is stored in them."""

import json
from pathlib import Path

import pytest

import notebooks

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))


def kinds(outputs: list[dict]) -> list[list[str]]:
    return [sorted(output.get("data", {"stream": ""})) for output in outputs]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_outputs_are_stored(path: Path) -> None:
    notebook = notebooks.read(path)
    stored = [cell["outputs"] for cell in notebooks.code_cells(notebook)]
    found = notebooks.run(notebook)
    assert list(map(kinds, found)) == list(map(kinds, stored)) and sum(map(len, stored)) > 5
    shown = {kind for outputs in stored for output in outputs for kind in output.get("data", {})}
    assert "text/html" in shown and ("image/png" in shown or path.stem != "quickstart")


def test_both_are_there_and_say_nothing_of_a_machine() -> None:
    assert [path.stem for path in PATHS] == ["experiment", "quickstart"]
    for path in PATHS:
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
        assert notebook["nbformat"] == 4
        assert [cell["execution_count"] for cell in notebooks.code_cells(notebook)] == list(
            range(1, len(notebooks.code_cells(notebook)) + 1)
        )
        assert "/home" not in text
        assert "/tmp" not in text
        assert "/work" not in text
        assert "0x7f" not in text


def test_an_error_in_a_cell_comes_out_and_leaves_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [
        {"cell_type": "code", "source": ["x = 1\n", "print(x)\n", "x + 1"]},
        {"cell_type": "code", "source": ["x / 0"]},
    ]
    assert kinds(notebooks.run({"cells": cells[:1]})[0]) == [["stream"], ["text/plain"]]
    with pytest.raises(ZeroDivisionError):
        notebooks.run({"cells": cells})
    assert Path.cwd() == tmp_path
