"""Requests of the playground, each answered by a module that is loaded when it is asked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pycute_xe.errors import CuteError, InputError, quoted
from pycute_xe.expressions import ExpressionError

if TYPE_CHECKING:
    from pycute_xe.playground.fields import Request, Shown

__all__ = ["KINDS", "answer"]

KINDS = {
    "expression": "layouts",
    "atom": "atoms",
    "diff": "atoms",
    "feeds": "atoms",
    "tile": "atoms",
    "verify": "atoms",
}
"""What can be asked, and the module of this folder that answers: a layout loads no atoms."""
LONGEST = 2000
"""Characters of a field, at most."""


def answer(request: Request) -> Shown:
    """Return what is shown for a request: ``parts`` (heading, text), ``svg``, ``python``, ``cpp``.

    ``kind`` is one of `KINDS`; the other fields are texts, as a page gives them. What the library
    refuses comes back as ``error``, in its own words, with ``pointer`` under an expression.

    >>> answer({"kind": "expression", "text": "coalesce((2,4):(1,2))"})["parts"][0]
    ['Value', '8:1']
    >>> answer({"kind": "expression", "text": "4:x"})["error"]
    "layout(expression='4:x'): column 3: the name 'x' stands alone. Way out: ..."
    >>> answer({"kind": "feeds", "copy": "XE_2D_U16x16x16_LD_N", "mma": "XE_DPAS_TT<8,f32,bf16>",
    ...         "operand": "B"})["parts"][0][1].splitlines()[0]
    'XE_2D_U16x16x16_LD_N feeds B of XE_DPAS_TT<8,f32,bf16,bf16,f32>: reorder'
    """
    try:
        kind = request.get("kind", "")
        if kind not in KINDS:
            condition = f"unknown kind {quoted(kind)}"
            raise InputError("answer", {"kind": kind}, condition, f"one of {', '.join(KINDS)}")
        for name, text in request.items():
            if len(text) > LONGEST:
                condition = f"{name} has {len(text)} characters, at most {LONGEST} are read"
                raise InputError("answer", {"field": name}, condition, "write less")
        return {"parts": [], "svg": "", "python": "", "cpp": "", **_answered(kind, request)}
    except ExpressionError as error:
        return {"error": str(error), "pointer": error.pointer}
    except CuteError as error:
        return {"error": str(error), "pointer": ""}


def _answered(kind: str, request: Request) -> Shown:
    """Ask the function of the kind's name, as `of_atom` is that of "atom"."""
    module = import_module(f"pycute_xe.playground.{KINDS[kind]}")
    return getattr(module, f"of_{kind}")(request)
