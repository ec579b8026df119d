"""From bytes to a typed call. Whatever JSON leaves open is refused: NaN, the same key twice, depth without end."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from ensample.serve.refusals import Refusal

__all__ = ["decoded", "whole_body"]

BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
TYPES = ("application/json", "application/x-www-form-urlencoded", "")  # the second is what `curl -d` says


async def whole_body(request: Request, most: int) -> bytes:
    """At most so many bytes: a longer body is refused as soon as that is known."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large(most)
    parts, size = [], 0
    async for part in streamed(request):
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
    return b"".join(parts)


async def streamed(request: Request) -> AsyncIterator[bytes]:
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect:
        raise Refusal(400, "the body ends before it should") from None


def too_large(most: int) -> Refusal:
    return Refusal(413, f"expected a body of at most {most:,} bytes")


def decoded(request: Request, body: bytes, decoder: "msgspec.json.Decoder[Any]", deepest: int) -> Any:
    """The call that a body is."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in TYPES:
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
    json.loads(body, object_pairs_hook=unique, parse_int=length, parse_float=length)


def length(_: str) -> None:
    """Numbers are of no interest here, and long ones cost time."""


def unique(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refusal(400, f"expected each key once in an object, and {twice[:40]!r} is there twice")
