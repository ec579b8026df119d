"""Typed text: `EnsembleSampling(size=20, scale=2*noise)`, parsed and looked up, never evaluated."""

import ast
from functools import partial
from typing import Any

from ensample.checks import blaming
from ensample.codec.arguments import PARTS, Units, classes_of, construct
from ensample.codec.tables import BY_PLACE, TableReader, Unreadable
from ensample.errors import InvalidArgument
from ensample.registry import import_object, one_of, public_object

THEOREM = "from_theorem"
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
            options = arguments_of(node, units)
            by_place = options.pop(BY_PLACE, ())
            reader = TableReader(PARTS, units, imports=True)
            made = construct(make, options, reader.value, by_place)
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


def data_of(node: ast.expr, units: Units) -> Any:
    """Return a syntax tree as plain data: a call is a table, a name is a word of a table."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [data_of(item, units) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return product(ast.Constant(-1), operand, units)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return product(left, right, units)
        case ast.Name(id=name) if name in units:
            return units[name]()
        case ast.Name() | ast.Attribute():
            return reference(node)
        case ast.Call(func=ast.Name() | ast.Attribute() as name):
            return {"kind": reference(name), **arguments_of(node, units)}
    return Unreadable(ast.unparse(node))


def arguments_of(node: ast.expr, units: Units) -> dict[str, Any]:
    """Return the arguments of a call as plain data; a name without brackets has none."""
    if not isinstance(node, ast.Call):
        return {}
    options: dict[str, Any] = {}
    for word in node.keywords:
        if word.arg is None or word.arg in options:
            raise InvalidArgument("field", ast.unparse(word), "name=value, each name once")
        options[word.arg] = data_of(word.value, units)
    return options | {BY_PLACE: [data_of(item, units) for item in node.args]}


def product(left: ast.expr, right: ast.expr, units: Units) -> Any:
    factors = []
    for node in (left, right):
        value = data_of(node, units)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return Unreadable(ast.unparse(node))
        factors.append(value)
    return factors[0] * factors[1]


def reference(node: ast.expr) -> str:
    """Return a name as tables have it: `Gaussian`, or `mymodule:MyLaw` of `mymodule.MyLaw`."""
    *module, name = dotted(node) or [ast.unparse(node)]
    return f"{'.'.join(module)}:{name}" if module else name


def dotted(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`; none for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []
