"""Bodies are read and checked in time linear in their length, whatever they contain."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ensample.errors import EnsampleError
from ensample.experiments.inputs import as_actions
from ensample.service.body import BodyDecoder
from ensample.service.errors import HTTPError
from ensample.service.protocols.personalizer import RankCall, question_of
from ensample.service.schemas import DecideCall

DECODE = BodyDecoder(DecideCall | list[DecideCall])
FLAT = b"[" + b"[]," * 20  # as many brackets as have to be looked at
SHORT, FACTOR, MARGIN = 16_000, 4, 2.5  # a quadratic pass takes FACTOR^2 as long


def repeated(before: bytes, item: bytes, after: bytes) -> Callable[[int], bytes]:
    return lambda size: before + item * (size // len(item)) + after


def keys(last: bytes) -> Callable[[int], bytes]:
    """Return a maker of objects with many keys, and one more."""
    return lambda size: (
        b'{"context": {' + b",".join(b'"%x": 0' % key for key in range(size // 11)) + last + b"}}"
    )


SHAPES: dict[str, Callable[[int], bytes]] = {
    "open arrays": repeated(b"", b"[", b""),
    "open objects": repeated(b"", b'{"a":', b""),
    "deep arrays": lambda size: b'{"context": ' + b"[" * (size // 2) + b"]" * (size // 2) + b"}",
    "empty arrays": repeated(b'{"context": {"a": [', b"[],", b"0]}}"),
    "empty objects": repeated(b'{"context": {"a": [', b"{},", b"0]}}"),
    "small objects": repeated(b'{"context": {"a": [', b'{"":0},', b"0]}}"),
    "a long batch": repeated(b"[", b"{},", b"{}]"),
    "many keys": keys(b""),
    "the last key twice": keys(b', "z": 0, "z": 0'),
    "keys that are escaped": keys(b', "\\\\u003a": "\\u003a"'),
    "open strings": repeated(FLAT, b'"', b""),
    "escaped quotes": repeated(FLAT + b'"', b'\\"', b""),
    "backslashes": repeated(FLAT + b'"', b"\\", b""),
    "colons": repeated(b'{"context": {"a": "', b":", b'"}}'),
    "escaped colons": repeated(b'{"context": {"a": "', b"\\u003a", b'"}}'),
    "brackets in a string": repeated(b'{"context": {"a": "', b"[{", b'"}}'),
    "empty strings": repeated(b'{"context": {"a": [', b'"",', b'""]}}'),
    "long whole numbers": repeated(b'{"context": {"a": [', b"9" * 4_000 + b",", b"0]}}"),
    "rather long whole numbers": repeated(b'{"context": {"a": [', b"9" * 300 + b",", b"0]}}"),
    "one long number": repeated(b'{"context": {"a": 1.', b"9", b"}}"),
    "unknown fields": lambda size: (
        b"{" + b",".join(b'"%x": 0' % key for key in range(size // 11)) + b"}"
    ),
    "spaces": repeated(b"{", b" ", b"}"),
}


def read(body: bytes) -> None:
    with contextlib.suppress(HTTPError, msgspec.MsgspecError, RecursionError):
        DECODE({}, body)


def fastest(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the processor that the fastest of several runs took."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        work()
        found.append(time.thread_time() - start)
    return min(found)


def assert_linear(work_of: Callable[[int], Callable[[], object]]) -> None:
    short, long = (fastest(work_of(size)) for size in (SHORT, FACTOR * SHORT))
    assert long < MARGIN * FACTOR * max(short, 5e-5), (short, long)


@pytest.mark.parametrize("name", SHAPES)
def test_reading_a_body_takes_linear_time(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        body = SHAPES[name](size)
        return lambda: read(body)

    assert_linear(work)


def test_a_quadratic_pass_is_noticed() -> None:
    """The negative control: it compares all pairs."""

    def work(size: int) -> Callable[[], object]:
        items = list(range(size // 16))
        return lambda: [items.count(item) for item in items]

    with pytest.raises(AssertionError):
        assert_linear(work)


def named(count: int) -> list[str]:
    return [str(number) for number in range(count)]


QUESTIONS: dict[str, Callable[[int], object]] = {
    "texts of one name": lambda size: {
        "contextFeatures": [{"a": name} for name in named(size // 12)]
    },
    "objects of one name": lambda size: {
        "contextFeatures": [{"a": {name: 1}} for name in named(size // 16)]
    },
    "an action twice": lambda size: {
        "actions": [{"id": name} for name in [*named(size // 13), "5"]]
    },
    "excluded actions": lambda size: {"excludedActions": named(size // 9)},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_call_of_personalizer_takes_linear_time(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        given: Any = {"actions": [{"id": "a"}]} | QUESTIONS[name](size)  # type: ignore[operator]
        asked = msgspec.convert(given, RankCall)

        def translate() -> None:
            with contextlib.suppress(EnsampleError, HTTPError):
                question_of(asked)

        return translate

    assert_linear(work)


def test_actions_of_which_one_is_there_twice_take_linear_time() -> None:
    def work(size: int) -> Callable[[], object]:
        names = [*named(size // 9), str(size // 9 - 1)]

        def check() -> None:
            with contextlib.suppress(EnsampleError):
                as_actions("excluded", names)

        return check

    assert_linear(work)
