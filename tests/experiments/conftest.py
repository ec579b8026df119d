"""Experiments in every place they can live."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.places import News, Place


@pytest.fixture(params=["memory", "disk"])
def news(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[News]:
    place = Place(request.param, tmp_path)
    yield place.news
    place.check()
