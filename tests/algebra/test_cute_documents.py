"""The worked examples of NVIDIA's CuTe documents, row by row (tests/data/cute_documents.txt).

A row is a call of this library and what the document prints for it. What differs between the two
is a row of the table "The CuTe documents" in docs/migration.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.layout import Layout

ROWS = Path(__file__).parents[1] / "data" / "cute_documents.txt"
STATIC = re.compile(r"\b_(?=\d)")


@dataclass(frozen=True)
class Atom:
    """What a tiled MMA asks of an atom."""

    shape_mnk: tuple[int, int, int]
    thr_id: Layout
    tv_layout_A: Layout
    tv_layout_B: Layout
    tv_layout_C: Layout


# The quadpair's atom as the document gives it, in the place of a DPAS.
NT = Layout(((4, 2), 4), ((8, 4), 1))
ACCUMULATOR = Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))
QUADPAIR = Atom((8, 8, 4), Layout((4, 2), (1, 16)), NT, NT, ACCUMULATOR)


def volta(atoms: Any, tile: Any, stride: Any = None) -> TiledMma:
    return TiledMma(cast("MmaAtom", QUADPAIR), Layout(atoms, stride), tile or (None, None, None))


def owned(mma: TiledMma, operand: str, work_item: int) -> Any:
    """The coordinate of the first value of a work-item, found through the thread layout."""
    lanes = mma.thr_layout_vmnk
    place = next(i for i in range(cx.size(lanes)) if lanes(i) == work_item)
    return tuple(mma.fragment(operand)(place, 0))


def refused(call: Callable[..., Any], *arguments: Any) -> bool:
    with pytest.raises(cx.CuteError):
        call(*arguments)
    return True


def extents(value: Any) -> Any:
    """The extents that a document's comment gives: of each mode, or of the modes of a pair."""
    layout: Any = value.layout if isinstance(value, cx.Tensor) else value
    return tuple(map(cx.size, layout))


NAMES: dict[str, Any] = {
    **{name: getattr(cx, name) for name in cx.__all__},
    "L": Layout.from_str,
    "_": None,
    "values": lambda layout: [layout(i) for i in range(cx.size(layout))],
    "rows_of": lambda t: [
        [t(m, n) for n in range(cx.size(t.shape[1]))] for m in range(cx.size(t.shape[0]))
    ],
    "extents": extents,
    # The shape of the first n of a layout whose modes cannot merge.
    "first": lambda shape, n: (
        cx.composition(Layout(shape, tuple(1000**i for i in range(len(shape)))), Layout(n)).shape
    ),
    "refused": refused,
    "volta": volta,
    "owned": owned,
    "PARTITIONS": [(cx.local_tile, (4, 8), (1, 2)), (cx.local_partition, Layout((4, 8)), 5)],
}


def sections() -> dict[str, list[str]]:
    _, *parts = re.split(r"^## ", ROWS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {lines[0]: [line for line in lines[1:] if line] for lines in map(str.splitlines, parts)}


def shown(value: Any) -> str:
    """What a value prints in the documents: no blanks, no comma behind a single entry."""
    text = str(value)
    return text if isinstance(value, str) else re.sub(r",(?=\))|(?<=,) ", "", text)


def without_ones(value: str) -> Any:
    """A printed layout coalesced mode by mode, or the extents of a printed shape other than 1."""
    if ":" in value:
        layout = Layout.from_str(value)
        return cx.coalesce(layout, (1,) * len(layout) if cx.depth(layout.shape) > 1 else 1)
    return [extent for extent in re.findall(r"\d+", value) if extent != "1"]


@every("section", sections())
def test_the_library_gives_what_the_document_prints(section: str) -> None:
    names = dict(NAMES)
    different: list[str] = []
    compared = 0
    for line in sections()[section]:
        row = re.fullmatch(r"(.+?) (->|~>) (.+)", line)
        if row is None:
            exec(line, names)
            continue
        call, relation, printed = row.groups()
        found, expected = shown(eval(call, names)), STATIC.sub("", printed)
        if relation == "~>":
            assert found != expected, f"{line} is the same: write ->"
            same = without_ones(found) == without_ones(expected)
        else:
            same = found == expected
        compared += 1
        if not same:
            different.append(f"{line}\n    found {found}")
    assert compared
    assert not different, "\n".join(different)


def test_all_documents_are_read() -> None:
    documents = {section.partition(":")[0] for section in sections()}
    assert documents == {
        "01_layout",
        "02_layout_algebra",
        "03_tensor",
        "0t_mma_atom",
        "0z_tma_tensors",
    }
    examples = [row for rows in sections().values() for row in rows if re.search(" [-~]> ", row)]
    assert len(examples) == 242


# What docs/migration.md lists as different, by the first cell: a call and what it gives here.
DIFFERENT = {
    "02, composition of run-time integers": (
        'composition(L("(10,2):(16,4)"), L("(5,4):(1,5)"))',
        "(5,(2,2)):(16,(80,4))",
    ),
    "02, first s elements of (3,6,2,8)": ("first((3, 6, 2, 8), 9)", "(3,3)"),
    "02, strides of (3,6,2,8):(w,x,y,z) by 72": (
        "composition(Layout((3, 6, 2, 8), symbols('w x y z')), Layout(4, 72))",
        "4:2*z",
    ),
    "02, blocked_product of (2,5):(5,1) by (3,4):(1,3)": (
        'blocked_product(L("(2,5):(5,1)"), L("(3,4):(1,3)"))',
        "((2,3),(5,4)):((5,10),(1,30))",
    ),
    "03, printed tensors": ("make_tensor(None, 8)", "0 o 8:1"),
    "03, owning tensors, make_tensor_like": ('make_layout_like(L("(4,8):(32,2)"))', "(4,8):(8,1)"),
    "03, inner_partition, outer_partition": (
        "[f(make_identity_tensor((8, 24)), *rest).shape for f, *rest in PARTITIONS]",
        "[(4,8),(2,3)]",
    ),
    "0t, MMA_Atom<SM70_8x8x4_F32F16F16F32_NT>": (
        "refused(get_atom, 'SM70_8x8x4_F32F16F16F32_NT')",
        "True",
    ),
    "0z, E<>{}": ("refused(E)", "True"),
}


def test_the_page_lists_what_is_different() -> None:
    page = (ROWS.parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
    table = page.partition("## The CuTe documents\n")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line[:3] == "| 0"]
    listed = {row[0].replace("`", "").replace("*", ""): row for row in cells}
    assert list(listed) == list(DIFFERENT)
    for key, (call, printed) in DIFFERENT.items():
        assert shown(eval(call, dict(NAMES))) == printed, key
        _, theirs, here = listed[key]
        assert f"`{printed}`" not in theirs
        assert f"`{printed}`" in here or key[:2] == "0t" or "partition" in key or "E<>" in key, key
