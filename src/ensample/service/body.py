"""Reading and decoding of request bodies, in time linear in their length.

A body is decoded once, into the type that its route takes. msgspec bounds the digits of numbers
and the depth of JSON.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect
from starlette.types import Receive

from ensample.registry import one_of
from ensample.service.errors import HTTPError

CONTENT_TYPES = ("application/json", "application/x-www-form-urlencoded", "")  # curl -d: the second
LONGEST = 60  # characters of a field's name in a message
UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?", re.DOTALL)
PATH_PART = re.compile(r"\[[^]]*\]|[^.\[]+")


async def read_body(receive: Receive, headers: Mapping[str, str], most: int) -> bytes:
    """Read a body of at most `most` bytes. Raise as soon as it is known to be longer."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large(most)
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HTTPError(400, "the body ends before it should")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(most: int) -> HTTPError:
    return HTTPError(413, f"expected a body of at most {most:,} bytes")


class BodyDecoder:
    """Decodes JSON into a type, and refuses fields that it does not have."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def __call__(self, headers: Mapping[str, str], body: bytes) -> Any:
        content_type = headers.get("content-type", "")
        if content_type not in CONTENT_TYPES:
            content_type = content_type.partition(";")[0].strip().lower()
        if content_type not in CONTENT_TYPES:
            raise HTTPError(415, "expected Content-Type: application/json")
        try:
            return self._decode(body or b"{}")
        except UnicodeDecodeError:
            raise HTTPError(400, "expected a body in UTF-8") from None
        except msgspec.ValidationError as error:
            raise unknown_field(error, self.kind) or error from None


def unknown_field(error: msgspec.ValidationError, kind: Any) -> HTTPError | None:
    """Return an error that lists the fields that exist, if the mistake is a field that does not."""
    found = UNKNOWN_FIELD.fullmatch(str(error))
    if found is None:
        return None
    name, path = found[1][:LONGEST], (found[2] or "").removeprefix(".")
    fields = fields_at(inspect.type_info(kind), PATH_PART.findall(path))
    argument = f"{path}.{name}" if path else name
    expected = one_of(name, fields) if fields else "no fields"
    return HTTPError(422, f"{argument}: expected {expected}", argument=argument)


def fields_at(kind: inspect.Type, path: list[str]) -> list[str]:
    """Return the names of the fields of the object at a path such as ["[0]", "reward"]."""
    match kind:
        case inspect.Metadata():
            return fields_at(kind.type, path)
        case inspect.UnionType():
            return next((found for each in kind.types if (found := fields_at(each, path))), [])
        case inspect.ListType() if path:
            return fields_at(kind.item_type, path[1:])
        case inspect.StructType() if path:
            types = {field.encode_name: field.type for field in kind.fields}
            return fields_at(types[path[0]], path[1:]) if path[0] in types else []
        case inspect.StructType():
            return [field.encode_name for field in kind.fields]
    return []
