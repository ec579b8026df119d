"""Encodings, outputs, answers, pages and numbers stay as they were stored."""

import json
from pathlib import Path

import pytest

from golden.codec import RECIPES, TEXTS, made
from golden.stored import EXACT, RESULTS, differences, stored
from golden.stored import made as made_now


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.filterwarnings("ignore::ensample.errors.FeatureCapWarning")
def test_results_are_the_stored_ones(name: str, tmp_path: Path) -> None:
    found = differences(made_now(name, tmp_path), stored(name), name in EXACT)
    assert list(found) == []


def test_fields_are_encoded_in_the_stored_order(tmp_path: Path) -> None:
    assert json.dumps(made_now("codec", tmp_path)) == json.dumps(stored("codec"))


def test_differences_are_found() -> None:
    kept = {"a": [1.0, "x 0.50"], "b": None}
    assert not list(differences({"a": [1.0 + 1e-12, "x 0.50"], "b": None}, kept, is_exact=False))
    for text in ('{"a": [1.1, "x 0.50"], "b": null}', '{"a": [1.0, "x 0.60"], "b": null}', "{}"):
        assert list(differences(json.loads(text), kept, is_exact=False)), text
    assert list(differences({"a": [1.0 + 1e-12, "x 0.50"], "b": None}, kept, is_exact=True))


def test_typed_text_makes_what_python_makes() -> None:
    typed = stored("codec")["typed"]
    for text, constructor in {**TEXTS, **{text: text for text in RECIPES}}.items():
        assert typed[text] == repr(made(constructor))
