"""Arguments of constructors: which there are, what they may be, and errors that name them."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from ensample.errors import EnsampleError, InvalidArgument
from ensample.registry import is_ours, one_of, public_classes, public_object

Bases = tuple[str, ...]
"""Names of public base classes: to ask whether an object belongs to one imports nothing."""
Table = dict[str, Any]
Units = Mapping[str, Callable[[], float]]
"""What a number may be given in; a unit is computed when it is used."""

PARTS: Bases = ("InitialLaw", "MemberRule", "RewardModel")
INNER: Bases = (*PARTS, "Noise", "Arms", "Setting")
RECIPES: Bases = ("Recipe", *PARTS, "Setting")
FEATURES: Bases = ("Features", "Encoder", "Reward")
LONGEST = 60  # characters of an unknown name in a message


def belongs_to(kind: type, bases: Bases) -> bool:
    """Return True if a class is derived from one of these public classes."""
    return any(base.__name__ in bases and is_ours(base) for base in kind.__mro__)


@cache
def classes_of(bases: Bases) -> dict[str, type[Any]]:
    """Return our classes derived from these, by name, without abstract ones."""
    return public_classes(*map(public_object, bases))


class ArgumentType(NamedTuple):
    """Values that an argument may have, by its type."""

    classes: Mapping[str, Any]  # ours that it may be, where it asks for some
    number: bool
    words: tuple[str, ...] | None  # texts that it may be; None where any text may be

    def allows(self, word: str) -> bool:
        return self.words is None or word in self.words

    def expected(self, word: str, units: Units) -> str:
        """Return what a text that stands for nothing could have been."""
        choices = [*(units if self.number else ()), *self.classes]
        if not choices:
            return "a number" if self.number else "what it takes, such as mymodule:it"
        return f"{'a number, or ' * self.number}{one_of(word[:LONGEST], choices)}"


ANYTHING = ArgumentType({}, True, ("auto",))


def object_of(*bases: type) -> ArgumentType:
    """Return the type of an argument that is an object of one of these classes."""
    return ArgumentType(public_classes(*bases), False, ())


@lru_cache(10_000)
def argument_type(make: Any, name: str) -> ArgumentType:
    """Return the type of one argument of a class or a function.

    >>> import ensample as es
    >>> argument_type(es.EnsembleSampling, "model").expected("Logistik", {})
    "one of Linear, Logistic, Neural, TorchModel (did you mean 'Logistic'?)"
    """
    make = getattr(make, "func", make)  # of `partial`
    if is_dataclass(make) and any(
        item.name == name and item.metadata.get("text") for item in fields(make)
    ):
        return ANYTHING._replace(words=None)  # the name of a file or of a column
    is_plain_class = isinstance(make, type) and not is_dataclass(make)
    try:
        hint = get_type_hints(make.__init__ if is_plain_class else make)[name]
    except Exception:  # annotations of somebody else's may be anything
        return ANYTHING
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    parts = [item for item in types if isinstance(item, type) and belongs_to(item, INNER)]
    words = [word for item in types if get_origin(item) is Literal for word in get_args(item)]
    return ArgumentType(
        public_classes(*parts) if parts else {},
        float in types or int in types or Any in types,
        None if str in types else tuple(words),
    )


signature_of = lru_cache(1000)(inspect.signature)


def parameters(make: Any) -> Mapping[str, inspect.Parameter]:
    """Return what a class or a function takes, by name; nothing where that is not known."""
    try:
        return signature_of(make).parameters
    except (TypeError, ValueError):
        return {}


def keep(argument: str, value: Any, takes: ArgumentType) -> Any:
    return value


def construct(
    make: Any,
    options: Table,
    read: Callable[[str, Any, ArgumentType], Any] = keep,
    by_place: Sequence[Any] = (),
) -> Any:
    """Return `make(*by_place, **options)`, each argument as `read` understands it.

    Errors name the option; whatever a constructor raises beside ours becomes one of ours.
    """
    takes = parameters(make).values()
    names = [item.name for item in takes if item.kind is item.POSITIONAL_OR_KEYWORD]
    if len(by_place) > len(names):
        expected = f"at most {len(names)} arguments without a name: {', '.join(names)}"
        raise InvalidArgument("fields", len(by_place), expected)
    for name, value in zip(names, by_place, strict=False):
        if name in options:
            raise InvalidArgument(name, options[name], "one value: it is given by its place too")
        options = {name: value} | options
    check_arguments(make, options)
    values = {name: read(name, value, argument_type(make, name)) for name, value in options.items()}
    given = dict(values)
    rest = [item.name for item in takes if item.kind is item.VAR_POSITIONAL]
    try:
        spread = [value for name in rest for value in given.pop(name, ())]  # of `Columns(*names)`
        return make(*spread, **given)
    except EnsampleError:
        raise
    except Exception as error:
        expected = f"arguments that {label_of(make)} accepts ({type(error).__name__}: {error})"
        raise InvalidArgument("fields", values, expected) from error


def check_arguments(make: Any, options: Table) -> None:
    """Raise unless these are arguments of a class or a function, and all that it needs."""
    takes = parameters(make)
    if any(item.kind is item.VAR_KEYWORD for item in takes.values()):
        return
    check_names(options, list(takes), f"a field of {label_of(make)}")
    for name, item in takes.items():
        is_needed = item.default is item.empty and item.kind is not item.VAR_POSITIONAL
        if is_needed and name not in options:
            raise InvalidArgument(name, None, f"to be given: {label_of(make)} needs it")


def check_names(options: Table, allowed: list[str], expected: str) -> None:
    """Raise if an option has a name that is not allowed.

    >>> check_names({"sise": 3}, ["size"], "a field of EnsembleSampling")
    Traceback (most recent call last):
    ...
    ensample.errors.InvalidArgument: sise = 3: expected a field of EnsembleSampling: one of size
    (did you mean 'size'?)
    """
    for name, value in options.items():
        if name not in allowed:
            choices = f": {one_of(str(name)[:LONGEST], allowed)}" if allowed else ""
            raise InvalidArgument(str(name)[:LONGEST], value, f"{expected}{choices}")


def label_of(make: Any) -> str:
    """Return how messages call a class, a function or one with its first argument given."""
    inner = getattr(make, "func", None)
    return inner.__qualname__ if inner is not None else getattr(make, "__name__", repr(make))


@contextmanager
def within(argument: str) -> Iterator[None]:
    """Errors inside name the argument that theirs is a part of."""
    try:
        yield
    except InvalidArgument as error:
        raise type(error)(f"{argument}.{error.argument}", error.value, error.expected) from None
