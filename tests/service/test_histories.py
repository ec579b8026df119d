"""Clients that ask the same at the same time, give up, and ask again: one answer for each id."""

import asyncio
import random
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from attempts import attempts
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings
from service.conftest import ADDRESS, ONE, SHOP

CLIENTS, IDS, ROUNDS = 12, 15, attempts(sample=40, full=600)


class History:
    """What clients were told, by decision; and what they never heard of."""

    def __init__(self) -> None:
        self.decisions: defaultdict[str, list[Any]] = defaultdict(list)
        self.outcomes: defaultdict[str, list[str]] = defaultdict(list)
        self.given_up = 0

    def mistakes(self, events: list[Any]) -> list[str]:
        """Return what cannot be if each id has one decision and at most one reward that counts."""
        decided = [event.id for event in events if type(event).__name__ == "Decided"]
        applied = [event.id for event in events if getattr(event, "outcome", None) == "applied"]
        answers, outcomes = self.decisions.items(), self.outcomes.items()
        found = [
            ("several answers", {id for id, told in answers if told != told[:1] * len(told)}),
            ("several rewards", {id for id, told in outcomes if told.count("applied") > 1}),
            ("decided twice", {id for id in decided if decided.count(id) > 1}),
            ("rewarded twice", {id for id in applied if applied.count(id) > 1}),
            ("an answer of nothing", self.decisions.keys() - set(decided)),
            (
                "a reward of nothing",
                {id for id, told in outcomes if "applied" in told} - {*applied},
            ),
        ]
        return [f"{id}: {what}" for what, ids in found for id in ids]


async def client(number: int, http: httpx.AsyncClient, history: History) -> None:
    rng = random.Random(number)
    for _ in range(ROUNDS):
        id = f"q{rng.randrange(IDS * ROUNDS // 10)}"
        decide = ("decide", {"id": id, "context": {"x": len(id)}})
        path, body = rng.choice([decide, (f"decisions/{id}/reward", {"value": 1})])
        patience = rng.choice([None, None, 0.0, 0.001, 0.003])
        try:
            answer = await asyncio.wait_for(http.post(f"{ONE}/{path}", json=body), patience)
        except TimeoutError:
            history.given_up += 1
            continue
        found = answer.json()
        assert answer.status_code == 200, found
        if path == "decide":
            history.decisions[id].append(found)
        else:
            history.outcomes[id].append(found["outcome"])


@asynccontextmanager
async def served(data: Path) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    settings, journal = ServiceSettings(data=data, log_level="error"), Journal("error")
    service = Service(settings, journal, lambda path: SQLiteStorage(path, synchronous="OFF"))
    app = application(service)
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ADDRESS)
    async with app.lifespan_context(app), http:
        await http.put(ONE, json=SHOP)
        yield service, http


async def played(data: Path) -> tuple[History, list[Any]]:
    history = History()
    async with served(data) as (service, http):
        await asyncio.gather(*(client(number, http, history) for number in range(CLIENTS)))
        return history, list(service.catalog["shop"].experiment.reader().read())


def test_each_id_has_one_answer(tmp_path: Path) -> None:
    history, events = asyncio.run(played(tmp_path))
    answers = sum(map(len, history.decisions.values()))
    assert history.mistakes(events) == []
    assert answers > 1.5 * len(history.decisions) and history.given_up > 10


def test_what_was_given_up_is_found_done(tmp_path: Path) -> None:
    """A call whose client has gone is answered, kept, and the answer when it is asked again."""

    async def play() -> None:
        async with served(tmp_path) as (service, http):
            worker, started, go = (
                service.catalog["shop"].worker,
                threading.Event(),
                threading.Event(),
            )
            busy = asyncio.create_task(worker.ask(lambda: started.set() or go.wait(30)))
            await asyncio.to_thread(started.wait, 30)
            asked = {"id": "q1"}
            gone = asyncio.create_task(http.post(f"{ONE}/decide", json=asked))
            while not worker.queue._waiting:
                await asyncio.sleep(0.001)
            gone.cancel()
            go.set()
            await busy
            answer = (await http.post(f"{ONE}/decide", json=asked)).json()
            events = service.catalog["shop"].experiment.reader().read()
            found = [(event.id, event.action) for event in events if hasattr(event, "id")]
            assert found == [("q1", answer["action"])]

    asyncio.run(play())


BROKEN = {
    "ids are not looked up": ("ensample.experiments.experiment.known_answer", lambda *_: None),
    "rewards count": ("ensample.experiments.core.outcome_of_closed", lambda *_: "applied"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_service_that_forgets_ids_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative controls."""
    monkeypatch.setattr(*BROKEN[name])
    monkeypatch.setattr("ensample.experiments.state.State._rewarded", lambda self, event: None)
    try:
        history, events = asyncio.run(played(tmp_path))
    except AssertionError:
        return
    assert history.mistakes(events)
