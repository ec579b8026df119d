"""Azure's Personalizer: its calls in process, and its released client for Python on a real socket."""

from typing import Any

import pytest
from azure.cognitiveservices.personalizer import PersonalizerClient
from azure.cognitiveservices.personalizer.models import (
    ErrorResponseException,
    RankableAction,
    RankRequest,
)
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

import ensample as es
from ensample.service.auth import new_key
from service.conftest import SHOP, Serve, Served
from service.live import Live

RANK, EVENTS = "/personalizer/v1.0/rank", "/personalizer/v1.0/events"
NEWS = {
    "contextFeatures": [{"timeOfDay": "morning"}, {"device": {"mobile": True}}],
    "actions": [
        {"id": "news", "features": [{"type": "news"}]},
        {"id": "sport", "features": [{"type": "sport"}, {"length": 3}]},
        {"id": "film", "features": []},
    ],
}


def asked(id: str, **more: Any) -> dict[str, Any]:
    return NEWS | {"eventId": id} | more


def own(client: Served) -> Any:
    return client.service.catalog["personalizer"].experiment


def test_an_experiment_begins_with_the_first_call(serve: Serve) -> None:
    client = serve()
    assert (
        client.post(f"{EVENTS}/e0/reward", json={"value": 1}).headers["ensample-outcome"]
        == "unknown"
    )
    assert (
        client.post(f"{EVENTS}/e0/activate").status_code == 204
        and not client.service.catalog.hosted
    )
    found = client.post(RANK, json=asked("e1"))
    answer = found.json()
    assert found.status_code == 201 and answer["eventId"] == "e1"
    assert {item["id"] for item in answer["ranking"]} == {"news", "sport", "film"}
    assert answer["ranking"][0]["id"] == answer["rewardActionId"]
    assert sum(item["probability"] for item in answer["ranking"]) == pytest.approx(1)
    decision = own(client).decision("e1")
    assert decision.action == answer["rewardActionId"]
    assert decision.propensities == {item["id"]: item["probability"] for item in answer["ranking"]}
    assert client.get("/v1/experiments").json() == {"experiments": ["personalizer"]}


def test_features_become_one_object(serve: Serve) -> None:
    client = serve()
    client.post(RANK, json=asked("e1"))
    row = own(client).log().row(0, named=True)
    assert row["context"] == '{"timeOfDay":"morning","device":{"mobile":true}}'
    event = own(client)._storage.history("e1")[0]
    assert event.features == {
        "news": {"type": "news"},
        "sport": {"type": "sport", "length": 3},
        "film": None,
    }
    twice = asked("e2", contextFeatures=[{"age": 3}, {"age": 4}])
    refused = client.post(RANK, json=twice)
    assert refused.status_code == 400 and refused.json()["error"]["target"] == "contextFeatures.age"


def test_whoever_is_excluded_keeps_the_place_and_has_no_chance(serve: Serve) -> None:
    client = serve()
    answer = client.post(RANK, json=asked("e1", excludedActions=["news", "nobody"])).json()
    assert answer["ranking"][0] == {"id": "news", "probability": 0.0}
    assert answer["rewardActionId"] == answer["ranking"][1]["id"] != "news"
    assert sum(item["probability"] for item in answer["ranking"]) == pytest.approx(1)
    refused = client.post(RANK, json=asked("e2", excludedActions=["news", "sport", "film"]))
    assert refused.status_code == 400 and refused.json()["error"]["code"] == "BadRequest"


def test_an_event_is_one_question(serve: Serve) -> None:
    client = serve()
    first = client.post(RANK, json=asked("e1")).json()
    assert client.post(f"{EVENTS}/e1/reward", json={"value": 0.5}).status_code == 204
    again = client.post(RANK, json=asked("e1"))
    assert again.status_code == 201 and again.json() == first
    other = client.post(RANK, json=asked("e1", contextFeatures=[]))
    assert other.status_code == 409 and other.json()["error"]["innerError"] == {"code": "conflict"}
    without = client.post(RANK, json=NEWS).json()
    assert (
        without["eventId"] and client.post(RANK, json=NEWS).json()["eventId"] != without["eventId"]
    )


def test_rewards_are_told_apart_in_a_header(serve: Serve) -> None:
    client = serve()
    client.post(RANK, json=asked("e1"))
    client.post(RANK, json=asked("e 2/x", deferActivation=True))

    def outcome(path: str, **body: Any) -> str:
        found = client.post(f"{EVENTS}/{path}", json=body or None)
        assert found.status_code == 204 and found.content == b""
        return found.headers["ensample-outcome"]

    assert (
        outcome("e1/reward", value=-1) == "applied" and outcome("e1/reward", value=1) == "duplicate"
    )
    assert (
        outcome("nobody/reward", value=1) == "unknown"
        and outcome("e%202%2Fx/reward", value=1) == "not_shown"
    )
    assert (
        outcome("e%202%2Fx/activate") == "applied"
        and outcome("e%202%2Fx/reward", value=1) == "applied"
    )
    refused = client.post(f"{EVENTS}/e1/reward", json={"value": 1.5})
    assert refused.status_code == 400 and refused.json()["error"]["target"] == "value"
    assert own(client).version == 2


def test_an_event_without_reward_has_the_default(serve: Serve) -> None:
    client = serve()
    client.post(RANK, json=asked("e1"))
    client.post(RANK, json=asked("e2", deferActivation=True))
    own(client).expire(4e9)
    assert own(client).version == 1 and own(client).waiting == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"actions": []}',
        b'{"actions": [{"features": []}]}',
        b'{"actions": [{"id": "a"}, {"id": "a"}]}',
        b'{"actions": [{"id": ""}]}',
        b'{"actions": [{"id": "a"}], "eventId": ""}',
        b'{"actions": [{"id": "a", "features": [3]}]}',
        b'{"actions": [{"id": "a", "features": {"price": 3}}]}',
        b'{"actions": [{"id": "a"}], "contextFeatures": [{"x": NaN}]}',
        b'{"actions": [{"id": "a"}], "contextFeatures": [{"x": [{"y": 1}]}]}',
    ],
)
def test_what_cannot_be_is_refused_in_its_own_shape(body: bytes, serve: Serve) -> None:
    client = serve()
    found = client.post(RANK, content=body, headers={"content-type": "application/json"})
    error = found.json()["error"]
    assert found.status_code == 400 and error["code"] == "BadRequest" and error["message"]
    assert not any(hosted.experiment.decisions for hosted in client.service.catalog.hosted.values())


def test_the_key_says_which_experiment(serve: Serve) -> None:
    client = serve()
    client.put("/v1/experiments/shop", json=SHOP)
    keys = {}
    kinds = {
        "shop": ("decide", "shop"),
        "own": ("decide", None),
        "lost": ("decide", "gone"),
        "eye": ("read", None),
    }
    for name, (role, experiment) in kinds.items():
        keys[name], key = new_key(role, experiment)
        client.service.store.add(key)

    def rank(name: str, actions: tuple[str, ...] = ("a", "b")) -> Any:
        body = {"actions": [{"id": action, "features": []} for action in actions]}
        return client.post(RANK, json=body, headers={"Ocp-Apim-Subscription-Key": keys[name]})

    assert (
        rank("shop").status_code == 201 and client.service.catalog["shop"].experiment.decisions == 1
    )
    assert rank("shop", ("a", "z")).status_code == 400, "the experiment has actions of its own"
    assert rank("own", ("x", "y")).status_code == 201
    name = f"personalizer-{keys['own'].split('_')[1]}"
    assert client.service.catalog[name].experiment.decisions == 1
    lost = rank("lost")
    assert lost.status_code == 404 and lost.json()["error"]["code"] == "ResourceNotFound"
    assert rank("eye").status_code == 403 and rank("eye").json()["error"]["code"] == "BadRequest"
    nobody = client.post(RANK, json=NEWS)
    assert nobody.status_code == 401 and set(nobody.json()["error"]) == {
        "code",
        "message",
        "innerError",
    }
    assert client.post(f"{EVENTS}/e/activate").status_code == 401


def test_a_pause_is_a_refusal(serve: Serve) -> None:
    client = serve()
    client.post(RANK, json=NEWS)
    client.post("/v1/experiments/personalizer/pause", json={})
    found = client.post(RANK, json=NEWS)
    assert found.status_code == 409 and found.json()["error"]["innerError"]["code"] == "paused"


def test_what_is_not_here_is_said_in_personalizers_words(serve: Serve) -> None:
    found = serve().post("/personalizer/v1.1-preview.1/multislot/rank", json={})
    error = found.json()["error"]
    assert (
        found.status_code == 404
        and error["code"] == "ResourceNotFound"
        and "multi-slot" in error["message"]
    )


def test_the_experiment_can_be_made_beforehand(serve: Serve) -> None:
    client = serve()
    client.put(
        "/v1/experiments/personalizer",
        json={"reward": {"low": 0, "high": 10}, "recipe": {"kind": "Greedy"}},
    )
    assert client.post(RANK, json=asked("e1")).status_code == 201
    assert own(client).settings.recipe == es.Greedy()


@pytest.mark.parametrize("end", ["", "/"])
def test_the_released_client_for_python(end: str, live: Live) -> None:
    key = live.key("decide")
    client = PersonalizerClient(live.url + end, CognitiveServicesCredentials(key))
    actions = [
        RankableAction(id=name, features=[{"type": name}, {"price": 3.5}])
        for name in ("soup", "salad", "pie")
    ]
    with client:
        ranked = client.rank(
            RankRequest(actions=actions, context_features=[{"hungry": True}], event_id="e/1")
        )
        assert ranked.event_id == "e/1" and ranked.reward_action_id == ranked.ranking[0].id
        assert sum(item.probability for item in ranked.ranking) == pytest.approx(1)
        client.events.reward("e/1", 1.0)
        later = client.rank(
            RankRequest(actions=actions, excluded_actions=["soup"], defer_activation=True)
        )
        assert later.reward_action_id in ("salad", "pie") and later.ranking[0].id == "soup"
        assert (
            client.events.activate(later.event_id, raw=True).response.headers["ensample-outcome"]
            == "applied"
        )
        client.events.reward(later.event_id, value=0.25)
        with pytest.raises(ErrorResponseException) as refused:
            client.rank(RankRequest(actions=[*actions, actions[0]]))
        assert (
            refused.value.error.error.code == "BadRequest"
            and "twice" in refused.value.error.error.message
        )
        with pytest.raises(HttpOperationError):
            client.events.reward("e/1", 7.0)
    with (
        PersonalizerClient(live.url, CognitiveServicesCredentials("wrong")) as stranger,
        pytest.raises(ErrorResponseException) as lost,
    ):
        stranger.rank(RankRequest(actions=actions))
    assert lost.value.response.status_code == 401
    experiment = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert experiment.version == 2 and experiment.counts["applied"] == 2
