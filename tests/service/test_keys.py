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


def made(client: Served, role: str, experiment: str | None = None) -> str:
    text, key = new_key(role, experiment)
    client.service.store.add(key)
    return text


def called(client: Served, route: Route, key: str | None = None, scheme: str = "bearer") -> Any:
    path = re.sub(r"\{(experiment|key:path)\}", "shop", route.path.replace("{name}", "style.css"))
    path = re.sub(r"\{id[^}]*\}", "q1", path)
    headers = (
        {}
        if key is None
        else {"authorization": f"Bearer {key}"}
        if scheme == "bearer"
        else {"x-api-key": key}
    )
    return client.request(
        route.method, path, headers=headers, content=b"{}" if route.takes is not None else None
    )


@pytest.fixture
def locked(serve: Serve) -> Served:
    client = serve()
    client.put("/v1/experiments/shop", json=SHOP)
    client.post("/v1/experiments/shop/decide", json={"id": "q1"})
    return client


def test_every_route_asks_for_the_key_that_the_table_says(locked: Served) -> None:
    assert {route.title for route in ROUTES if route.role is None} == OPEN
    keys = {role: made(locked, role) for role in ROLES}
    gone = made(locked, "admin")
    locked.service.store.revoke(gone.split("_")[1], 1)
    admin = keys["admin"]
    wrong = [
        "",
        "x",
        "ens_",
        admin[:-1],
        admin + "x",
        admin[:-1] + ("A" if admin[-1] != "A" else "B"),
        new_key("admin")[0],
        gone,
    ]
    for route in ROUTES:
        if route.role is None:
            assert called(locked, route).status_code == 200
            continue
        for key in (None, *wrong):
            for scheme in ("bearer", "header"):
                found = called(locked, route, key, scheme)
                assert found.status_code == 401 and "www-authenticate" in found.headers, (
                    route.title,
                    key,
                )
                assert ("no key was given" in found.text) == (not key), (route.title, key)
                assert ("not a key of this service" in found.text) == bool(key), (route.title, key)
        for role in ROLES:
            status = called(locked, route, keys[role]).status_code
            assert (status == 403) == (route.role not in GRANTS[role]) and status != 401, (
                route.title,
                role,
                status,
            )


def test_a_refusal_says_what_was_wrong_with_the_key(locked: Served) -> None:
    """Not whether there ever was such a key."""
    key, gone = made(locked, "read"), made(locked, "admin")
    locked.service.store.revoke(gone.split("_")[1], 1)

    def code(**headers: str) -> str:
        return str(locked.get("/v1/experiments", headers=headers).json()["error"]["code"])

    assert code() == code(authorization=key) == code(authorization="Bearer ") == "key_missing"
    unknown = code(authorization=f"Bearer {key}x")
    assert (
        unknown
        == code(authorization=f"Bearer {gone}")
        == code(**{"x-api-key": "mine"})
        == "key_unknown"
    )
    shut = locked.put("/v1/experiments/shop", json=SHOP, headers={"x-api-key": key})
    assert shut.status_code == 403 and "of role admin; this one has read" in shut.text
    looked = locked.get("/v1/experiments", headers={"x-api-key": made(locked, "decide")})
    assert "of role read or admin; this one has decide" in looked.text


def test_a_table_without_roles_would_be_noticed(
    locked: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    made(locked, "admin")
    monkeypatch.setattr(locked.service.auth, "authorize", lambda *_: None)
    assert all(called(locked, route).status_code != 401 for route in ROUTES)


def test_without_any_key_this_machine_may_do_everything(locked: Served) -> None:
    for route in ROUTES:
        assert called(locked, route).status_code not in (401, 403), route.title


def test_a_key_made_elsewhere_counts_at_once_and_a_revoked_one_no_more(locked: Served) -> None:
    data = locked.service.settings.data
    assert locked.get("/v1/experiments").status_code == 200
    done = prompt.ensample("key", "new", "--role", "admin", "--data", data)
    key = done.stdout.split()[-1]
    assert done.returncode == 0 and locked.get("/v1/experiments").status_code == 401
    headers = {"authorization": f"Bearer {key}"}
    assert locked.get("/v1/experiments", headers=headers).status_code == 200
    listed = prompt.ensample("key", "list", "--data", data).stdout
    id = key.split("_")[1]
    assert id in listed and key not in listed
    assert prompt.ensample("key", "revoke", id, "--data", data).returncode == 0
    assert locked.get("/v1/experiments", headers=headers).status_code == 401
    assert locked.get("/v1/experiments").status_code == 401, "a service that had a key asks for one"
    assert prompt.ensample("key", "revoke", "nobody", "--data", data).returncode == 2
    assert prompt.ensample("key", "new", "--data", data).returncode == 2
    assert prompt.ensample("key", "new", "--role", "king", "--data", data).returncode == 2


def test_a_key_is_kept_as_its_hash(locked: Served) -> None:
    secret = made(locked, "admin").split("_", 2)[2]
    folder = locked.service.settings.data
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files and not any(secret.encode() in path.read_bytes() for path in files)


def test_a_key_for_one_experiment_is_good_for_no_other(locked: Served) -> None:
    locked.put("/v1/experiments/other", json=SHOP)
    headers = {"x-api-key": made(locked, "admin", "other")}
    for route in ROUTES:
        status = called(locked, route, headers["x-api-key"]).status_code
        if "{experiment}" in route.path or "{key" in route.path:
            assert status == 403, route.title
    assert locked.get("/v1/experiments", headers=headers).json() == {"experiments": ["other"]}
    assert locked.post("/v1/experiments/other/decide", headers=headers, json={}).status_code == 200
    event = {"experiment": "shop", "targetingKey": "ann"}
    assert locked.post("/v1/events", headers=headers, json=event).status_code == 403
    assert (
        locked.post("/v1/events", headers=headers, json=event | {"experiment": "other"}).status_code
        == 200
    )


def test_pages_take_the_key_as_a_password_and_nothing_else_does(locked: Served) -> None:
    word = base64.b64encode(f"anybody:{made(locked, 'admin')}".encode()).decode()
    headers = {"authorization": f"Basic {word}"}
    assert locked.get("/docs", headers=headers).status_code == 200
    assert locked.get("/docs").headers["www-authenticate"].startswith("Basic")
    assert locked.get("/v1/experiments", headers=headers).status_code == 401
    assert all(route.method == "GET" for route in ROUTES if route.page), (
        "browsers send passwords by themselves"
    )


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("evil.example:8000", 400),
        ("127.0.0.1.evil.example", 400),
        ("localhost@evil.example", 400),
        ("10.0.0.1", 400),
        ("", 400),
        ("[::1", 400),
    ],
)
def test_a_service_is_called_by_its_names_only(host: str, status: int, locked: Served) -> None:
    for path in ("/healthz", "/v1/experiments"):
        assert locked.get(path, headers={"host": host}).status_code == status


def test_other_names_may_be_given(serve: Serve) -> None:
    assert (
        serve(hosts=("shop.example",)).get("/healthz", headers={"host": "shop.example"}).status_code
        == 200
    )


def test_pages_of_others_may_not_call(serve: Serve) -> None:
    client = serve()
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
    ):
        found = client.put("/v1/experiments/shop", json=SHOP, headers=headers)
        assert found.status_code == 403 and "access-control-allow-origin" not in found.headers
    assert (
        client.put(
            "/v1/experiments/shop", json=SHOP, headers={"origin": "http://127.0.0.1:8000"}
        ).status_code
        == 201
    )
    named = serve(folder="named", cors=("https://shop.example",))
    found = named.get("/healthz", headers={"origin": "https://shop.example"})
    assert (
        found.status_code == 200
        and found.headers["access-control-allow-origin"] == "https://shop.example"
    )
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
    for command in (
        "key list",
        "key revoke x",
        "key new",
        "key new --role king",
        "serve --host 0.0.0.0",
    ):
        done = prompt.ensample(*command.split(), "--data", tmp_path / "typo")
        assert done.returncode == 2 and not list(tmp_path.iterdir()), command
    assert (
        prompt.ensample("key", "new", "--role", "admin", "--data", tmp_path / "first").returncode
        == 0
    )


def test_a_service_for_others_that_has_lost_its_keys_is_shut(serve: Serve) -> None:
    """Should its file be taken away while it runs."""
    client = serve(host="0.0.0.0")
    assert client.get("/v1/experiments", headers={"host": "10.0.0.1"}).status_code == 401
