"""Which of the compilers that are found takes a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from pycute_xe.arch.rules import Broken
from pycute_xe.checking import check
from pycute_xe.errors import ToolError
from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel
from pycute_xe.native.toolchain import Toolchain, toolchain_for, toolchains

__all__ = ["broken_for", "compiler_for"]


def broken_for(toolchain: Toolchain, kernel: Kernel, target: str) -> tuple[Broken, ...]:
    """Return the rules of `check` that a kernel breaks and that this compiler enforces.

    A row of ``atoms/block2d.toml`` lists the versions that enforce it as ``compilers``; the source
    of the row names them.
    """
    versions = _enforced()
    return tuple(
        finding.broken
        for finding in check(kernel, target).findings
        if toolchain.version.startswith(versions.get(finding.broken.rule, ("none",)))
    )


def compiler_for(kernel: Kernel, target: str, version: str = "") -> Toolchain:
    """Return the first compiler for a target that takes a kernel, of a version that begins so.

    Raises `ToolError` where no compiler is found, or where a rule of `check` says of each that it
    refuses the kernel.
    """
    first = toolchain_for(target, version)
    able = (t for t in toolchains() if target in t.targets and t.version.startswith(version))
    refused: dict[str, tuple[Broken, ...]] = {}
    for each in able:
        refused[each.name] = broken_for(each, kernel, target)
        if not refused[each.name]:
            return each
    broken = dict.fromkeys(rule for rules in refused.values() for rule in rules)
    if not broken:
        return first
    conditions = "; ".join(f"{rule.condition} [{rule.source}]" for rule in broken)
    raise ToolError(
        "compile",
        {"kernel": kernel.name, "compiler": ", ".join(refused)},
        f"refused by every compiler that was found: {conditions}",
        f"{next(iter(broken)).fix}, or run `make compilers` in a checkout and leave compiler out",
    )


@cache
def _enforced() -> Mapping[str, tuple[str, ...]]:
    """The versions of compilers that enforce a rule, by its name."""
    return {
        cast("str", row["id"]): cast("tuple[str, ...]", row["compilers"])
        for row in rows("block2d", "message")
        if "compilers" in row
    }
