"""pycute_xe: CuTe layouts, atoms and kernels for Intel Xe GPUs, in Python.

Describe a composition, check it against a target, verify it for all problem sizes, run it on NumPy
buffers, draw it. The public names are those of ``__init__.pyi``. Each is imported when it is first
used, so that the algebra needs only the standard library.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from pycute_xe.typing import (
    register_documents,
    register_names,
    register_shower,
    register_source,
    register_subjects,
)

__version__ = "0.1.0"

# Public, but kept from `import *`, where they would hide what a reader expects by these names.
_APART = ("filter", "sort")


def _homes() -> dict[str, str]:
    """The module of every public name, from the file that type checkers read."""
    # By text, and not by `ast` and `pathlib`, whose import takes a third of this one's time.
    with open(f"{__file__.rpartition('.')[0]}.pyi", encoding="utf-8") as file:  # noqa: PTH123
        imports = re.findall(r"^from (\S+) import (\([^)]*\)|.*)", file.read(), re.MULTILINE)
    return {name: home for home, names in imports for name in re.findall(r"(\w+) as ", names)}


_HOME = _homes()
__all__ = [name for name in _HOME if name not in _APART]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import what a name needs when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pycute_xe' has no attribute {name!r}")
    home = _HOME[name]
    submodule = home == "pycute_xe"
    value = import_module(f"{home}.{name}") if submodule else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, imported yet or not, and no other."""
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})


def _from_sympy(leaf: Any) -> Any:
    return import_module("pycute_xe.symbolic").from_sympy(leaf)


def _of_name(text: str, *more: Any) -> Any:
    return import_module("pycute_xe.cutlass").get_atom(text, *more)


def _of_document(text: str | bytes) -> Any:
    return import_module("pycute_xe.files").from_json(text)


def _of_subject(verb: str, value: Any) -> Any:
    return import_module("pycute_xe.naming.subjects").subject_of(verb, value)


def _in_notebook(value: Any) -> Any:
    return import_module("pycute_xe.drawing.notebook").bundle(value)


# Leaves of sympy enter the algebra, which does not know it, as symbolic values.
register_source("sympy", _from_sympy)
# Atoms go by CUTLASS's names in calls of the floor below these names, too.
register_names(_of_name)
# So do documents, whose classes are those of all floors.
register_documents(_of_document)
# What a verb is asked of is read by one resolver, which knows the values of all floors.
register_subjects(_of_subject)
# Values show themselves in notebooks by readers that they do not import.
register_shower(_in_notebook)
