"""Calls that layouts, atoms and tilings answer on the standard library alone.

Run as a program, with the package on the path, it blocks every other package, calls all of them
and prints a digest of each answer as JSON. `tests/test_without_numpy.py` compares these digests
with those of a run that blocks nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

BLOCKED = ("numpy", "sympy", "islpy", "ml_dtypes", "rich", "click")
OLDER, MMA = "XE_2D_U16x32x16_LD_V", "XE_DPAS_TT<8,f32,bf16>"
NAMES = (
    OLDER,
    "XE_2D_U16x16x16_LD_T",
    "XE_2D_U32x8x16_ST_N",
    "XE_2D_U4x32x64_LD_N",
    "XE_LOAD_2D<16,32,32,16>",
    "XE_LOAD_2D_VNNI<8,32,32>",
    "XE_PREFETCH_2D<16,16,32>",
    "XE_1D_LDSM<uint32_t>",
)
MMAS = (MMA, "XE_DPAS_TT<4,s32,s8>", "XE_8x16x16_F32BF16BF16F32_TT")


class Blocker:
    """Refuses to find packages by their names."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse what is blocked."""
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls by name."""
    yield from _of_layouts()
    yield from _of_atoms()
    yield from _of_tilings()


def _of_layouts() -> Iterator[tuple[str, Callable[[], Any]]]:
    import pycute_xe as cx

    rows, columns = cx.Layout((4, 8), (8, 1)), cx.Layout((4, (2, 4)))
    swizzled = cx.composition(cx.Swizzle(2, 0, 3), rows)
    for layout in (rows, columns, swizzled):
        yield f"draw {layout}", lambda x=layout: cx.draw(x).svg
        yield f"table {layout}", lambda x=layout: cx.layout_table(x)
    yield "draw two", lambda: cx.draw({"one": rows, "other": columns}).text(colour=False)
    yield "explain", lambda: cx.explain(cx.logical_divide, rows, (2, 4))
    yield "explain call", lambda: cx.explain(rows, (1, 2))
    yield "diff layouts", lambda: cx.diff(rows, columns)
    yield "diff swizzled", lambda: cx.diff(swizzled, rows)
    yield (
        "diff coordinates",
        lambda: cx.diff(cx.make_identity_layout((4, 8)), cx.Layout((4, 8), (cx.E(1), cx.E(0)))),
    )
    yield "tensor", lambda: cx.local_tile(cx.make_identity_tensor((16, 16)), (8, 4), (1, 2))
    yield "latex", lambda: cx.to_latex(rows)
    yield "from_cute", lambda: cx.from_cute("Layout<Shape<_8,_4>,Stride<_4,_1>>")


def _of_atoms() -> Iterator[tuple[str, Callable[[], Any]]]:
    import pycute_xe as cx
    from pycute_xe.trials.enumerating import enumerated

    for name in NAMES:
        yield f"explain {name}", lambda x=name: cx.explain(x, "bmg")
        yield f"check {name}", lambda x=name: cx.check(x, "pvc")
        yield f"registers {name}", lambda x=name: cx.get_atom(x).registers()
        yield f"owners {name}", lambda x=name: cx.get_atom(x).ownership()
        yield f"draw {name}", lambda x=name: cx.draw(x).svg
        yield f"says and does {name}", lambda x=name: cx.diff(x)
        yield f"proved {name}", lambda x=name: _verdict(enumerated(cx.get_atom(x)))
    for name in MMAS:
        yield f"explain {name}", lambda x=name: cx.explain(x, "bmg", "B")
        yield f"draw {name}", lambda x=name: cx.draw(x, "A").svg
        yield f"check {name}", lambda x=name: cx.check(x)
        yield f"diff {name}", lambda x=name: cx.diff(x, MMA)
        yield f"registers {name}", lambda x=name: cx.get_atom(x).registers("B")
    yield "feeds", lambda: cx.feeds(OLDER, MMA, "B")
    plain = "XE_2D_U16x16x16_LD_N"
    yield "feeds by moves", lambda: (f := cx.feeds(plain, MMA, "B"), f.moves, f.units, f.pattern)
    yield "search", lambda: cx.search_atoms(feeds=MMA, operand="B")
    yield "search copies", lambda: cx.search_atoms(kind="copy")
    yield "diff atoms", lambda: cx.diff(plain, "XE_2D_U16x16x16_LD_V")
    yield "wrong formula", lambda: _verdict(enumerated(cx.get_atom(plain), "v", "(t + 1) % 16"))
    yield "refused", lambda: cx.get_atom("XE_2D_U16x32x17_LD_V")


def _of_tilings() -> Iterator[tuple[str, Callable[[], Any]]]:
    import pycute_xe as cx

    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 128, 32), ((2, 4, 1), (4, 1, 0)))
    for operand in "ABC":
        yield f"tiled {operand}", lambda x=operand: getattr(mma, f"tv_layout_{x}_tiled")
        yield f"draw tiled {operand}", lambda x=operand: cx.draw(mma, x, subgroup=1).svg
        yield f"owner {operand}", lambda x=operand: mma.owner_of(x, 3, 5)
    yield "check tiled", lambda: cx.check(mma)
    yield "zooms", lambda: cx.draw(mma, "B", view="zooms").svg
    other = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (64, 128, 32), ((4, 2, 1), (2, 1, 0)))
    yield "diff tiled", lambda: cx.diff(mma, other)
    copy = cx.make_block_2d_copy_A(mma, ("ld", 1))
    yield "tiled copy", lambda: copy.layout_tv_tiled
    yield "explain tiled copy", lambda: cx.explain(copy, mma, "A")
    yield "draw tiled copy", lambda: cx.draw(copy).svg
    yield "check tiled copy", lambda: cx.check(copy)


def _verdict(verdict: Any) -> Any:
    return [(p.property, p.answer, p.statement, p.reason) for p in verdict.proofs], (
        verdict.counterexample and verdict.counterexample.message
    )


def digests() -> dict[str, str]:
    """Return a digest of the text of each answer, or the first line of its refusal."""
    from pycute_xe.errors import CuteError

    out: dict[str, str] = {}
    for name, call in calls():
        try:
            text = str(call())
        except CuteError as error:
            out[name] = f"{type(error).__name__}: {error}"
            continue
        out[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return out


if __name__ == "__main__":
    sys.meta_path.insert(0, Blocker())  # type: ignore[arg-type]
    found = digests()
    loaded = sorted(name for name in BLOCKED if name in sys.modules)
    print(json.dumps({"digests": found, "loaded": loaded}))
