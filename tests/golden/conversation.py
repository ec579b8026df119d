"""A scripted conversation with the service over all of its routes, and its answers.

Times, ids and what else changes from run to run are left out.
"""

import re
import warnings
from pathlib import Path
from typing import Any

from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.auth import new_key
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Starlette prefers httpx2
    from starlette.testclient import TestClient

SHOP = "/v1/experiments/shop"
RECIPE = {"kind": "EnsembleSampling", "size": 10}
FIXED = {"recipe": {"kind": "Greedy"}, "floor": 0}
"""The same action, whatever the id of a decision is."""
HEADERS = (
    "allow",
    "cache-control",
    "content-disposition",
    "content-security-policy",
    "content-type",
    "ensample-outcome",
    "etag",
    "referrer-policy",
    "retry-after",
    "www-authenticate",
    "x-content-type-options",
)
COMMON = ("cache-control", "content-security-policy", "referrer-policy", "x-content-type-options")
SENTENCES = ("description", "errorDetails", "message", "summary")
MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"sticky-[0-9a-f]{40}"), "STICKY"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"personalizer-[0-9a-f]{12}"), "personalizer-KEY"),
)

Call = tuple[str, str, Any] | tuple[str, str, Any, dict[str, str]]
"""Method, path, body (JSON, or bytes as they are) and headers."""

RANK = {
    "eventId": "r1",
    "actions": [
        {"id": "a", "features": [{"price": 3}, {"likes": "tea"}, {"likes": "tennis"}]},
        {"id": "b", "features": []},
    ],
    "contextFeatures": [{"age": 31}, {"device": {"os": "x"}}, {"device": {"mobile": True}}],
}
BODIES = [
    b"",
    b"{",
    b"[",
    b"nul",
    b"null",
    b'"text"',
    b"3",
    b"[[]]",
    b"[]",
    b'{"id": 3}',
    b'{"id": ""}',
    b'{"id": "' + b"x" * 1_001 + b'"}',
    b'{"id": "\xff"}',
    b'{"other": 3}',
    b'[{}, {"contxt": 3}]',
    b'{"context": "words"}',
    b'{"context": {"a": [[1]]}}',
    b'{"context": {"a": NaN}}',
    b'{"context": {"a": 1e999}}',
    b'{"context": {"a": 1e200}}',
    b'{"id": "null", "context": {"a": null}}',
    b'{"actions": []}',
    b'{"actions": ["a", "a"]}',
    b'{"actions": ["nobody"]}',
    b'{"excluded": ["a", "b", "c"]}',
    b'{"id": "q", "targetingKey": "b"}',
    b'{"active": "yes"}',
    b'{"context": {"' + b"x" * 100_001 + b'": 1}}',
    b'{"actions": {"a": 3}}',
    b'{"id": "x"} trailing',
]

OPEN: list[Call] = [
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/v1/experiments", None),
    ("GET", SHOP, None),
    (
        "PUT",
        SHOP,
        {"actions": ["a", "b"], "reward": {"low": 0, "high": 1}, "recipe": RECIPE, "seed": 7},
    ),
    (
        "PUT",
        SHOP,
        {"actions": ["a", "b"], "reward": {"low": 0, "high": 1}, "recipe": RECIPE, "seed": 7},
    ),
    ("PUT", SHOP, {"actions": ["a", "b"], "recipe": RECIPE, "seed": 8}),
    ("PUT", "/v1/experiments/SHOP", {"actions": ["a"]}),
    ("PUT", "/v1/experiments/.hidden", {"actions": ["a"]}),
    (
        "PUT",
        "/v1/experiments/rich",
        {
            "actions": {"a": {"price": 3}, "b": {"price": 4, "tags": ["x", "y"]}, "c": None},
            "reward": {"low": 0, "high": 1, "wait": "1 h", "default": 0},
            "features": {"kind": "Hashing", "dim": 16},
            "recipe": {"kind": "EnsembleSampling", "size": 5, "model": {"kind": "Logistic"}},
            "floor": 0.1,
            "baseline": ["a", 0.2],
            "seed": 9,
        },
    ),
    (
        "PUT",
        "/v1/experiments/clicks",
        {
            "actions": ["a", "b"],
            "reward": {"rule": "sum", "wait": 3_600},
            "recipe": {"kind": "ThompsonSampling"},
            "features": {"kind": "Columns", "names": ["age"]},
            "seed": 5,
        },
    ),
    ("PUT", "/v1/experiments/switch", {"actions": ["true", "false"], "seed": 3, **FIXED}),
    ("PUT", "/v1/experiments/flag", {"actions": ["on", "off"], "seed": 4, **FIXED}),
    ("PUT", "/v1/experiments/bad", {"recipes": {}}),
    ("PUT", "/v1/experiments/bad", {"reward": {"wiat": 1}}),
    ("PUT", "/v1/experiments/bad", {"reward": {"low": 1, "high": 0}}),
    ("PUT", "/v1/experiments/bad", {"recipe": {"kind": "EnsembleSampling", "sise": 3}}),
    ("PUT", "/v1/experiments/bad", {"recipe": {"kind": "EnsembleSampling", "size": 10**9}}),
    ("PUT", "/v1/experiments/bad", {"recipe": {"kind": "os:system"}}),
    ("PUT", "/v1/experiments/bad", {"features": {"kind": "Hashing", "dim": 10**6}}),
    ("PUT", "/v1/experiments/bad", {"baseline": ["nobody", 0.5], "actions": ["a"]}),
    ("GET", "/v1/experiments", None),
    ("POST", f"{SHOP}/decide", {"id": "q1", "context": {"age": 31, "tags": ["tea", "tennis"]}}),
    ("POST", f"{SHOP}/decide", {"id": "q1", "context": {"age": 31, "tags": ["tea", "tennis"]}}),
    ("POST", f"{SHOP}/decide", {"id": "q1", "context": {"age": 32}}),
    ("POST", f"{SHOP}/decide", {"id": "q2", "excluded": ["a"]}),
    ("POST", f"{SHOP}/decide", {"id": "q3", "active": False}),
    ("POST", f"{SHOP}/decide", {"id": "dry", "dry_run": True}),
    ("POST", f"{SHOP}/decide", [{"id": "q4"}, {"id": "q5", "actions": ["b"]}, {"id": "q1"}]),
    ("POST", f"{SHOP}/decide", [{"id": "q6"}, {"id": "q7", "actions": ["nobody"]}]),
    ("POST", "/v1/experiments/rich/decide", {"id": "c1", "context": {"x": 1, "home": {"y": 2}}}),
    ("POST", "/v1/experiments/rich/decide", {"id": "c2", "actions": {"d": {"price": 5}, "a": {}}}),
    ("POST", "/v1/experiments/clicks/decide", {"id": "k1", "context": {"age": 3}}),
    ("POST", "/v1/experiments/clicks/decide", {"id": "k2", "context": {"height": 3}}),
    ("POST", f"{SHOP}/decisions/q1/reward", {"value": 1}),
    ("POST", f"{SHOP}/decisions/q1/reward", {"value": 1}),
    ("POST", f"{SHOP}/decisions/q2/reward", {"reward": 0.5}),
    ("POST", f"{SHOP}/decisions/q2/reward", {"reward": 0.5, "value": 1}),
    ("POST", f"{SHOP}/decisions/q4/reward", {}),
    ("POST", f"{SHOP}/decisions/q4/reward", {"value": 7}),
    ("POST", f"{SHOP}/decisions/q4/reward", {"value": None}),
    ("POST", f"{SHOP}/decisions/q4/reward", {"value": True, "action": "a"}),
    ("POST", f"{SHOP}/decisions/nobody/reward", {"value": 1}),
    ("POST", f"{SHOP}/decisions/q3/reward", {"value": 1}),
    ("POST", f"{SHOP}/decisions/q3/activate", None),
    ("POST", f"{SHOP}/decisions/q3/activate", None),
    (
        "POST",
        f"{SHOP}/rewards",
        [{"id": "q5", "value": 0}, {"id": "q6"}, {"id": "none", "value": 1}],
    ),
    ("POST", f"{SHOP}/rewards", [{"id": "q", "vlaue": 1}]),
    ("POST", f"{SHOP}/activations", [{"id": "q3"}, {"id": "nobody"}]),
    ("POST", "/v1/experiments/clicks/decisions/k1/reward", {"value": 1, "key": "first"}),
    ("POST", "/v1/experiments/clicks/decisions/k1/reward", {"value": 1, "key": "first"}),
    ("POST", "/v1/experiments/clicks/decisions/k1/reward", {"value": 2, "key": "second"}),
    ("POST", "/v1/experiments/flag/decide", {"targetingKey": "ann"}),
    ("POST", "/v1/experiments/flag/decide", {"targetingKey": "ann"}),
    ("POST", "/v1/events", {"experiment": "flag", "targetingKey": "ann"}),
    ("POST", "/v1/events", {"experiment": "flag", "targetingKey": "bob", "value": 0.5}),
    ("POST", "/v1/events", {"experiment": "none", "targetingKey": "bob"}),
    ("GET", f"{SHOP}/decisions/q1", None),
    ("GET", f"{SHOP}/decisions/nobody", None),
    ("GET", "/v1/experiments/rich/decisions/c2", None),
    ("GET", SHOP, None),
    ("GET", f"{SHOP}?hash=yes", None),
    ("GET", f"{SHOP}?hash=maybe", None),
    ("GET", f"{SHOP}/log", None),
    ("GET", f"{SHOP}/log?format=dsjson", None),
    ("GET", f"{SHOP}/log?format=parquet", None),
    ("GET", f"{SHOP}/log?format=csv", None),
    ("POST", f"{SHOP}/evaluate", {"policies": ["uniform", "logged", "action:b"]}),
    ("POST", f"{SHOP}/evaluate", {"policies": [{"kind": "Greedy"}], "question": "replay"}),
    ("POST", f"{SHOP}/evaluate", {"policies": ["nobody"]}),
    ("POST", f"{SHOP}/evaluate", {"policies": ["uniform"], "alarm": 2}),
    (
        "POST",
        f"{SHOP}/log?format=jsonl",
        b'{"id": "e1", "context": {"age": 3}, "action": "a", "reward": 1.0}\n',
    ),
    ("POST", f"{SHOP}/log", b""),
    ("POST", f"{SHOP}/log", b"no log"),
    ("POST", f"{SHOP}/actions", {"add": ["c"], "remove": ["a"]}),
    ("POST", f"{SHOP}/actions", {"add": ["c"], "remove": ["a"]}),
    ("POST", f"{SHOP}/actions", {"add": {"d": {"price": 1}}}),
    ("POST", f"{SHOP}/actions", {"add": ["e"], "remove": ["e"]}),
    ("POST", f"{SHOP}/pause", {}),
    ("POST", f"{SHOP}/decide", {"id": "q8"}),
    ("POST", f"{SHOP}/pause", {"paused": False}),
    ("POST", f"{SHOP}/pause", {"pause": True}),
    *(("POST", f"{SHOP}/decide", body) for body in BODIES if body),
    ("POST", f"{SHOP}/decide", b"{}", {"content-type": "text/xml"}),
    ("POST", f"{SHOP}/decide", b"{}" + b" " * 1_000_000),
    ("POST", f"{SHOP}/decide", [{}] * 1_001),
    ("GET", SHOP, None),
    ("POST", "/ofrep/v1/evaluate/flags/switch", {"context": {"targetingKey": "ann", "age": 31}}),
    ("POST", "/ofrep/v1/evaluate/flags/flag", {"context": {"targetingKey": "bob"}}),
    ("POST", "/ofrep/v1/evaluate/flags/flag", {"context": {"age": 31}}),
    ("POST", "/ofrep/v1/evaluate/flags/flag", {"context": {"targetingKey": 3}}),
    ("POST", "/ofrep/v1/evaluate/flags/flag", b"{"),
    ("POST", "/ofrep/v1/evaluate/flags/none", {"context": {"targetingKey": "ann"}}),
    ("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "ann"}}),
    ("POST", "/ofrep/v1/evaluate/flags", {}, {"if-none-match": "*"}),
    (
        "POST",
        "/personalizer/v1.0/rank",
        {"eventId": "own", "actions": [{"id": "only", "features": [{"x": 1}]}]},
    ),
    ("POST", "/personalizer/v1.0/rank", {"actions": []}),
    ("POST", "/personalizer/v1.0/rank", RANK | {"actions": [{"id": "a"}, {"id": "a"}]}),
    ("POST", "/personalizer/v1.0/events/own/reward", {"value": 1}),
    ("POST", "/personalizer/v1.0/events/own/reward", {"value": 9}),
    ("POST", "/personalizer/v1.0/events/own/activate", None),
    ("POST", "/personalizer/v1.1-preview.1/multislot/rank", {}),
    ("GET", "/", None),
    ("GET", "/experiments/shop", None),
    ("GET", "/experiments/none", None),
    ("GET", "/docs", None),
    ("GET", "/static/style.css", None),
    ("GET", "/static/none.css", None),
    ("GET", "/static/../app.py", None),
    ("GET", "/metrics", None),
    ("GET", "/openapi.json", None),
    ("GET", "/nowhere", None),
    ("GET", "//healthz", None),
    ("DELETE", SHOP, None),
    ("POST", "/healthz", None),
    ("GET", "/healthz", None, {"host": "evil.example"}),
    ("GET", "/healthz", None, {"host": "[::1]:8000"}),
    ("PUT", SHOP, {}, {"origin": "https://evil.example"}),
    ("PUT", SHOP, {}, {"sec-fetch-site": "cross-site"}),
]
"""Without keys."""

RANKED: list[Call] = [
    ("POST", "/personalizer/v1.0/rank", RANK),
    ("POST", "/personalizer/v1.0/rank", RANK | {"eventId": "r2", "excludedActions": ["a"]}),
    ("POST", "/personalizer/v1.0/rank", RANK | {"eventId": "r3", "deferActivation": True}),
    ("POST", "/personalizer/v1.0/events/r3/reward", {"value": 1}),
    ("POST", "/personalizer/v1.0/events/r3/activate", None),
    ("POST", "/personalizer/v1.0/events/r1/reward", {"value": 0.5}),
]
"""With a key that is bound to the experiment "ranked"."""

KEYED: list[Call] = [
    ("GET", "/v1/experiments", None),
    ("GET", SHOP, None),
    ("GET", "/", None),
    ("GET", "/readyz", None),
    ("PUT", "/v1/experiments/other", {"actions": ["a"], "seed": 1}),
    ("POST", f"{SHOP}/decide", {"id": "last"}),
    ("POST", "/v1/events", {"experiment": "shop", "targetingKey": "ann"}),
    ("POST", "/ofrep/v1/evaluate/flags/flag", {"context": {"targetingKey": "ann"}}),
    ("POST", "/personalizer/v1.0/events/own/activate", None),
    ("GET", "/metrics", None),
]
"""By callers with each kind of key."""


def play(folder: Path) -> list[dict[str, Any]]:
    """Return the answers to all calls, by a service that keeps its files in `folder`."""
    service = Service(
        ServiceSettings(data=folder),
        Journal("error"),
        lambda path: SQLiteStorage(path, synchronous="OFF"),
    )
    client = TestClient(
        application(service), "http://127.0.0.1:8000", raise_server_exceptions=False
    )
    with client:
        answers = [answer(client, *call) for call in OPEN]
        ranked = {"reward": {"low": -1, "high": 1}, "seed": 2, "recipe": RECIPE}
        client.put("/v1/experiments/ranked", json=ranked)
        keys = {"": "", "unknown": new_key("admin")[0]}
        for role, experiment in [
            ("decide", None),
            ("read", None),
            ("admin", None),
            ("admin", "ranked"),
            ("read", "rich"),
        ]:
            text, key = new_key(role, experiment)
            service.store.add(key)
            keys[f"{role} {experiment or ''}"] = text
        bound = {"authorization": f"Bearer {keys['admin ranked']}"}
        answers += [answer(client, *call[:3], bound) for call in RANKED]
        for name, text in keys.items():
            headers = {"x-api-key": text} if text else {}
            answers += [answer(client, *call[:3], headers) | {"key": name} for call in KEYED]
        return answers


def answer(
    client: TestClient, method: str, path: str, body: Any, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the masked answer to a call."""
    given: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
    if body is None:
        given = {}
    found = client.request(method, path, headers=headers, **given)
    kept = {name: found.headers[name] for name in HEADERS if name in found.headers}
    kind = kept.get("content-type", "")
    content: Any = None
    if kind == "application/json":
        content = masked(found.json())
    elif kind == "application/x-ndjson":
        content = masked(found.text)
    elif path == "/metrics":
        lines = found.text.splitlines()
        content = sorted({line for line in lines if line.startswith("# TYPE ensample")})
    call = {"call": f"{method} {path}", "status": found.status_code}
    if kept.get("content-security-policy", "").startswith("default-src 'none'; frame-ancestors"):
        kept = {name: kept[name] for name in kept if name not in COMMON}
    return {**call, **kept, "content": content}


def masked(value: Any) -> Any:
    """Return a value without times, ids and sentences, its numbers rounded to 12 digits."""
    if isinstance(value, dict):
        return {
            name: "..." if name in SENTENCES and isinstance(item, str) else masked(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, str):
        for pattern, word in MASKS:
            value = pattern.sub(word, value)
    return value
