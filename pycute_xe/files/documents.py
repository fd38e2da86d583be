"""Documents: values of the library as JSON, and back."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, cast

from pycute_xe.emitting.measurement import Measurement
from pycute_xe.errors import InputError, quoted
from pycute_xe.files.codecs import Codec, Defined, codec_of
from pycute_xe.files.registry import class_named, kinds
from pycute_xe.files.text import MOST_CHARACTERS, Unfit, examined, parsed
from pycute_xe.signatures import shortly, typed
from pycute_xe.typing import is_tuple

__all__ = [
    "FORMAT",
    "VERSION",
    "from_json",
    "schema",
    "to_json",
    "read_report",
]

FORMAT = "pycute_xe"
VERSION = 1
"""What `to_json` writes. A class whose fields change needs the next one."""

_KEYS = ("format", "version", "kind", "value")
_TUPLE = "tuple"
MOST_INDENT = 16
"""Blanks for each level of a document."""


@typed
def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as a document: a layout, an atom, a tiling, a kernel, what a reader found.

    Law: ``from_json(to_json(x)) == x``, with equal hashes; numbers are kept to the bit. A tuple is
    a tiler, a shape or a coordinate. The form is `pycute_xe.files.schema`. Raises `InputError` for
    values of other classes, and for those beyond the limits of `pycute_xe.files`. Without a
    counterpart in C++.

    >>> import pycute_xe as cx
    >>> print(cx.to_json(cx.Layout((4, 8), (8, 1))))
    {"format": "pycute_xe", "version": 1, "kind": "Layout", "value": {"class": "Layout", \
"shape": [4, 8], "stride": [8, 1]}}
    """
    if indent is not None and (type(indent) is not int or not 0 <= indent <= MOST_INDENT):
        wrong = f"indent must be None, or an integer from 0 to {MOST_INDENT}"
        raise InputError("to_json", {"indent": shortly(indent)}, wrong, "use 2")
    name = _TUPLE if is_tuple(value) else type(value).__name__
    try:
        if isinstance(value, (list, dict)):
            parts = cast("dict[str, Any] | list[Any]", value)
            given = f"tuple({'values' if isinstance(value, list) else 'values.values()'})"
            raise Unfit(f"a {name} of {len(parts)} is not a value", f"write to_json({given})")
        kind = _kind(name)
        tree = dict(zip(_KEYS, (FORMAT, VERSION, name, None), strict=True))
        try:
            tree["value"] = kind.write(value)
        except Unfit as error:
            raise error.within("value") from error.cause
        return json.dumps(examined(tree), indent=indent, allow_nan=False)
    except Unfit as error:
        raise error.refusal("to_json") from error.cause


@typed
def from_json(text: str | bytes) -> Any:
    """Return the value that a document says. Nothing in it is executed.

    Law: ``to_json(from_json(text))`` says the same as the text. Values are built by their own
    constructors, which refuse what is wrong. Raises `InputError` that names the place in the
    document, ``$.value.body[3]``, for anything but a document of this version.

    >>> import pycute_xe as cx
    >>> cx.from_json(cx.to_json((cx.Layout(4, 2), None)))
    (Layout(4, 2), None)
    """
    try:
        return _read(parsed(text))
    except Unfit as error:
        raise error.refusal("from_json") from error.cause


def _read(tree: Any) -> Any:
    document = cast("dict[str, Any]", tree) if type(tree) is dict else {}
    if set(document) != set(_KEYS):
        given = ", ".join(map(quoted, list(document)[:5]))
        detail = f"it has {given}" if given else "this is something else"
        raise Unfit(f"a document is an object of {', '.join(_KEYS)}; {detail}")
    if document["format"] != FORMAT:
        raise Unfit(f"{quoted(document['format'])} is not {FORMAT!r}").within("format")
    if type(document["version"]) is not int or document["version"] != VERSION:
        detail = f"version {quoted(document['version'])} is not {VERSION}, which is read here"
        raise Unfit(detail, "write it again with this release of pycute_xe").within("version")
    try:
        kind = _kind(document["kind"])
    except Unfit as error:
        raise error.within("kind") from error.cause
    try:
        return kind.read(document["value"])
    except Unfit as error:
        raise error.within("value") from error.cause


def _kind(name: Any) -> Codec:
    if not isinstance(name, str):
        raise Unfit(f"{quoted(name)} is not the name of a kind of value")
    return codec_of(tuple[Any, ...]) if name == _TUPLE else codec_of(class_named(name))


@typed
def schema() -> dict[str, Any]:
    """Return the JSON Schema of documents, made of the classes' own fields.

    What a schema cannot say, such as which sizes of a message exist, the constructors say.
    Document: JSON Schema, draft 2020-12.

    >>> schema()["$defs"]["Swizzle"]["required"]
    ['class', 'bits', 'base', 'shift']
    """
    definitions: dict[str, Any] = {}

    def define(form: Defined) -> str:
        if form.name not in definitions:
            definitions[form.name] = {}
            definitions[form.name] = form.definition(define)
        return f"#/$defs/{form.name}"

    options = [
        {"properties": {"kind": {"const": name}, "value": _kind(name).schema(define)}}
        for name in (*kinds(), _TUPLE)
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A value of {FORMAT}",
        "type": "object",
        "properties": {"format": {"const": FORMAT}, "version": {"const": VERSION}, "kind": {}}
        | {"value": {}},
        "required": list(_KEYS),
        "additionalProperties": False,
        "oneOf": options,
        "$defs": definitions,
    }


# ------------------------------------------------------------ reports


@typed
def read_report(path: str | PathLike[str]) -> Measurement:
    """Return what a program of `emit` measured, from the file that its ``--save`` wrote.

    Law: the report's document is ``to_json`` of the value. Raises `InputError` naming the file for
    one that cannot be read, and the place in it for anything but the document of a `Measurement`.

    >>> import pycute_xe as cx
    >>> try:
    ...     cx.read_report("nowhere.json")
    ... except cx.InputError as error:
    ...     print(error)
    read_report(path=nowhere.json): the file cannot be read: ...
    """
    given = {"path": str(path)}
    try:
        with Path(path).open("rb") as file:
            # One more than a document may have, so that `from_json` refuses what is longer.
            text = file.read(4 * MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        condition = f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InputError("read_report", given, condition, "name what --save wrote") from error
    report = from_json(text)
    if not isinstance(report, Measurement):
        condition = f"it is a document of {type(report).__name__}, not of Measurement"
        raise InputError("read_report", given, condition, "name what --save wrote")
    return report
