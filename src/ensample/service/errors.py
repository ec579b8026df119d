"""HTTP errors: a status, a code for programs and a sentence for people."""

from typing import Any

import msgspec

from ensample.errors import (
    DecisionError,
    EnsampleError,
    InvalidArgument,
    SnapshotError,
    StorageError,
)
from ensample.service.schemas import Mistake, Refused

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
"""The code of a status where the error has no code of its own."""


class HTTPError(Exception):
    """An error that is the answer to a call. `argument` names the field that is wrong."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        argument: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, message)
        self.status, self.message, self.argument = status, message, argument
        self.code = CODES[status] if code is None else code
        self.headers = headers

    def body(self) -> Refused:
        return Refused(Mistake(self.code, self.message, self.argument))


def http_error(error: Exception) -> HTTPError | None:
    """Return what an exception means to the caller, or None if it is a bug of the service."""
    match error:
        case HTTPError():
            return error
        case msgspec.ValidationError():
            return HTTPError(422, plain_sentence(error))
        case msgspec.DecodeError():
            return HTTPError(400, plain_sentence(error))
        case DecisionError():
            return HTTPError(409, str(error), argument=error.argument)
        case InvalidArgument():
            return HTTPError(422, str(error), argument=error.argument)
        case StorageError():
            return unavailable("nothing can be kept at the moment: nothing was changed")
        case SnapshotError():
            return unavailable("the experiment's file cannot be read")
        case EnsampleError():
            return HTTPError(422, str(error))
        case RecursionError():
            return HTTPError(400, "expected JSON that is less deeply nested")
    return None


def unavailable(message: str) -> HTTPError:
    return HTTPError(503, message, headers={"Retry-After": "1"})


def plain_sentence(error: Any) -> str:
    """Return msgspec's message, which says where in the body the mistake is."""
    return str(error).replace("`", "'")
