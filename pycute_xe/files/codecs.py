"""How a value of an annotated type is written and read: one rule for each form of annotation.

The fields of a dataclass are written by their annotations, and read back through its constructor,
which checks them as it checks any other values. A form that no rule knows is refused by name.
"""

from __future__ import annotations

import math
import struct
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, cached_property
from typing import (
    Any,
    Literal,
    Protocol,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pycute_xe.errors import CuteError, quoted
from pycute_xe.files.makers import MAKERS
from pycute_xe.files.registry import class_named, members
from pycute_xe.files.text import Unfit
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import STUMBLES
from pycute_xe.typing import is_tuple

__all__ = ["Codec", "Record", "codec_of", "record_of"]

CLASS = "class"
"""The key that names an object's class. No field of Python can be called so."""

_WORDS: dict[Any, str] = {dict: "an object", list: "a list", type(None): "null"}


def _kind_of(data: object) -> str:
    """Say what a plain value is, where another was expected."""
    return _WORDS.get(type(data), quoted(data))


def _object(data: object) -> dict[str, Any] | None:
    """Return an object of a document, ``None`` for anything else."""
    return cast("dict[str, Any]", data) if type(data) is dict else None


class Defined(Protocol):
    """A form that a schema names."""

    name: str

    def definition(self, define: Define) -> dict[str, Any]:
        """Return the JSON Schema of the form itself."""
        ...


Define: TypeAlias = "Callable[[Defined], str]"
"""Returns the reference to a form, and enters its definition."""


class Codec(ABC):
    """Writes values of one form as plain values, reads them, and says which those are."""

    words: str = ""
    """What is expected, for messages."""

    @abstractmethod
    def write(self, value: Any, /) -> Any:
        """Return the plain value; raise `Unfit` for a value of another form."""

    @abstractmethod
    def read(self, data: Any, /) -> Any:
        """Return the value; raise `Unfit` for a plain value of another form."""

    @abstractmethod
    def schema(self, define: Define, /) -> dict[str, Any]:
        """Return the JSON Schema; ``define`` returns the reference to a class."""

    def unfit(self, value: object) -> Unfit:
        """Return the refusal of a value of another form."""
        return Unfit(f"{_kind_of(value)} is not {self.words}", f"write {self.words}")


# ------------------------------------------------------------ leaves


class Plain(Codec):
    """Values of one of Python's own types, as they are."""

    def __init__(self, kind: type, words: str, schema: str) -> None:
        self.kind, self.words, self._schema = kind, words, schema

    def write(self, value: Any, /) -> Any:
        if type(value) is not self.kind:
            raise self.unfit(value)
        return value

    read = write

    def schema(self, _define: Define, /) -> dict[str, Any]:
        return {"type": self._schema}


_MOST_WHOLE = 1 << 1023
"""Larger integers stand for no float."""


class Float(Codec):
    """Floats to the bit, and integers that stand for them; what JSON lacks is spelled."""

    words = 'a number, "nan", "inf" or "-inf"'

    def write(self, value: Any, /) -> Any:
        if type(value) not in (int, float):
            raise self.unfit(value)
        if math.isfinite(value):
            return value
        if not math.isnan(value):
            return "inf" if value > 0 else "-inf"
        bits = struct.pack(">d", value).hex()
        return "nan" if bits == _NAN else f"nan:{bits}"

    def read(self, data: Any, /) -> Any:
        if type(data) is float or (type(data) is int and abs(data) <= _MOST_WHOLE):
            return data
        if isinstance(data, str) and data in _FLOATS:
            return _FLOATS[data]
        if isinstance(data, str) and data.startswith("nan:") and len(data) == 20:
            try:
                (number,) = struct.unpack(">d", bytes.fromhex(data[4:]))
            except ValueError as error:
                raise self.unfit(data) from error
            if math.isnan(number):
                return number
        raise self.unfit(data)

    def schema(self, _define: Define, /) -> dict[str, Any]:
        named = {"type": "string", "pattern": "^(nan(:[0-9a-f]{16})?|-?inf)$"}
        return {"anyOf": [{"type": "number"}, named]}


_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NAN = struct.pack(">d", math.nan).hex()


class OneOf(Codec):
    """Members of a `Literal`."""

    def __init__(self, known: tuple[Any, ...]) -> None:
        self.known = known
        self.words = " or ".join(map(repr, known))

    def write(self, value: Any, /) -> Any:
        if not any(type(value) is type(one) and value == one for one in self.known):
            raise self.unfit(value)
        return value

    read = write

    def schema(self, _define: Define, /) -> dict[str, Any]:
        return {"enum": list(self.known)}


class Named(Codec):
    """Element types by their names."""

    words = "the name of an element type"

    def write(self, value: Any, /) -> Any:
        if type(value) is not Numeric or self.read(value.name) != value:
            raise self.unfit(value)
        return value.name

    def read(self, data: Any, /) -> Any:
        if not isinstance(data, str):
            raise self.unfit(data)
        numeric = _made(as_numeric, data)
        if numeric.name != data:
            raise Unfit(f"{data!r} is another name of {numeric}", f"write {numeric.name!r}")
        return numeric

    def schema(self, _define: Define, /) -> dict[str, Any]:
        return {"type": "string"}


# ------------------------------------------------------------ containers


class Sequence(Codec):
    """Tuples as lists: of one form, or with a form for each entry."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.open = len(parts) == 2 and parts[1] is Ellipsis
        self.parts = parts[:1] if self.open else parts
        self.words = "a list" if self.open else f"a list of {len(self.parts)}"

    @cached_property
    def codecs(self) -> tuple[Codec, ...]:
        return tuple(map(codec_of, self.parts))

    def each(self, values: Any, does: str) -> list[Any]:
        """Write or read the entries in turn."""
        if not self.open and len(values) != len(self.parts):
            raise Unfit(f"the list has {len(values)} entries, not {len(self.parts)}")
        out: list[Any] = []
        for i, value in enumerate(values):
            try:
                out.append(getattr(self.codecs[0 if self.open else i], does)(value))
            except Unfit as error:
                raise error.within(i) from error.cause
        return out

    def write(self, value: Any, /) -> Any:
        if type(value) is not tuple:
            raise self.unfit(value)
        return self.each(value, "write")

    def read(self, data: Any, /) -> Any:
        if type(data) is not list:
            raise self.unfit(data)
        return tuple(self.each(data, "read"))

    def schema(self, define: Define, /) -> dict[str, Any]:
        inner = [codec.schema(define) for codec in self.codecs]
        if self.open:
            return {"type": "array", "items": inner[0]}
        return {"type": "array", "prefixItems": inner, "items": False, "minItems": len(inner)}


class ByName(Codec):
    """Mappings from names as objects, in their order."""

    words = "an object"

    def __init__(self, part: Any) -> None:
        self.part = part

    @cached_property
    def codec(self) -> Codec:
        return codec_of(self.part)

    def _each(self, values: Mapping[str, Any], does: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in values.items():
            if type(name) is not str:
                raise Unfit(f"the key {quoted(name)} is not a string")
            try:
                out[name] = getattr(self.codec, does)(value)
            except Unfit as error:
                raise error.within(name) from error.cause
        return out

    def write(self, value: Any, /) -> Any:
        if not isinstance(value, Mapping):
            raise self.unfit(value)
        return self._each(cast("Mapping[str, Any]", value), "write")

    def read(self, data: Any, /) -> Any:
        given = _object(data)
        if given is None:
            raise self.unfit(data)
        return self._each(given, "read")

    def schema(self, define: Define, /) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.codec.schema(define)}


# ------------------------------------------------------------ choices


class Choice(Codec):
    """One of several forms: plain values are told apart by their types, objects by their class."""

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options

    @cached_property
    def records(self) -> dict[str, Record]:
        kinds = (one for one in self.options if _is_class(one))
        return {kind.__name__: record_of(kind) for one in kinds for kind in members(one)}

    @cached_property
    def plain(self) -> tuple[Codec, ...]:
        return tuple(codec_of(one) for one in self.options if not _is_class(one))

    @cached_property
    def words(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        few = len(self.records) <= 4
        objects = [*self.records] if few else [f"one of {', '.join(sorted(self.records))}"]
        return " or ".join([*objects, *(codec.words for codec in self.plain)])

    def write(self, value: Any, /) -> Any:
        record = self.records.get(type(value).__name__)
        if record is not None:
            return record.write(value)
        return self._first(value, "write")

    def read(self, data: Any, /) -> Any:
        given = _object(data)
        if given is not None and self.records:
            name = given.get(CLASS)
            record = self.records.get(name) if isinstance(name, str) else None
            if record is None:
                raise _unclassed(name, self.words)
            return record.read(data)
        return self._first(data, "read")

    def _first(self, value: Any, does: str) -> Any:
        """Return what the form makes of a value whose error, if any, lies deepest."""
        deepest: Unfit | None = None
        for codec in self.plain:
            try:
                return getattr(codec, does)(value)
            except Unfit as error:
                if error.steps and (deepest is None or len(error.steps) > len(deepest.steps)):
                    deepest = error
        raise deepest if deepest is not None else self.unfit(value)

    def schema(self, define: Define, /) -> dict[str, Any]:
        objects = [{"$ref": define(record)} for record in self.records.values()]
        options = [*objects, *(codec.schema(define) for codec in self.plain)]
        return options[0] if len(options) == 1 else {"anyOf": options}


def _unclassed(name: object, words: str) -> Unfit:
    if name is None:
        return Unfit(f'the object does not say its "{CLASS}"', f"write {words}")
    return Unfit(f"{quoted(name)} is not the class of a value here", f"write {words}")


_LEAVES = ("Layout", "ComposedLayout", "Swizzle", "Basis", "SymbolicInt", "F2")


class Tree(Codec):
    """What shapes, strides, tilers and places are: integers, names and values, nested at will."""

    name = "Tree"
    words = "an integer, a name, null, a value of the algebra, or a list of those"

    def write(self, value: Any, /) -> Any:
        if value is None or type(value) in (int, str):
            return value
        if is_tuple(value) and type(value) is tuple:
            return _LISTS.each(value, "write")
        name = type(value).__name__
        kind = class_named(name) if name in _LEAVES else None
        if not isinstance(value, kind or ()):
            raise self.unfit(value)
        return record_of(class_named(name)).write(value)

    def read(self, data: Any, /) -> Any:
        if data is None or type(data) in (int, str):
            return data
        if type(data) is list:
            return tuple(_LISTS.each(data, "read"))
        given = _object(data)
        if given is None:
            raise self.unfit(data)
        name = given.get(CLASS)
        if name not in _LEAVES:
            raise _unclassed(name, " or ".join(_LEAVES))
        return record_of(class_named(name)).read(given)

    def schema(self, define: Define, /) -> dict[str, Any]:
        return {"$ref": define(self)}

    def definition(self, define: Define) -> dict[str, Any]:
        """Return the JSON Schema of the form itself, which names itself."""
        objects = [{"$ref": define(record_of(class_named(name)))} for name in _LEAVES]
        lists = {"type": "array", "items": {"$ref": define(self)}}
        return {"anyOf": [{"type": ["integer", "string", "null"]}, lists, *objects]}


# ------------------------------------------------------------ records


class Record(Codec):
    """Values of one class: an object of its fields, and the name of the class."""

    def __init__(self, kind: type) -> None:
        self.kind, self.name = kind, kind.__name__
        self.words = f"an object of class {self.name}"
        self.maker = MAKERS.get(self.name)

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        """The form of each field."""
        if self.maker is not None and self.maker.annotations is not None:
            return {name: codec_of(codec) for name, codec in self.maker.annotations().items()}
        if not is_dataclass(self.kind):
            raise Unfit(f"{self.name} is not a class of documents", "write its parts")
        hints = get_type_hints(self.kind)
        return {part.name: codec_of(hints[part.name]) for part in fields(self.kind)}

    @cached_property
    def later(self) -> dict[str, Any]:
        """Fields that a first document did not have, and what they are where it is left out."""
        if not is_dataclass(self.kind):
            return {}
        later = (f for f in fields(self.kind) if "later" in f.metadata)
        return {f.name: {} if f.default is MISSING else f.default for f in later}

    def write(self, value: Any, /) -> Any:
        """Return the object of a value's fields."""
        if type(value) is not self.kind:
            raise self.unfit(value)
        parts = self.maker.parts(value) if self.maker and self.maker.parts else None
        out: dict[str, Any] = {CLASS: self.name}
        for name, codec in self.codecs.items():
            part = getattr(value, name) if parts is None else parts[name]
            if name in self.later and part == self.later[name]:
                continue
            try:
                out[name] = codec.write(part)
            except Unfit as error:
                raise error.within(name) from error.cause
        return out

    def read(self, data: Any, /) -> Any:
        """Return what the constructor makes of an object's entries."""
        given = _object(data)
        if given is None:
            raise self.unfit(data)
        self._demand_keys(given)
        values: dict[str, Any] = {}
        for name, codec in self.codecs.items():
            if name not in given:
                continue
            try:
                values[name] = codec.read(given[name])
            except Unfit as error:
                raise error.within(name) from error.cause
        make: Callable[..., Any] = self.maker.make if self.maker else self.kind
        return _made(make, **values)

    def _demand_keys(self, given: dict[str, Any]) -> None:
        if given.get(CLASS) != self.name:
            raise _unclassed(given.get(CLASS), self.name)
        for name in self.codecs:
            if name not in given and name not in self.later:
                raise Unfit(f'{self.name} needs "{name}", which is missing', f'write "{name}"')
        for name in given:
            if name != CLASS and name not in self.codecs:
                known = ", ".join(self.codecs) or "nothing else"
                raise Unfit(f"{self.name} does not have the key {quoted(name)}", f"it has {known}")

    def schema(self, define: Define, /) -> dict[str, Any]:
        """Return the reference to the class."""
        return {"$ref": define(self)}

    def definition(self, define: Define) -> dict[str, Any]:
        """Return the JSON Schema of the object itself."""
        properties = {name: codec.schema(define) for name, codec in self.codecs.items()}
        return {
            "type": "object",
            "properties": {CLASS: {"const": self.name}, **properties},
            "required": [CLASS, *(name for name in properties if name not in self.later)],
            "additionalProperties": False,
        }


def _made(make: Callable[..., Any], *args: Any, **values: Any) -> Any:
    """Return what a constructor makes; its refusal becomes one of the document."""
    try:
        return make(*args, **values)
    except CuteError as error:
        raise Unfit(f"{error.operation}: {error.condition}", error.fix, error) from error
    except STUMBLES as error:
        kind = getattr(make, "__name__", "value")
        wrong = f"{kind} cannot be made of these parts: {type(error).__name__}"
        raise Unfit(wrong, cause=error) from error


# ------------------------------------------------------------ rules

_PLAIN: dict[Any, Codec] = {
    bool: Plain(bool, "true or false", "boolean"),
    int: Plain(int, "an integer", "integer"),
    str: Plain(str, "a string", "string"),
    type(None): Plain(type(None), "null", "null"),
    float: Float(),
    Numeric: Named(),
    Any: Tree(),
}


def _is_class(annotation: Any) -> bool:
    return isinstance(annotation, type) and annotation not in _PLAIN and not get_args(annotation)


@cache
def codec_of(annotation: Any) -> Codec:
    """Return the rule for an annotation; raise `Unfit` for a form that has none.

    >>> codec_of(tuple[int, ...]).write((4, 8)), codec_of(float).write(math.inf)
    ([4, 8], 'inf')
    """
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return Choice(inner)
    if origin is Literal:
        return OneOf(inner)
    if origin is tuple:
        return Sequence(inner)
    if isinstance(origin, type) and issubclass(origin, Mapping) and inner[0] is str:
        return ByName(inner[1])
    if _is_class(annotation):
        kinds = members(annotation)
        return record_of(annotation) if kinds == (annotation,) else Choice((annotation,))
    raise Unfit(f"no rule writes {annotation}", "enter one in codecs.py")


@cache
def record_of(kind: type) -> Record:
    """Return the rule for the values of a class."""
    return Record(kind)


_LISTS = Sequence((Any, ...))
