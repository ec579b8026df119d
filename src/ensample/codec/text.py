"""Typed text: `EnsembleSampling(size=20, scale=2*noise)`, parsed and looked up, never evaluated."""

import ast
import inspect
from functools import partial
from typing import Any, NamedTuple

from ensample.checks import blaming
from ensample.codec.arguments import (
    ANYTHING,
    PARTS,
    ArgumentType,
    Units,
    belongs_to,
    check_arguments,
    classes_of,
    construct,
    parameters,
    within,
)
from ensample.errors import InvalidArgument
from ensample.registry import import_object, one_of, public_object

THEOREM = "from_theorem"
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
LONGEST = 2000  # characters: enough for any recipe, too few to exhaust a parser
EXAMPLES = {
    "Recipe": "a recipe such as EnsembleSampling(size=20, scale=2*noise), LinUCB.from_theorem or "
    "mymodule:MyRecipe(size=3)",
    "Perturbation": "a law such as Gaussian, CenteredBinomial(trials=4) or mymodule:MyLaw",
}


def from_text(argument: str, text: str, base: str, units: Units, setting: Any = None) -> Any:
    """Return the recipe or the law that a text describes; it is parsed, never evaluated.

    `Name.from_theorem` takes its constants from `setting`. Names with a module, `mymodule:MyRecipe`
    or `mymodule.MyLaw` within brackets, are imported.

    >>> text = "EnsembleSampling(size=20, scale=2*noise)"
    >>> from_text("policy", text, "Recipe", {"noise": lambda: 0.3}).scale
    0.6
    """
    module, node = parsed(argument, text, base)
    names = dotted(node.func if isinstance(node, ast.Call) else node)
    if not names:
        raise InvalidArgument(argument, text, EXAMPLES[base])
    make = typed_object(argument, text, base, module, names)
    kind = public_object(base)
    if isinstance(make, kind) and not isinstance(node, ast.Call):
        return make
    if not callable(make):
        expected = f"a {base.lower()} or its class, and {names[-1]} is {make!r}"
        raise InvalidArgument(argument, text, expected)
    if names[-1] == THEOREM:
        make = partial(make, setting)
    try:
        with blaming(text):
            made = TextReader(units).call(make, node)
    except RecursionError:
        expected = f"{EXAMPLES[base]}, less deeply nested"
        raise InvalidArgument(argument, text, expected) from None
    if not isinstance(made, kind):
        raise InvalidArgument(argument, text, f"a {base.lower()}, and this makes {made!r}")
    return made


def parsed(argument: str, text: str, base: str) -> tuple[str, ast.expr]:
    """Return the module, if one is named, and the syntax tree of the rest."""
    module, colon, call = text.partition(":") if ":" in text.partition("(")[0] else ("", "", text)
    names = module.split(".") if colon else []
    if len(text) > LONGEST or not all(name.isidentifier() for name in names):
        raise InvalidArgument(argument, text, EXAMPLES[base])
    try:
        return module, ast.parse(call.strip(), mode="eval").body
    except SyntaxError as error:
        raise InvalidArgument(argument, text, f"{EXAMPLES[base]} ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError):  # null characters; too many brackets
        raise InvalidArgument(argument, text, EXAMPLES[base]) from None


def typed_object(argument: str, text: str, base: str, module: str, names: list[str]) -> Any:
    """Return the class, the function or the object that the outermost name of a text stands for."""
    if module:
        try:
            return import_object(argument, f"{module}:{'.'.join(names)}")
        except InvalidArgument as error:
            raise InvalidArgument(argument, text, error.expected) from error
    name, *rest = names
    classes = classes_of((base,))
    if rest and name not in classes:
        return import_object(argument, f"{'.'.join(names[:-1])}:{names[-1]}")
    if name not in classes:
        expected = f"a {base.lower()}: {one_of(name, list(classes))}"
        raise InvalidArgument(argument, text, expected)
    if rest not in ([], [THEOREM]):
        raise InvalidArgument(argument, text, f"{name} or {name}.{THEOREM}")
    if rest and not hasattr(classes[name], THEOREM):
        expected = f"{name} with fields: no theorem here prescribes them"
        raise InvalidArgument(argument, text, expected)
    return getattr(classes[name], THEOREM) if rest else classes[name]


class TextReader(NamedTuple):
    """Maker of objects from the syntax tree of a text."""

    units: Units

    def value(self, argument: str, node: ast.expr, takes: ArgumentType) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.value(argument, item, takes) for item in items)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(argument, operand)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.number(argument, left) * self.number(argument, right)
            case ast.Name(id=name) if name in self.units:
                return self.units[name]()
            case ast.Name(id=word) if takes.allows(word):
                return word
            case ast.Name() | ast.Attribute():
                return self.part(argument, node, node, takes)
            case ast.Call(func=ast.Name() | ast.Attribute() as name):
                return self.part(argument, name, node, takes)
        raise InvalidArgument(argument, ast.unparse(node), takes.expected("", self.units))

    def part(self, argument: str, name: ast.expr, node: ast.expr, takes: ArgumentType) -> Any:
        """Return a law, a rule or a model: ours, or `mymodule.MyLaw`, a class or an object."""
        *module, last = dotted(name) or [""]
        found = classes_of(PARTS).get(last)
        if module:
            found = import_object(argument, f"{'.'.join(module)}:{last}")
        if not belongs_to(found if isinstance(found, type) else type(found), PARTS):
            expected = takes.expected(last, self.units)
            raise InvalidArgument(argument, ast.unparse(node), expected)
        if not isinstance(found, type):
            return found
        with within(argument):
            return self.call(found, node)

    def number(self, argument: str, node: ast.expr) -> float:
        value = self.value(argument, node, ANYTHING)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidArgument(argument, ast.unparse(node), "a number")
        return value

    def call(self, make: Any, node: ast.expr) -> Any:
        """Return `make` called with the arguments of a call; a name without brackets has none."""
        options: dict[str, ast.expr] = {}
        if isinstance(node, ast.Call):
            names = [name for name, item in parameters(make).items() if item.kind in BY_PLACE]
            if len(node.args) > len(names):
                expected = f"at most {len(names)} arguments without a name: {', '.join(names)}"
                raise InvalidArgument("fields", len(node.args), expected)
            options |= zip(names, node.args, strict=False)
            for word in node.keywords:
                if word.arg is None or word.arg in options:
                    expected = "name=value, each name once"
                    raise InvalidArgument("field", ast.unparse(word), expected)
                options[word.arg] = word.value
        check_arguments(make, {name: shown(item) for name, item in options.items()})
        return construct(make, options, self.value)


def shown(node: ast.expr) -> Any:
    """Return how messages show an argument: a constant as it is, anything else as it is typed."""
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def dotted(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`; none for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []
