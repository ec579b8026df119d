"""Authorization: keys with roles, names of the service, and pages that may call it.

A key is `ens_ID_SECRET`. The secret has 256 random bits, so a plain SHA-256 of it can be stored;
hashes are compared in constant time.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from ensample.checks import check_label
from ensample.errors import InvalidArgument
from ensample.service.errors import HTTPError
from ensample.service.settings import ServiceSettings, is_loopback

if TYPE_CHECKING:
    from ensample.service.endpoint import Route
    from ensample.service.store import Store

Headers = Mapping[str, str]
"""Headers by their names in lower case."""
Role = Literal["decide", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
GRANTS: dict[str, frozenset[str]] = {
    "decide": frozenset({"decide"}),
    "read": frozenset({"read"}),
    "admin": frozenset(ROLES),
}
"""The roles that the holder of a role has."""
FORM = re.compile(r"ens_([0-9a-f]{12})_([0-9A-Za-z_-]{43})")
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:\d{1,5})?")
REMEMBERED = 64  # values of the Host header


class Key(NamedTuple):
    """A key as it is stored."""

    id: str
    role: str
    hash: str
    experiment: str | None  # the only one that the key is for
    created: int  # seconds since 1970
    revoked: int | None


NOBODY = Key("", "", "0" * 64, None, 0, None)


def new_key(role: str, experiment: str | None = None) -> tuple[str, Key]:
    """Return a new key, which is shown once, and what is stored of it.

    >>> text, key = new_key("decide")
    >>> find_key(text, {key.id: key}) == key, find_key(text + "x", {key.id: key}), key.hash in text
    (True, None, False)
    """
    if role not in ROLES:
        raise InvalidArgument("role", role, f"one of {', '.join(ROLES)}")
    if experiment is not None:
        check_label("experiment", experiment)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return f"ens_{id}_{secret}", Key(id, role, digest(secret), experiment, int(time.time()), None)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def find_key(text: str, keys: dict[str, Key]) -> Key | None:
    """Return the key that a text is, or None if it is none of these or was revoked."""
    form = FORM.fullmatch(text)
    id, secret = (form[1], form[2]) if form else ("", "")
    key = keys.get(id, NOBODY)
    same = hmac.compare_digest(digest(secret), key.hash)
    return key if same and key.revoked is None and key is not NOBODY else None


class Auth:
    """Decides who may call a route.

    As long as no key was made, callers on this machine may do everything.
    """

    def __init__(self, settings: ServiceSettings, store: "Store") -> None:
        self.store = store
        self.open = is_loopback(settings.host)
        self.origins = frozenset(settings.cors)
        self._names = frozenset({"localhost", settings.host, *settings.hosts})
        self._any_address = settings.host in ("0.0.0.0", "::")
        self._known_hosts: set[str] = set()

    def authorize(
        self, route: "Route", method: str, headers: Headers, experiment: str | None
    ) -> Key | None:
        """Return the key of the caller, if one is needed. Raise if the call is not allowed.

        `experiment` is the one that the call is about.
        """
        if headers.get("host", "") not in self._known_hosts:
            self._check_host(headers.get("host", ""))
        if "origin" in headers or "sec-fetch-site" in headers:
            self._check_origin(method, headers)
        if route.role is None:
            return None
        keys = self.store.all_keys()
        if not keys and self.open:
            return None
        text = key_text(headers, route.page)
        key = find_key(text, keys)
        if key is None:
            raise unauthorized(text, route.page)
        if route.role not in GRANTS[key.role]:
            wanted = " or ".join(dict.fromkeys((route.role, "admin")))
            raise HTTPError(403, f"expected a key of role {wanted}; this one has {key.role}")
        if not route.checks_key:
            check_experiment(key, experiment)
        return key

    def caller(self, headers: Headers) -> Key | None:
        """Return the valid key that a call has, if there is one."""
        return find_key(key_text(headers, page=False), self.store.all_keys())

    def _check_host(self, host: str) -> None:
        """Raise unless the host is ours: a foreign name may lead here (DNS rebinding)."""
        found = HOST.fullmatch(host)
        if found is None or not self._is_ours(found[1].strip("[]").lower()):
            message = "expected a Host that is allowed: give its name in the setting `hosts`"
            raise HTTPError(400, message, code="wrong_host")
        if len(self._known_hosts) < REMEMBERED:
            self._known_hosts.add(host)

    def _is_ours(self, name: str) -> bool:
        if name in self._names or "*" in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address  # an address needs no name server

    def _check_origin(self, method: str, headers: Headers) -> None:
        """Raise if a page of another origin calls, unless the setting `cors` names the origin."""
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") in ("cross-site", "same-site") and method != "GET":
                raise HTTPError(403, "pages of others may not call", code="wrong_origin")
        elif origin not in self.origins and host_of(origin) != headers.get("host"):
            message = "pages of this origin may not call: give it in the setting `cors`"
            raise HTTPError(403, message, code="wrong_origin")


def check_experiment(key: Key | None, experiment: str | None) -> None:
    """Raise if a key is for another experiment only."""
    if key is not None and key.experiment not in (None, experiment):
        raise HTTPError(403, f"this key is for the experiment {key.experiment} only")


def host_of(origin: str) -> str:
    """Return host and port of an origin, "" if it is no address.

    >>> host_of("https://shop.example:8443"), host_of("null"), host_of("http://[")
    ('shop.example:8443', '', '')
    """
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def unauthorized(text: str, page: bool) -> HTTPError:
    """Return the error of a caller without a valid key.

    A revoked key is as unknown as one that never existed.
    """
    if text:
        code, message = "key_unknown", "what was given is not a key of this service"
    else:
        code = "key_missing"
        message = "no key was given: expected Authorization: Bearer KEY, or X-API-Key: KEY"
    basic = 'Basic realm="ensample, key as password", charset="UTF-8"'
    return HTTPError(
        401, message, code=code, headers={"WWW-Authenticate": basic if page else "Bearer"}
    )


def key_text(headers: Headers, page: bool) -> str:
    """Return the key that a call brings, or "". Pages take it as a password too."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic" and page:
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return headers.get("x-api-key", headers.get("ocp-apim-subscription-key", ""))
