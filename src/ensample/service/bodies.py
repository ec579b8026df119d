"""Read, check and decode request bodies in time linear in their length.

Refused beyond what JSON itself forbids: the same key twice in an object, deep nesting, very long
numbers and unknown fields. Each check is one pass of compiled code over the bytes.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from starlette.types import Receive

from ensample.service.fields import check_fields
from ensample.service.refusals import Refusal
from ensample.service.service_settings import ServiceSettings

TYPES = ("application/json", "application/x-www-form-urlencoded", "")  # `curl -d` sends the second
SMALL = 4_096  # bytes, of which nothing can take long
NAMED = 65_536  # bytes: in a longer body a repeated key is refused without naming it
MASK = bytes.maketrans(b"0123456789", b"9" * 10)
LONG = b"9" * 310  # digits: beyond the largest double, and slow to convert
HALF_OF_PAIR = re.compile(  # a first half before no second one, or a second half after no first one
    rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]", re.DOTALL
)
STEPS = np.zeros(256, np.int8)
STEPS[[ord("["), ord("{")]] = 1
STEPS[[ord("]"), ord("}")]] = -1


async def whole_body(receive: Receive, headers: Mapping[str, str], most: int) -> bytes:
    """At most so many bytes: a longer body is refused as soon as that is known."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large(most)
    parts, size, goes_on = [], 0, True
    while goes_on:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the body ends before it should")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
        goes_on = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(most: int) -> Refusal:
    return Refusal(413, f"expected a body of at most {most:,} bytes")


def decoded(headers: Mapping[str, str], body: bytes, takes: Any, settings: ServiceSettings) -> Any:
    """Return the value of type `takes` that a body encodes."""
    kind = headers.get("content-type", "")
    if kind not in TYPES and kind.partition(";")[0].strip().lower() not in TYPES:
        raise Refusal(415, "expected Content-Type: application/json")
    check_shape(body, settings)
    try:
        found = msgspec.json.decode(body or b"{}")
        check_keys(body or b"{}", found)
    except UnicodeDecodeError:
        raise Refusal(400, "expected a body in UTF-8") from None
    except RecursionError:
        raise Refusal(400, "expected JSON that is less deeply nested") from None
    except msgspec.DecodeError:
        if HALF_OF_PAIR.search(body.replace(b"\\\\", b"")):
            raise Refusal(
                400, "expected text without half of a surrogate pair (\\ud800 to \\udfff)"
            ) from None
        raise
    try:
        return msgspec.convert(found, takes)
    except msgspec.ValidationError:
        check_fields(found, takes)
        raise


class JsonShape(NamedTuple):
    """Counts of the structural characters of a JSON text, those outside its strings."""

    depth: int
    keys: int
    items: int  # of the outermost array, at most


def shape(body: bytes) -> JsonShape:
    r"""Return the shape of a text.

    >>> shape(b'{"a": ["[[[[[[", "\\":", {"b": 1}]}')
    JsonShape(depth=3, keys=2, items=1)
    """
    codes = np.frombuffer(without_escapes(body), np.uint8)
    quotes = np.cumsum(codes == ord('"'), dtype=np.uint8)  # modulo 256: even outside of strings
    codes = codes[(quotes & 1) == 0]
    depth = np.cumsum(STEPS[codes], dtype=np.int32)
    commas = np.count_nonzero((codes == ord(",")) & (depth == 1))
    keys = np.count_nonzero(codes == ord(":"))
    return JsonShape(int(depth.max(initial=0)), int(keys), int(commas) + 1)


def without_escapes(body: bytes) -> bytes:
    """Return a text whose quotes all begin or end a string."""
    if b"\\" not in body:
        return body
    return body.replace(b"\\\\", b"").replace(b'\\"', b"")


def has_long_number(body: bytes) -> bool:
    masked = body.translate(MASK)
    if LONG not in masked:
        return False
    outside = without_escapes(masked).split(b'"')[::2]
    return any(LONG in piece for piece in outside)


def check_shape(body: bytes, settings: ServiceSettings) -> None:
    """Raise if decoding would take long or brackets are nested too deeply.

    >>> check_shape(b'{"a": ["[[[[[["]}', ServiceSettings(depth=2))
    >>> check_shape(b"[[[]]]", ServiceSettings(depth=2))
    Traceback (most recent call last):
    ...
    ensample.service.refusals.Refusal: (400, 'expected JSON of at most 2 levels')
    """
    if len(body) < SMALL and body.count(b"[") + body.count(b"{") <= settings.depth:
        return
    found = shape(body)
    if found.depth > settings.depth:
        raise Refusal(400, f"expected JSON of at most {settings.depth} levels")
    if body.lstrip()[:1] == b"[" and found.items > settings.batch:
        message = f"batch: expected at most {settings.batch} items, got {found.items}"
        raise Refusal(422, message, argument="batch")
    if has_long_number(body):
        raise Refusal(422, "expected numbers of at most 309 digits")


def check_keys(body: bytes, found: Any) -> None:
    """Raise if an object has a key twice. `found` is the decoded body, which kept one of the two.

    >>> check_keys(b'{"a": 1, "a": 2}', {"a": 2})
    Traceback (most recent call last):
    ...
    ensample.service.refusals.Refusal: (400, "expected each key once in an object, and 'a' is there twice")
    """
    encoded = msgspec.json.encode(found)
    # Without escapes all colons of strings are kept as well, so that they need not be told from those of keys.
    differ = (
        shape(body).keys != shape(encoded).keys
        if b"\\" in body
        else body.count(b":") != encoded.count(b":")
    )
    if differ:
        raise Refusal(400, f"expected each key once in an object{repeated_key(body)}")


def repeated_key(body: bytes) -> str:
    """Return the end of a message that names the first repeated key of a body that is short."""
    if len(body) <= NAMED:
        try:
            json.loads(body, object_pairs_hook=refuse_repeated, parse_int=len, parse_float=len)
        except RepeatedKey as error:
            return f", and {error.args[0][:40]!r} is there twice"
    return ""


class RepeatedKey(Exception):
    """A key that an object has twice."""


def refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise RepeatedKey(name)
            seen.add(name)
