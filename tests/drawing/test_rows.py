"""Which work-group has which rows: what is drawn is what each does on the machine, run alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe import kernel as kinds
from pycute_xe.arch import get_target
from pycute_xe.converting import host_dtype
from pycute_xe.drawing import Drawing
from pycute_xe.errors import InputError, ShapeError
from pycute_xe.executing.launch import Part, perform
from pycute_xe.executing.problem import prepare
from pycute_xe.executing.surfaces import fetch
from pycute_xe.kernel import Index, KernelBuilder, Rising
from pycute_xe.machine import Trace

OP = cx.XE_DPAS_TT(8, "f32", "bf16")
ALONE = ((1, 1, 1), (1, 1, 1))


def chunks() -> cx.Kernel:
    qk = cx.workgroup_mma(OP, (8, 16, 16), ALONE)
    pv = cx.workgroup_mma(OP, (8, 16, 16), ALONE)
    return kinds.attention(qk, pv, causal=True, packed=True, page=16, stages=0)


def experts(**how: Any) -> cx.Kernel:
    return kinds.moe_gemm(cx.workgroup_mma(OP, (16, 16, 16), ((2, 1, 1), (1, 1, 0))), **how)


# A kernel, its output, tables, and sizes of what no table binds.
CASES: dict[str, tuple[cx.Kernel, str, dict[str, Any], dict[str, int]]] = {
    "chunks": (
        chunks(),
        "O",
        {"starts": [0, 5, 6, 6, 15], "longest": 9, "lengths": [20, 16, 0, 9],
         "pages": [[3, 1], [0, 9], [9, 9], [2, 9]]},
        {"T": 15, "P": 4, "D": 16, "E": 16, "G": 1},
    ),
    "experts": (
        experts(), "D", {"starts": [0, 3, 3, 4, 21], "longest": 17}, {"T": 21, "K": 16, "N": 16}
    ),
    "runs with gaps": (
        experts(runs="counts"),
        "D",
        {"counts": [3, 0, 17], "offsets": [1, 4, 6], "longest": 17},
        {"T": 25, "K": 16, "N": 16},
    ),
    "padded": (
        experts(runs="blocks"), "D", {"experts": [1, -1, 0]}, {"T": 40, "E": 2, "K": 16, "N": 16}
    ),
    "cache": (
        kinds.kv_cache_write(page=16, depth=16),
        "KC",
        {"slots": [3, -1, 17, 18, 40, 0]},
        {"P": 3, "G": 1},
    ),
    "states": (
        kinds.linear_attention(16, slots=True),
        "S",
        {"starts": [0, 3, 3, 5, 6], "slots": [4, 1, -1, 0], "begun": [0, 0, 0, 0]},
        {"T": 6, "P": 6, "H": 1, "E": 16},
    ),
    "tokens": (
        kinds.linear_attention(16, slots=True),
        "O",
        {"starts": [0, 3, 3, 5, 6], "slots": [4, 1, -1, 0], "begun": [0, 0, 0, 0]},
        {"T": 6, "P": 6, "H": 1, "E": 16},
    ),
}  # fmt: skip


def problem_of(kernel: cx.Kernel, tables: dict[str, Any], sizes: dict[str, int]) -> Any:
    """Ones for what no table is; what is written again has all bits set before."""
    bound = dict(sizes)
    for name, table in tables.items():
        for mode, extent in zip(kernel.operand(name).modes, np.shape(table), strict=True):
            if str(mode - mode.offset) in kernel.sizes:
                bound[str(mode - mode.offset)] = extent - mode.offset
    given: dict[str, Any] = {}
    for operand in kernel.inputs:
        kind = host_dtype(operand.value_type)
        shape = tuple(mode.at(bound) for mode in operand.modes)
        if operand.name in tables:
            given[operand.name] = np.array(tables[operand.name], kind)
        else:
            given[operand.name] = np.ones(shape, kind)
            if operand.role == "inout":
                given[operand.name].view(np.uint8)[...] = 0xFF
    return prepare(kernel, (), given | {k: v for k, v in bound.items() if k in kernel.sizes}, None)


def rows_on_the_machine(
    kernel: cx.Kernel, output: str, problem: Any, at: dict[str, int]
) -> set[Any]:
    """The rows that a work-group changes, run alone: those whose bytes are not all ones."""
    target = get_target("bmg")
    machine = perform(kernel, problem, target, Trace(), Part(groups=(at,)))
    out = np.ascontiguousarray(fetch(machine.memory, machine.placed[output]))
    bits = out.view(f"u{out.dtype.itemsize}").reshape(out.shape)
    return {tuple(map(int, place)) for place in np.argwhere(bits != np.iinfo(bits.dtype).max)}


def drawn(picture: Drawing) -> dict[str, set[tuple[int, ...]]]:
    """The rows of each work-group, by its name, as the upper panel has them."""
    panel = picture.scene.panels[0]
    out = {panel.row_name(line): set[tuple[int, ...]]() for line in panel.rows}
    for cell in panel.cells:
        if not cell.is_padding:
            out[panel.row_name(cell.row)].add(tuple(map(int, cell.lines)))
    return out


@pytest.mark.parametrize("name", CASES)
def test_each_work_group_stores_the_rows_that_are_drawn(name: str) -> None:
    kernel, output, tables, sizes = CASES[name]
    picture = cx.draw(kernel, output, tables=tables | sizes)
    problem = problem_of(kernel, tables, sizes)
    modes = {"cache": (0, 1), "states": (0,), "chunks": (1,), "tokens": (1,)}.get(name, (0,))
    for group, rows in drawn(picture).items():
        at = {variable: 0 for variable, _ in kernel.grid}
        at |= {v: int(n) for v, n in (part.split("=") for part in group.split())}
        changed = rows_on_the_machine(kernel, output, problem, at)
        assert rows == {tuple(place[mode] for mode in modes) for place in changed}, group


def test_what_is_drawn_of_memory_is_what_work_groups_have() -> None:
    kernel, _, tables, _ = CASES["chunks"]
    assert kernel.computes is not None
    open_ended = kernel.computes.without(Rising("starts", Index("T")))
    kernel = replace(kernel, computes=open_ended)  # the last two rows are of no request
    picture = cx.draw(kernel, tables=tables | {"T": 17})
    above = {place: group for group, rows in drawn(picture).items() for (place,) in rows}
    below = picture.scene.panels[1]
    for cell in below.cells:
        row = 16 * cell.row + cell.col
        wanted = above.get(row, "").replace("b=", "").replace(" q=", ",")
        assert cell.label == (wanted or "·")
    assert sum(cell.is_padding for cell in below.cells) == 2
    assert picture.scene.legend == ("0", "1", "2", "3")  # the empty one, too


def test_an_edge_says_why_a_row_is_left_out() -> None:
    picture = cx.draw(CASES["experts"][0], tables=CASES["experts"][2] | {"T": 21})
    first = [cell for cell in picture.scene.panels[0].cells if cell.row == 0]
    assert [cell.is_padding for cell in first] == [False] * 3 + [True] * 13
    assert "8*subgroup+3 < -16*m+starts[e+1]-starts[e] is not so" in first[3].tip


def test_pages_that_requests_load() -> None:
    kernel, _, tables, _ = CASES["chunks"]
    (panel,) = cx.draw(kernel, "K", tables=tables | {"P": 4, "T": 15}).scene.panels
    assert [cell.label for cell in panel.cells] == ["1", "0", "3", "0"]
    shared = tables | {"pages": [[3, 1], [1, 9], [9, 9], [2, 9]], "P": 4, "T": 15}
    (panel,) = cx.draw(kernel, "K", tables=shared).scene.panels
    assert [cell.label for cell in panel.cells if cell.col == 1] == ["0", "1"]
    assert not any(cell.wrong for cell in panel.cells)  # pages may be shared


def test_rows_of_two_work_groups_are_marked() -> None:
    k = KernelBuilder("overlapping", 1)
    X, D = k.input("X", "f32", ("T", 16)), k.output("D", "f32", ("T", 16))
    k.input("starts", "s32", (Index("U"),))
    (b,) = k.grid(b=Index("U"))
    k.load("x", X, (2, 16), at=(Index.element("starts", b), 0))
    k.store(D, "x", at=(Index.element("starts", b), 0))
    picture = cx.draw(k.build(), tables={"starts": [0, 1, 5], "T": 6})
    assert [cell.label for cell in picture.scene.panels[1].cells if cell.wrong] == ["0", "1"]
    assert "WRONG: 1 row is stored by several work-groups" in picture.text()
    assert "it is outside of D" in picture.svg  # row 6
    early = cx.draw(k.build(), tables={"starts": [-1, 2, 5], "T": 6}).scene.panels[0]
    assert [cell.label for cell in early.cells] == ["0", "·", "2", "3", "5", "·"]


@pytest.mark.parametrize(
    ("tables", "what", "error", "words"),
    [
        ({"longest": 17, "T": 23}, None, InputError, "E"),
        ({"starts": [0, 3], "T": 3}, None, InputError, "longest"),
        ({"starts": [0, 3], "longest": 17}, None, InputError, "T"),
        ({"starts": [[0, 3]], "longest": 17, "T": 23}, None, InputError, "starts has 1 mode"),
        ({"starts": [0, 3], "longest": 17, "T": 23, "X": 1}, None, InputError, "X is neither"),
        ({"starts": "abc", "longest": 17, "T": 23}, None, InputError, "starts has 1 mode"),
        ({"starts": [0, 3.5], "longest": 17, "T": 23}, None, InputError, "3.5 is not an integer"),
        ({"starts": [0, 3], "longest": 17, "T": 0}, None, InputError, "T is 0, not a size of 1"),
        ({"starts": [0], "longest": 17, "T": 3}, None, InputError, "E is 0, not a size of 1"),
        ({"starts": [0, 2**70], "longest": 17, "T": 3}, None, InputError, "not an integer of 64 b"),
        ({"starts": [0, 3], "longest": 17, "T": "x"}, None, InputError, "'x' is not an integer"),
        ({"starts": [[0], [3, 4]], "longest": 17, "T": 23}, None, InputError, "one length"),
        ({"starts": [0, 3], "longest": 17, "T": 23}, "starts", ShapeError, "one of D, A, B$"),
        ({"starts": [0, 9000], "longest": 9000, "T": 9000}, None, ShapeError, "cells"),
    ],
)
def test_refusals(tables: Any, what: str | None, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        cx.draw(CASES["experts"][0], what, tables=tables)


BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("experts", {"starts": [0, 3, 2, 4, 21]}),
    ("experts", {"longest": 16}),
    ("experts", {"T": 20}),
    ("runs with gaps", {"offsets": [1, 3, 6]}),
    ("runs with gaps", {"T": 22}),
    ("padded", {"experts": [1, 2, 0]}),
    ("chunks", {"lengths": [20, 33, 0, 9]}),
    ("chunks", {"pages": [[3, 4], [0, 9], [9, 9], [2, 9]]}),
    ("cache", {"slots": [3, -1, 17, 18, 3, 0]}),
    ("cache", {"P": 2}),
    ("states", {"slots": [4, 1, -1, 1]}),
]


@pytest.mark.parametrize(("name", "changed"), BROKEN)
def test_tables_that_break_an_assumption_are_refused_as_a_run_does(
    name: str, changed: dict[str, Any]
) -> None:
    kernel, output, tables, sizes = CASES[name]
    of_tables = tables | {n: x for n, x in changed.items() if n in tables}
    of_sizes = sizes | {n: x for n, x in changed.items() if n in sizes}
    with pytest.raises(InputError) as drawing:
        cx.draw(kernel, output, tables=of_tables | of_sizes)
    with pytest.raises(InputError) as running:
        problem_of(kernel, of_tables, of_sizes)
    assert "is assumed, and is not so" in drawing.value.condition
    assert drawing.value.condition == running.value.condition
    assert drawing.value.fix == running.value.fix


def test_what_speaks_of_sizes_that_are_not_given_is_not_asked_for() -> None:
    kernel, output, tables, _ = CASES["cache"]
    with pytest.raises(InputError, match="are different is assumed"):
        cx.draw(kernel, output, tables=tables | {"slots": [5, 5], "P": 1})
    rope = kinds.rope(16)
    assert "0" in cx.draw(rope, tables={"positions": [3, 2000], "T": 2}).text()  # P is any size
    with pytest.raises(InputError, match="is assumed, and is not so at i = 1"):
        cx.draw(rope, tables={"positions": [3, 2000], "T": 2, "P": 2000})


def test_only_kernels_have_tables() -> None:
    with pytest.raises(ShapeError, match="tables belong to a kernel"):
        cx.draw(cx.make_mma_atom(OP), tables={})
    with pytest.raises(ShapeError, match="tables belong to a kernel"):
        cx.draw(cx.Layout((2, 2)), tables={})
    with pytest.raises(ShapeError, match="tables belong to a kernel"):
        cx.draw(CASES["experts"][0], tables={}, view="reorder")


def test_a_kernel_without_a_product_is_drawn_at_sizes() -> None:
    kernel = cx.kernel.rope(32)
    with pytest.raises(ShapeError, match='"T": …, "positions": …'):
        cx.draw(kernel)
    with pytest.raises(InputError, match="give longer tables"):
        cx.draw(kernel, tables={"positions": [], "P": 4})
    sizes = {"positions": [3, 1, 0], "P": 4, "H": 2}
    assert "t=2" in cx.draw(kernel, tables=sizes).svg.replace(" ", "")
