"""What JSON Schema says of a plain value, by the words that schemas of documents use."""

from __future__ import annotations

import re
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SAID = {"$schema", "title", "$defs", "minItems"}


def is_valid(data: Any, schema: Any, root: Any) -> bool:
    """Whether a value meets a schema; a word of it that is unknown is a failure."""
    if schema is False:
        return False
    return all(_WORDS[word](data, schema, root) for word in schema if word not in _SAID)


def _type(data: Any, schema: Any, root: Any) -> bool:
    named = schema["type"]
    names = [named] if isinstance(named, str) else named
    return any(type(data) in _TYPES[name] for name in names)


def _ref(data: Any, schema: Any, root: Any) -> bool:
    return is_valid(data, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)


def _properties(data: Any, schema: Any, root: Any) -> bool:
    named = schema["properties"]
    return all(is_valid(data[k], v, root) for k, v in named.items() if k in data)


def _others(data: Any, schema: Any, root: Any) -> bool:
    more = [value for key, value in data.items() if key not in schema.get("properties", {})]
    return all(is_valid(value, schema["additionalProperties"], root) for value in more)


def _items(data: Any, schema: Any, root: Any) -> bool:
    first = len(schema.get("prefixItems", ()))
    return all(is_valid(part, schema["items"], root) for part in data[first:])


def _prefix(data: Any, schema: Any, root: Any) -> bool:
    parts = schema["prefixItems"]
    enough = len(data) >= schema["minItems"]
    return enough and all(is_valid(*pair, root) for pair in zip(data, parts, strict=False))


_WORDS: dict[str, Any] = {
    "type": _type,
    "$ref": _ref,
    "properties": _properties,
    "additionalProperties": _others,
    "items": _items,
    "prefixItems": _prefix,
    "required": lambda data, schema, _: set(schema["required"]) <= set(data),
    "const": lambda data, schema, _: repr(data) == repr(schema["const"]),
    "enum": lambda data, schema, _: repr(data) in map(repr, schema["enum"]),
    "pattern": lambda data, schema, _: re.search(schema["pattern"], data) is not None,
    "anyOf": lambda data, schema, root: any(is_valid(data, s, root) for s in schema["anyOf"]),
    "oneOf": lambda data, schema, root: sum(is_valid(data, s, root) for s in schema["oneOf"]) == 1,
}
