"""OpenFeature: its remote evaluation in process, and the released SDK on a real socket."""

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

import ensample as es
from ensample.client import EnsampleProvider
from service.conftest import SHOP, Serve, Served
from service.live import Live

FLAGS = "/ofrep/v1/evaluate/flags"
ANN = {"context": {"targetingKey": "ann", "age": 31}}
SDK_ANN = EvaluationContext("ann", {"age": 31, "tags": ["tea", "tennis"], "home": {"city": "Kiel"}})


def flag(client: Served, name: str = "shop", key: str = "ann") -> Any:
    body = {"context": {"targetingKey": key, "age": 31}}
    return client.post(f"{FLAGS}/{name}", json=body).json()


def test_a_flag_is_an_experiment(shop: Served) -> None:
    answer = flag(shop)
    assert answer["key"] == "shop" and answer["reason"] == "SPLIT"
    assert answer["value"] == answer["variant"] in ("a", "b")
    decision = shop.experiment.decision(answer["metadata"]["decisionId"])
    assert decision is not None and decision.action == answer["value"]
    assert answer["metadata"]["propensity"] == decision.propensity
    assert shop.experiment.log()["context"][0] == '{"age":31}', "the key is no feature"


def test_whoever_has_an_action_keeps_it_for_a_while(serve: Serve) -> None:
    shop, now = serve(sticky="1 h", shop=SHOP), 4e9
    shop.experiment.engine.clock = lambda: now
    first = flag(shop)
    now += 3_599
    assert flag(shop) == first != flag(shop, key="bob")
    now += 2
    later = flag(shop)["metadata"]["decisionId"]
    assert later != first["metadata"]["decisionId"] and shop.experiment.decisions == 3
    event = {"experiment": "shop", "targetingKey": "ann", "event": "bought", "value": 1}
    assert shop.post("/v1/events", json=event).json() == {"outcome": "applied", "id": later}


def test_true_and_false_are_a_switch(serve: Serve) -> None:
    client = serve(shop=SHOP | {"actions": ["true", "false"]})
    answer = flag(client)
    assert answer["value"] is (answer["variant"] == "true")
    client.ask("actions", {"add": ["auto"]})
    assert flag(client)["value"] == answer["variant"]


WRONG = [
    ("shop", b"{", "PARSE_ERROR"),
    ("shop", b'{"context": {"targetingKey": "a", "x": NaN}}', "PARSE_ERROR"),
    ("shop", b"", "TARGETING_KEY_MISSING"),
    ("shop", b"{}", "TARGETING_KEY_MISSING"),
    ("shop", b'{"context": {"targetingKey": ""}}', "TARGETING_KEY_MISSING"),
    ("shop", b'{"context": {"targetingKey": 3}}', "INVALID_CONTEXT"),
    ("shop", b'{"context": {"targetingKey": ["a"]}}', "INVALID_CONTEXT"),
    ("shop", b'{"context": [3]}', "INVALID_CONTEXT"),
    ("shop", b'{"context": {"targetingKey": "a", "x": [[1]]}}', "INVALID_CONTEXT"),
    ("nobody", b'{"context": {"targetingKey": "a"}}', "FLAG_NOT_FOUND"),
    ("a/b", b'{"context": {"targetingKey": "a"}}', "FLAG_NOT_FOUND"),
]


@pytest.mark.parametrize(("key", "body", "code"), WRONG)
def test_what_cannot_be_has_a_code(key: str, body: bytes, code: str, shop: Served) -> None:
    found = shop.post(f"{FLAGS}/{key}", content=body, headers={"content-type": "application/json"})
    answer, status = found.json(), 404 if code == "FLAG_NOT_FOUND" else 400
    assert (found.status_code, answer["errorCode"], answer["key"]) == (status, code, key)
    assert answer["errorDetails"] and shop.experiment.decisions == 0


def test_a_pause_leaves_clients_their_default(shop: Served) -> None:
    shop.ask("pause", {})
    found = shop.post(f"{FLAGS}/shop", json=ANN)
    assert found.status_code == 400 and found.json()["errorCode"] == "GENERAL"


def test_all_flags_at_once_are_none(shop: Served) -> None:
    found = shop.post(FLAGS, json=ANN)
    assert found.status_code == 200 and found.json() == {"flags": []}
    tag = found.headers["etag"]
    again = shop.post(FLAGS, json=ANN, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert shop.post(FLAGS, json=ANN, headers={"if-none-match": '"another"'}).status_code == 200
    assert shop.experiment.decisions == 0


def test_a_key_for_one_experiment_has_one_flag(shop: Served) -> None:
    shop.put("/v1/experiments/other", json=SHOP)
    headers = {"authorization": f"Bearer {shop.key('decide', 'other')}"}
    assert shop.post(f"{FLAGS}/other", json=ANN, headers=headers).status_code == 200
    assert shop.post(f"{FLAGS}/shop", json=ANN, headers=headers).status_code == 403
    assert shop.post(f"{FLAGS}/shop", json=ANN).status_code == 401


@pytest.fixture
def key(live: Live) -> Iterator[str]:
    """A key of a service with two experiments, for clients of OpenFeature."""
    text = live.key("admin")
    for name in ("shop", "menu"):
        httpx.put(f"{live.url}/v1/experiments/{name}", json=SHOP, headers={"x-api-key": text})
    yield text
    api.clear_providers()


@pytest.fixture
def flags(key: str, live: Live) -> Iterator[Any]:
    """OpenFeature's own client for Python, with its own provider."""
    provider = OFREPProvider(live.url, headers_factory=lambda: {"Authorization": f"Bearer {key}"})
    api.set_provider(provider, "shop")
    yield api.get_client("shop")
    provider.session.close()


def test_the_released_sdk_for_python(flags: Any, live: Live) -> None:
    found = flags.get_string_details("shop", "default", SDK_ANN)
    assert found.value == found.variant in ("a", "b") and found.reason == Reason.SPLIT
    assert found.error_code is None
    assert flags.get_string_details("shop", "default", SDK_ANN) == found
    decision = live.experiment("shop").decision(found.flag_metadata["decisionId"])
    assert found.flag_metadata["propensity"] == decision.propensity
    assert live.experiment("shop").decisions == 1


def test_the_released_sdk_has_its_default_where_there_is_no_answer(flags: Any, live: Live) -> None:
    nested = EvaluationContext("bob", {"x": [["y"]]})
    codes = {
        ErrorCode.FLAG_NOT_FOUND: flags.get_string_details("nobody", "default", SDK_ANN),
        ErrorCode.TARGETING_KEY_MISSING: flags.get_string_details(
            "shop", "default", EvaluationContext()
        ),
        ErrorCode.TYPE_MISMATCH: flags.get_integer_details("shop", 7, SDK_ANN),
        ErrorCode.INVALID_CONTEXT: flags.get_string_details("shop", "default", nested),
    }
    for code, found in codes.items():
        assert (found.error_code, found.reason) == (code, Reason.ERROR), (code, found)
        assert found.value in ("default", 7)
    flags.track("bought", SDK_ANN)
    assert live.experiment("shop").version == 0, "the stock provider sends nothing"


@pytest.fixture
def rewarded(key: str, live: Live) -> Any:
    """OpenFeature's own client with our provider, whose `track` says rewards."""
    rewards = {"bought": ["shop", "menu"], "seen": "shop"}
    api.set_provider(EnsampleProvider(live.url, key, rewards=rewards), "rewarded")
    return api.get_client("rewarded")


def test_an_event_is_a_reward(rewarded: Any, live: Live) -> None:
    chosen = {
        name: rewarded.get_string_details(name, "default", SDK_ANN) for name in ("shop", "menu")
    }
    assert all(found.value in ("a", "b") and found.error_code is None for found in chosen.values())
    rewarded.track("looked", SDK_ANN)
    assert live.experiment("shop").version == 0, "no reward of anything"
    rewarded.track("bought", SDK_ANN, TrackingEventDetails(0.5))
    assert live.experiment("shop").version == live.experiment("menu").version == 1
    log = live.experiment("shop").log()
    assert log["id"][0] == chosen["shop"].flag_metadata["decisionId"] and log["reward"][0] == 0.5


def test_an_event_may_name_its_experiment(rewarded: Any, live: Live) -> None:
    rewarded.get_string_value("menu", "default", SDK_ANN)
    rewarded.track("tasted", SDK_ANN, TrackingEventDetails(attributes={"experiment": "menu"}))
    assert live.experiment("menu").log()["reward"][0] == 1 and live.experiment("shop").events == 1


def test_what_cannot_be_sent_is_logged(rewarded: Any, caplog: pytest.LogCaptureFixture) -> None:
    rewarded.get_string_value("shop", "default", SDK_ANN)
    with caplog.at_level(logging.WARNING, "ensample.client"):
        rewarded.track("seen")
        rewarded.track("seen", SDK_ANN, TrackingEventDetails(7))
        rewarded.track("seen", SDK_ANN, TrackingEventDetails(attributes={"experiment": "nobody"}))
    reasons = ("targeting key", "invalid", "not_found")
    found = [[reason in text for reason in reasons] for text in caplog.messages]
    assert found == [[True, False, False], [False, True, False], [False, False, True]]


def test_rewards_of_nothing_are_refused() -> None:
    with pytest.raises(es.WrongType, match="rewards"):
        EnsampleProvider(rewards={"bought": [3]})  # type: ignore[list-item]
