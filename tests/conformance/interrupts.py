"""Ctrl-C at a chosen instruction."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import ensample

OURS = str(Path(ensample.__file__).parent)


def interrupted(
    call: Callable[[], Any], moment: int, again: int | None = None
) -> KeyboardInterrupt | None:
    """Call, with a KeyboardInterrupt before instruction number `moment` of our own code.

    None if the call came to its end before that.
    """
    left = [moment] + ([] if again is None else [again])

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return count

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            left[0] -= 1
            if left[0] == 0:
                del left[0]
                if left:
                    sys.setprofile(go_on)
                raise KeyboardInterrupt
        return count

    def go_on(frame: FrameType | None, event: str, argument: Any) -> None:
        """Python traces no more once a tracer has raised.

        From the next call or return on it is told to.
        """
        sys.setprofile(None)
        while frame is not None:
            frame.f_trace = enter(frame, event, argument)
            frame = frame.f_back
        sys.settrace(enter)

    before = sys.gettrace()
    try:
        sys.settrace(enter)
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
        sys.setprofile(None)
    return None
