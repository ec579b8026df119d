"""The service answers the scripted conversation as it did when http.json was written."""

import json
from pathlib import Path

from golden.conversation import play

KEPT = Path(__file__).with_name("http.json")


def test_service_answers_as_before(tmp_path: Path) -> None:
    kept, found = json.loads(KEPT.read_text(encoding="utf-8")), play(tmp_path)
    for before, now in zip(kept, found, strict=True):
        assert now == before
