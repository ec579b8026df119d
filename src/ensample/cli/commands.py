"""Commands that are imported when they are used, and whose flags show as flags."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SETTINGS: dict[str, Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "rich_markup_mode": "markdown",
}


class Command(TyperCommand):
    """A command as typer makes it from a function."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_flag(param) for param in super().get_params(ctx)]


class Later(TyperCommand):
    """What is known of a command before its function, and all that this needs, is imported: its name and one sentence."""

    def __init__(self, name: str, module: str, sentence: str) -> None:
        super().__init__(name, help=sentence, rich_markup_mode="markdown")
        self.module = module

    def load(self) -> TyperCommand:
        """The command itself."""
        function: Callable[..., None] = getattr(
            import_module(self.module), str(self.name).replace("-", "_")
        )
        alone = typer.Typer(add_completion=False, **SETTINGS)
        alone.command(cls=Command)(function)
        command = typer.main.get_command(alone)
        assert isinstance(command, TyperCommand)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Where parsing, help and completion begin; from here on it is the command itself."""
        return self.load().make_context(info_name, args, parent, **extra)


class Commands(TyperGroup):
    """All of them."""

    later: tuple[Later, ...] = ()

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for command in self.later:
            self.add_command(command)

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_flag(param) for param in super().get_params(ctx)]


def as_flag(param: Any) -> Any:
    """An option without a value has no type to show: `--json`, not `--json <bool>`."""
    if getattr(param, "is_flag", False) and param.metavar is None:
        param.metavar = ""
    return param
