"""What CuTe C++ asks the caches for."""

from __future__ import annotations

from typing import cast

from pycute_xe.facts import rows

__all__ = ["block_hint"]


def block_hint(op: str) -> tuple[str, str]:
    """Return what a block-2D "load", "store" or "prefetch" asks L1 and L3 for, as vISA writes it.

    "df" is what the surface says. The rows are ``[[hint]]`` of ``cutlass.toml``.

    >>> block_hint("prefetch"), block_hint("load")
    (('ca', 'ca'), ('df', 'df'))
    """
    l1, l3 = next(
        cast("tuple[str, str]", row["caching"])
        for row in rows("cutlass", "hint")
        if row["op"] == op
    )
    return l1, l3
