"""The text of a document as plain values, within limits; what is wrong with one, and where.

Everything that JSON lets pass and a document must not hold is refused here, before any value of the
library is made: two entries of one key, numbers and strings without end, nesting without end.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pycute_xe.errors import InputError, quoted

__all__ = [
    "MOST_CHARACTERS",
    "MOST_DEPTH",
    "MOST_DIGITS",
    "MOST_TEXT",
    "MOST_VALUES",
    "Unfit",
    "examined",
    "parsed",
]

MOST_CHARACTERS = 1 << 20
"""Characters of a document. The largest kernel of the tests has 75,000."""

MOST_VALUES = 50_000
"""Objects, lists, strings and numbers of a document, counted together."""

MOST_DEPTH = 250
"""How deep objects and lists of a document may nest. 100 levels of an expression need 210."""

MOST_DIGITS = 1000
"""Digits of a number."""

MOST_TEXT = 1 << 16
"""Characters of one string."""

REWRITE = "write the document with to_json"


class Unfit(Exception):
    """What is wrong with a part of a document; every level above adds its step to the path."""

    def __init__(self, condition: str, fix: str = REWRITE, cause: Exception | None = None) -> None:
        """Keep the two sentences, what raised them, and no step yet."""
        super().__init__(condition)
        self.condition, self.fix, self.cause = condition, fix, cause
        self.steps: list[str | int] = []

    def within(self, step: str | int) -> Unfit:
        """Return this, one step further from the root: a key or a number."""
        self.steps.append(step)
        return self

    def refusal(self, operation: str) -> InputError:
        """Return the refusal that names the path.

        >>> print(Unfit("2 is not a bool", "").within("legacy").within(3).refusal("from_json"))
        from_json(at=$[3].legacy): 2 is not a bool
        """
        path = "$" + "".join(map(_step, reversed(self.steps)))
        return InputError(operation, {"at": path}, self.condition, self.fix)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() and len(step) <= 60 else f"[{quoted(step)}]"


class _Mark:
    """Stands in a tree for what has no plain value."""

    def __init__(self, condition: str, fix: str = REWRITE) -> None:
        self.condition, self.fix = condition, fix


def parsed(text: str | bytes) -> Any:
    """Return the plain value of a text of JSON, examined. Raises `Unfit`.

    >>> parsed('{"shape": [4, 8]}')
    {'shape': [4, 8]}
    """
    if not isinstance(cast("object", text), (str, bytes)):
        raise Unfit(f"{type(text).__name__} is not the text of a document", "give str or bytes")
    if len(text) > MOST_CHARACTERS:
        raise Unfit(f"it has {len(text):,} characters, {MOST_CHARACTERS:,} are read", "split it")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        tree = json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        reason, fix = f"byte {error.start} is not UTF-8", "save the document as UTF-8"
        if text[1:6] in (b"NUMPY",) or text[:2] == b"PK":
            reason, fix = "the file is an array of NumPy, not a document", REWRITE
        raise Unfit(reason, fix, error) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        fix = REWRITE
        if isinstance(text, str) and text.strip().endswith(".json"):
            fix = f"read the file: from_json(pathlib.Path({quoted(text)}).read_text())"
        raise Unfit(f"it is not JSON: {error.msg} at {place}", fix, error) from error
    except RecursionError as error:
        raise _too_deep() from error
    return examined(tree)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))
    return _Mark(f"the key {quoted(twice)} occurs twice", "leave one out")


def _integer(digits: str) -> Any:
    return int(digits) if len(digits.lstrip("-")) <= MOST_DIGITS else _too_long(digits)


def _float(digits: str) -> Any:
    number = float(digits) if len(digits) <= MOST_DIGITS else 0.0
    if len(digits) > MOST_DIGITS:
        return _too_long(digits)
    if number - number != 0.0:
        return _Mark(f"no float is as large as {quoted(digits)}", 'write "inf" for the infinity')
    return number


def _too_long(digits: str) -> _Mark:
    return _Mark(f"the number has {len(digits):,} digits, {MOST_DIGITS:,} are read")


def _constant(name: str) -> _Mark:
    return _Mark(f"JSON does not have {name}", f'write "{name.lower().replace("inity", "")}"')


def _too_deep() -> Unfit:
    return Unfit(f"the document nests more than {MOST_DEPTH} levels deep", "nest fewer levels")


def examined(tree: Any) -> Any:
    """Return a plain value within the limits as it is. Raises `Unfit` for any other.

    >>> examined([["a"], 2.5])
    [['a'], 2.5]
    """
    count, pending = 1, [(tree, cast("Any", None), 0)]
    while pending:
        value, link, depth = pending.pop()
        count += len(cast("list[Any]", value)) if isinstance(value, (dict, list)) else 0
        wrong = _wrong(value, depth, count)
        if wrong is not None:
            while link is not None:
                link, step = link
                wrong.within(step)
            raise wrong
        inner: Any = ()
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value).items()
        elif isinstance(value, list):
            inner = enumerate(cast("list[Any]", value))
        pending += [(part, (link, step), depth + 1) for step, part in inner]
    return tree


def _wrong(value: Any, depth: int, count: int) -> Unfit | None:
    if count > MOST_VALUES:
        fix = "write the parts as documents of their own"
        return Unfit(f"the document has more than {MOST_VALUES:,} values up to here", fix)
    if isinstance(value, _Mark):
        return Unfit(value.condition, value.fix)
    if isinstance(value, (dict, list)):
        return _too_deep() if depth >= MOST_DEPTH else None
    if type(value) is int and value.bit_length() > MOST_DIGITS * 3:
        # Compared where a number may be too long: 10 has more than 3 bits.
        if abs(value) >= 10**MOST_DIGITS:
            return Unfit(f"an integer has more than {MOST_DIGITS:,} digits", "use a smaller one")
    elif isinstance(value, str):
        return _wrong_text(value)
    return None


def _wrong_text(value: str) -> Unfit | None:
    if len(value) > MOST_TEXT:
        return Unfit(f"the string has {len(value):,} characters, {MOST_TEXT:,} are read", "cut it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return Unfit(f"{ascii(value)[:60]} has half of a character", "write whole characters")
    return None
