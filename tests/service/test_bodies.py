"""Bodies that nobody should send: each is refused with a status of its caller's fault, and the service goes on."""

import json
from typing import Any

import pytest

from service.conftest import SHOP, Serve, Served

ONE = "/v1/experiments/shop"
DEEP = 100_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"context": {"age": NaN}}', 400),
        (b'{"context": {"age": Infinity}}', 400),
        (b'{"context": {"age": -Infinity}}', 400),
        (b'{"context": {"age": 1e999}}', 422),
        (b'{"context": {"age": 1e200}}', 422),
        (b'{"context": {"age": ' + b"9" * 5_000 + b"}}", 422),
        (b"[" * DEEP, 422),
        (b'{"context": {"a": ' + b"[" * DEEP + b"]" * DEEP + b"}}", 400),
        (b'{"id": "' + rb"\ud800" + b'"}', 400),
        (b'{"id": "' + rb"\udc00" + b'"}', 400),
        (b'{"context": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", 400),
        (b'{"id": "\\ud800"}', 400),
        (b'{"id": "\xff"}', 400),
        (b'{"id": ""}', 422),
        (b'{"id": "' + b"x" * 1_001 + b'"}', 422),
        (b'{"id": 3}', 422),
        (b'{"other": 3}', 422),
        (b'{"context": "words"}', 422),
        (b'{"context": {"a": [[1]]}}', 422),
        (b'{"actions": []}', 422),
        (b'{"actions": ["a", "a"]}', 422),
        (b'{"actions": ["nobody"]}', 422),
        (b'{"excluded": ["a", "b"]}', 422),
        (b'{"id": "q"} trailing', 400),
        (b"\x00\x01\x02", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"null", 422),
        (b'"text"', 422),
        (b"{", 400),
        (b'{"id": "a", "targetingKey": "b"}', 422),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else str(value),
)
def test_a_hostile_body_is_refused(body: bytes, status: int, shop: Served) -> None:
    before = shop.get(ONE).json()
    found = shop.post(f"{ONE}/decide", content=body)
    assert found.status_code == status, found.text
    assert found.json()["error"]["message"] and "Traceback" not in found.text
    assert shop.get(ONE).json() == before


def test_an_empty_body_is_an_empty_question(shop: Served) -> None:
    assert shop.post(f"{ONE}/decide").status_code == 200


def test_a_body_has_its_length(serve: Serve) -> None:
    client = serve(body=2_000)
    client.put(ONE, json=SHOP)
    long = json.dumps({"context": {"a": "x" * 3_000}}).encode()
    assert client.post(f"{ONE}/decide", content=long).status_code == 413
    assert (
        client.post(f"{ONE}/decide", content=iter([long[:1_500], long[1_500:]])).status_code == 413
    )
    assert (
        client.post(
            f"{ONE}/decide", content=b"{}", headers={"content-type": "text/xml"}
        ).status_code
        == 415
    )


CAPS: list[tuple[dict[str, Any], str, Any]] = [
    ({"actions": 3}, "decide", {"actions": ["a", "b", "c", "d"]}),
    ({"features": 3}, "decide", {"context": {"tags": ["p", "q", "r", "s"]}}),
    ({"features": 3}, "decide", {"actions": {"a": {"p": 1, "q": 2, "r": 3, "s": 4}, "b": None}}),
    ({"cells": 5}, "decide", {"context": {"p": 1, "q": 2, "r": 3}}),
    ({"features": 3}, "decide", {"context": {"x" * 301: 1}}),
    ({"features": 3}, "decide", {"context": {"a": "x" * 150, "b": "y" * 150}}),
    ({"features": 3}, "decide", {"actions": {"a": {"p" * 301: 1}, "b": None}}),
    ({"cells": 5}, "decide", {"context": {"a": "x" * 251}}),
    ({"actions": 3}, "decide", {"excluded": ["a"] * 4}),
    ({"actions": 3}, "actions", {"remove": ["a", "b", "c", "d"]}),
    ({"batch": 2}, "decide", [{}, {}, {}]),
    ({}, "decide", [{"context": {}}] * 1_001),
    ({"batch": 2}, "rewards", [{"id": "a"}] * 3),
    ({"batch": 2}, "activations", [{"id": "a"}] * 3),
    ({"actions": 3}, "actions", {"add": ["c", "d"]}),
    ({"batch": 1}, "evaluate", {"policies": ["uniform", "logged"]}),
]


@pytest.mark.parametrize(("caps", "path", "body"), CAPS)
def test_what_may_be_asked_at_once_is_bounded(
    caps: dict[str, int], path: str, body: Any, serve: Serve
) -> None:
    client = serve(**caps)
    client.put(ONE, json=SHOP)
    assert client.post(f"{ONE}/{path}", json=body).status_code == 422
    assert client.get(ONE).json()["events"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"actions": []},
        {"actions": ["a"] * 2},
        {"actions": [f"a{number}" for number in range(1_001)]},
        {"reward": {"low": 1, "high": 0}},
        {"reward": {"wait": "a while"}},
        {"floor": 2},
        {"seed": -1},
        {"baseline": ["nobody", 0.5], "actions": ["a"]},
        {"recipe": {"kind": "EnsembleSampling", "size": 10**9}},
        {"recipe": {"kind": "EnsembleSampling", "model": {"kind": "Neural", "hidden": [10**6]}}},
        {"recipe": {"kind": "EnsembleSampling", "sizes": 3}},
        {"recipe": {"kind": "os:system"}},
        {"recipe": {"kind": "Experiment"}},
        {"recipe": {"kind": "EnsembleSampling", "model": {"kind": "Reward"}}},
        {"recipe": {}},
        {"features": {"kind": "Hashing", "dim": 10**6}},
        {"features": {"kind": "Hashing", "columns": 16}},
        {"features": {"kind": "Crosses", "cap": 10**9}},
        {"features": {"kind": "FromTransformer", "transformer": 3}},
        {"name": "other"},
    ],
    ids=str,
)
def test_an_experiment_that_cannot_be_is_not_made(body: dict[str, Any], serve: Serve) -> None:
    client = serve()
    found = client.put(ONE, json=body)
    assert found.status_code == 422, found.text
    assert client.get("/v1/experiments").json() == {"experiments": []}
    assert not list((client.service.settings.data / "experiments").iterdir())


@pytest.mark.parametrize("name", ["..", ".hidden", "a" * 101, "a b", "a%00b", "%2e%2e%2fx", "ä"])
def test_a_name_that_is_no_files_name_is_refused(name: str, serve: Serve) -> None:
    client = serve()
    assert client.put(f"/v1/experiments/{name}", json=SHOP).status_code in (404, 405, 422)
    assert not list((client.service.settings.data / "experiments").iterdir())


def test_there_are_so_many_experiments_and_no_two_differ_in_capitals(serve: Serve) -> None:
    client = serve(experiments=2)
    assert client.put(ONE, json=SHOP).status_code == 201
    assert client.put("/v1/experiments/SHOP", json=SHOP).status_code == 409
    assert client.put("/v1/experiments/two", json=SHOP).status_code == 201
    assert (
        client.put("/v1/experiments/three", json=SHOP).json()["error"]["code"]
        == "too_many_experiments"
    )


UNKNOWN_FIELDS = [
    (
        "PUT",
        ONE,
        {"recipes": {}},
        "recipes",
        "one of actions, reward, features, recipe, floor, baseline, seed (did you mean 'recipe'?)",
    ),
    (
        "PUT",
        ONE,
        {"reward": {"wiat": 1}},
        "reward.wiat",
        "one of low, high, wait, default, rule (did you mean 'wait'?)",
    ),
    (
        "PUT",
        ONE,
        {"recipe": {"kind": "EnsembleSampling", "sise": 3}},
        "recipe.sise",
        "(did you mean 'size'?)",
    ),
    (
        "POST",
        f"{ONE}/decide",
        {"contxt": {}},
        "contxt",
        "one of id, context, actions, excluded, active, dry_run, targetingKey (did you mean 'context'?)",
    ),
    (
        "POST",
        f"{ONE}/decide",
        [{}, {"zzz": 1}],
        "[1].zzz",
        "one of id, context, actions, excluded, active",
    ),
    (
        "POST",
        f"{ONE}/decisions/q/reward",
        {"val": 1},
        "val",
        "one of value, action, key, reward (did you mean 'value'?)",
    ),
    ("POST", f"{ONE}/rewards", [{"id": "q", "vlaue": 1}], "[0].vlaue", "did you mean 'value'?"),
    ("POST", f"{ONE}/pause", {"pause": True}, "pause", "one of paused (did you mean 'paused'?)"),
]


@pytest.mark.parametrize(("method", "path", "body", "argument", "expected"), UNKNOWN_FIELDS)
def test_unknown_field_is_refused_with_the_fields_that_exist(
    method: str, path: str, body: Any, argument: str, expected: str, shop: Served
) -> None:
    found = shop.request(method, path, json=body)
    error = found.json()["error"]
    assert found.status_code == 422 and error["argument"] == argument
    assert argument in error["message"] and expected in error["message"], error


def test_addresses_that_are_none_say_so(serve: Serve) -> None:
    client = serve()
    assert client.get("/nowhere").json()["error"]["code"] == "not_found"
    assert client.post("/healthz").json()["error"]["code"] == "method_not_allowed"
    assert (
        client.get(ONE).status_code == 404
        and client.post(f"{ONE}/decide", json={}).status_code == 404
    )


HOSTILE = [
    b"{",
    b"}",
    b"[",
    b"nul",
    b"'single'",
    b'{"a": NaN}',
    b'{"value": Infinity}',
    b'{"value": -Infinity}',
    b'{"value": 1e400}',
    b'{"value": [1]}',
    b'{"add": [["x"]]}',
    b"\xff\xfe{\x00}\x00",
    b'{"id": "\xc3\x28"}',
    b'{"id": "\\ud83d"}',
    b'{"a":' * 50_000,
    b"[" * 500_000,
    b'[{"a":1},' * 40 + b"]",
    b'{"__proto__": {"admin": true}}',
    b'{"$where": "1"}',
    b'{"value": "' + b"A" * 900_000 + b'"}',
    b'{"value": 1}\x00',
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    b'{"value": 0x10}',
    b'{"value": 1,}',
]


def test_200_hostile_bodies_change_nothing(shop: Served) -> None:
    """Each of them at each route that takes JSON."""
    from ensample.service.routes import ROUTES

    shop.post(f"{ONE}/decide", json={"id": "q1"})
    before, tried = shop.get(f"{ONE}?hash=yes").json(), 0
    for route in ROUTES:
        if route.takes is None or route.raw:
            continue
        path = route.path.replace("{experiment}", "shop").replace("{id:path}", "q1")
        for body in HOSTILE:
            found = shop.request(route.method, path, content=body)
            unread = (
                found.text == '{"flags":[]}'
            )  # of a bulk evaluation, whose fields nobody looks at
            assert unread or 400 <= found.status_code < 500, (route.title, body[:40], found.text)
            assert len(found.content) < 2_000 and "Traceback" not in found.text
            tried += 1
    print(f"\n{tried} bodies")
    assert tried >= 200 and shop.get(f"{ONE}?hash=yes").json() == before
