"""Instruction-set levels for the tests of kernels."""

from collections.abc import Iterator

import pytest

from ensample import _core


@pytest.fixture(params=_core.levels())
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test at each instruction-set level."""
    usual = _core.level()
    _core.use_level(request.param)
    yield request.param
    _core.use_level(usual)
