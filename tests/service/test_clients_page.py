"""docs/clients.md: its lines in Python, run in their order against a service that listens."""

from typing import Any

import pytest
from openfeature import api

from service.live import Live
from service.pages import blocks


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # the page leaves its clients open, as pages do
def test_the_lines_in_python_run(live: Live) -> None:
    key = live.key("admin")
    names: dict[str, Any] = {}
    try:
        for lines in blocks("clients.md", "python", live.url, key):
            exec(lines, names)
    finally:
        api.clear_providers()
        names["client"].close()
    own = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert own.decisions == own.version == 1 and names["show"] in ("pasta", "salad")
    router = live.experiment("router")
    assert names["outcome"] == "applied" and {*names["chosen"], names["model"]} <= {
        "small",
        "large",
    }
    assert router.decision(names["decision"]).action == names["model"]
    assert router.decisions == 4 and router.log()["reward"].to_list() == [0.8, None, None, 0.9]
