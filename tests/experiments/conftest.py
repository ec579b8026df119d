"""Experiments in every place they can live."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.places import News, Place


@pytest.fixture(params=["memory", "disk", "postgres"])
def news(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[News]:
    monkeypatch.setattr(
        "ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", 7
    )  # so that each test meets some
    place = Place(
        request.param,
        tmp_path,
        request.getfixturevalue("pool") if request.param == "postgres" else None,
    )
    yield place.news
    place.check()
