"""Keys: who may call what. A key is `ens_ID_SECRET`; the id says which one it is, the secret is kept as its hash alone.

A secret has 256 random bits, so that a plain SHA-256 of it tells nobody anything; hashes are compared in constant time.
"""

import hashlib
import hmac
import re
import secrets
import time
from typing import Literal, NamedTuple, get_args

from ensample.checks import check_label
from ensample.errors import InvalidArgument

Role = Literal["decide", "read", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
GRANTS: dict[str, frozenset[str]] = {
    "decide": frozenset({"decide"}),
    "read": frozenset({"read"}),
    "admin": frozenset(ROLES),
}
"""What the holder of a role may do."""
FORM = re.compile(r"ens_([0-9a-f]{12})_([0-9A-Za-z_-]{43})")


class Key(NamedTuple):
    """What is kept of a key."""

    id: str
    role: str
    hash: str
    experiment: str | None  # the only one that it is good for
    created: int  # seconds since 1970
    revoked: int | None


NOBODY = Key("", "", "0" * 64, None, 0, None)


def new_key(role: str, experiment: str | None = None) -> tuple[str, Key]:
    """The key, which is shown once, and what is kept of it.

    >>> text, key = new_key("decide")
    >>> accepted(text, {key.id: key}) == key, accepted(text + "x", {key.id: key}), key.hash in text
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


def accepted(text: str, keys: dict[str, Key]) -> Key | None:
    """The key that a text is, unless it is none of these or was revoked."""
    form = FORM.fullmatch(text)
    id, secret = (form[1], form[2]) if form else ("", "")
    key = keys.get(id, NOBODY)
    same = hmac.compare_digest(digest(secret), key.hash)
    return key if same and key.revoked is None and key is not NOBODY else None
