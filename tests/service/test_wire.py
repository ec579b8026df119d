"""Pieces of an answer on their way to the client."""

import asyncio
from collections.abc import Callable

from ensample.service.wire import GatheredTransport


class Sent:
    """What a transport was told."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, piece: bytes) -> None:
        self.told.append(piece)

    def close(self) -> None:
        self.told.append("close")

    def is_closing(self) -> bool:
        return "close" in self.told


def sent(*turns: "Callable[[GatheredTransport], None]") -> "list[bytes | str]":
    async def play() -> "list[bytes | str]":
        inner = Sent()
        transport = GatheredTransport(inner)
        for turn in turns:
            turn(transport)
            await asyncio.sleep(0)
        assert transport.is_closing() == inner.is_closing()
        return inner.told

    return asyncio.run(play())


def pieces(*given: bytes) -> "Callable[[GatheredTransport], None]":
    def write(transport: GatheredTransport) -> None:
        for piece in given:
            transport.write(piece)

    return write


def test_head_and_body_go_out_together() -> None:
    assert sent(pieces(b"head", b"body", b"")) == [b"headbody"]


def test_what_comes_alone_waits_for_the_end_of_the_turn_only() -> None:
    assert sent(pieces(b"100 Continue"), pieces(b"head", b"1"), pieces(b"2")) == [
        b"100 Continue",
        b"head1",
        b"2",
    ]


def test_nothing_is_lost_or_exchanged() -> None:
    assert b"".join(sent(pieces(b"a", b"b", b"c"), pieces(b"d"), pieces(b"e", b"f"))) == b"abcdef"


def test_all_is_written_before_the_end() -> None:
    def end(transport: GatheredTransport) -> None:
        transport.write(b"last")
        transport.close()

    assert sent(end) == [b"last", "close"]
