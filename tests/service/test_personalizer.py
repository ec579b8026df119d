"""Azure's Personalizer: its calls in process, and its released client on a real socket."""

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
from service.conftest import Serve, Served
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


class Ranking:
    """Calls of Personalizer's to a service."""

    def __init__(self, client: Served) -> None:
        self.client = client

    def rank(self, id: str, status: int = 201, **more: Any) -> Any:
        found = self.client.post(RANK, json=NEWS | {"eventId": id} | more)
        assert found.status_code == status, found.text
        return found.json() if status == 201 else found.json()["error"]

    def outcome(self, path: str, **body: Any) -> str:
        found = self.client.post(f"{EVENTS}/{path}", json=body or None)
        assert found.status_code == 204 and found.content == b""
        return found.headers["ensample-outcome"]

    @property
    def own(self) -> Any:
        return self.client.service.catalog["personalizer"].experiment


@pytest.fixture
def news(serve: Serve) -> Ranking:
    return Ranking(serve())


def test_an_experiment_begins_with_the_first_call(news: Ranking) -> None:
    assert news.outcome("e0/reward", value=1) == news.outcome("e0/activate") == "unknown"
    assert not news.client.service.catalog.hosted
    answer = news.rank("e1")
    ranking = {item["id"]: item["probability"] for item in answer["ranking"]}
    assert answer["eventId"] == "e1" and ranking.keys() == {"news", "sport", "film"}
    assert answer["ranking"][0]["id"] == answer["rewardActionId"]
    assert sum(ranking.values()) == pytest.approx(1)
    decision = news.own.decision("e1")
    assert decision.action == answer["rewardActionId"] and decision.propensities == ranking
    assert news.client.get("/v1/experiments").json() == {"experiments": ["personalizer"]}


def test_features_become_one_object(news: Ranking) -> None:
    news.rank("e1")
    context = news.own.log().row(0, named=True)["context"]
    assert context == '{"timeOfDay":"morning","device":{"mobile":true}}'
    refused = news.rank("e2", 400, contextFeatures=[{"age": 3}, {"age": 4}])
    assert refused["target"] == "contextFeatures.age"


def test_whoever_is_excluded_keeps_the_place_and_has_no_chance(news: Ranking) -> None:
    answer = news.rank("e1", excludedActions=["news", "nobody"])
    assert answer["ranking"][0] == {"id": "news", "probability": 0.0}
    assert answer["rewardActionId"] == answer["ranking"][1]["id"] != "news"
    assert sum(item["probability"] for item in answer["ranking"]) == pytest.approx(1)
    refused = news.rank("e2", 400, excludedActions=["news", "sport", "film"])
    assert refused["code"] == "BadRequest"


def test_an_event_is_one_question(news: Ranking) -> None:
    first = news.rank("e1")
    assert news.outcome("e1/reward", value=0.5) == "applied" and news.rank("e1") == first
    assert news.rank("e1", 409, contextFeatures=[])["innerError"] == {"code": "conflict"}
    ids = {news.client.post(RANK, json=NEWS).json()["eventId"] for _ in range(2)}
    assert len(ids) == 2 and all(ids)


def test_rewards_are_told_apart_in_a_header(news: Ranking) -> None:
    news.rank("e1")
    news.rank("e 2/x", deferActivation=True)
    later = "e%202%2Fx"
    given = [("e1", -1), ("e1", 1), ("nobody", 1), (later, 1)]
    found = [news.outcome(f"{id}/reward", value=value) for id, value in given]
    assert found == ["applied", "duplicate", "unknown", "not_shown"]
    assert (
        news.outcome(f"{later}/activate") == news.outcome(f"{later}/reward", value=1) == "applied"
    )
    refused = news.client.post(f"{EVENTS}/e1/reward", json={"value": 1.5})
    assert refused.status_code == 400 and refused.json()["error"]["target"] == "value"
    assert news.own.version == 2


def test_an_event_without_reward_has_the_default(news: Ranking) -> None:
    news.rank("e1")
    news.rank("e2", deferActivation=True)
    news.own.expire(4e9)
    assert news.own.version == 1 and news.own.waiting == 0


WRONG = [
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
]


@pytest.mark.parametrize("body", WRONG)
def test_what_cannot_be_is_refused_in_its_own_shape(body: bytes, news: Ranking) -> None:
    found = news.client.post(RANK, content=body, headers={"content-type": "application/json"})
    error = found.json()["error"]
    assert found.status_code == 400 and error["code"] == "BadRequest" and error["message"]
    hosted = news.client.service.catalog.hosted.values()
    assert not any(found.experiment.decisions for found in hosted)


def test_the_key_says_which_experiment(shop: Served) -> None:
    keys = {
        "shop": shop.key("decide", "shop"),
        "own": shop.key("decide"),
        "lost": shop.key("decide", "gone"),
        "eye": shop.key("read"),
    }

    def rank(name: str, *actions: str) -> tuple[int, str]:
        body = {"actions": [{"id": action, "features": []} for action in actions or "ab"]}
        found = shop.post(RANK, json=body, headers={"Ocp-Apim-Subscription-Key": keys[name]})
        return found.status_code, found.json().get("error", {}).get("code", "")

    assert rank("shop") == (201, "") and shop.experiment.decisions == 1
    assert rank("shop", "a", "z")[0] == 400, "the experiment has actions of its own"
    assert rank("own", "x", "y") == (201, "")
    name = f"personalizer-{keys['own'].split('_')[1]}"
    assert shop.service.catalog[name].experiment.decisions == 1
    assert rank("lost") == (404, "ResourceNotFound") and rank("eye") == (403, "BadRequest")
    nobody = shop.post(RANK, json=NEWS)
    assert nobody.status_code == 401
    assert set(nobody.json()["error"]) == {"code", "message", "innerError"}
    assert shop.post(f"{EVENTS}/e/activate").status_code == 401


def test_a_pause_is_a_refusal(news: Ranking) -> None:
    news.rank("e1")
    news.client.post("/v1/experiments/personalizer/pause", json={})
    assert news.rank("e2", 409)["innerError"]["code"] == "paused"


def test_what_is_not_here_is_said_in_personalizers_words(serve: Serve) -> None:
    found = serve().post("/personalizer/v1.1-preview.1/multislot/rank", json={})
    error = found.json()["error"]
    assert found.status_code == 404 and error["code"] == "ResourceNotFound"
    assert "multi-slot" in error["message"]


def test_the_experiment_can_be_made_beforehand(news: Ranking) -> None:
    made = {"reward": {"low": 0, "high": 10}, "recipe": {"kind": "Greedy"}}
    news.client.put("/v1/experiments/personalizer", json=made)
    assert news.rank("e1") and news.own.settings.recipe == es.Greedy()


@pytest.mark.parametrize("end", ["", "/"])
def test_the_released_client_for_python(end: str, live: Live) -> None:
    key = live.key("decide")
    actions = [
        RankableAction(id=name, features=[{"type": name}, {"price": 3.5}])
        for name in ("soup", "salad", "pie")
    ]
    hungry = RankRequest(actions=actions, context_features=[{"hungry": True}], event_id="e/1")
    deferred = RankRequest(actions=actions, excluded_actions=["soup"], defer_activation=True)
    with PersonalizerClient(live.url + end, CognitiveServicesCredentials(key)) as client:
        ranked = client.rank(hungry)
        assert ranked.event_id == "e/1" and ranked.reward_action_id == ranked.ranking[0].id
        assert sum(item.probability for item in ranked.ranking) == pytest.approx(1)
        client.events.reward("e/1", 1.0)
        later = client.rank(deferred)
        assert later.reward_action_id in ("salad", "pie") and later.ranking[0].id == "soup"
        activated = client.events.activate(later.event_id, raw=True).response
        assert activated.headers["ensample-outcome"] == "applied"
        client.events.reward(later.event_id, value=0.25)
        with pytest.raises(ErrorResponseException) as refused:
            client.rank(RankRequest(actions=[*actions, actions[0]]))
        error = refused.value.error.error
        assert error.code == "BadRequest" and "twice" in error.message
        with pytest.raises(HttpOperationError):
            client.events.reward("e/1", 7.0)
    stranger = PersonalizerClient(live.url, CognitiveServicesCredentials("wrong"))
    with stranger, pytest.raises(ErrorResponseException) as lost:
        stranger.rank(RankRequest(actions=actions))
    assert lost.value.response.status_code == 401
    experiment = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert experiment.version == experiment.counts["applied"] == 2
