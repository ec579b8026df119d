"""`ensample.client`: both clients say the same; what is sent again is done once."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

import ensample as es
from ensample.client import AsyncClient, Client, Decision, ServiceError, calls
from ensample.service.auth import new_key
from service.conftest import ADDRESS, Serve, Served
from service.live import Live

SMALL = {"kind": "EnsembleSampling", "size": 10}


def client_of(service: Served, key: str | None = None) -> Client:
    """Of a service in this process."""
    return Client(ADDRESS, key, http=httpx.Client(transport=service._transport))


async def scenario(client: Any, folder: Path) -> None:
    """Call every method once."""

    async def of(answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    recipe, reward = es.EnsembleSampling(size=10), es.Reward(0, 1)
    made = await of(client.create("shop", actions=["a", "b"], recipe=recipe, reward=reward))
    assert made.actions == ["a", "b"] and made.settings["recipe"]["size"] == 10
    again = client.create("shop", actions=["a", "b"], recipe=made.settings["recipe"])
    assert await of(again) == made == await of(client.experiment("shop"))
    assert await of(client.experiments()) == ["shop"]
    context = {"age": np.int64(31), "tags": {"tea"}, "income": float("nan")}
    decision = await of(client.decide("shop", context, id="visit/1"))
    assert decision == await of(client.decide("shop", context, id="visit/1"))
    assert isinstance(decision, Decision) and decision.propensities is not None
    assert decision.propensity == decision.propensities[decision.action]
    assert await of(client.reward("shop", decision, np.float64(1))) == "applied"
    assert await of(client.reward("shop", "visit/1", True)) == "duplicate"
    explained = await of(client.explain("shop", decision))
    assert explained.action == decision.action and sum(explained.votes.values()) == 10
    for id in (".", "..", "a?b#c", "%2F", "ä"):
        assert (await of(client.decide("shop", id=id))).id == id
        assert await of(client.reward("shop", id, 0)) == "applied", id
    row = pd.DataFrame({"age": [3], "device": ["phone"]}).iloc[0]
    later = await of(client.decide("shop", row, ["a", "b"], excluded=["a"], active=False))
    assert later.action == "b" and await of(client.reward("shop", later, 1)) == "not_shown"
    assert [await of(client.activate("shop", later)) for _ in "12"] == ["applied", "duplicate"]
    assert await of(client.reward("shop", later, 1)) == "applied"
    tried = await of(client.decide("shop", dry_run=True))
    assert await of(client.reward("shop", tried, 1)) == "unknown"
    ann = await of(client.decide("shop", targeting_key="ann"))
    assert await of(client.decide("shop", {"age": 4}, targeting_key="ann")) == ann
    assert await of(client.event("shop", "ann", 0.5, event="bought")) == ("applied", ann.id)
    questions = [{"context": {"age": 3}}, {"actions": ["z"]}, {"id": "q", "active": False}]
    many = await of(client.decide_all("shop", questions))
    assert isinstance(many[1], ServiceError) and many[1].argument == "actions" and many[2].id == "q"
    assert await of(client.activate_all("shop", [many[2], "nobody"])) == ["applied", "unknown"]
    assert await of(client.reward_all("shop", {many[0].id: 1, "q": 0})) == ["applied", "applied"]
    wrong = await of(client.reward_all("shop", [{"id": "q", "value": 7}]))
    assert wrong[0].code == "invalid" and wrong[0].argument == "value"
    changed = await of(client.change("shop", add={"c": {"price": 3}}, remove=["a"]))
    assert changed.actions == ["b", "c"] and (await of(client.pause("shop"))).paused
    assert not (await of(client.pause("shop", False))).paused
    evaluated = await of(client.evaluate("shop", ["uniform", es.LinUCB()], interval="normal"))
    assert [item["rows"] for item in evaluated] == [10, 10]
    for name in ("log.parquet", "log.jsonl", "log.dsjson"):
        await of(client.save_log("shop", folder / name))
    assert es.read_log(folder / "log.parquet").equals(es.read_log(folder / "log.jsonl"))
    await of(client.create("other", actions=["a", "b"], recipe=SMALL))
    learned = await of(client.learn("other", folder / "log.jsonl"))
    assert learned == (await of(client.experiment("shop"))).version
    await of(client.close())


def test_all_methods(live: Live, tmp_path: Path) -> None:
    asyncio.run(scenario(Client(f"{live.url}/"), tmp_path))


def test_all_methods_awaited(serve: Serve, tmp_path: Path) -> None:
    app = serve().app

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            await scenario(AsyncClient(ADDRESS, http=http), tmp_path)

    asyncio.run(run())


def test_a_client_of_another_event_loop_says_to_make_one_for_each(live: Live) -> None:
    client = AsyncClient(live.url)
    with asyncio.Runner() as first:
        first.run(experiments_of(client))
        with pytest.raises(es.EnsampleError, match="make one client for each event loop"):
            asyncio.run(experiments_of(client))
        first.run(client.close())


async def experiments_of(client: AsyncClient) -> list[Any]:
    return list(await client.experiments())


def test_both_have_the_same_methods() -> None:
    def methods(kind: type) -> dict[str, Any]:
        return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}

    mine, other = methods(Client), methods(AsyncClient)
    assert list(mine) == list(other) and len(mine) == 17
    for name, method in mine.items():
        parameters = list(inspect.signature(method).parameters)
        assert parameters == list(inspect.signature(other[name]).parameters)
        assert parameters[0] == "self" and method.__doc__ == other[name].__doc__ and method.__doc__


class Counting:
    """A service that answers after a pause, and counts connections and calls under way."""

    def __init__(self) -> None:
        self.connections = self.open = self.calls = self.under_way = self.most = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections, self.open = self.connections + 1, self.open + 1
        with suppress(asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.calls, self.under_way = self.calls + 1, self.under_way + 1
                self.most = max(self.most, self.under_way)
                await asyncio.sleep(0.002)
                self.under_way -= 1
                body = b'{"experiments": []}'
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        self.open -= 1


async def counted_calls(calls: int, **options: Any) -> Counting:
    """Make so many calls at the same time, twice."""
    service = Counting()
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
    async with server, httpx.AsyncClient() as http:
        port = server.sockets[0].getsockname()[1]
        given = {"http": http} if options.pop("bare", False) else {}
        async with AsyncClient(f"http://127.0.0.1:{port}", **options, **given) as client:
            for _ in range(2):
                await asyncio.gather(*(client.experiments() for _ in range(calls)))
    while service.open:
        await asyncio.sleep(0.01)
    return service


@pytest.mark.parametrize(
    ("options", "most"), [({}, 16), ({"concurrency": 3}, 3), ({"concurrency": 40}, 40)]
)
def test_many_calls_at_once_share_a_few_connections(options: dict[str, Any], most: int) -> None:
    """They wait in the client: httpx alone opens 100 and closes 80 of them."""
    service = asyncio.run(counted_calls(120, **options))
    assert (service.calls, service.connections, service.most) == (240, most, most)


def test_httpx_alone_opens_more_connections() -> None:
    """The negative control: as many calls at a time as are asked for."""
    service = asyncio.run(counted_calls(120, concurrency=1_000, bare=True))
    assert service.calls == 240 and service.connections > 100 and service.most > 40


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_certificates_are_read_for_https_only(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than a call."""
    made: list[object] = []
    monkeypatch.setattr(
        "ssl.SSLContext.load_verify_locations", lambda *args, **more: made.append(args)
    )
    kind("http://127.0.0.1:8000")
    assert not made
    kind("https://127.0.0.1:8000")
    assert made


class Flaky(httpx.BaseTransport):
    """A network that loses what is sent, or the answer to it, as planned; then it works."""

    def __init__(self, service: Served, *plan: str) -> None:
        self.inner, self.plan, self.sent = service._transport, list(plan), 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        what = self.plan.pop(0) if self.plan else "works"
        if what == "refused":
            raise httpx.ConnectError("refused")
        if what == "503":
            error = {"error": {"code": "unavailable", "message": "no"}}
            return httpx.Response(503, headers={"retry-after": "1"}, json=error)
        if what == "502":
            return httpx.Response(502, text="<html>bad gateway</html>")
        response = self.inner.handle_request(request)
        if what == "lost":
            response.read()
            raise httpx.ReadTimeout("lost")
        return response


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("ensample.client.clients.time.sleep", found.append)
    return found


def flaky(service: Served, *plan: str, **more: Any) -> tuple[Client, Flaky]:
    transport = Flaky(service, *plan)
    return Client(ADDRESS, http=httpx.Client(transport=transport), **more), transport


CALLS: dict[str, Callable[[Client], object]] = {
    "decide": lambda client: client.decide("shop", {"age": 3}),
    "sticky": lambda client: client.decide("shop", targeting_key="bob"),
    "decide_all": lambda client: client.decide_all("shop", [{}]),
    "reward": lambda client: client.reward("shop", "q", 0.25),
    "reward_all": lambda client: client.reward_all("shop", {"q": 0.25}),
    "event": lambda client: client.event("shop", "ann", 0.25),
    "activate": lambda client: client.activate("shop", "off"),
    "change": lambda client: client.change("shop", add=["c"]),
}
ONCE = {"decide": 4, "sticky": 4, "decide_all": 4}


def added_up(service: Served) -> Served:
    """An experiment whose rewards are added up: what is sent twice would count twice."""
    rules = {"low": 0, "high": 1, "rule": "sum", "wait": "1 day"}
    service.put(
        "/v1/experiments/shop", json={"actions": ["a", "b"], "recipe": SMALL, "reward": rules}
    )
    for body in ({"id": "q"}, {"id": "off", "active": False}, {"targetingKey": "ann"}):
        assert service.post("/v1/experiments/shop/decide", json=body).status_code == 200
    return service


@pytest.mark.parametrize("plan", [("lost",), ("lost", "lost", "502"), ("refused", "503", "lost")])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_sent_again_is_done_once(
    name: str, plan: tuple[str, ...], serve: Serve, pauses: list[float]
) -> None:
    service = added_up(serve())
    client, transport = flaky(service, *plan)
    CALLS[name](client)
    assert transport.sent == len(plan) + 1 == len(pauses) + 1
    view = service.get("/v1/experiments/shop").json()
    assert view["decisions"] == ONCE.get(name, 3)
    applied = view["outcomes"].get("applied", 0)
    assert applied == (name in ("reward", "reward_all", "event"))


def test_without_ids_it_would_be_done_twice(
    serve: Serve, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    service = added_up(serve())
    monkeypatch.setattr(calls, "with_id", lambda body: body)
    client, _ = flaky(service, "lost")
    client.decide("shop", {"age": 3})
    assert service.get("/v1/experiments/shop").json()["decisions"] == 5
    monkeypatch.setattr(calls, "new_id", lambda: None)
    client, _ = flaky(service, "lost")
    client.reward("shop", "q", 0.25)
    assert service.get("/v1/experiments/shop").json()["outcomes"]["applied"] == 2


def test_what_may_not_be_done_twice_is_sent_once(
    shop: Served, pauses: list[float], tmp_path: Path
) -> None:
    shop.post("/v1/experiments/shop/decide", json={"id": "q"})
    shop.post("/v1/experiments/shop/decisions/q/reward", json={"value": 1})
    path = tmp_path / "log.jsonl"
    client_of(shop).save_log("shop", path)
    client, transport = flaky(shop, "lost")
    with pytest.raises(ServiceError) as lost:
        client.learn("shop", path)
    assert lost.value.status is None and lost.value.code == "unreachable" and transport.sent == 1
    assert shop.get("/v1/experiments/shop").json()["version"] == 2, "it had arrived"
    client, transport = flaky(shop, "refused", "503")
    assert client.learn("shop", path) == 1 and transport.sent == 3, "neither had"


def test_it_gives_up(shop: Served, pauses: list[float]) -> None:
    client, transport = flaky(shop, *["refused"] * 9, retries=2)
    with pytest.raises(ServiceError, match="unreachable") as lost:
        client.experiments()
    assert transport.sent == 3 and isinstance(lost.value.__cause__, httpx.ConnectError)
    assert pauses[0] < 0.051 and pauses[1] < 0.101
    client, transport = flaky(shop, "503", "503", retries=1)
    with pytest.raises(ServiceError) as refused:
        client.experiments()
    assert (refused.value.status, refused.value.code) == (503, "unavailable") and pauses[2] == 1.0


def test_what_is_refused_is_not_sent_again(shop: Served) -> None:
    client, transport = flaky(shop)
    for code, status, call in (
        ("invalid", 422, lambda: client.decide("shop", actions=["z"])),
        ("not_found", 404, lambda: client.decide("nobody")),
        ("conflict", 409, lambda: client.create("shop", actions=["c"])),
    ):
        with pytest.raises(ServiceError, match=code) as refused:
            call()
        assert (refused.value.code, refused.value.status) == (code, status)
    assert transport.sent == 3


def test_an_answer_of_somebody_else_is_told(shop: Served, tmp_path: Path) -> None:
    for status in (200, 404):
        page = httpx.Response(status, text="<html>")
        http = httpx.Client(transport=httpx.MockTransport(lambda _, page=page: page))
        with pytest.raises(ServiceError, match="no answer of the service") as foreign:
            Client(http=http).experiments()
        assert foreign.value.status == status and foreign.value.code == "foreign"
    with pytest.raises(ServiceError) as none:
        client_of(shop).save_log("nobody", tmp_path / "log.jsonl")
    assert none.value.status == 404 and not list(tmp_path.glob("*log*"))


def test_a_key_is_sent(shop: Served) -> None:
    text, key = new_key("decide")
    shop.service.store.add(key)
    assert client_of(shop, text).decide("shop").action in ("a", "b")
    with pytest.raises(ServiceError) as refused:
        client_of(shop).decide("shop")
    assert refused.value.status == 401


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Client("127.0.0.1:8000"),
        lambda: Client(timeout=-1),
        lambda: Client(retries=-1),
        lambda: AsyncClient(concurrency=0),
        lambda: Client().decide("shop", {"age": float("inf")}),
        lambda: Client().decide("shop", {"age": object()}),
        lambda: Client().decide(""),
        lambda: Client().reward("shop", 3, 1),
        lambda: Client().learn("shop", "nobody.jsonl"),
        lambda: Client().save_log("shop", "log.xml"),
    ],
)
def test_what_cannot_be_is_not_sent(wrong: Callable[[], object]) -> None:
    with pytest.raises(es.InvalidArgument, match="expected"):
        wrong()


def test_importing_it_is_light() -> None:
    heavy = {"ensample._core", "polars", "starlette", "openfeature"}
    code = f"import sys, ensample.client; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
