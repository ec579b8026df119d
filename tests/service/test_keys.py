"""Who may call what: every route of the table with no, wrong, weaker and revoked keys."""

import base64
import re
from typing import Any

import pytest

import ensample as es
import prompt
from ensample.service.auth import GRANTS, ROLES, new_key
from ensample.service.endpoint import Route
from ensample.service.routes import ROUTES
from ensample.service.server import check_safe
from ensample.service.settings import ServiceSettings
from service.conftest import SHOP, Serve, Served

OPEN = {"GET /healthz", "GET /readyz"}


def called(client: Served, route: Route, key: str | None = None, scheme: str = "bearer") -> Any:
    path = re.sub(r"\{(experiment|key:path)\}", "shop", route.path.replace("{name}", "style.css"))
    path = re.sub(r"\{id[^}]*\}", "q1", path)
    headers = {}
    if key is not None:
        bearer = {"authorization": f"Bearer {key}"}
        headers = bearer if scheme == "bearer" else {"x-api-key": key}
    body = b"{}" if route.takes is not None else None
    return client.request(route.method, path, headers=headers, content=body)


@pytest.fixture
def locked(shop: Served) -> Served:
    shop.decide(id="q1")
    return shop


def revoked(client: Served) -> str:
    text = client.key("admin")
    client.service.store.revoke(text.split("_")[1], 1)
    return text


def test_every_route_asks_for_the_key_that_the_table_says(locked: Served) -> None:
    assert {route.title for route in ROUTES if route.role is None} == OPEN
    keys = {role: locked.key(role) for role in ROLES}
    admin = keys["admin"]
    last = "A" if admin[-1] != "A" else "B"
    wrong = ["", "x", "ens_", admin[:-1], admin + "x", admin[:-1] + last, new_key("admin")[0]]
    for route in ROUTES:
        if route.role is None:
            assert called(locked, route).status_code == 200
            continue
        for key in (None, *wrong, revoked(locked)):
            for scheme in ("bearer", "header"):
                found, where = called(locked, route, key, scheme), (route.title, key)
                assert found.status_code == 401 and "www-authenticate" in found.headers, where
                assert ("no key was given" in found.text) == (not key), where
                assert ("not a key of this service" in found.text) == bool(key), where
        for role in ROLES:
            status, where = called(locked, route, keys[role]).status_code, (route.title, role)
            assert (status == 403) == (route.role not in GRANTS[role]) and status != 401, where


def test_a_refusal_says_what_was_wrong_with_the_key(locked: Served) -> None:
    """Not whether there ever was such a key."""
    key = locked.key("read")

    def code(**headers: str) -> str:
        return str(locked.get("/v1/experiments", headers=headers).json()["error"]["code"])

    assert code() == code(authorization=key) == code(authorization="Bearer ") == "key_missing"
    for unknown in (f"{key}x", revoked(locked), "mine"):
        assert code(authorization=f"Bearer {unknown}") == code(**{"x-api-key": unknown})
        assert code(**{"x-api-key": unknown}) == "key_unknown"
    shut = locked.put("/v1/experiments/shop", json=SHOP, headers={"x-api-key": key})
    assert shut.status_code == 403 and "of role admin; this one has read" in shut.text
    looked = locked.get("/v1/experiments", headers={"x-api-key": locked.key("decide")})
    assert "of role read or admin; this one has decide" in looked.text


def test_a_table_without_roles_would_be_noticed(
    locked: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    locked.key("admin")
    monkeypatch.setattr(locked.service.auth, "authorize", lambda *_: None)
    assert all(called(locked, route).status_code != 401 for route in ROUTES)


def test_without_any_key_this_machine_may_do_everything(locked: Served) -> None:
    for route in ROUTES:
        assert called(locked, route).status_code not in (401, 403), route.title


def test_a_key_made_elsewhere_counts_at_once_and_a_revoked_one_no_more(locked: Served) -> None:
    data = locked.service.settings.data

    def status(**headers: str) -> int:
        return locked.get("/v1/experiments", headers=headers).status_code

    def command(*words: object) -> Any:
        return prompt.ensample("key", *words, "--data", data)

    assert status() == 200
    key = command("new", "--role", "admin").stdout.split()[-1]
    id, listed = key.split("_")[1], command("list").stdout
    assert status() == 401 and status(authorization=f"Bearer {key}") == 200
    assert id in listed and key not in listed
    assert command("revoke", id).returncode == 0
    assert status(authorization=f"Bearer {key}") == 401
    assert status() == 401, "a service that had a key asks for one"
    for wrong in (("revoke", "nobody"), ("new",), ("new", "--role", "king")):
        assert command(*wrong).returncode == 2


def test_a_key_is_kept_as_its_hash(locked: Served) -> None:
    secret = locked.key("admin").split("_", 2)[2].encode()
    files = [path for path in locked.service.settings.data.rglob("*") if path.is_file()]
    assert files and not any(secret in path.read_bytes() for path in files)


def test_a_key_for_one_experiment_is_good_for_no_other(locked: Served) -> None:
    locked.put("/v1/experiments/other", json=SHOP)
    headers = {"x-api-key": locked.key("admin", "other")}
    for route in ROUTES:
        if "{experiment}" in route.path or "{key" in route.path:
            assert called(locked, route, headers["x-api-key"]).status_code == 403, route.title
    assert locked.get("/v1/experiments", headers=headers).json() == {"experiments": ["other"]}
    assert locked.post("/v1/experiments/other/decide", headers=headers, json={}).status_code == 200
    for experiment, status in (("shop", 403), ("other", 200)):
        event = {"experiment": experiment, "targetingKey": "ann"}
        assert locked.post("/v1/events", headers=headers, json=event).status_code == status


def test_pages_take_the_key_as_a_password_and_nothing_else_does(locked: Served) -> None:
    word = base64.b64encode(f"anybody:{locked.key('admin')}".encode()).decode()
    headers = {"authorization": f"Basic {word}"}
    assert locked.get("/docs", headers=headers).status_code == 200
    assert locked.get("/docs").headers["www-authenticate"].startswith("Basic")
    assert locked.get("/v1/experiments", headers=headers).status_code == 401
    pages = [route for route in ROUTES if route.page]
    assert all(route.method == "GET" for route in pages), "browsers send passwords by themselves"


OURS = ["localhost:8000", "127.0.0.1", "[::1]:8000"]
OTHERS = ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost@evil.example"]


@pytest.mark.parametrize("host", [*OURS, *OTHERS, "10.0.0.1", "", "[::1"])
def test_a_service_is_called_by_its_names_only(host: str, locked: Served) -> None:
    for path in ("/healthz", "/v1/experiments"):
        found = locked.get(path, headers={"host": host})
        assert found.status_code == (200 if host in OURS else 400)


def test_other_names_may_be_given(serve: Serve) -> None:
    client = serve(hosts=("shop.example",))
    assert client.get("/healthz", headers={"host": "shop.example"}).status_code == 200


def test_pages_of_others_may_not_call(serve: Serve) -> None:
    client = serve()
    for name, value in (
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://["),
        ("sec-fetch-site", "cross-site"),
    ):
        found = client.put("/v1/experiments/shop", json=SHOP, headers={name: value})
        assert found.status_code == 403 and "access-control-allow-origin" not in found.headers
    own = {"origin": "http://127.0.0.1:8000"}
    assert client.put("/v1/experiments/shop", json=SHOP, headers=own).status_code == 201
    shop = "https://shop.example"
    named = serve(folder="named", cors=(shop,))
    found = named.get("/healthz", headers={"origin": shop})
    assert found.status_code == 200 and found.headers["access-control-allow-origin"] == shop
    assert named.get("/healthz", headers={"origin": "https://evil.example"}).status_code == 403


def test_another_host_needs_a_key(tmp_path) -> None:
    settings = ServiceSettings(data=tmp_path, host="0.0.0.0")
    with pytest.raises(es.InvalidArgument, match="as long as there is no key"):
        check_safe(settings)
    done = prompt.ensample("serve", "--host", "0.0.0.0", "--data", tmp_path)
    assert done.returncode == 2 and "ensample key new" in done.stderr
    prompt.ensample("key", "new", "--role", "read", "--data", tmp_path)
    check_safe(settings)


def test_what_is_refused_makes_no_folder(tmp_path) -> None:
    commands = [
        "key list",
        "key revoke x",
        "key new",
        "key new --role king",
        "serve --host 0.0.0.0",
    ]
    for command in commands:
        done = prompt.ensample(*command.split(), "--data", tmp_path / "typo")
        assert done.returncode == 2 and not list(tmp_path.iterdir()), command
    made = prompt.ensample("key", "new", "--role", "admin", "--data", tmp_path / "first")
    assert made.returncode == 0


def test_a_service_for_others_that_has_lost_its_keys_is_shut(serve: Serve) -> None:
    """Should its file be taken away while it runs."""
    client = serve(host="0.0.0.0")
    assert client.get("/v1/experiments", headers={"host": "10.0.0.1"}).status_code == 401
