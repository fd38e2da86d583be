"""What may be a name, wherever a user declares one, and which names are slips of others."""

from __future__ import annotations

import unicodedata
from keyword import iskeyword

from pycute_xe.errors import quoted

__all__ = ["is_slip", "name_fault"]


def name_fault(name: object) -> tuple[str, str] | None:
    """Return what keeps a value from being a name, and a name instead; None of a name.

    The one rule for every name that a user declares: a name is what a text names it by. Python
    reads a text with its identifiers normalised (NFKC), and a keyword of Python is not a name.

    >>> name_fault("bias"), name_fault("lambda")
    (None, ("the name 'lambda' is a keyword of Python", 'write "lambda_"'))
    """
    if not isinstance(name, str) or not name.isidentifier():
        return "the name is not an identifier", "use letters, digits and _"
    if iskeyword(name):
        return f"the name {quoted(name)} is a keyword of Python", f'write "{name}_"'
    if (read := unicodedata.normalize("NFKC", name)) != name:
        return f"the name {quoted(name)} is read as {quoted(read)} in a text", f'write "{read}"'
    return None


def is_slip(name: str, known: str) -> bool:
    """Whether a name is another one with two letters swapped, or a letter left out or too many.

    Names that differ in their last sign, such as those that are numbered, are two names.

    >>> is_slip("bais", "bias"), is_slip("bia", "bias"), is_slip("scale_a", "scale_b")
    (True, False, False)
    """
    short, long = sorted((name, known), key=len)
    if len(short) < 3 or name == known or short[-1] != long[-1]:
        return False
    if len(short) == len(long):
        at = next(i for i in range(len(name)) if name[i] != known[i])
        return name[at : at + 2][::-1] == known[at : at + 2] and name[at + 2 :] == known[at + 2 :]
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
