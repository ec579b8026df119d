"""From bytes to a typed call. Whatever JSON leaves open is refused: NaN, the same key twice, depth without end."""

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.types import Receive

from ensample.serve.refusals import Refusal

__all__ = ["decoded", "whole_body"]

BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
NESTED = (dict, list)
TYPES = ("application/json", "application/x-www-form-urlencoded", "")  # the second is what `curl -d` says


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


def decoded(headers: Mapping[str, str], body: bytes, decoder: "msgspec.json.Decoder[Any]", deepest: int) -> Any:
    """The call that a body is."""
    kind = headers.get("content-type", "")
    if kind not in TYPES and kind.partition(";")[0].strip().lower() not in TYPES:
        raise Refusal(415, "expected Content-Type: application/json")
    check_depth(body, deepest)
    try:
        found = decoder.decode(body or b"{}")
        check_keys(body or b"{}")
    except UnicodeDecodeError:
        raise Refusal(400, "expected a body in UTF-8") from None
    except RecursionError:
        raise Refusal(400, "expected JSON that is less deeply nested") from None
    return found


def check_depth(body: bytes, deepest: int) -> None:
    """Raise if brackets are nested too deeply.

    >>> check_depth(b'{"a": ["[[[[[["]}', 2)
    >>> check_depth(b"[[[]]]", 2)
    Traceback (most recent call last):
    ...
    ensample.serve.refusals.Refusal: (400, 'expected JSON of at most 2 levels')
    """
    if body.count(b"[") + body.count(b"{") <= deepest:
        return
    depth = 0
    for found in BRACKETS.finditer(body):
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > deepest:
            raise Refusal(400, f"expected JSON of at most {deepest} levels")


def check_keys(body: bytes) -> None:
    """Raise if an object has a key twice: which of the two was meant?

    >>> check_keys(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ensample.serve.refusals.Refusal: (400, "expected each key once in an object, and 'a' is there twice")
    """
    with contextlib.suppress(msgspec.DecodeError):
        if body.count(b":") == keys_in(msgspec.json.decode(body)):
            return  # as many as there are colons: none was lost, and no text has a colon
    json.loads(body, object_pairs_hook=unique, parse_int=length, parse_float=length)


def keys_in(value: Any) -> int:
    """Of all objects in it, where one that was there twice is one."""
    if type(value) is dict:
        return len(value) + sum(keys_in(item) for item in value.values() if type(item) in NESTED)
    return sum(keys_in(item) for item in value if type(item) in NESTED) if type(value) is list else 0


def length(_: str) -> None:
    """Numbers are of no interest here, and long ones cost time."""


def unique(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refusal(400, f"expected each key once in an object, and {twice[:40]!r} is there twice")
