"""Settings of the service: of its command, of variables ENSAMPLE_*, of ensample.toml."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ensample.checks import whole
from ensample.errors import InvalidArgument
from ensample.experiments.reward import microseconds
from ensample.experiments.storage.postgres import is_address

FILE = Path("ensample.toml")
TABLE = "serve"
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class ServiceSettings:
    """All settings. Numbers without a unit are the most that is accepted of something.

    >>> ServiceSettings(port=80).port
    80
    >>> ServiceSettings(port="eighty")
    Traceback (most recent call last):
    ...
    ensample.errors.WrongType: port = 'eighty' (str): expected a whole number from 0 to 65535
    """

    data: Path = Path("ensample-data")
    database: str = ""  # the address of a PostgreSQL, where several servers share everything
    database_connections: int = 10  # of this server, at most
    host: str = "127.0.0.1"
    port: int = 8000
    hosts: tuple[str, ...] = ()  # names by which it may be called, beside its own
    cors: tuple[str, ...] = ()  # origins whose pages may call it
    body: int = 1_000_000  # bytes
    depth: int = 16  # levels of JSON
    actions: int = 1_000  # of an experiment or an offer
    features: int = 1_000  # of a context or an action
    cells: int = 100_000  # actions times features of one decision
    batch: int = 1_000  # items of one call
    experiments: int = 100
    members: int = 2_000  # of an ensemble, and any other number in a recipe
    columns: int = 1_024  # of x
    queue: int = 2_000  # calls that wait for one experiment
    connections: int = 1_000  # open at once
    headers: int = 10  # seconds for the headers of a request to arrive
    patience: int = 30  # seconds for a body to arrive
    snapshot_every: int = 10_000  # events
    sticky: str = "1 day"  # how long a targeting key keeps its decision
    log_level: str = "info"

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", Path(self.data))
        for item in fields(self):
            if item.type is int:
                least, most = (0, 65_535) if item.name == "port" else (1, 10**9)
                whole(item.name, getattr(self, item.name), least, most)
            if item.type == tuple[str, ...]:
                object.__setattr__(self, item.name, names(item.name, getattr(self, item.name)))
        if not isinstance(self.host, str) or not self.host:
            raise InvalidArgument("host", self.host, "a name or an address of this machine")
        if not isinstance(self.database, str) or not (
            self.database == "" or is_address(self.database)
        ):
            raise InvalidArgument("database", "...", "postgresql://user:password@host/name")
        if self.log_level not in LEVELS:
            raise InvalidArgument("log_level", self.log_level, f"one of {', '.join(LEVELS)}")
        microseconds("sticky", self.sticky)

    @property
    def sticky_microseconds(self) -> int:
        """Return `sticky` in microseconds."""
        return microseconds("sticky", self.sticky)


def names(argument: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) and item for item in value
    ):
        raise InvalidArgument(argument, value, "a list of names")
    return tuple(value)


def read_settings(
    given: Mapping[str, Any], environment: Mapping[str, str] | None = None, file: Path | None = None
) -> ServiceSettings:
    """Return the settings. None in `given` is no value. A file that is named must exist.

    >>> environment = {"ENSAMPLE_PORT": "9000", "ENSAMPLE_HOSTS": "a.example,b.example"}
    >>> read_settings({"port": None}, environment).hosts
    ('a.example', 'b.example')
    """
    found = from_file(file)
    found |= from_environment(os.environ if environment is None else environment)
    found |= {name: value for name, value in given.items() if value is not None}
    return ServiceSettings(**found)


def from_file(file: Path | None) -> dict[str, Any]:
    path = FILE if file is None else file
    if file is None and not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument("config", str(path), f"a TOML file ({error})") from None
    table = content.get(TABLE, {})
    known = {item.name for item in fields(ServiceSettings)}
    for name in table if isinstance(table, dict) else [TABLE]:
        if name not in known:
            expected = f"one of {', '.join(sorted(known))}"
            raise InvalidArgument(f"{path}: {TABLE}.{name}", table, expected)
    return dict(table)


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in fields(ServiceSettings):
        name = f"ENSAMPLE_{item.name.upper()}"
        if name in environment:
            found[item.name] = parse(name, environment[name], item.type)
    return found


def parse(name: str, text: str, kind: Any) -> Any:
    if kind is int:
        if not text.isdecimal():
            raise InvalidArgument(name, text, "a whole number")
        return int(text)
    if kind == tuple[str, ...]:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def is_loopback(host: str) -> bool:
    """Return True if only this machine can call an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "a.example")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
