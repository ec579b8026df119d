"""`EnsampleProvider`: OpenFeature's own client, whose `track` says rewards."""

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

import ensample as es
from ensample.client import EnsampleProvider
from service.conftest import SHOP
from service.live import Live

ANN = EvaluationContext("ann", {"age": 31})


@pytest.fixture
def flags(live: Live) -> Iterator[Any]:
    key = live.key("admin")
    for name in ("shop", "menu"):
        httpx.put(f"{live.url}/v1/experiments/{name}", json=SHOP, headers={"x-api-key": key})
    api.set_provider(
        EnsampleProvider(live.url, key, rewards={"bought": ["shop", "menu"], "seen": "shop"}),
        "rewarded",
    )
    yield api.get_client("rewarded")
    api.clear_providers()


def test_an_event_is_a_reward(flags: Any, live: Live) -> None:
    chosen = {name: flags.get_string_details(name, "default", ANN) for name in ("shop", "menu")}
    assert all(found.value in ("a", "b") and found.error_code is None for found in chosen.values())
    flags.track("looked", ANN)
    assert live.experiment("shop").version == 0, "no reward of anything"
    flags.track("bought", ANN, TrackingEventDetails(0.5))
    assert live.experiment("shop").version == live.experiment("menu").version == 1
    log = live.experiment("shop").log()
    assert log["id"][0] == chosen["shop"].flag_metadata["decisionId"] and log["reward"][0] == 0.5


def test_an_event_may_name_its_experiment(flags: Any, live: Live) -> None:
    flags.get_string_value("menu", "default", ANN)
    flags.track("tasted", ANN, TrackingEventDetails(attributes={"experiment": "menu"}))
    assert live.experiment("menu").log()["reward"][0] == 1 and live.experiment("shop").events == 1


def test_what_cannot_be_sent_is_logged(
    flags: Any, live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    flags.get_string_value("shop", "default", ANN)
    with caplog.at_level(logging.WARNING, "ensample.client"):
        flags.track("seen")
        flags.track("seen", ANN, TrackingEventDetails(7))
        flags.track("seen", ANN, TrackingEventDetails(attributes={"experiment": "nobody"}))
    assert [
        ("targeting key" in text, "invalid" in text, "not_found" in text)
        for text in caplog.messages
    ] == [(True, False, False), (False, True, False), (False, False, True)]


def test_rewards_of_nothing_are_refused() -> None:
    with pytest.raises(es.WrongType, match="rewards"):
        EnsampleProvider(rewards={"bought": [3]})  # type: ignore[list-item]
