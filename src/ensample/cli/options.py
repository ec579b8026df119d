"""Options of commands: fields of a frozen dataclass, of which typer's parameters are made."""

import inspect
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any, get_type_hints

import typer


def option(default: Any, help: str, *names: str, **more: Any) -> Any:
    """Return a field that is an option, `--name` unless it has other names."""
    made = typer.Option(default, *names, help=help, **more)
    return field(default=default, metadata={"typer": made})


def argument(help: str, **more: Any) -> Any:
    """Return a field that is given by its place, and must be."""
    return field(metadata={"typer": typer.Argument(..., help=help, **more)})


def optional_argument(help: str, **more: Any) -> Any:
    """Return a field that may be given by its place."""
    return field(default=None, metadata={"typer": typer.Argument(None, help=help, **more)})


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function for typer: with a parameter for each field of its `options`."""
    kind = get_type_hints(function).get("options")
    if kind is None:
        return function

    def command(**given: Any) -> None:
        function(kind(**given))

    types = get_type_hints(kind)
    place = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            item.name, place, default=item.metadata["typer"], annotation=types[item.name]
        )
        for item in fields(kind)
    ]
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__annotations__ = types
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command
