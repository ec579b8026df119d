"""Kills a service under load, again and again, and looks at what is left.

    python -m service.try_kills KILLS FOLDER [answers-first]

The service is a fork of this process, which has everything imported. Clients decide and reward with
ids of their own; what was under way when it was killed they send again to the next one, as clients
do. Every third service has one client alone, which its event loop answers by itself. It prints what
was found as JSON: kills, answers, those to a client alone, calls that were sent again, answers of
which nothing or something else was found (and how many of these to a client alone), decisions or
rewards that are there twice, states that are not what their events come to.
"""

import asyncio
import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ensample.experiments import Experiment
from ensample.experiments.log.builder import log_rows
from ensample.experiments.settings import Settings
from ensample.experiments.snapshots import creation
from ensample.experiments.storage.base import Reading
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.experiments.storage.sqlite_reader import SQLiteReader
from ensample.service import worker
from ensample.service.maintenance import replayed_events
from ensample.service.server import listening, run
from ensample.service.settings import ServiceSettings
from experiments.test_power import AnswersFirst

CLIENTS = 8
RESTART = 25  # kills after which a new folder is begun
ONE = "/v1/experiments/killed"
EXPERIMENT = {"actions": ["a", "b", "c"], "recipe": {"kind": "EnsembleSampling", "size": 10}}

Ask = tuple[str, str, bytes]  # id of the decision, path, body


class AnswersLongBefore(AnswersFirst):
    """The mistake to be found; the experiment itself lasts."""

    every = 50

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self.fresh = self.count == 0

    def batch(self) -> Any:
        if self.fresh and self.count > 0:
            self._commit()
            self.fresh = False
        return super().batch()


class Client:
    """One connection at a time; a call without an answer is sent again."""

    def __init__(self, number: int, found: dict[str, int]) -> None:
        self.number, self.found, self.step = number, found, 0
        self.answers: list[tuple[Ask, dict[str, Any], bool]] = []  # and whether nobody else asked
        self.alone = False
        self.open: Ask | None = None  # without an answer

    def next(self) -> Ask:
        if self.open is not None:
            self.found["again"] += 1
            return self.open
        round, part = divmod(self.step, 3)  # a decision and two rewards
        id, path, body = f"{self.number}-{round}", f"{ONE}/decide", {}
        if part == 0:
            body = {"id": id, "context": {"x": self.step % 5, "city": f"c{self.number}"}}
        else:
            path, body = f"{ONE}/decisions/{id}/reward", {"value": round % 7 / 7}
        self.open = id, path, json.dumps(body).encode()
        self.step += 1
        return self.open

    def note(self, status: int, seconds: float) -> None:
        """Do nothing; for those who measure how long calls take."""

    async def play(self, port: int, first: asyncio.Event) -> None:
        """Call until the connection breaks."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while True:
                asked, sent = self.next(), time.monotonic()
                writer.write(request("POST", asked[1], asked[2]))
                status, answer = await response(reader)
                self.note(status, time.monotonic() - sent)
                if status == 503:  # it can be asked again
                    await asyncio.sleep(0.01)
                    continue
                assert status == 200, answer
                self.answers.append((asked, answer, self.alone))
                self.open = None
                first.set()
        except (OSError, asyncio.IncompleteReadError):
            pass


def request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def response(reader: asyncio.StreamReader) -> tuple[int, dict[str, Any]]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return int(head.split(b" ", 2)[1]), json.loads(await reader.readexactly(length))


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(20_000):
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
    raise RuntimeError("nobody answers")


async def called(method: str, port: int, path: str, body: bytes = b"") -> tuple[int, Any]:
    """Return status and answer of one call; 0 if there is none in time."""
    reader, writer = await connected(port)
    writer.write(request(method, path, body))
    try:
        return await asyncio.wait_for(response(reader), 60)
    except TimeoutError:
        return 0, {}
    finally:
        writer.close()


async def made(port: int) -> None:
    """Make the experiment, if it is not there."""
    status, answer = await called("PUT", port, ONE, json.dumps(EXPERIMENT).encode())
    assert status in (200, 201), answer


async def hash_of(port: int) -> str:
    """Return the hash as the service computes it."""
    return str((await called("GET", port, f"{ONE}?hash=yes"))[1]["hash"])


def started(
    data: Path, kind: type[SQLiteStorage] = SQLiteStorage, database: str = "", alone: bool = False
) -> tuple[int, int]:
    """Return process and port. `alone`: for one client, whose questions count as quick."""
    given: Any = {"data": data, "database": database, "port": 0, "log_level": "error"}
    settings = ServiceSettings(**given, snapshot_every=50)
    listener = listening(settings)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a reader of our output waits for no fork
        if alone:
            worker.QUICK = math.inf
        try:
            run(settings, listener, kind)
        finally:
            os._exit(1)
    port = listener.getsockname()[1]
    listener.close()
    return child, port


def ended(child: int, how: int = signal.SIGKILL) -> None:
    os.kill(child, how)
    os.waitpid(child, 0)


async def loaded(port: int, child: int, clients: list[Client], seconds: float) -> None:
    """Have clients call, and kill the service some time after the first answer."""
    await made(port)
    first = asyncio.Event()
    tasks = [asyncio.create_task(client.play(port, first)) for client in clients]
    await first.wait()
    await asyncio.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    await asyncio.gather(*tasks)


def look(reader: Reading, clients: list[Client], found: dict[str, int], served: str) -> None:
    """Look at all answers that these events should hold."""
    found["differ"] += replayed_events(reader, verify=True).hash != served
    settings = Settings.rebuilt(creation(reader).settings)
    rows = {row["id"]: row for row in log_rows(settings, reader.read)}
    events: list[Any] = list(reader.read())
    applied = [event.id for event in events if getattr(event, "outcome", "") == "applied"]
    decided = [event.id for event in events if type(event).__name__ == "Decided"]
    found["doubled"] += len(applied) - len(set(applied)) + len(decided) - len(set(decided))
    reader.close()
    for client in clients:
        again = set[str]()  # had an answer lasted, a later one would be a duplicate
        for (id, path, body), answer, alone in reversed(client.answers):
            row, asked = rows.get(id), json.loads(body)
            if row is None:
                lost = True
            elif path.endswith("decide"):
                lost = any(row[name] != answer[name] for name in ("action", "propensity"))
            else:
                lost = row["outcome"] != "applied" or row["reward"] != asked["value"] or id in again
                if answer["outcome"] == "applied":
                    again.add(id)
            found["answers"] += 1
            found["lost"] += lost
            found["alone"] += alone
            found["lost_alone"] += lost and alone


COUNTS = ("kills", "answers", "alone", "again", "lost", "lost_alone", "doubled", "differ")


def import_all() -> None:
    """Import here what a service imports at its first calls: its forks inherit it."""
    experiment = Experiment("first", actions=["a", "b"])
    experiment.reward(experiment.decide({"x": 1.0}), 1)


def main() -> None:
    kills, folder = int(sys.argv[1]), Path(sys.argv[2])
    kind = AnswersLongBefore if "answers-first" in sys.argv else SQLiteStorage
    import_all()
    found = dict.fromkeys(COUNTS, 0)
    rng, clients = random.Random(7), list[Client]()
    for number in range(kills):
        data = folder / str(number // RESTART)
        if number % RESTART == 0:
            clients = [Client(each, found) for each in range(CLIENTS)]
        alone = number % 3 == 2
        child, port = started(data, kind, alone=alone)
        clients[0].alone = alone
        try:
            asyncio.run(loaded(port, child, clients[:1] if alone else clients, rng.random() * 0.1))
        finally:
            ended(child)
        found["kills"] += 1
        if (number + 1) % RESTART == 0 or number + 1 == kills:
            child, port = started(data)
            served = asyncio.run(hash_of(port))
            ended(child, signal.SIGTERM)
            look(SQLiteReader(data / "experiments" / "killed.db"), clients, found, served)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
