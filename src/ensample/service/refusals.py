"""What is answered when a call cannot be: a status, a code for programs, a sentence for people."""

from typing import Any

import msgspec

from ensample.errors import (
    DecisionError,
    EnsampleError,
    InvalidArgument,
    SnapshotError,
    StorageError,
)
from ensample.service.messages import Mistake, Refused

CODES = {
    400: "malformed",
    401: "key_missing",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "wrong_content_type",
    422: "invalid",
    500: "internal",
    503: "unavailable",
}


class Refusal(Exception):
    """Raised by whoever refuses; `code` is what a program looks at."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        argument: str | None = None,
        **headers: str,
    ) -> None:
        super().__init__(status, message)
        self.status, self.message, self.argument = status, message, argument
        self.code = CODES[status] if code is None else code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self) -> Refused:
        return Refused(Mistake(self.code, self.message, self.argument))


def refusal_of(error: Exception) -> Refusal | None:
    """What an error means to the caller; None where it is a mistake of ours."""
    match error:
        case Refusal():
            return error
        case msgspec.ValidationError():
            return Refusal(422, sentence(error))
        case msgspec.DecodeError():
            return Refusal(400, sentence(error))
        case DecisionError():
            return Refusal(409, str(error), argument=error.argument)
        case InvalidArgument():
            return Refusal(422, str(error), argument=error.argument)
        case StorageError():
            return unavailable("nothing can be kept at the moment: nothing was changed")
        case SnapshotError():
            return unavailable("the experiment's file cannot be read")
        case EnsampleError():
            return Refusal(422, str(error))
    return None


def unavailable(message: str) -> Refusal:
    return Refusal(503, message, Retry_After="1")


def sentence(error: Any) -> str:
    """msgspec's own, with the place in words of JSON."""
    return str(error).replace("`", "'")
