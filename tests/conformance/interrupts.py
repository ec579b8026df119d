"""Ctrl-C at a chosen instruction."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["interrupted"]


def interrupted(call: Callable[[], Any], moment: int, again: int | None = None) -> KeyboardInterrupt | None:
    """Call, with a KeyboardInterrupt before instruction number `moment` of our own code and, `again` later, another.

    None if the call came to its end before that.
    """
    left = [moment] + ([] if again is None else [again])

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "ensample" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and left:
            left[0] -= 1
            if left[0] == 0:
                del left[0]
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None
