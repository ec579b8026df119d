"""OpenFeature's remote evaluation: its calls in process, and the released SDK and provider for Python on a real socket."""

from typing import Any

import httpx
import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason

from ensample.service.auth import new_key
from service.conftest import SHOP, Serve, Served
from service.live import Live

FLAGS = "/ofrep/v1/evaluate/flags"
ANN = {"context": {"targetingKey": "ann", "age": 31}}


def test_a_flag_is_an_experiment(shop: Served) -> None:
    found = shop.post(f"{FLAGS}/shop", json=ANN)
    answer = found.json()
    assert found.status_code == 200 and answer["key"] == "shop" and answer["reason"] == "SPLIT"
    assert answer["value"] == answer["variant"] in ("a", "b")
    decision = shop.service.catalog["shop"].experiment.decision(answer["metadata"]["decisionId"])
    assert decision is not None and decision.action == answer["value"]
    assert answer["metadata"]["propensity"] == decision.propensity
    assert shop.service.catalog["shop"].experiment.log()["context"][0] == '{"age":31}', (
        "the key is no feature"
    )


def test_whoever_has_an_action_keeps_it_for_a_while(serve: Serve) -> None:
    shop, now = serve(sticky="1 h"), 4e9
    shop.put("/v1/experiments/shop", json=SHOP)
    experiment = shop.service.catalog["shop"].experiment
    experiment.engine.clock = lambda: now
    first = shop.post(f"{FLAGS}/shop", json=ANN).json()
    now += 3_599
    assert shop.post(f"{FLAGS}/shop", json={"context": {"targetingKey": "ann"}}).json() == first
    assert shop.post(f"{FLAGS}/shop", json={"context": {"targetingKey": "bob"}}).json() != first
    now += 2
    later = shop.post(f"{FLAGS}/shop", json=ANN).json()
    assert (
        later["metadata"]["decisionId"] != first["metadata"]["decisionId"]
        and experiment.decisions == 3
    )
    event = {"experiment": "shop", "targetingKey": "ann", "event": "bought", "value": 1}
    assert shop.post("/v1/events", json=event).json() == {
        "outcome": "applied",
        "id": later["metadata"]["decisionId"],
    }


def test_true_and_false_are_a_switch(serve: Serve) -> None:
    client = serve()
    client.put("/v1/experiments/dark", json=SHOP | {"actions": ["true", "false"]})
    answer = client.post(f"{FLAGS}/dark", json=ANN).json()
    assert answer["value"] is (answer["variant"] == "true")
    client.post("/v1/experiments/dark/actions", json={"add": ["auto"]})
    assert client.post(f"{FLAGS}/dark", json=ANN).json()["value"] == answer["variant"]


@pytest.mark.parametrize(
    ("key", "body", "status", "code"),
    [
        ("shop", b"{", 400, "PARSE_ERROR"),
        ("shop", b'{"context": {"targetingKey": "a", "x": NaN}}', 400, "PARSE_ERROR"),
        ("shop", b"", 400, "TARGETING_KEY_MISSING"),
        ("shop", b"{}", 400, "TARGETING_KEY_MISSING"),
        ("shop", b'{"context": {"targetingKey": ""}}', 400, "TARGETING_KEY_MISSING"),
        ("shop", b'{"context": {"targetingKey": 3}}', 400, "INVALID_CONTEXT"),
        ("shop", b'{"context": {"targetingKey": ["a"]}}', 400, "INVALID_CONTEXT"),
        ("shop", b'{"context": [3]}', 400, "INVALID_CONTEXT"),
        ("shop", b'{"context": {"targetingKey": "a", "x": [[1]]}}', 400, "INVALID_CONTEXT"),
        ("nobody", b'{"context": {"targetingKey": "a"}}', 404, "FLAG_NOT_FOUND"),
        ("a/b", b'{"context": {"targetingKey": "a"}}', 404, "FLAG_NOT_FOUND"),
    ],
)
def test_what_cannot_be_has_a_code(
    key: str, body: bytes, status: int, code: str, shop: Served
) -> None:
    found = shop.post(f"{FLAGS}/{key}", content=body, headers={"content-type": "application/json"})
    answer = found.json()
    assert (found.status_code, answer["errorCode"], answer["key"]) == (
        status,
        code,
        key,
    ) and answer["errorDetails"]
    assert shop.service.catalog["shop"].experiment.decisions == 0


def test_a_pause_leaves_clients_their_default(shop: Served) -> None:
    shop.post("/v1/experiments/shop/pause", json={})
    found = shop.post(f"{FLAGS}/shop", json=ANN)
    assert found.status_code == 400 and found.json()["errorCode"] == "GENERAL"


def test_all_flags_at_once_are_none(shop: Served) -> None:
    found = shop.post(FLAGS, json=ANN)
    assert found.status_code == 200 and found.json() == {"flags": []}
    again = shop.post(FLAGS, json=ANN, headers={"if-none-match": found.headers["etag"]})
    assert (
        again.status_code == 304
        and again.content == b""
        and again.headers["etag"] == found.headers["etag"]
    )
    assert shop.post(FLAGS, json=ANN, headers={"if-none-match": '"another"'}).status_code == 200
    assert shop.service.catalog["shop"].experiment.decisions == 0


def test_a_key_for_one_experiment_has_one_flag(shop: Served) -> None:
    shop.put("/v1/experiments/other", json=SHOP)
    text, key = new_key("decide", "other")
    shop.service.store.add(key)
    headers = {"authorization": f"Bearer {text}"}
    assert shop.post(f"{FLAGS}/other", json=ANN, headers=headers).status_code == 200
    assert shop.post(f"{FLAGS}/shop", json=ANN, headers=headers).status_code == 403
    assert shop.post(f"{FLAGS}/shop", json=ANN).status_code == 401


@pytest.fixture
def flags(live: Live) -> Any:
    """OpenFeature's own client for Python, with its own provider."""
    key = live.key("admin")
    httpx.put(f"{live.url}/v1/experiments/shop", json=SHOP, headers={"x-api-key": key})
    provider = OFREPProvider(live.url, headers_factory=lambda: {"Authorization": f"Bearer {key}"})
    api.set_provider(provider, "shop")
    yield api.get_client("shop")
    api.clear_providers()
    provider.session.close()


def test_the_released_sdk_for_python(flags: Any, live: Live) -> None:
    ann = EvaluationContext("ann", {"age": 31, "tags": ["tea", "tennis"], "home": {"city": "Kiel"}})
    found = flags.get_string_details("shop", "default", ann)
    assert (
        found.value in ("a", "b") and found.variant == found.value and found.reason == Reason.SPLIT
    )
    assert found.error_code is None and flags.get_string_details("shop", "default", ann) == found
    decision = live.experiment("shop").decision(found.flag_metadata["decisionId"])
    assert found.flag_metadata["propensity"] == decision.propensity
    assert live.experiment("shop").decisions == 1


def test_the_released_sdk_has_its_default_where_there_is_no_answer(flags: Any, live: Live) -> None:
    ann = EvaluationContext("ann")
    codes = {
        ErrorCode.FLAG_NOT_FOUND: flags.get_string_details("nobody", "default", ann),
        ErrorCode.TARGETING_KEY_MISSING: flags.get_string_details(
            "shop", "default", EvaluationContext()
        ),
        ErrorCode.TYPE_MISMATCH: flags.get_integer_details("shop", 7, ann),
        ErrorCode.INVALID_CONTEXT: flags.get_string_details(
            "shop", "default", EvaluationContext("bob", {"x": [["y"]]})
        ),
    }
    for code, found in codes.items():
        assert (
            found.error_code == code
            and found.value in ("default", 7)
            and found.reason == Reason.ERROR
        ), (code, found)
    flags.track("bought", ann)
    assert live.experiment("shop").version == 0, "the stock provider sends nothing"
