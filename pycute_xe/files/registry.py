"""The classes that documents name: one closed table, and the sets that bases stand for.

A name is looked up here and nowhere else. What is not listed is not a class of a document, whatever
it is called; the modules of this table are imported when one of their names is met.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from pycute_xe.files.text import Unfit
from pycute_xe.signatures import typed

__all__ = ["class_named", "kinds", "members"]

_HOMES = {
    "pycute_xe.layout": "Layout",
    "pycute_xe.composed": "ComposedLayout",
    "pycute_xe.swizzle": "Swizzle",
    "pycute_xe.basis": "Basis",
    "pycute_xe.f2": "F2 F2Layout",
    "pycute_xe.symbolic": "SymbolicInt",
    "pycute_xe.numeric": "Numeric",
    "pycute_xe.arch": "Block2D Dpas Target",
    "pycute_xe.arch.lsc": "Block2DMessage Message",
    "pycute_xe.atom": "Block2DOp CopyAtom LinearCopyAtom LinearOp MmaAtom SubgroupTensor TiledCopy "
    "TiledMma",
    "pycute_xe.cutlass": "LegacyCopyAtom",
    "pycute_xe.kernel": "Claim Counterexample Element Fragment Index Kernel NamedBarrier Operand "
    "Shared Slot Specification",
    "pycute_xe.kernel.spec.expression": "Apply Const Rounded Total Where",
    "pycute_xe.kernel.spec.scatters": "Scatter",
    "pycute_xe.kernel.spec.tables": "AtMost Bins Distinct InRange Permutation Rising Runs "
    "Sorted Tickets",
    "pycute_xe.checking": "Checked",
    "pycute_xe.emitting": "Measurement",
    "pycute_xe.executing": "Report",
    "pycute_xe.trials": "Needed NeededAssumptions",
    "pycute_xe.verifying": "Proof Verdict",
}
"""The classes whose values are documents, by module; kinds of statements are in `FITS`."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def _statements() -> tuple[type, ...]:
    """The kinds of statements: those that a kernel may be built of."""
    from pycute_xe.kernel.ir.checks import FITS

    return tuple(FITS)


def _copy_atoms() -> tuple[type, ...]:
    return tuple(map(class_named, ("CopyAtom", "LinearCopyAtom", "LegacyCopyAtom")))


_SETS: dict[str, Callable[[], tuple[type, ...]]] = {
    "Statement": _statements,
    "CopyAnswers": _copy_atoms,
}
"""What a field of a base holds, by the base's name."""


def members(base: type) -> tuple[type, ...]:
    """Return the classes that a field annotated with a class may hold: itself, or a set's.

    >>> from pycute_xe.layout import Layout
    >>> members(Layout)
    (<class 'pycute_xe.layout.core.Layout'>,)
    """
    classes = _SETS.get(base.__name__)
    return (base,) if classes is None else classes()


@cache
def _listed(name: str) -> Any:
    return getattr(import_module(_HOME[name]), name)


def class_named(name: str) -> Any:
    """Return the class of a document's kind; raise `Unfit` for a name that is not listed.

    >>> class_named("Swizzle")
    <class 'pycute_xe.swizzle.Swizzle'>
    """
    if name in _HOME:
        return _listed(name)
    for kind in _statements():
        if kind.__name__ == name:
            return kind
    near = get_close_matches(name[:60], kinds(), n=1)
    fix = f"use {near[0]}" if near else f"use one of {', '.join(kinds())}"
    raise Unfit(f"{name[:60]!r} is not a kind of value", fix)


@typed
def kinds() -> tuple[str, ...]:
    """Return the names of all classes whose values are documents, in order.

    >>> "Kernel" in kinds(), "Loop" in kinds(), "object" in kinds()
    (True, True, False)
    """
    return tuple(sorted({*_HOME, *(kind.__name__ for kind in _statements())}))
