"""Floor 9: `explain` for atoms."""

from __future__ import annotations

from typing import Any

from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom import CopyAtom, LinearCopyAtom, MmaAtom
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.errors import InputError
from pycute_xe.explaining.atom_explanation import LINES, AtomExplanation, section
from pycute_xe.explaining.copy_names import head_line
from pycute_xe.explaining.script import Script
from pycute_xe.explaining.telling_copies import WORDS, refusal_line, tell_copy
from pycute_xe.explaining.telling_linear import linear_head_line, tell_linear
from pycute_xe.explaining.telling_mma import tell_mma

__all__ = ["as_atom", "explain_atom"]

Atom = MmaAtom | LegacyCopyAtom | CopyAtom | LinearCopyAtom


def as_atom(value: Any) -> Atom:
    """Return an atom as it is, and raise `InputError` for other values of its floor.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(as_atom(get_atom("XE_DPAS_TT<8,f32,bf16>")))
    XE_DPAS_TT<8,f32,bf16,bf16,f32>
    """
    if isinstance(value, Atom):
        return value
    raise InputError(
        "explain",
        {"value": value},
        f"a {type(value).__name__} cannot be explained",
        "explain an atom, such as get_atom('XE_2D_U16x32x16_LD_V')",
    )


def explain_atom(
    atom: Atom,
    target: str | Target = "bmg",
    operand: str | None = None,
) -> AtomExplanation:
    """Return what an atom does, on one screen: its name, who owns what, messages, registers.

    ``target``: whose messages and rules are shown. ``operand``: of an MMA, the operand that is
    shown in full; of a copy, the operand that it is judged for. Raises `InputError` for another
    operand, `TargetError` for an unknown target.

    >>> from pycute_xe.cutlass import get_atom
    >>> print(explain_atom(get_atom("XE_2D_U16x8x16_LD_N", "bf16")).rule)
    Loads 8 rows x 16 columns of 16-bit values from memory into the registers of 16 work-items.
    """
    machine = get_target(target).name
    if operand not in (None, "A", "B", "C", "D"):
        raise InputError("explain", {"operand": operand}, "unknown operand", "use A, B, C or D")
    which: Any = operand
    script = Script()
    if isinstance(atom, MmaAtom):
        m, n, k = atom.shape_mnk
        title = str(atom)
        rule = f"D[{m},{n}] = A[{m},{k}] · B[{k},{n}] + C[{m},{n}], by 16 work-items together."
        tell_mma(script, atom, machine, which)
    elif isinstance(atom, LinearCopyAtom):
        if operand is not None:
            raise InputError(
                "explain",
                {"atom": atom, "operand": operand},
                "a linear copy does not move operands of an MMA",
                "leave operand out, or explain a block-2D copy",
            )
        title, rule = f"{atom} for {atom.value_type} values", linear_head_line(atom)
        tell_linear(script, atom, machine)
    else:
        return _copy_explained(atom, machine, which)
    return AtomExplanation(title, rule, tuple(script.steps), atom)


def _copy_explained(
    atom: LegacyCopyAtom | CopyAtom, target: str, operand: str | None
) -> AtomExplanation:
    """A block-2D copy; where no target takes it, that comes before what it would do."""
    script, title = Script(), f"{atom} for {atom.value_type} values"
    refused = refusal_line(atom, target)
    if refused:
        section(script, "what", [head_line(atom)])
    tell_copy(script, atom, target, operand)
    found = AtomExplanation(title, refused or head_line(atom), tuple(script.steps), atom)
    if refused:
        return found
    section(script, "words", list(WORDS))
    with_words = AtomExplanation(title, found.rule, tuple(script.steps), atom)
    return with_words if len(str(with_words).splitlines()) <= LINES else found
