"""The doctests of modules that need the standard library alone, every other package blocked.

Run as a program: it prints how many examples ran, then those that failed.
"""

from __future__ import annotations

import doctest
import sys
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import without_numpy

ROOMS = (
    *("algebra", "layout", "int_tuple", "basis", "composed", "f2", "notation", "swizzle", "facts"),
    *("arch", "atom", "cutlass", "comparing", "explaining", "printing", "tensor", "grid"),
    *("drawing", "checking", "differing", "trials.claims", "trials.enumerating"),
)
"""What lies below kernels, and what draws, explains, checks and compares it."""
OF_KERNELS = (
    "checking.kernels",
    "checking.reorders",
    "explaining.kernels",
    "differing.kernels",
    "drawing.operand_image",
)
NEEDING = (
    "numpy",
    "sympy",
    "islpy",
    "ml_dtypes",
    "rich",
    "table(",
    "kernel.",
    "default_kernel",
    '"gemm',
    "symbol",
    "offsets(",
)
"""What an example names that needs another package."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> list[ModuleType]:
    """The modules of the rooms, imported."""
    out: list[ModuleType] = []
    for room in ROOMS:
        module = import_module(f"pycute_xe.{room}")
        out.append(module)
        for found in walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
            if not found.name.endswith(OF_KERNELS):
                out.append(import_module(found.name))
    return out


def main() -> int:
    """Run the examples."""
    runner, finder = (
        doctest.DocTestRunner(verbose=False, optionflags=FLAGS),
        doctest.DocTestFinder(),
    )
    for module in modules():
        for test in finder.find(module, module.__name__):
            if not any(word in (test.docstring or "") for word in NEEDING):
                runner.run(test, out=lambda text: failures.append(text))
    failed, tried = runner.summarize(verbose=False)
    print(tried, "examples")
    print("".join(failures))
    return int(failed > 0 or any(name in sys.modules for name in without_numpy.BLOCKED))


failures: list[str] = []
if __name__ == "__main__":
    sys.meta_path.insert(0, without_numpy.Blocker())  # type: ignore[arg-type]
    sys.exit(main())
