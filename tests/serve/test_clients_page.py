"""docs/clients.md: its lines in Python, run in their order against a service that listens."""

from typing import Any

import httpx
import pytest
from openfeature import api

from serve.live import Live
from serve.pages import blocks

ROUTER = {"actions": ["small", "large"], "recipe": {"kind": "EnsembleSampling", "size": 10}}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the page leaves its clients open, as pages do
def test_the_lines_in_python_run(live: Live) -> None:
    key = live.key("admin")
    httpx.put(f"{live.url}/v1/experiments/router", json=ROUTER, headers={"x-api-key": key})
    names: dict[str, Any] = {}
    try:
        for lines in blocks("clients.md", "python", live.url, key):
            exec(lines, names)
    finally:
        api.clear_providers()
        names["client"].close()
    own = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert own.decisions == own.version == 1 and names["show"] in ("pasta", "salad")
    assert names["model"] in ("small", "large")
    assert live.experiment("router").decision(names["decision"]).action == names["model"]
