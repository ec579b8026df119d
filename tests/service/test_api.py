"""The API of the service: what one sends and what one gets."""

import json
import re
from datetime import UTC, datetime

import pytest

import ensample as es
from service.conftest import ONE, SHOP, Serve, Served


def test_an_experiment_is_made_once(shop: Served) -> None:
    again = shop.put(ONE, json=SHOP)
    assert again.status_code == 200 and again.json() == shop.view()
    assert (again.json()["actions"], again.json()["events"]) == (["a", "b"], 1)
    other = shop.put(ONE, json=SHOP | {"floor": 0.5})
    assert other.status_code == 409 and other.json()["error"]["argument"] == "floor"
    assert shop.get("/v1/experiments").json() == {"experiments": ["shop"]}
    assert again.json()["settings"]["recipe"]["size"] == 10


def test_a_seed_that_is_not_given_is_drawn_and_recorded(serve: Serve) -> None:
    client, names = serve(), ("/v1/experiments/one", "/v1/experiments/other")
    seeds = {name: client.put(name, json=SHOP).json()["settings"]["seed"] for name in names}
    assert len(set(seeds.values())) == 2 and all(0 <= seed < 2**53 for seed in seeds.values())
    client.stop()
    client = serve()
    for name, seed in seeds.items():
        for body in (SHOP, SHOP | {"seed": seed}):
            again = client.put(name, json=body)
            assert (again.status_code, again.json()["settings"]["seed"]) == (200, seed)
        other = client.put(name, json=SHOP | {"seed": seed + 1})
        assert other.status_code == 409 and other.json()["error"]["argument"] == "seed"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"features": {"kind": "Reward"}}, "expected one of Columns, .*Crosses, Disjoint"),
        ({"recipe": {"kind": "EnsembleSampling", "names": 1}}, "one of .*ageing.*model"),
        ({"recipe": {"kind": "EnsembleSampling", "fresh": "yes"}}, "^recipe.fresh = 'yes'"),
    ],
)
def test_error_of_a_part_lists_what_the_part_takes(body: object, expected: str, shop: Served):
    found = shop.put("/v1/experiments/other", json=SHOP | body)  # type: ignore[operator]
    assert found.status_code == 422 and re.search(expected, found.json()["error"]["message"])


def test_a_file_whose_name_differs_in_capitals_counts(shop: Served, tmp_path) -> None:
    """Also one that was put there since: on some file systems they are the same file."""
    es.open_experiment(tmp_path / "data" / "experiments" / "Attic.db", actions=["a", "b"]).close()
    for name in ("SHOP", "attic"):
        refused = shop.put(f"/v1/experiments/{name}", json=SHOP)
        assert refused.status_code == 409 and "capitals only" in refused.json()["error"]["message"]


def test_a_decision_has_its_propensity_and_its_time(shop: Served) -> None:
    answer = shop.decide(id="q1", context={"age": 31, "tags": ["tea"]})
    assert answer["id"] == "q1" and answer["action"] in ("a", "b")
    assert 0 < answer["propensity"] == answer["propensities"][answer["action"]] <= 1
    assert sum(answer["propensities"].values()) == pytest.approx(1)
    time = datetime.fromisoformat(answer["time"])
    assert time.tzinfo == UTC and abs((datetime.now(UTC) - time).total_seconds()) < 3_600
    assert datetime.fromisoformat(shop.log()[0]["time"]) == time
    document = shop.get("/openapi.json").json()["components"]["schemas"]["Decision"]
    assert document["properties"]["time"] == {"type": "string", "format": "date-time"}


def test_an_id_is_one_question(shop: Served) -> None:
    asked = {"id": "q1", "context": {"age": 31}}
    first = shop.ask("decide", asked)
    shop.reward("q1")
    assert shop.ask("decide", asked) == first and shop.ask("decide", [asked]) == [first]
    others = [{"context": {"age": 32}}, {"actions": ["a"]}, {"excluded": ["a"]}, {"active": False}]
    for other in others:
        assert shop.ask("decide", asked | other, 409)["error"]["code"] == "conflict", other
    assert shop.decide(id="q2", actions=["a"])["action"] == "a"
    shop.ask("decide", {"id": "q2"}, 409)  # all actions is another question
    assert shop.view()["decisions"] == 2


def test_every_outcome_is_told_apart(serve: Serve) -> None:
    client = serve(shop=SHOP | {"reward": {"low": 0, "high": 1, "wait": "1 h"}})
    shown = client.decide(id="q1")["action"]
    client.decide(id="q2", active=False)
    client.decide(id="q/3?")
    assert client.reward("q1", action={"a": "b", "b": "a"}[shown]) == "not_shown"
    found = [client.reward(id) for id in ("q2", "q1", "q1", "nobody")]
    assert found == ["not_shown", "applied", "duplicate", "unknown"]
    assert client.ask("decisions/q2/activate") == {"id": "q2", "outcome": "applied"}
    assert client.ask("decisions/q2/activate")["outcome"] == "duplicate"
    client.experiment.engine.clock = lambda: 4e9
    assert client.reward("q2") == client.reward("q%2F3%3F") == "late"
    counts = {"not_shown": 2, "applied": 1, "duplicate": 1, "unknown": 1, "late": 2}
    assert client.view()["outcomes"] == counts


def test_a_reward_has_a_value_in_range_by_either_of_its_names(shop: Served) -> None:
    """A body without one is more likely a mistake than a reward of 1."""
    for id in ("q1", "q2", "q3"):
        shop.decide(id=id)
    path = "decisions/q1/reward"
    wrong = [{}, {"action": "a"}, {"reward": None}, {"value": 7}, {"reward": 0.5, "value": 0.25}]
    for body in wrong:
        assert shop.ask(path, body, 422)["error"]["argument"] == "value"
    assert shop.post(f"{ONE}/{path}", content=b'{"value": null}').status_code == 422
    many = shop.ask("rewards", [{"id": "q1"}, {"id": "none", "value": 1}])
    assert many[0]["error"]["argument"] == "value"
    assert many[1] == {"id": "none", "outcome": "unknown"} and shop.view()["version"] == 0
    given = ({"reward": 0.25}, {"reward": 1, "value": 1}, {"value": False})
    for id, body in zip(("q1", "q2", "q3"), given, strict=True):
        assert shop.ask(f"decisions/{id}/reward", body)["outcome"] == "applied"
    assert [row["reward"] for row in shop.log()] == [0.25, 1.0, 0.0]


def test_a_batch_is_one_commit_and_a_bad_item_spoils_no_other(shop: Served) -> None:
    asked = [{"id": "q1"}, {"id": "q2", "actions": ["z"]}, {"id": "q3", "dry_run": True}, {}]
    found = shop.ask("decide", asked)
    assert [answer.get("id") for answer in found[:3]] == ["q1", None, "q3"]
    assert found[1]["error"]["code"] == "invalid" and shop.view()["decisions"] == 2
    items = [
        {"id": id, "value": value} for id, value in (("q1", 1), ("q1", 1), ("q1", 5), ("q3", 0))
    ]
    outcomes = [answer.get("outcome") for answer in shop.ask("rewards", items)]
    assert outcomes == ["applied", "duplicate", None, "unknown"]
    shop.decide(id="q4", active=False)
    both = shop.ask("activations", [{"id": "q4"}, {"id": "q5"}])
    assert [answer["outcome"] for answer in both] == ["applied", "unknown"]


def test_a_dry_run_leaves_no_trace(shop: Served) -> None:
    before = shop.view(hash=True)
    assert shop.decide(dry_run=True)["action"] in ("a", "b") and shop.view(hash=True) == before


def test_a_decision_is_explained(shop: Served) -> None:
    decision = shop.decide(id="q1", context={"age": 31})
    found = shop.get(f"{ONE}/decisions/q1").json()
    assert found["action"] == decision["action"] and sum(found["votes"].values()) == 10
    assert found["propensities"] == decision["propensities"]
    assert shop.get(f"{ONE}/decisions/nobody").status_code == 404


def test_actions_come_and_go(shop: Served) -> None:
    body = {"add": {"c": {"price": 3}}, "remove": ["a"]}
    assert shop.ask("actions", body)["actions"] == ["b", "c"]
    assert shop.ask("actions", body)["events"] == 2, "to say it twice is to say it once"
    shop.ask("actions", {"remove": ["b", "c"]}, 422)
    shop.ask("actions", {"add": ["d"], "remove": ["d"]}, 422)


def test_a_pause_lasts(serve: Serve) -> None:
    client = serve(shop=SHOP)
    client.decide(id="q1")
    assert client.ask("pause", {})["paused"] is True
    assert client.ask("decide", {"id": "q2"}, 409)["error"]["code"] == "paused"
    assert client.reward("q1") == "applied"
    client.stop()
    other = serve()
    assert other.view()["paused"] is True
    other.ask("pause", {"paused": False})
    assert other.decide(id="q2")["id"] == "q2"


def test_a_targeting_key_keeps_its_decision(shop: Served) -> None:
    first = shop.decide(targetingKey="ann", context={"age": 3})
    again = shop.decide(targetingKey="ann", context={"age": 4})
    assert again == first != shop.decide(targetingKey="bob")
    event = {"experiment": "shop", "targetingKey": "ann", "event": "bought"}
    assert shop.post("/v1/events", json=event).json() == {"outcome": "applied", "id": first["id"]}
    assert shop.post("/v1/events", json=event).json()["outcome"] == "duplicate"
    unknown = shop.post("/v1/events", json=event | {"targetingKey": "eve"}).json()
    assert unknown == {"outcome": "unknown", "id": None}
    shop.ask("actions", {"add": ["c"], "remove": [first["action"]]})
    assert shop.decide(targetingKey="ann")["action"] != first["action"]


def played(client: Served, rounds: int = 40) -> None:
    for number in range(rounds):
        decision = client.decide(id=f"q{number}", context={"age": number % 5})
        if number % 4:
            client.reward(f"q{number}", float(decision["action"] == "a"))


@pytest.mark.parametrize("format", ["jsonl", "parquet", "dsjson"])
def test_the_log_goes_out_and_in(format: str, shop: Served, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("ensample.experiments.log.builder.PIECE", 15)
    played(shop)
    log = shop.get(f"{ONE}/log?format={format}")
    assert log.status_code == 200 and "shop" in log.headers["content-disposition"]
    path = tmp_path / f"log.{format}"
    path.write_bytes(log.content)
    mine = shop.experiment.log()
    if format == "dsjson":
        assert es.read_dsjson(path)["reward"].to_list() == mine["reward"].to_list()
    else:
        assert es.read_log(path).equals(mine)
    shop.put("/v1/experiments/other", json=SHOP)
    learned = shop.post(f"/v1/experiments/other/log?format={format}", content=log.content)
    assert learned.json() == {"learned": 30}
    assert shop.get("/v1/experiments/other").json()["version"] == 30


def test_a_log_that_is_none_is_refused(shop: Served) -> None:
    bodies = [("jsonl", b"{}"), ("jsonl", b"\xff"), ("jsonl", b"")]
    for format, body in (*bodies, ("dsjson", b"{"), ("parquet", b"PAR1 no")):
        found = shop.post(f"{ONE}/log?format={format}", content=body)
        assert found.status_code in (400, 422) and "/tmp" not in found.text, (format, found.text)
    assert shop.get(f"{ONE}/log?format=xml").status_code == 422 and shop.view()["version"] == 0


def test_whoever_reads_the_log_sees_that_waits_are_over(serve: Serve) -> None:
    client = serve(shop=SHOP | {"reward": {"low": 0, "high": 1, "wait": "1 h", "default": 0}})
    client.ask("decide", [{"id": f"q{number}"} for number in range(100)])
    client.experiment.engine.clock = lambda: 4e9
    events = client.experiment.events
    assert [row["outcome"] for row in client.log()] == ["default"] * 100
    (found,) = client.ask("evaluate", {"policies": ["uniform"]})["evaluations"]
    assert found["rows"] == 100 and client.experiment.events == events, "reading is not writing"


def test_another_policy_is_evaluated_on_the_log(shop: Served) -> None:
    played(shop)
    for number in range(40):
        shop.reward(f"q{number}", 0)
    asked = {"policies": ["uniform", "action:a", {"kind": "LinUCB"}]}
    found = shop.ask("evaluate", asked)["evaluations"]
    assert [each["target"] for each in found][:2] == ["uniform", "action:a"]
    assert found[0]["rows"] == 40 and found[0]["range"] == [0, 1]
    assert found[0]["dr"]["low"] <= found[0]["dr"]["value"] <= found[0]["dr"]["high"]
    wrong = shop.ask("evaluate", {"policies": [{"kind": "os:system"}]}, 422)
    assert wrong["error"]["argument"] == "recipe.kind"


def test_evaluation_counts_decisions_without_a_reward_as_zero_if_asked(serve: Serve) -> None:
    client = serve(shop={"actions": ["a", "b"], "reward": {"low": 0, "high": 1}})
    client.ask("decide", [{"id": f"q{number}"} for number in range(4)])
    client.reward("q3")
    message = client.ask("evaluate", {"policies": ["logged"]}, 422)["error"]["message"]
    assert "log.parquet" not in message and 'missing="zero"' in message
    (found,) = client.ask("evaluate", {"policies": ["logged"], "missing": "zero"})["evaluations"]
    assert (found["rows"], found["logged"]) == (4, 0.25)


def test_what_is_kept_is_there_after_a_restart(serve: Serve) -> None:
    client = serve(shop=SHOP)
    played(client, 10)
    before = client.view(hash=True)
    client.stop()
    assert serve().view(hash=True) == before


def test_the_numbers_are_counted(shop: Served) -> None:
    played(shop, 8)
    text = shop.get("/metrics").text
    assert 'ensample_decisions_total{experiment="shop"} 8.0' in text
    assert 'ensample_rewards_total{experiment="shop",outcome="applied"} 6.0' in text
    assert 'ensample_commit_seconds_count{experiment="shop"}' in text
    assert "ensample_ready 1.0" in text


def test_answers_that_were_known_are_no_further_decisions(shop: Served) -> None:
    for _ in range(2):
        shop.decide(targetingKey="ann")
        shop.decide(id="q1")
        shop.ask("decide", [{"id": "q1"}, {"targetingKey": "bob"}, {"dry_run": True}])
        shop.decide(dry_run=True)
    assert 'ensample_decisions_total{experiment="shop"} 3.0' in shop.get("/metrics").text


def test_nothing_of_a_context_is_logged(shop: Served) -> None:
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    context = {"secret": "hidden-word", "tags": ["hidden-word"]}
    asked = {"id": "q1", "context": context}
    shop.post(f"{ONE}/decide", json=asked, headers={"traceparent": parent})
    wrong = {"context": {"hidden-word": [[1]]}}
    shop.post(f"{ONE}/decide", json=wrong, headers={"traceparent": "hidden-word"})
    shop.post(f"{ONE}/decide?hidden-word=1", content=b'{"context": {"hidden-word": NaN}}')
    assert "hidden-word" not in shop.said.getvalue()
    lines = map(json.loads, shop.said.getvalue().splitlines())
    decided = next(line for line in lines if line.get("decision") == "q1")
    found = (decided["traceparent"], decided["status"], decided["experiment"])
    assert found == (parent, 200, "shop")
