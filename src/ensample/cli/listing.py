"""`ensample race --list`: the problems and policies that there are."""

import inspect
from dataclasses import MISSING, fields
from typing import Any

from rich.markup import escape
from rich.table import Table

from ensample.cli.console import output
from ensample.cli.policies import POLICIES
from ensample.cli.recipes import RECIPES, fields_of
from ensample.codec import PARTS, THEOREM, classes_of
from ensample.problems import families_by_name


def show_names() -> None:
    """Three tables, and what fields may be."""
    problems = named_table("--problem", "options", "")
    for name, family in families_by_name().items():
        problems.add_row(
            name, options_of(family), escape(first_sentence(family).removeprefix(f"`{name}`: "))
        )
    problems.add_row(
        "module:Name", "its own", "a problem, a family, or the class of one, in a module of yours"
    )
    short = named_table("--policies", "")
    for name, contender in POLICIES.items():
        short.add_row(name, contender.label)
    short.add_row("es-N", "ES, m = N, for any N")
    recipes = named_table("--policies, with fields", "fields", "")
    for name, kind in RECIPES.items():
        theorem = f"\n{name}.{THEOREM}" if hasattr(kind, THEOREM) else ""
        recipes.add_row(f"{name}{theorem}", escape(fields_of(kind)), escape(first_sentence(kind)))
    recipes.add_row("module:Name", "its own", "a recipe, or the class of one, in a module of yours")
    for table in (problems, short, recipes):
        output.print(table)
    kept = f"laws, rules and models: {', '.join(classes_of(PARTS))}"
    output.print(f"Fields are numbers, text, noise, radius, and {kept}.", highlight=False)


def named_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name", no_wrap=True)
    for column in columns:
        table.add_column(column)
    return table


def options_of(family: Any) -> str:
    return ", ".join(f"{item.name} {default_of(item)}".rstrip() for item in fields(family))


def default_of(item: Any) -> str:
    """In few digits; empty where there is none."""
    value = item.default
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    return "" if value is MISSING else repr(value)


def first_sentence(kind: type) -> str:
    """What a class says of itself in its first line."""
    return (inspect.getdoc(kind) or "").partition("\n")[0].partition(". ")[0].rstrip(".")
