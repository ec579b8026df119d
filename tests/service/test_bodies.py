"""Bodies that nobody should send: each is refused, in linear time, and the service goes on."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ensample.errors import EnsampleError
from ensample.experiments.inputs import as_actions
from ensample.service.body import BodyDecoder
from ensample.service.errors import HTTPError
from ensample.service.protocols.personalizer import RankCall, question_of
from ensample.service.routes import ROUTES
from ensample.service.schemas import DecideCall
from service.conftest import ONE, SHOP, Serve, Served

DEEP = 100_000
HOSTILE = [
    (b'{"context": {"age": NaN}}', 400),
    (b'{"context": {"age": -Infinity}}', 400),
    (b'{"context": {"age": 1e999}}', 422),
    (b'{"context": {"age": 1e200}}', 422),
    (b'{"context": {"age": ' + b"9" * 5_000 + b"}}", 422),
    (b"[" * DEEP, 422),
    (b'{"context": {"a": ' + b"[" * DEEP + b"]" * DEEP + b"}}", 400),
    (b'{"context": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", 400),
    (b'{"context": ' + b'{"a":' * 25 + b"1" + b"}" * 25 + b"}", 422),
    (rb'{"id": "\ud800"}', 400),
    (rb'{"id": "\udc00"}', 400),
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
]


@pytest.mark.parametrize(("body", "status"), HOSTILE, ids=lambda value: repr(value)[:40])
def test_a_hostile_body_is_refused(body: bytes, status: int, shop: Served) -> None:
    before = shop.view()
    found = shop.post(f"{ONE}/decide", content=body)
    assert found.status_code == status, found.text
    assert found.json()["error"]["message"] and "Traceback" not in found.text
    assert shop.view() == before


EVERYWHERE = [
    *(b"{", b"}", b"[", b"nul", b"'single'", b'{"value": 0x10}', b'{"value": 1,}'),
    *(b'{"a": NaN}', b'{"value": Infinity}', b'{"value": 1e400}', b'{"value": [1]}'),
    *(b"\xff\xfe{\x00}\x00", b'{"id": "\xc3\x28"}', b'{"id": "\\ud83d"}', b'{"add": [["x"]]}'),
    *(b'{"a":' * 50_000, b"[" * 500_000, b'[{"a":1},' * 40 + b"]", b'{"value": 1}\x00'),
    *(b'{"__proto__": {"admin": true}}', b'{"$where": "1"}', b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
    b'{"value": "' + b"A" * 900_000 + b'"}',
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
]


def test_200_hostile_bodies_change_nothing(shop: Served) -> None:
    """Each of them at each route that takes JSON."""
    shop.decide(id="q1")
    before, tried = shop.view(hash=True), 0
    for route in ROUTES:
        if route.takes is None or route.raw:
            continue
        path = route.path.replace("{experiment}", "shop").replace("{id:path}", "q1")
        for body in EVERYWHERE:
            found = shop.request(route.method, path, content=body)
            unread = found.text == '{"flags":[]}'  # of a bulk evaluation, which reads no field
            where = (route.title, body[:40], found.text)
            assert unread or 400 <= found.status_code < 500, where
            assert len(found.content) < 2_000 and "Traceback" not in found.text
            tried += 1
    assert tried >= 200 and shop.view(hash=True) == before


def test_an_empty_body_is_an_empty_question(shop: Served) -> None:
    assert shop.post(f"{ONE}/decide").status_code == 200


def test_a_body_has_its_length_and_its_type(serve: Serve) -> None:
    client = serve(body=2_000, shop=SHOP)
    long = json.dumps({"context": {"a": "x" * 3_000}}).encode()
    for content in (long, iter([long[:1_500], long[1_500:]])):
        assert client.post(f"{ONE}/decide", content=content).status_code == 413
    xml = {"content-type": "text/xml"}
    assert client.post(f"{ONE}/decide", content=b"{}", headers=xml).status_code == 415


CAPS: list[tuple[dict[str, Any], str, Any]] = [
    ({"actions": 3}, "decide", {"actions": ["a", "b", "c", "d"]}),
    ({"features": 3}, "decide", {"context": {"tags": ["p", "q", "r", "s"]}}),
    ({"features": 3}, "decide", {"actions": {"a": {"p": 1, "q": 2, "r": 3, "s": 4}, "b": None}}),
    ({"cells": 5}, "decide", {"context": {"p": 1, "q": 2, "r": 3}}),
    ({"features": 3}, "decide", {"context": {"x" * 301: 1}}),
    ({"features": 3}, "decide", {"context": {"a": "x" * 150, "b": "y" * 150}}),
    ({"features": 3}, "decide", {"actions": {"a": {"p" * 301: 1}, "b": None}}),
    ({"cells": 5}, "decide", {"context": {"a": "x" * 251}}),
    ({"depth": 2}, "decide", {"context": {"a": {"b": {"c": {"d": 1}}}}}),
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
def test_what_may_be_asked_at_once_is_bounded(caps, path: str, body: Any, serve: Serve) -> None:
    client = serve(shop=SHOP, **caps)
    client.ask(path, body, 422)
    assert client.view()["events"] == 1


SIZED = {"kind": "EnsembleSampling"}
NOT_MADE = [
    {"actions": []},
    {"actions": ["a"] * 2},
    {"actions": [f"a{number}" for number in range(1_001)]},
    {"reward": {"low": 1, "high": 0}},
    {"reward": {"wait": "a while"}},
    {"floor": 2},
    {"seed": -1},
    {"baseline": ["nobody", 0.5], "actions": ["a"]},
    {"recipe": SIZED | {"size": 10**9}},
    {"recipe": SIZED | {"model": {"kind": "Neural", "hidden": [10**6]}}},
    {"recipe": SIZED | {"sizes": 3}},
    {"recipe": {"kind": "os:system"}},
    {"recipe": {"kind": "Experiment"}},
    {"recipe": SIZED | {"model": {"kind": "Reward"}}},
    {"recipe": {}},
    {"features": {"kind": "Hashing", "dim": 10**6}},
    {"features": {"kind": "Hashing", "columns": 16}},
    {"features": {"kind": "Crosses", "cap": 10**9}},
    {"features": {"kind": "FromTransformer", "transformer": 3}},
    {"name": "other"},
]


@pytest.mark.parametrize("body", NOT_MADE, ids=str)
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


def test_there_are_so_many_experiments(serve: Serve) -> None:
    client = serve(experiments=2, shop=SHOP)
    assert client.put("/v1/experiments/two", json=SHOP).status_code == 201
    refused = client.put("/v1/experiments/three", json=SHOP)
    assert refused.json()["error"]["code"] == "too_many_experiments"


PUT_FIELDS = "one of actions, reward, features, recipe, floor, baseline, seed"
DECIDE_FIELDS = "one of id, context, actions, excluded, active, dry_run, targetingKey"
UNKNOWN_FIELDS = [
    ("PUT", "", {"recipes": {}}, "recipes", f"{PUT_FIELDS} (did you mean 'recipe'?)"),
    ("PUT", "", {"reward": {"wiat": 1}}, "reward.wiat", "one of low, high, wait, default, rule"),
    ("PUT", "", {"recipe": SIZED | {"sise": 3}}, "recipe.sise", "(did you mean 'size'?)"),
    ("POST", "/decide", {"contxt": {}}, "contxt", f"{DECIDE_FIELDS} (did you mean 'context'?)"),
    ("POST", "/decide", [{}, {"zzz": 1}], "[1].zzz", DECIDE_FIELDS),
    ("POST", "/decisions/q/reward", {"val": 1}, "val", "one of value, action, key, reward"),
    ("POST", "/rewards", [{"id": "q", "vlaue": 1}], "[0].vlaue", "did you mean 'value'?"),
    ("POST", "/pause", {"pause": True}, "pause", "one of paused (did you mean 'paused'?)"),
]


@pytest.mark.parametrize(("method", "path", "body", "argument", "expected"), UNKNOWN_FIELDS)
def test_unknown_field_is_refused_with_the_fields_that_exist(
    method: str, path: str, body: Any, argument: str, expected: str, shop: Served
) -> None:
    found = shop.request(method, ONE + path, json=body)
    error = found.json()["error"]
    assert found.status_code == 422 and error["argument"] == argument
    assert argument in error["message"] and expected in error["message"], error


def test_addresses_that_are_none_say_so(serve: Serve) -> None:
    client = serve()
    assert client.get("/nowhere").json()["error"]["code"] == "not_found"
    assert client.post("/healthz").json()["error"]["code"] == "method_not_allowed"
    assert client.get(ONE).status_code == 404 and client.ask("decide", {}, 404)


SHORT, FACTOR, MARGIN = 16_000, 4, 2.5  # a quadratic pass takes FACTOR^2 as long
DECODE = BodyDecoder(DecideCall | list[DecideCall])


def fastest(work: Callable[[], object], times: int = 5) -> float:
    """Return the seconds of the processor that the fastest of several runs took."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        with contextlib.suppress(EnsampleError, HTTPError, msgspec.MsgspecError, RecursionError):
            work()
        found.append(time.thread_time() - start)
    return min(found)


def assert_linear(work_of: Callable[[int], Callable[[], object]]) -> None:
    short, long = (fastest(work_of(size)) for size in (SHORT, FACTOR * SHORT))
    assert long < MARGIN * FACTOR * max(short, 5e-5), (short, long)


SHAPES: dict[str, tuple[bytes, bytes, bytes]] = {  # what is repeated, between which ends
    "open arrays": (b"", b"[", b""),
    "open objects": (b"", b'{"a":', b""),
    "open arrays of a context": (b'{"context": {"a": ', b"[", b""),
    "empty objects": (b'{"context": {"a": [', b"{},", b"0]}}"),
    "small objects": (b'{"context": {"a": [', b'{"":0},', b"0]}}"),
    "a long batch": (b"[", b"{},", b"{}]"),
    "one key again and again": (b'{"context": {', b'"a": 0,', b'"b": 1}}'),
    "escaped quotes": (b'{"id": "', b'\\"', b'"}'),
    "empty strings": (b'{"context": {"a": [', b'"",', b'""]}}'),
    "long whole numbers": (b'{"context": {"a": [', b"9" * 4_000 + b",", b"0]}}"),
    "one long number": (b'{"context": {"a": 1.', b"9", b"}}"),
    "one long whole number": (b'{"context": {"a": ', b"9", b"}}"),
    "unknown fields": (b"{", b'"a": 0,', b'"b": 1}'),
    "spaces": (b"{", b" ", b"}"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_reading_a_body_takes_linear_time(name: str) -> None:
    before, item, after = SHAPES[name]

    def work(size: int) -> Callable[[], object]:
        body = before + item * (size // len(item)) + after
        return lambda: DECODE({}, body)

    assert_linear(work)


def test_a_quadratic_pass_is_noticed() -> None:
    """The negative control: it compares all pairs."""

    def work(size: int) -> Callable[[], object]:
        items = list(range(size // 16))
        return lambda: [items.count(item) for item in items]

    with pytest.raises(AssertionError):
        assert_linear(work)


def named(count: int) -> list[str]:
    return [str(number) for number in range(count)]


QUESTIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "texts of one name": lambda n: {"contextFeatures": [{"a": name} for name in named(n // 12)]},
    "objects of one name": lambda n: {
        "contextFeatures": [{"a": {name: 1}} for name in named(n // 16)]
    },
    "an action twice": lambda n: {"actions": [{"id": name} for name in [*named(n // 13), "5"]]},
    "excluded actions": lambda n: {"excludedActions": named(n // 9)},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_call_of_personalizer_takes_linear_time(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        asked = msgspec.convert({"actions": [{"id": "a"}]} | QUESTIONS[name](size), RankCall)
        return lambda: question_of(asked)

    assert_linear(work)


def test_actions_of_which_one_is_there_twice_take_linear_time() -> None:
    def work(size: int) -> Callable[[], object]:
        names = [*named(size // 9), str(size // 9 - 1)]
        return lambda: as_actions("excluded", names)

    assert_linear(work)
