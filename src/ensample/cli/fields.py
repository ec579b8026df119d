"""What may stand between the brackets of a recipe: numbers, text, units of the problem, laws, rules and models.

The text is parsed and looked up, never evaluated.
"""

import ast
import inspect
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

import ensample as es
from ensample.checks import blaming
from ensample.errors import EnsampleError, InvalidArgument
from ensample.registry import import_object, one_of, public_classes

LIGHT = public_classes(es.InitialLaw, es.MemberRule)
UNITS: dict[str, Callable[[es.Setting], float]] = {
    "noise": lambda setting: setting.noise,
    "radius": es.theory.radius,  # beta_T
}


@cache
def parts() -> dict[str, type[Any]]:
    """Laws, rules and models by name. Models bring the kernels, which take their time."""
    return LIGHT | public_classes(es.RewardModel)


def part(name: str) -> type[Any] | None:
    """A law, a rule or a model of ours."""
    return LIGHT.get(name) or parts().get(name)


@dataclass(frozen=True)
class Reader:
    """Reads the fields of the policy `text` for a setting; errors name the text."""

    text: str
    setting: es.Setting
    field: inspect.Parameter | None = None  # whose value is read, where that is known

    @property
    def argument(self) -> str:
        """How errors call what is read."""
        return f"{self.text}: {'field' if self.field is None else self.field.name}"

    def value(self, node: ast.expr) -> Any:
        """What a piece of syntax stands for."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Tuple(elts=items):
                return tuple(map(self.value, items))
            case ast.List(elts=items):
                return list(map(self.value, items))
            case ast.Name(id=name) if name in UNITS:
                return UNITS[name](self.setting)
            case ast.Name(id=name) if (found := part(name)) is not None:
                return self.call(name, found, [], {})
            case ast.Name(id=word) if takes_text(self.field, word):
                return word
            case ast.Attribute():
                found = self.theirs(node)
                return (
                    self.call(found.__name__, found, [], {}) if isinstance(found, type) else found
                )
            case ast.Call(func=ast.Attribute() as name) if isinstance(
                found := self.theirs(name), type
            ):
                return self.call(found.__name__, found, *self.arguments(node, found))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.number(left) * self.number(right)
            case ast.Call(func=ast.Name(id=name)) if (found := part(name)) is not None:
                return self.call(name, found, *self.arguments(node, found))
        unknown = node.func if isinstance(node, ast.Call) else node
        words = [*UNITS, *parts()]
        expected = (
            one_of(unknown.id, words)
            if isinstance(unknown, ast.Name)
            else f"one of {', '.join(words)}"
        )
        raise InvalidArgument(
            self.argument, ast.unparse(node), f"a number, text in quotes, or {expected}"
        )

    def theirs(self, node: ast.expr) -> Any:
        """A law, a rule or a model of the user's own, `mymodule.MyLaw`, or its class."""
        *module, name = dotted(node) or [""]
        found = import_object(self.argument, f"{'.'.join(module)}:{name}") if module else None
        kinds_of_parts = es.InitialLaw, es.MemberRule, es.RewardModel
        if not isinstance(found, kinds_of_parts) and not (
            isinstance(found, type) and issubclass(found, kinds_of_parts)
        ):
            expected = f"a number, text in quotes, a law, a rule or a model, and this is {found!r}"
            raise InvalidArgument(self.argument, ast.unparse(node), expected)
        return found

    def number(self, node: ast.expr) -> float:
        value = self.value(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidArgument(self.argument, ast.unparse(node), "a number")
        return value

    def arguments(self, node: ast.expr, make: Any) -> tuple[list[Any], dict[str, Any]]:
        """Those of a call of `make`, by place and by name; anything else has none."""
        if not isinstance(node, ast.Call):
            return [], {}
        takes = parameters_of(make)
        fields: dict[str, Any] = {}
        for word in node.keywords:
            if word.arg is None or word.arg in fields:
                raise InvalidArgument(
                    f"{self.text}: field", ast.unparse(word), "name=value, each name once"
                )
            if isinstance(word.value, ast.Name) and not is_taken(word.arg, takes):
                fields[word.arg] = (
                    word.value.id
                )  # whatever that is: `check` says which fields there are
            else:
                fields[word.arg] = replace(self, field=takes.get(word.arg)).value(word.value)
        places = itertools.chain(takes.values(), itertools.repeat(None))
        return [
            replace(self, field=field).value(item)
            for field, item in zip(places, node.args, strict=False)
        ], fields

    def call(self, name: str, make: Any, arguments: list[Any], fields: dict[str, Any]) -> Any:
        """`make(*arguments, **fields)`; `name` is what the text calls it."""
        self.check(name, make, arguments, fields)
        try:
            with blaming(self.text):
                return make(*arguments, **fields)
        except EnsampleError:
            raise
        except Exception as error:  # of a class of the user's own
            expected = f"fields that it accepts ({type(error).__name__}: {error})"
            raise InvalidArgument("policy", self.text, expected) from error

    def check(self, name: str, make: Any, arguments: list[Any], fields: dict[str, Any]) -> None:
        """Raise unless `make` takes these fields."""
        try:
            signature = inspect.signature(make)
        except (TypeError, ValueError):
            raise InvalidArgument(
                "policy", self.text, f"a recipe or its class, and {name} is {make!r}"
            ) from None
        takes = signature.parameters
        for field, value in fields.items():
            if not is_taken(field, takes):
                raise InvalidArgument(
                    f"{self.text}: {field}",
                    value,
                    f"a field of {name}: {one_of(field, list(takes))}",
                )
        try:
            signature.bind(*arguments, **fields)
        except TypeError as error:
            raise InvalidArgument(
                "policy", self.text, f"{name}{shown(signature)}: {error}"
            ) from None


def parameters_of(make: Any) -> Mapping[str, inspect.Parameter]:
    """What a class or a function takes, by name; nothing where that is not known."""
    try:
        return inspect.signature(make).parameters
    except (TypeError, ValueError):
        return {}


def is_taken(name: str, takes: Mapping[str, inspect.Parameter]) -> bool:
    """Whether what takes these takes an argument of this name."""
    return name in takes or any(item.kind is item.VAR_KEYWORD for item in takes.values())


def takes_text(field: inspect.Parameter | None, word: str) -> bool:
    """Whether a field's type lets a word without quotes be text: by `str`, or by a `Literal` of this word.

    >>> takes_text(parameters_of(es.LinUCB)["form"], "constant"), takes_text(parameters_of(es.LinUCB)["half_life"], "long")
    (True, False)
    """
    kinds = () if field is None else (field.annotation, *get_args(field.annotation))
    return any(kind in (str, "str") or word in get_args(kind) for kind in kinds)


def dotted(node: ast.expr) -> list[str]:
    """The names of `a.b.c`; none of anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def find_here() -> None:
    """Modules of the user's own may lie in the folder that the command is run in. Those that are installed come first."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def shown(signature: inspect.Signature) -> str:
    """The fields with their defaults, without types.

    >>> shown(inspect.signature(es.PerturbedHistory))
    "(scale='auto', regularization='auto', initial=None, reward=None, *, setting=None, half_life=None, model=Linear())"
    """
    plain = [
        item.replace(annotation=inspect.Parameter.empty) for item in signature.parameters.values()
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
