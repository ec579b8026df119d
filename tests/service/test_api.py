"""The API of the service: what one sends and what one gets."""

import html
import json
import re
import shlex
from datetime import UTC, datetime
from itertools import pairwise

import pytest

import ensample as es
from ensample.service.auth import new_key
from service.conftest import SHOP, Serve, Served

ONE = "/v1/experiments/shop"


def test_an_experiment_is_made_once(shop: Served) -> None:
    again = shop.put(ONE, json=SHOP)
    assert (
        again.status_code == 200
        and again.json()["actions"] == ["a", "b"]
        and again.json()["events"] == 1
    )
    other = shop.put(ONE, json=SHOP | {"floor": 0.5})
    assert other.status_code == 409 and other.json()["error"]["argument"] == "floor"
    assert shop.get("/v1/experiments").json() == {"experiments": ["shop"]}
    assert shop.get(ONE).json()["settings"]["recipe"]["size"] == 10


def test_a_seed_that_is_not_given_is_drawn_and_recorded(serve: Serve) -> None:
    client, names = serve(), ("/v1/experiments/one", "/v1/experiments/other")
    seeds = {name: client.put(name, json=SHOP).json()["settings"]["seed"] for name in names}
    assert len(set(seeds.values())) == 2 and all(0 <= seed < 2**53 for seed in seeds.values())
    client.exit_stack.close()
    client = serve()
    for name, seed in seeds.items():
        for body in (SHOP, SHOP | {"seed": seed}):
            again = client.put(name, json=body)
            assert (again.status_code, again.json()["settings"]["seed"]) == (200, seed)
        other = client.put(name, json=SHOP | {"seed": seed + 1})
        assert other.status_code == 409 and other.json()["error"]["argument"] == "seed"


def test_a_decision_has_its_propensity(shop: Served) -> None:
    found = shop.post(f"{ONE}/decide", json={"id": "q1", "context": {"age": 31, "tags": ["tea"]}})
    answer = found.json()
    assert found.status_code == 200 and answer["id"] == "q1" and answer["action"] in ("a", "b")
    assert 0 < answer["propensity"] == answer["propensities"][answer["action"]] <= 1
    assert sum(answer["propensities"].values()) == pytest.approx(1)


def test_time_of_a_decision_is_iso_8601(shop: Served) -> None:
    one, many = (
        shop.post(f"{ONE}/decide", json={"id": "q1"}).json(),
        shop.post(f"{ONE}/decide", json=[{"id": "q1"}]).json(),
    )
    time = datetime.fromisoformat(one["time"])
    assert (
        time.tzinfo == UTC
        and abs((datetime.now(UTC) - time).total_seconds()) < 3_600
        and many == [one]
    )
    (row,) = shop.get(f"{ONE}/log?format=jsonl").text.splitlines()
    assert datetime.fromisoformat(json.loads(row)["time"]) == time
    schema = shop.get("/openapi.json").json()["components"]["schemas"]["Decision"]["properties"][
        "time"
    ]
    assert schema == {"type": "string", "format": "date-time"}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (
            "features",
            {"kind": "Reward"},
            "expected one of Columns, Crosses, Disjoint, Hashing, Hybrid, OneHot",
        ),
        (
            "recipe",
            {"kind": "EnsembleSampling", "names": 1},
            "one of size, scale, regularization, ",
        ),
        (
            "recipe",
            {"kind": "EnsembleSampling", "fresh": "yes"},
            r"^recipe.fresh = 'yes' \(str\): expected True, False or None$",
        ),
    ],
)
def test_error_of_a_part_lists_what_the_part_takes(
    shop: Served, field: str, value: object, expected: str
) -> None:
    found = shop.put("/v1/experiments/other", json=SHOP | {field: value})
    assert found.status_code == 422 and re.search(expected, found.json()["error"]["message"])


def test_an_id_is_one_question(shop: Served) -> None:
    asked = {"id": "q1", "context": {"age": 31}}
    first = shop.post(f"{ONE}/decide", json=asked).json()
    shop.post(f"{ONE}/decisions/q1/reward", json={"value": 1})
    assert shop.post(f"{ONE}/decide", json=asked).json() == first
    others = [{"context": {"age": 32}}, {"actions": ["a"]}, {"excluded": ["a"]}, {"active": False}]
    for other in others:
        found = shop.post(f"{ONE}/decide", json=asked | other)
        assert found.status_code == 409 and found.json()["error"]["code"] == "conflict", other
    assert shop.post(f"{ONE}/decide", json={"id": "q2", "actions": ["a"]}).json()["action"] == "a"
    assert shop.post(f"{ONE}/decide", json={"id": "q2"}).status_code == 409, (
        "all actions is another question"
    )
    assert shop.get(ONE).json()["decisions"] == 2


def test_whoever_reads_the_log_sees_that_waits_are_over(serve: Serve) -> None:
    client = serve()
    client.put(ONE, json=SHOP | {"reward": {"low": 0, "high": 1, "wait": "1 h", "default": 0}})
    for id in range(100):
        client.post(f"{ONE}/decide", json={"id": f"q{id}"})
    experiment = client.service.catalog["shop"].experiment
    experiment.engine.clock = lambda: 4e9
    events = experiment.events
    rows = [json.loads(line) for line in client.get(f"{ONE}/log?format=jsonl").text.splitlines()]
    assert [row["outcome"] for row in rows] == ["default"] * 100
    found = client.post(f"{ONE}/evaluate", json={"policies": ["uniform"]}).json()["evaluations"]
    assert found[0]["rows"] == 100 and experiment.events == events, "reading is not writing"


def test_every_outcome_is_told_apart(serve: Serve) -> None:
    client = serve()
    client.put(ONE, json=SHOP | {"reward": {"low": 0, "high": 1, "wait": "1 h"}})
    client.post(f"{ONE}/decide", json={"id": "q1"})
    client.post(f"{ONE}/decide", json={"id": "q2", "active": False})
    client.post(f"{ONE}/decide", json={"id": "q/3?"})

    def reward(id: str, **more: object) -> str:
        return client.post(f"{ONE}/decisions/{id}/reward", json={"value": 1, **more}).json()[
            "outcome"
        ]

    shown = client.post(f"{ONE}/decide", json={"id": "q1"}).json()["action"]
    assert (
        reward("q1", action={"a": "b", "b": "a"}[shown]) == "not_shown"
        and reward("q2") == "not_shown"
    )
    assert (
        reward("q1") == "applied" and reward("q1") == "duplicate" and reward("nobody") == "unknown"
    )
    assert client.post(f"{ONE}/decisions/q2/activate").json() == {"id": "q2", "outcome": "applied"}
    assert client.post(f"{ONE}/decisions/q2/activate").json()["outcome"] == "duplicate"
    client.service.catalog["shop"].experiment.engine.clock = lambda: 4e9
    assert reward("q2") == "late" and reward("q%2F3%3F") == "late"
    assert client.get(ONE).json()["outcomes"] == {
        "not_shown": 2,
        "applied": 1,
        "duplicate": 1,
        "unknown": 1,
        "late": 2,
    }


def test_a_reward_out_of_range_changes_nothing(shop: Served) -> None:
    shop.post(f"{ONE}/decide", json={"id": "q1"})
    found = shop.post(f"{ONE}/decisions/q1/reward", json={"value": 7})
    assert found.status_code == 422 and found.json()["error"]["argument"] == "value"
    assert (
        shop.post(f"{ONE}/decisions/q1/reward", json={"value": True}).json()["outcome"] == "applied"
    )


def test_value_may_be_called_reward(shop: Served) -> None:
    for name, body in (
        ("q1", {"reward": 0.25}),
        ("q2", {"reward": 1, "value": 1}),
        ("q3", {"reward": False}),
    ):
        shop.post(f"{ONE}/decide", json={"id": name})
        assert shop.post(f"{ONE}/decisions/{name}/reward", json=body).json()["outcome"] == "applied"
    rows = [json.loads(line) for line in shop.get(f"{ONE}/log?format=jsonl").text.splitlines()]
    assert [row["reward"] for row in rows] == [0.25, 1.0, 0.0]
    for value in (0.25, 1):
        both = shop.post(f"{ONE}/decisions/q1/reward", json={"reward": 0.5, "value": value})
        assert both.status_code == 422 and "one of value and reward" in both.text


def test_a_reward_has_to_be_said(shop: Served) -> None:
    """A body without one is more likely a mistake than a reward of 1; of an event it is enough that it happened."""
    shop.post(f"{ONE}/decide", json={"id": "q1"})
    bodies = (b"{}", b"", b'{"action": "a"}', b'{"reward": null}', b'{"value": null}')
    for refused in (shop.post(f"{ONE}/decisions/q1/reward", content=body) for body in bodies):
        assert refused.status_code == 422 and "value" in refused.json()["error"]["message"]
    assert shop.post(f"{ONE}/decisions/q1/reward", json={}).json()["error"]["argument"] == "value"
    many = shop.post(f"{ONE}/rewards", json=[{"id": "q1"}, {"id": "q2", "value": 1}]).json()
    assert many[0]["error"]["argument"] == "value" and many[1] == {"id": "q2", "outcome": "unknown"}
    assert shop.get(ONE).json()["outcomes"] == {"unknown": 1}
    shop.post(f"{ONE}/decide", json={"targetingKey": "ann"})
    assert (
        shop.post("/v1/events", json={"experiment": "shop", "targetingKey": "ann"}).json()[
            "outcome"
        ]
        == "applied"
    )
    rows = [json.loads(line) for line in shop.get(f"{ONE}/log?format=jsonl").text.splitlines()]
    assert [row["reward"] for row in rows] == [None, 1.0]


def test_a_batch_is_one_commit_and_a_bad_item_spoils_no_other(shop: Served) -> None:
    asked = [
        {"id": "q1"},
        {"id": "q2", "actions": ["z"]},
        {"id": "q3", "dry_run": True},
        {"context": {"age": 3}},
    ]
    found = shop.post(f"{ONE}/decide", json=asked).json()
    assert [answer.get("id") for answer in found[:3]] == ["q1", None, "q3"]
    assert found[1]["error"]["code"] == "invalid" and shop.get(ONE).json()["decisions"] == 2
    items = [
        {"id": "q1", "value": 1},
        {"id": "q1", "value": 1},
        {"id": "q1", "value": 5},
        {"id": "q3", "value": 0},
    ]
    answers = shop.post(f"{ONE}/rewards", json=items).json()
    assert [answer.get("outcome") for answer in answers] == [
        "applied",
        "duplicate",
        None,
        "unknown",
    ]
    shop.post(f"{ONE}/decide", json={"id": "q4", "active": False})
    both = shop.post(f"{ONE}/activations", json=[{"id": "q4"}, {"id": "q5"}]).json()
    assert [answer["outcome"] for answer in both] == ["applied", "unknown"]


def test_a_dry_run_leaves_no_trace(shop: Served) -> None:
    before = shop.get(ONE).json()
    assert shop.post(f"{ONE}/decide", json={"dry_run": True}).json()["action"] in ("a", "b")
    assert shop.get(ONE).json() == before


def test_a_decision_is_explained(shop: Served) -> None:
    decision = shop.post(f"{ONE}/decide", json={"id": "q1", "context": {"age": 31}}).json()
    found = shop.get(f"{ONE}/decisions/q1").json()
    assert found["action"] == decision["action"] and sum(found["votes"].values()) == 10
    assert found["propensities"] == decision["propensities"]
    assert shop.get(f"{ONE}/decisions/nobody").status_code == 404


def test_actions_come_and_go(shop: Served) -> None:
    assert shop.post(f"{ONE}/actions", json={"add": {"c": {"price": 3}}, "remove": ["a"]}).json()[
        "actions"
    ] == ["b", "c"]
    again = shop.post(f"{ONE}/actions", json={"add": {"c": {"price": 3}}, "remove": ["a"]})
    assert again.status_code == 200 and again.json()["events"] == 2
    assert shop.post(f"{ONE}/actions", json={"remove": ["b", "c"]}).status_code == 422
    assert shop.post(f"{ONE}/actions", json={"add": ["d"], "remove": ["d"]}).status_code == 422


def test_a_pause_lasts(serve: Serve) -> None:
    client = serve()
    client.put(ONE, json=SHOP)
    client.post(f"{ONE}/decide", json={"id": "q1"})
    assert client.post(f"{ONE}/pause", json={}).json()["paused"] is True
    refused = client.post(f"{ONE}/decide", json={"id": "q2"})
    assert refused.status_code == 409 and refused.json()["error"]["code"] == "paused"
    assert (
        client.post(f"{ONE}/decisions/q1/reward", json={"value": 1}).json()["outcome"] == "applied"
    )
    client.close()
    client.exit_stack.close()
    other = serve()
    assert other.get(ONE).json()["paused"] is True
    other.post(f"{ONE}/pause", json={"paused": False})
    assert other.post(f"{ONE}/decide", json={"id": "q2"}).status_code == 200


def test_a_targeting_key_keeps_its_decision(shop: Served) -> None:
    first = shop.post(f"{ONE}/decide", json={"targetingKey": "ann", "context": {"age": 3}}).json()
    again = shop.post(f"{ONE}/decide", json={"targetingKey": "ann", "context": {"age": 4}}).json()
    assert again == first != shop.post(f"{ONE}/decide", json={"targetingKey": "bob"}).json()
    event = {"experiment": "shop", "targetingKey": "ann", "event": "bought", "value": 1}
    assert shop.post("/v1/events", json=event).json() == {"outcome": "applied", "id": first["id"]}
    assert shop.post("/v1/events", json=event).json()["outcome"] == "duplicate"
    assert shop.post("/v1/events", json=event | {"targetingKey": "eve"}).json() == {
        "outcome": "unknown",
        "id": None,
    }
    shop.post(f"{ONE}/actions", json={"add": ["c"], "remove": [first["action"]]})
    assert (
        shop.post(f"{ONE}/decide", json={"targetingKey": "ann"}).json()["action"] != first["action"]
    )


def played(client: Served, rounds: int = 40) -> None:
    for number in range(rounds):
        decision = client.post(
            f"{ONE}/decide", json={"id": f"q{number}", "context": {"age": number % 5}}
        ).json()
        if number % 4:
            client.post(
                f"{ONE}/decisions/q{number}/reward",
                json={"value": float(decision["action"] == "a")},
            )


@pytest.mark.parametrize("format", ["jsonl", "parquet", "dsjson"])
def test_the_log_goes_out_and_in(
    format: str, shop: Served, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr("ensample.experiments.log.builder.PIECE", 15)
    played(shop)
    log = shop.get(f"{ONE}/log?format={format}")
    assert log.status_code == 200 and "shop" in log.headers["content-disposition"]
    path = tmp_path / f"log.{format}"
    path.write_bytes(log.content)
    frame = es.read_dsjson(path) if format == "dsjson" else es.read_log(path)
    mine = shop.service.catalog["shop"].experiment.log()
    if format == "dsjson":
        assert frame["reward"].to_list() == mine["reward"].to_list()
    else:
        assert frame.equals(mine)
    shop.put("/v1/experiments/other", json=SHOP)
    learned = shop.post(f"/v1/experiments/other/log?format={format}", content=log.content)
    assert learned.json() == {"learned": 30}
    assert shop.get("/v1/experiments/other").json()["version"] == 30


def test_a_log_that_is_none_is_refused(shop: Served) -> None:
    for format, body in (
        ("jsonl", b"{}"),
        ("dsjson", b"{"),
        ("parquet", b"PAR1 no"),
        ("jsonl", b"\xff"),
        ("jsonl", b""),
    ):
        found = shop.post(f"{ONE}/log?format={format}", content=body)
        assert found.status_code in (400, 422) and "/tmp" not in found.text, (
            format,
            body,
            found.text,
        )
    assert shop.get(f"{ONE}/log?format=xml").status_code == 422
    assert shop.get(ONE).json()["version"] == 0


def test_another_policy_is_evaluated_on_the_log(shop: Served) -> None:
    played(shop)
    for number in range(40):
        shop.post(f"{ONE}/decisions/q{number}/reward", json={"value": 0})
    asked = {"policies": ["uniform", "action:a", {"kind": "LinUCB"}]}
    found = shop.post(f"{ONE}/evaluate", json=asked).json()["evaluations"]
    assert [each["target"] for each in found][:2] == ["uniform", "action:a"] and found[0][
        "rows"
    ] == 40
    assert (
        found[0]["range"] == [0, 1]
        and found[0]["dr"]["low"] <= found[0]["dr"]["value"] <= found[0]["dr"]["high"]
    )
    wrong = shop.post(f"{ONE}/evaluate", json={"policies": [{"kind": "os:system"}]})
    assert wrong.status_code == 422 and wrong.json()["error"]["argument"] == "recipe.kind"


def test_evaluation_counts_decisions_without_a_reward_as_zero_where_it_is_asked_to(
    serve: Serve,
) -> None:
    client = serve()
    assert (
        client.put(ONE, json={"actions": ["a", "b"], "reward": {"low": 0, "high": 1}}).status_code
        == 201
    )
    for number in range(4):
        client.post(f"{ONE}/decide", json={"id": f"q{number}"})
    client.post(f"{ONE}/decisions/q3/reward", json={"value": 1})
    refused = client.post(f"{ONE}/evaluate", json={"policies": ["logged"]})
    message = refused.json()["error"]["message"]
    assert (
        refused.status_code == 422 and "log.parquet" not in message and 'missing="zero"' in message
    )
    found = client.post(f"{ONE}/evaluate", json={"policies": ["logged"], "missing": "zero"}).json()[
        "evaluations"
    ]
    assert (found[0]["rows"], found[0]["logged"]) == (4, 0.25)


def test_what_is_kept_is_there_after_a_restart(serve: Serve) -> None:
    client = serve()
    client.put(ONE, json=SHOP)
    played(client, 10)
    before, hash = client.get(ONE).json(), client.service.catalog["shop"].experiment.hash
    client.exit_stack.close()
    other = serve()
    assert other.get(ONE).json() == before and other.service.catalog["shop"].experiment.hash == hash


def test_the_document_says_what_is_there(shop: Served) -> None:
    document = shop.get("/openapi.json").json()
    assert (
        document["openapi"].startswith("3.1")
        and f"{ONE}/decide".replace("shop", "{experiment}") in document["paths"]
    )
    text = json.dumps(document)
    for name in {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert name in document["components"]["schemas"]
    body = document["paths"]["/v1/experiments/{experiment}/decisions/{id}/reward"]["post"][
        "requestBody"
    ]
    said = body["content"]["application/json"]["schema"]["anyOf"]
    assert said == [{"required": ["value"]}, {"required": ["reward"]}], (
        "one of them has to be there"
    )
    assert body["content"]["application/json"]["example"] == {"value": 1}
    page = shop.get("/docs")
    assert '"device": "phone"' in html.unescape(page.text)
    assert (
        page.status_code == 200
        and "http" not in page.text.replace("https://127.0.0.1", "")
        and "<script" not in page.text
    )
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert shop.get("/static/style.css").headers["content-type"].startswith("text/css")
    assert (
        shop.get("/static/../app.py").status_code == 404
        and shop.get("/static/base.html").status_code == 404
    )


FIRST = ["put_experiment", "experiment", "decide", "reward"]  # those of a path stand together


def test_docs_show_a_curl_line_of_each_route_that_works_in_the_order_of_use(shop: Served) -> None:
    text = shop.get("/docs").text
    assert "$ref" not in text and "#/components" not in text
    names, lines = (
        re.findall(r'<section id="(\w+)">', text),
        re.findall(r'<pre class="curl">(.*?)</pre>', text),
    )
    document = shop.get("/openapi.json").json()
    assert (
        len(names) == len(lines) == sum(map(len, document["paths"].values())) and names[:4] == FIRST
    )
    assert names[-3:] == ["readyz", "healthz", "metrics"]
    for name, line in zip(names, map(html.unescape, lines), strict=True):
        curl, *words = shlex.split(line)
        options = dict(pairwise(words))
        url = next(word for word in words if "127.0.0.1" in word).partition(":8000")[2]
        body = (
            shop.get(f"{ONE}/log").content
            if "--data-binary" in options
            else options.get("-d", "").encode()
        )
        method = options.get("-X", "POST" if {"-d", "--data-binary"} & set(words) else "GET")
        found = shop.request(
            method,
            url,
            content=body,
            headers={"content-type": "application/x-www-form-urlencoded"} if body else {},
        )
        assert curl == "curl" and found.status_code < 300, (name, line, found.text)


def test_curl_lines_have_a_key_where_the_service_asks_for_one(shop: Served) -> None:
    text, key = new_key("read")
    shop.service.store.add(key)
    page = html.unescape(shop.get("/docs", headers={"authorization": f"Bearer {text}"}).text)
    lines = re.findall(r'<pre class="curl">(.*?)</pre>', page)
    assert [line for line in lines if "Bearer $KEY" not in line] == [
        line for line in lines if line.endswith("z")
    ]


def test_the_numbers_are_counted(shop: Served) -> None:
    played(shop, 8)
    text = shop.get("/metrics").text
    assert 'ensample_decisions_total{experiment="shop"} 8.0' in text
    assert 'ensample_rewards_total{experiment="shop",outcome="applied"} 6.0' in text
    assert (
        'ensample_commit_seconds_count{experiment="shop"}' in text and "ensample_ready 1.0" in text
    )


def test_answers_that_were_known_are_no_further_decisions(shop: Served) -> None:
    for _ in range(2):
        shop.post(f"{ONE}/decide", json={"targetingKey": "ann"})
        shop.post(f"{ONE}/decide", json={"id": "q1"})
        shop.post(f"{ONE}/decide", json=[{"id": "q1"}, {"targetingKey": "bob"}, {"dry_run": True}])
        shop.post(f"{ONE}/decide", json={"dry_run": True})
    assert 'ensample_decisions_total{experiment="shop"} 3.0' in shop.get("/metrics").text


def test_nothing_of_a_context_is_logged(shop: Served) -> None:
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    context = {"secret": "hidden-word", "tags": ["hidden-word"]}
    shop.post(
        f"{ONE}/decide", json={"id": "q1", "context": context}, headers={"traceparent": parent}
    )
    shop.post(
        f"{ONE}/decide",
        json={"context": {"hidden-word": [[1]]}},
        headers={"traceparent": "hidden-word"},
    )
    shop.post(f"{ONE}/decide?hidden-word=1", content=b'{"context": {"hidden-word": NaN}}')
    lines = [json.loads(line) for line in shop.said.getvalue().splitlines()]
    assert "hidden-word" not in shop.said.getvalue()
    decided = next(line for line in lines if line.get("decision") == "q1")
    assert (
        decided["traceparent"] == parent
        and decided["status"] == 200
        and decided["experiment"] == "shop"
    )


def test_a_file_whose_name_differs_in_capitals_counts(shop: Served, tmp_path) -> None:
    """Also one that was put there since: on some file systems they are the same file."""
    es.open_experiment(tmp_path / "data" / "experiments" / "Attic.db", actions=["a", "b"]).close()
    for name in ("SHOP", "attic"):
        refused = shop.put(f"/v1/experiments/{name}", json=SHOP)
        assert refused.status_code == 409 and "capitals only" in refused.json()["error"]["message"]
