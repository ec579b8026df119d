"""Who may come in: by which name the service is called, from which page, with which key."""

import base64
import binascii
import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from ensample.service.keys import GRANTS, Key, accepted
from ensample.service.refusals import Refusal
from ensample.service.service_settings import ServiceSettings, is_loopback
from ensample.service.store import Keeping

Headers = Mapping[str, str]
"""By names in small letters."""
MET = 64  # hosts that are remembered
NAME = re.compile(r"\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+")


class Gate:
    """A role for each route; without any key made, whoever is on this machine may do everything."""

    def __init__(self, settings: ServiceSettings, store: Keeping) -> None:
        self.settings, self.store = settings, store
        self.open = is_loopback(settings.host)  # to others it is closed as long as there is no key
        self.origins = frozenset(settings.cors)
        self._names = frozenset({"localhost", settings.host, *settings.hosts})
        self._met: set[str] = set()  # hosts that were found to be allowed
        self._anywhere = settings.host in ("0.0.0.0", "::")

    def admit(
        self,
        method: str,
        headers: Headers,
        role: str | None,
        page: bool = False,
        experiment: str | None = None,
    ) -> Key | None:
        """The key of the caller; None where none is asked for. Raises unless it may call this route."""
        self._check_host(headers.get("host", ""))
        self._check_origin(method, headers)
        if role is None:
            return None
        keys = self.store.known()
        if not keys and self.open:
            return None
        given = presented(headers, page)
        key = accepted(given, keys)
        if key is None:
            raise unaccepted(given, page)
        if role not in GRANTS[key.role]:
            wanted = " or ".join(dict.fromkeys((role, "admin")))
            raise Refusal(403, f"expected a key of role {wanted}; this one has {key.role}")
        if key.experiment is not None and experiment != key.experiment:
            raise Refusal(403, f"this key is for the experiment {key.experiment} only")
        return key

    def caller(self, headers: Headers, page: bool = False) -> Key | None:
        """The key that a call brings, if it is good."""
        return accepted(presented(headers, page), self.store.known())

    def _check_host(self, host: str) -> None:
        """A page that has its own name lead to this machine (DNS rebinding) calls by a name that is not ours."""
        if host in self._met:
            return
        found = NAME.match(host)
        name = found[0].strip("[]").lower() if found else ""
        rest = host[found.end() :] if found else host
        if (rest == "" or re.fullmatch(r":\d{1,5}", rest)) and self._is_ours(name):
            if len(self._met) < MET:
                self._met.add(host)
            return
        raise Refusal(
            400,
            "expected a Host that is allowed: give its name in the setting `hosts`",
            code="wrong_host",
        )

    def _is_ours(self, name: str) -> bool:
        if name in self._names or "*" in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._anywhere  # nobody's name server speaks for an address

    def _check_origin(self, method: str, headers: Headers) -> None:
        """Browsers say from which page a call comes; those of others may not call, unless they were named."""
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") in ("cross-site", "same-site") and method != "GET":
                raise Refusal(403, "pages of others may not call", code="wrong_origin")
            return
        if origin not in self.origins and place_of(origin) != headers.get("host"):
            raise Refusal(
                403,
                "pages of this origin may not call: give it in the setting `cors`",
                code="wrong_origin",
            )


def place_of(origin: str) -> str:
    """Host and port; nothing where it is no address.

    >>> place_of("https://shop.example:8443"), place_of("null"), place_of("http://[")
    ('shop.example:8443', '', '')
    """
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def unaccepted(given: str, page: bool) -> Refusal:
    """Whether a key was given is all that is told: one that was revoked is as unknown as one that never was."""
    if given:
        message, code = "what was given is not a key of this service", "key_unknown"
    else:
        message, code = (
            "no key was given: expected Authorization: Bearer KEY, or X-API-Key: KEY",
            "key_missing",
        )
    return Refusal(401, message, code=code, WWW_Authenticate=asking(page))


def asking(page: bool) -> str:
    return 'Basic realm="ensample, key as password", charset="UTF-8"' if page else "Bearer"


def presented(headers: Headers, page: bool) -> str:
    """The key that a call brings, or nothing. Pages take it as a password too, because browsers ask for one."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic" and page:
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return headers.get("x-api-key", headers.get("ocp-apim-subscription-key", ""))
