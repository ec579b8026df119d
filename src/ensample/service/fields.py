"""Fields of a body that its type does not have."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import inspect

from ensample.registry import one_of
from ensample.service.refusals import Refusal

LONGEST = 60  # characters of a name in a message


class UnknownField(NamedTuple):
    """A field at a path such as "reward.wait", and those that exist there."""

    path: str
    name: str
    fields: list[str]


def check_fields(value: Any, kind: Any) -> None:
    """Raise if an object in a decoded body has a field that its type does not have."""
    found = next(unknown_fields(value, inspect.type_info(kind), ""), None)
    if found is not None:
        name = found.name[:LONGEST]
        expected = one_of(name, found.fields) if found.fields else "no fields"
        raise Refusal(422, f"{found.path}{name}: expected {expected}", argument=found.path + name)


def unknown_fields(value: Any, kind: inspect.Type, path: str) -> Iterator[UnknownField]:
    """Yield the unknown fields in order; types that allow any field have none."""
    match kind:
        case inspect.Metadata():
            yield from unknown_fields(value, kind.type, path)
        case inspect.UnionType():
            for each in kind.types:
                yield from unknown_fields(value, each, path)
        case inspect.ListType() if isinstance(value, list):
            for place, item in enumerate(value):
                yield from unknown_fields(
                    item, kind.item_type, f"{path.removesuffix('.')}[{place}]."
                )
        case inspect.StructType() if isinstance(value, dict) and kind.forbid_unknown_fields:
            types = {field.encode_name: field.type for field in kind.fields}
            for name, item in value.items():
                if name in types:
                    yield from unknown_fields(item, types[name], f"{path}{name}.")
                else:
                    yield UnknownField(path, name, list(types))
