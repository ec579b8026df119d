"""Names of fields, and the fields that they name."""

from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.plain import Plain, PlainDict


def field_names(given: tuple[object, ...]) -> tuple[str, ...]:
    """At least one name, none of them twice; one list of names will do."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    for name in given:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise WrongType("names", name, "names of fields")
    names = tuple(map(str, given))
    if not names or len(set(names)) < len(names):
        raise InvalidArgument("names", names, "one or more names of fields, none of them twice")
    return names


def found_at(values: PlainDict, path: str) -> Plain:
    """What a path such as "user.age" leads to; None where there is nothing."""
    if path in values:
        return values[path]
    head, _, rest = path.partition(".")
    inner = values.get(head)
    return found_at(inner, rest) if rest and isinstance(inner, dict) else None
