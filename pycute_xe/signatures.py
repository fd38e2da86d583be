"""What a call was given, held against what its signature says.

A function that computes does not look at its arguments twice. When it stumbles over one, `typed`
looks then: an argument that is not what the annotation says is named, with its type. An error
that no argument explains is a defect of the library and passes as it is.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache, partial, wraps
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pycute_xe.errors import CuteError, InputError, beyond, meant, quoted, type_words, with_article
from pycute_xe.typing import is_tuple

__all__ = [
    "MOST_LEVELS",
    "demand_leaf",
    "conforms",
    "is_leaf",
    "is_own",
    "leaves_of",
    "levels_of",
    "named_instead",
    "types_decide",
    "types_in",
    "STUMBLES",
    "blame",
    "checked_fields",
    "shortly",
    "typed",
    "typed_fields",
]


# Where leaves come from, apart from Python.
_INTEGERS = ("pycute_xe.basis", "pycute_xe.symbolic", "pycute_xe.f2", "pycute_xe.typing", "sympy")

MOST_PLACES = sys.maxsize
"""The place of an argument that is given by name alone."""

MOST_LEVELS = 100
"""How deep tuples may nest: layouts and text that nest deeper are refused, and arguments with which
Python's own limit is met."""


def levels_of(value: Any) -> int:
    """How deep tuples nest, counted without recursion, to one more than is allowed."""
    level, tuples = 0, {id(value): value} if is_tuple(value) else {}
    while level <= MOST_LEVELS and any(map(len, tuples.values())):
        parts = (part for one in tuples.values() for part in one)
        # What occurs twice is looked into once; most parts are integers.
        tuples = {id(part): part for part in parts if type(part) is not int and is_tuple(part)}
        level += 1
    return level


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the leaves of a tuple, however deep."""
    pending = [value]
    while pending:
        one = pending.pop()
        if is_tuple(one):
            pending += reversed(one)
        else:
            yield one


def is_leaf(value: Any) -> bool:
    """Whether a value may be a leaf: an integer, a symbolic one, a basis element or ``None``."""
    return value is None or type(value) is int or type(value).__module__.startswith(_INTEGERS)


def is_own(value: Any) -> bool:
    """Whether a value is a leaf, or another value of the library."""
    return is_leaf(value) or type(value).__module__.startswith("pycute_xe.")


def demand_leaf(operation: str, value: Any) -> None:
    """Refuse a value that is not a leaf of a tuple: a list, a text, a float.

    Integers of other packages pass: what is computed from them is checked where it is kept.

    >>> demand_leaf("size", 4)
    >>> demand_leaf("size", [4, 8])
    Traceback (most recent call last):
        ...
    pycute_xe.errors.InputError: size(value=[4, 8]): value is a list. Way out: write (4, 8)
    """
    if not is_own(value) and not hasattr(value, "__index__"):
        way_out = f"write {meant(value)}" if meant(value) else f"give {NESTED['IntTuple']}"
        wrong = f"value is {with_article(type(value).__name__)}"
        raise InputError(operation, {"value": quoted(value)}, wrong, way_out)


def conforms(value: Any, kind: Any) -> bool:
    """Tell whether a value is of an annotated type, items of tuples and mappings included.

    >>> conforms((1, "x"), tuple[int, ...]), conforms({"K": 32}, Mapping[str, int])
    (False, True)
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(conforms(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if isinstance(origin, type):
        return isinstance(value, origin) and _parts_conform(value, origin, inner)
    if not isinstance(kind, type):
        return True
    if kind is int:
        return type(value) is int or (is_leaf(value) and value is not None)
    if kind is float:
        return type(value) in (int, float)
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol
        return True


def _parts_conform(value: Any, origin: type, inner: tuple[Any, ...]) -> bool:
    if issubclass(origin, Mapping) and len(inner) == 2:
        return all(conforms(k, inner[0]) and conforms(v, inner[1]) for k, v in value.items())
    if origin is not tuple or not inner:
        return True
    if inner[-1] is Ellipsis:
        return all(conforms(part, inner[0]) for part in _to_look_at(value, inner[0]))
    return len(value) == len(inner) and all(map(conforms, value, inner))


def _to_look_at(parts: tuple[Any, ...], kind: Any) -> Iterable[Any]:
    """The parts of a tuple that decide: one of each type where the type alone decides."""
    plain = get_origin(kind) is None and isinstance(kind, type)
    if plain and not getattr(kind, "_is_protocol", False):
        representatives: dict[Any, Any] = {type(part): part for part in parts}
        return representatives.values()
    return parts


def types_in(value: object) -> object:
    """Return the type of a value; of a tuple, the types of its parts.

    >>> types_in(4), types_in((4, "x"))
    (<class 'int'>, (<class 'int'>, <class 'str'>))
    """
    return tuple(map(type, value)) if is_tuple(value) and type(value) is tuple else type(value)


def types_decide(value: object, kind: Any) -> bool:
    """Tell whether what conforms to a kind conforms with all values of the same `types_in`.

    >>> types_decide((4,), tuple[int, ...]), types_decide(((4,),), tuple[Any, ...])
    (True, False)
    """
    nested = is_tuple(value) and (type(value) is not tuple or any(map(is_tuple, value)))
    return not nested and _by_type(kind)


def _by_type(kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType, tuple):
        return all(map(_by_type, inner))
    if origin is Literal:
        return False
    if isinstance(origin, type):
        return not issubclass(origin, Mapping)
    return not getattr(kind, "_is_protocol", False)


P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
SIZES = ("sizes", "params")
"""Arguments that are mappings from the names of sizes to integers."""

_SLIPS = (AttributeError, TypeError, LookupError, ValueError, ArithmeticError)
STUMBLES = (*_SLIPS, RecursionError, MemoryError)
# What Python and NumPy say of a value that does not take part: the type is quoted, or an array's.
_QUOTED = re.compile(r"'(?:\w+\.)*(\w+)'|dtype|truth value of an (array)")
# Names that say more than a type can (see `typing`); so does ``Any`` of functions that stumble.
NESTED = {
    "IntTuple": "an integer or a tuple of integers, nested at will",
    "Shape": "a positive integer or a tuple of those, nested at will",
    "Stride": "an integer, a basis element or a tuple of those, nested as the shape",
    "Coord": "an integer, None or a tuple of those, nested as the shape",
    "Tiler": "a layout, an integer, None or a tuple of those",
    "Any": "an integer, a tuple of integers or a layout",
}

# Constructors of dataclasses: an inherited field is annotated where it is declared.
_KINDS: dict[Callable[..., Any], type] = {}


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, or method, with arguments of a wrong type refused by name.

    Raises `InputError` where the function raises an error that is not a `CuteError` and an
    argument is not of its annotated type; other errors pass.

    >>> @typed
    ... def double(count: int) -> int:
    ...     return count.__index__() * 2
    >>> double(2)
    4
    >>> double("2")
    Traceback (most recent call last):
        ...
    pycute_xe.errors.InputError: double(count='2'): count is a str. Way out: give count as int
    """
    flags, more = _flags(function), _unpacked(function)

    @wraps(function)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except STUMBLES as error:
            blame(function, args, error, kwargs)
            raise

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, place in flags:
            value = kwargs.get(name, args[place] if place < len(args) else False)
            if type(value).__name__ not in ("bool", "bool_"):
                raise _not_a_flag(function, name, value)
        if more and kwargs:
            _demand_named(function, more, kwargs)
        return plain(*args, **kwargs)

    return call if flags or more else plain


def _flags(function: Callable[..., Any]) -> tuple[tuple[str, int], ...]:
    """The arguments that are true or false, and their places: any value passes for one there."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    taken = [code.co_argcount - 1, MOST_PLACES]
    is_flag = function.__annotations__.get
    return tuple(
        (name, place if place <= taken[0] else taken[1])
        for place, name in enumerate(names)
        if is_flag(name) in ("bool", bool)
    )


def _not_a_flag(function: Callable[..., Any], name: str, value: Any) -> InputError:
    wrong = f"{name} is {quoted(value)}, and must be True or False"
    called = _called(function)
    return InputError(called, {name: shortly(value)}, wrong, f"write {name}=True or {name}=False")


def _unpacked(function: Callable[..., Any]) -> str:
    """The class that lists a function's further arguments by name, where it has one."""
    for annotation in function.__annotations__.values():
        if isinstance(annotation, str) and annotation.startswith("Unpack["):
            return annotation[7:-1]
    return ""


def _demand_named(function: Callable[..., Any], more: str, kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments by name that are neither a function's own nor among those it passes on."""
    own, passed = _taken(function, more)
    for name, value in kwargs.items():
        if name not in own and name not in passed:
            raise _unknown(function, name, value, {**own, **passed})
        if name not in own and (misfit := _misfit(value, passed[name])):
            if passed[name] is bool:
                raise _not_a_flag(function, name, value)
            wrong, fix = f"{name} {misfit}", f"give {name} as {type_words(passed[name])}"
            raise InputError(_called(function), {name: shortly(value)}, wrong, fix)


def _unknown(
    function: Callable[..., Any], name: str, value: Any, taken: Mapping[str, Any]
) -> InputError:
    """Return the refusal of a name that is not among those of arguments, with their types."""
    called = _called(function)
    wrong = f"{called} takes no argument named {name[:60]}"
    return InputError(called, {name: shortly(value)}, wrong, named_instead(name, value, taken))


@cache
def _taken(function: Callable[..., Any], more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The types of a function's own arguments, and of those that a class of its module lists."""
    parameters = inspect.signature(function).parameters.values()
    own = (p for p in parameters if p.kind is not p.VAR_KEYWORD)
    kinds = {p.name: _resolved(p.annotation, inspect.unwrap(function)) for p in own}
    return kinds, get_type_hints(function.__globals__[more])


def _called(function: Callable[..., Any]) -> str:
    """Return the name by which a function, a method or a class is called."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]


def blame(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    error: BaseException,
    kwargs: dict[str, Any] | None = None,
) -> None:
    """Raise the `InputError` that explains an error by an argument of a wrong type, if one does.

    What `typed` does, for a function too quick to be wrapped: it catches `STUMBLES` itself. What a
    function among the arguments raises is its caller's, and passes. A `CuteError` passes, too;
    one that speaks of an argument (``refused``) names it and the function from now on.
    >>> blame(abs, (3,), CuteError("abs", {}, "refused"))
    """
    given = kwargs or {}
    if isinstance(error, CuteError):
        if error.refused:
            named = inspect.signature(function).bind(*args, **given).arguments
            error.renamed(_called(function), named)
    elif not _is_of(error, (*args, *given.values())):
        slip = _slip(function, args, given, error)
        if slip is not None:
            raise slip from error


def _is_of(error: BaseException, values: Iterable[Any]) -> bool:
    """Whether an error was raised inside a call of one of the values."""
    own = {*map(_code_of, values)} - {None}
    step = error.__traceback__
    while own and step is not None:
        if step.tb_frame.f_code in own:
            return True
        step = step.tb_next
    return False


def _code_of(value: Any) -> types.CodeType | None:
    """Return the code that a call of a value runs; None for values of the library."""
    function = value.func if isinstance(value, partial) else value
    if type(function).__module__.startswith("pycute_xe."):
        return None
    code = getattr(function, "__code__", None)
    if code is None and callable(function):
        code = getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def typed_fields(kind: type[C]) -> type[C]:
    """Return a dataclass whose constructor is `typed`.

    >>> from dataclasses import dataclass
    >>> @typed_fields
    ... @dataclass(frozen=True)
    ... class Extent:
    ...     name: str
    ...     def __post_init__(self) -> None:
    ...         self.name.upper()
    >>> Extent(3)
    Traceback (most recent call last):
        ...
    pycute_xe.errors.InputError: Extent(name=3): name is an int. Way out: give name as str
    """
    _KINDS[inspect.unwrap(kind.__init__)] = kind
    kind.__init__ = typed(kind.__init__)
    return kind


def checked_fields(kind: type[C]) -> type[C]:
    """Return a dataclass whose fields, as they are kept, are what their annotations say.

    For values that others read: a field of a wrong type is refused where it is given, with
    `InputError`, and not by whoever stumbles over it.

    >>> from dataclasses import dataclass
    >>> @checked_fields
    ... @dataclass(frozen=True)
    ... class Extent:
    ...     name: str
    >>> Extent(3)
    Traceback (most recent call last):
        ...
    pycute_xe.errors.InputError: Extent(name=3): name is an int. Way out: give name as str
    """
    plain = kind.__init__
    _KINDS[inspect.unwrap(plain)] = kind
    made = typed(plain)
    annotated = [(f.name, f.type, set[object]()) for f in fields(kind) if f.type != "Any"]  # pyright: ignore[reportArgumentType]

    @wraps(plain)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        for name, annotation, settled in annotated:
            value = getattr(self, name)
            if types_in(value) in settled:
                continue
            wrong = _wrong(value, annotation, plain)
            if wrong:
                fix = _way_out(name, value, annotation, plain)
                raise InputError(kind.__name__, {name: shortly(value)}, f"{name} {wrong}", fix)
            known = Any if annotation in NESTED else _resolved(annotation, inspect.unwrap(plain))
            if types_decide(value, known):
                settled.add(types_in(value))

    kind.__init__ = init
    return kind


def _slip(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: BaseException,
) -> InputError | None:
    """Return the refusal of an argument: one that is not what the signature says, or is named."""
    signature = inspect.signature(function)
    called = _called(function)
    if function.__name__ == "__init__" and args:  # of the class that is built, or of one above it
        called = type(args[0]).__name__
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return _unbound(function, signature, args, kwargs)
    given = [
        (name, one, signature.parameters[name].annotation)
        for name, value in bound.arguments.items()
        for one in _each(signature.parameters[name], value)
        if name not in ("self", "cls")
    ]
    wrong = ((*one, _wrong(one[1], one[2], function)) for one in given)
    quoted = ((*one, _quoted(one[1], error)) for one in given)
    for name, value, annotation, what in (*wrong, *quoted):
        if what:
            fix = _way_out(name, value, annotation, function)
            return InputError(called, {name: shortly(value)}, f"{name} {what}", fix)
    for name, value, _ in given:
        if words := beyond(name, tuple(leaves_of(value)), error):
            return InputError(called, {name: shortly(value)}, *words)
    return None


def _unbound(
    function: Callable[..., Any],
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> InputError:
    """Return the refusal of a call that does not fit its signature."""
    called = _called(function)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    args = args[len(signature.parameters) - len(parameters) :]
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in (name for name in kwargs if not takes_all and name not in by_name):
        kinds = {p.name: _resolved(p.annotation, inspect.unwrap(function)) for p in parameters}
        return _unknown(function, name, kwargs[name], {one: kinds[one] for one in by_name})
    given = {p.name for p, _ in zip(by_place, args, strict=False)}
    twice = given & kwargs.keys()
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.name not in given and p.name not in kwargs
    ]
    if twice:
        reason = f"{min(twice)} is given twice, by place and by name"
    elif missing:
        listed = ", ".join(missing[:-1]) + " and " * (len(missing) > 1) + missing[-1]
        reason = f"{listed} {'is' if len(missing) == 1 else 'are'} missing"
    else:
        reason = f"{len(args)} arguments are given by place, and {len(by_place)} are taken so"
    names = (*(p.name for p in by_place), *(f"argument {i + 1}" for i in range(len(args))))
    operands = {name: shortly(v) for name, v in (*zip(names, args, strict=False), *kwargs.items())}
    call = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
    return InputError(called, operands, reason, f"call {called}({call})")


def named_instead(name: str, value: Any, taken: Mapping[str, Any]) -> str:
    """Return how to give what was given under a name that is not among those taken.

    ``taken`` has the type of each argument by its name: one of another type is not meant.

    >>> named_instead("tiles", (8, 16), {"tile": tuple[int, int], "order": str})
    'write tile=(8, 16)'
    >>> named_instead("tiles", "8x16", {"tile": tuple[int, int], "order": str})
    'it takes tile, order'
    """
    from difflib import get_close_matches

    fit = [one for one, kind in taken.items() if conforms(value, kind)]
    if near := get_close_matches(name.casefold(), fit, 1, 0.6):
        text = repr(value) if is_leaf(value) or is_tuple(value) else shortly(value)
        return f"write {near[0]}={'…' if text == type(value).__name__ else text[:60]}"
    if name.isupper() and type(value) is int:
        for one in taken:
            if one in SIZES and conforms({name: value}, taken[one]):
                return f"write {one}={{'{name}': {value}}}"
    return f"it takes {', '.join(taken) or 'none by name'}"


def _each(parameter: inspect.Parameter, value: Any) -> tuple[Any, ...]:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return value
    return tuple(value.values()) if parameter.kind is parameter.VAR_KEYWORD else (value,)


def _wrong(value: Any, annotation: Any, function: Callable[..., Any]) -> str:
    """Say what is wrong with a value, in words that follow the argument's name."""
    if levels_of(value) > MOST_LEVELS:
        return f"nests more than {MOST_LEVELS} levels deep"
    if annotation in NESTED:
        is_fit = is_own if annotation in ("Any", "Tiler") else is_leaf
        foreign = (type(leaf).__name__ for leaf in leaves_of(value) if not is_fit(leaf))
        return _phrase(value, next(foreign, ""))
    return _misfit(value, _resolved(annotation, inspect.unwrap(function)))


def _misfit(value: Any, kind: Any) -> str:
    """Say what is wrong with a value that is not of a type; nothing where it is."""
    if conforms(value, kind):
        return ""
    # What is of the right type, and not one of the right values, is shown.
    if _is_choice(value, kind) or isinstance(value, Mapping):
        return f"is {quoted(cast('object', value))}"
    return f"is {with_article(type(value).__name__)}"


def _is_choice(value: Any, kind: Any) -> bool:
    """Whether a value has the type that a kind asks for, a tuple or one of some values."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Literal, tuple):
        return type(value) in (map(type, inner) if origin is Literal else (tuple,))
    return origin in (Union, types.UnionType) and any(_is_choice(value, one) for one in inner)


def _quoted(value: Any, error: BaseException) -> str:
    """Say what an error says of a value, where it quotes the value's type."""
    names = {match[1] or "ndarray" for match in _QUOTED.finditer(str(error))}
    kinds = (type(leaf).__name__ for leaf in (value, *leaves_of(value)))
    return _phrase(value, next((kind for kind in kinds if kind in names), ""))


def _phrase(value: Any, kind: str) -> str:
    verb = "holds" if is_tuple(value) and kind != "tuple" else "is"
    return f"{verb} {with_article(kind)}" if kind else ""


@cache
def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return the type that an annotation means; ``Any`` for what only type checkers import."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    kinds = _KINDS[function].__mro__ if function in _KINDS else ()
    names = ChainMap(*(vars(sys.modules[kind.__module__]) for kind in kinds))
    try:
        return get_type_hints(holder, function.__globals__, names)["it"]
    except (NameError, TypeError, AttributeError):
        return Any


def _way_out(name: str, value: Any, annotation: Any, function: Callable[..., Any]) -> str:
    """Return what to give instead, in words for a reader."""
    if levels_of(value) > MOST_LEVELS:
        return f"nest at most {MOST_LEVELS} levels"
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    text = str(text or annotation)
    if text == "Tensor" and type(value).__name__ in ("Layout", "ComposedLayout", "F2Layout"):
        return "make_tensor(None, layout) makes a tensor of a layout"
    words = type_words(_resolved(annotation, inspect.unwrap(function)))
    if text not in NESTED and "Any" not in words:  # what is known to type checkers alone is Any
        text = words
    return f"give {name} as {NESTED.get(text, text).replace(' | ', ' or ')}"


def shortly(value: Any) -> str:
    """Return a value in a few characters, or its type where it is long.

    >>> shortly("ab"), shortly(list(range(100)))
    ("'ab'", 'list')
    """
    small = type(value) in (float, str, bool, type(None))
    if small or (type(value) is int and value.bit_length() < 200):
        text = repr(value)
        if len(text) <= 60:
            return text
    return type(value).__name__
