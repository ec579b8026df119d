"""Two servers on one PostgreSQL, of which either is killed under load, again and again.

    python -m service.try_postgres_kills KILLS FOLDER ADDRESS [forgets]

Clients go to either server, and send again to either what had no answer. It prints what
`service.try_kills` prints. `forgets` is the mistake to be found: a storage that says that it has
committed and has not.
"""

import asyncio
import json
import os
import random
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from ensample.experiments.storage.postgres import PostgresReader, PostgresStorage, prepared_database
from ensample.experiments.storage.postgres_pool import PostgresPool
from service.try_kills import COUNTS, ONE, Client, ended, hash_of, import_all, look, made, started

CLIENTS = 6
NAME = ONE.rpartition("/")[2]


class Forgets:
    """Every second commit is none."""

    commits = 0

    @classmethod
    def install(cls) -> None:
        commit = PostgresStorage._commit

        def sometimes(self: Any) -> None:
            cls.commits += bool(self._pending)
            if self._pending and cls.commits % 2 == 0:
                self._fetch("forget", "ROLLBACK")
                self._pending = []
                self._undo()
                return
            commit(self)

        PostgresStorage._commit = sometimes  # type: ignore[method-assign]


async def one_kill(
    servers: list[tuple[int, int]], clients: list[Client], victim: int, seconds: float
) -> None:
    for _, port in servers:
        await made(port)
    first = asyncio.Event()
    tasks = [
        asyncio.create_task(client.play(servers[place % 2][1], first))
        for place, client in enumerate(clients)
    ]
    await first.wait()
    await asyncio.sleep(seconds)
    os.kill(servers[victim][0], signal.SIGKILL)
    lost = [task for place, task in enumerate(tasks) if place % 2 == victim]
    await asyncio.gather(*lost)
    again = [
        asyncio.create_task(client.play(servers[1 - victim][1], first))
        for client in clients[victim::2]
    ]  # to the other
    await asyncio.sleep(0.05)
    for task in (*tasks, *again):
        task.cancel()
    await asyncio.gather(*tasks, *again, return_exceptions=True)


def main() -> None:
    kills, folder, address = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    if "forgets" in sys.argv:
        Forgets.install()
    prepared_database(address)
    import_all()
    found = dict.fromkeys(COUNTS, 0)
    rng, clients = random.Random(7), [Client(number, found) for number in range(CLIENTS)]
    servers = [started(folder / "a", database=address), started(folder / "b", database=address)]
    try:
        for _ in range(kills):
            victim = rng.randrange(2)
            asyncio.run(one_kill(servers, clients, victim, rng.random() * 0.1))
            os.waitpid(servers[victim][0], 0)
            found["kills"] += 1
            servers[victim] = started(folder / "ab"[victim], database=address)
        for _, port in servers:
            asyncio.run(made(port))
        hashes = {asyncio.run(hash_of(port)) for _, port in servers}
        found["differ"] += len(hashes) - 1
        with closing(PostgresPool(address)) as pool:
            look(PostgresReader(pool, NAME), clients, found, hashes.pop())
    finally:
        for child, _ in servers:
            ended(child)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
