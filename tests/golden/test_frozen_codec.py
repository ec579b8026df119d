"""Objects are stored and read as they always were, byte for byte."""

import json

import pytest

from golden.codec_cases import HERE, RECIPES, TEXTS, frozen, made


@pytest.fixture(scope="module")
def now() -> dict:
    return json.loads(json.dumps(frozen()))


STORED = json.loads((HERE / "codec.json").read_text())


@pytest.mark.parametrize("form", STORED)
def test_encoding_is_the_stored_one(form: str, now: dict) -> None:
    assert now[form].keys() == STORED[form].keys()
    for case, expected in STORED[form].items():
        assert json.dumps(now[form][case]) == json.dumps(expected), case


def test_typed_text_makes_what_python_makes(now: dict) -> None:
    for text, constructor in {**TEXTS, **{text: text for text in RECIPES}}.items():
        assert now["typed"][text] == repr(made(constructor))
