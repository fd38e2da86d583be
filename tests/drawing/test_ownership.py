"""What drawings say against bytes that the machine moved, and against CuTe C++'s maps."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from golden import rows, to_layout
from sampling import sampled
from svg_cells import cells_of

import pycute_xe as cx
from pycute_xe.arch import Surface
from pycute_xe.cutlass import get_atom
from pycute_xe.drawing import draw
from pycute_xe.errors import KernelError
from pycute_xe.executing.reference import DOES
from pycute_xe.kernel import (
    Fill,
    Index,
    KernelBuilder,
    Load,
    Mma,
    Reorder,
    Share,
    SharedLoad,
    Tiles,
)
from pycute_xe.machine import Memory, RegisterFile, block2d


def tagged_registers(kernel: cx.Kernel, operand: str, subgroup: int) -> tuple[np.ndarray, int]:
    """Load a tile whose elements are their own numbers; return the registers, and the row length.

    The tile is stored in the order the kernel declares; numbers count row by row of the operand as
    the matrix it is: A (m, k), B (k, n).
    """
    load = next(s for s in kernel.statements() if isinstance(s, Load) and s.operand == operand)
    copy = load.copy
    rows_, cols = copy.tiler_mn if operand == "A" else copy.tiler_mn[::-1]
    tags = np.arange(rows_ * cols, dtype=np.uint16).reshape(rows_, cols)
    stored = np.ascontiguousarray(tags if kernel.operand(operand).contiguous == 1 else tags.T)
    memory, registers = Memory(), RegisterFile(1 << 14)
    surface = Surface(memory.place(stored), 2 * stored.shape[1], len(stored), 2 * stored.shape[1])
    for message in range(copy.messages):
        at: Any = copy.anchors(subgroup, message)
        at = (*at, 0, 0) if isinstance(at, tuple) else (at, 0)
        x = at[copy.x_mode] * 16 // copy.op.bits
        dst = message * copy.atom.values * 16 * 2
        block2d.load(memory, registers, copy.op.message, surface, x, at[copy.y_mode], dst)
    count = copy.messages * copy.atom.values * 16
    return registers.read(0, 2 * count, "the test").view(np.uint16), cols


@pytest.mark.parametrize(
    ("operand", "order", "subgroup"), sampled(product("AB", ["row", "col"], [0, 5, 31]), 5)
)
def test_loaded_operands_lie_at_the_bytes_drawn(
    mma: cx.TiledMma, operand: str, order: str, subgroup: int
) -> None:
    kernel = cx.kernel.gemm(mma, **{operand.lower(): order})
    image, cols = tagged_registers(kernel, operand, subgroup)
    reorder = next(
        s
        for s in kernel.statements()
        if isinstance(s, Reorder) and s.destination == f"tCr{operand}"
    )
    moved = np.empty_like(image)
    moved[cx.table(reorder.slots)] = image
    cells = cells_of(draw(kernel, operand, subgroup=subgroup))
    assert len(cells) == len(image)
    for cell in cells:
        element = cell["byte"] // 2
        assert moved[element] == cell["row"] * cols + cell["col"]
        assert (cell["lane"], cell["value"]) == (element % 16, element // 16)


@pytest.mark.parametrize("operand", ["A", "B"])
def test_storage_order_does_not_change_what_the_mma_reads(mma: cx.TiledMma, operand: str) -> None:
    row, col = (
        cells_of(draw(cx.kernel.gemm(mma, **{operand.lower(): order}), operand, subgroup=9))
        for order in ("row", "col")
    )
    key = lambda cell: (cell["row"], cell["col"])  # noqa: E731
    assert sorted(row, key=key) == sorted(col, key=key)


def drawn(drawing: Any, operand: str | None = None) -> dict[tuple[int, int], tuple[int, int]]:
    """Each (lane, value) and the (row, column) it is drawn at."""
    return {(c["lane"], c["value"]): (c["row"], c["col"]) for c in cells_of(drawing, operand)}


def expected(tv: Any, extent: int, swap: bool) -> dict[tuple[int, int], tuple[int, int]]:
    """The same from a golden (lane, value) → i + extent·j; ``swap`` draws (j, i)."""
    layout = to_layout(tv)
    out: dict[tuple[int, int], tuple[int, int]] = {}
    for t in range(16):
        for v in range(cx.size(layout, 1)):
            j, i = divmod(layout(t, v), extent)
            out[t, v] = (j, i) if swap else (i, j)
    return out


@pytest.mark.parametrize(
    "row",
    # Every type once and, of the small ones, every M.
    sampled(
        (
            r
            for r in rows("cute_mma_atoms")
            if get_atom(r["name"]).faithful
            and (r["shape_mnk"][2] <= 16 or r["shape_mnk"][0] in (1, 8))
        ),
        10,
    ),
    ids=lambda r: r["name"],
)
def test_mma_atoms_agree_with_cute(row: dict[str, Any]) -> None:
    drawing = draw(get_atom(row["name"]))
    m, n, _ = row["shape_mnk"]
    for operand, extent in (("A", m), ("B", n), ("C", m)):
        assert drawn(drawing, operand) == expected(row[operand], extent, operand == "B"), operand


def test_an_operand_that_fills_half_a_register_is_drawn_as_it_is() -> None:
    """Three rows of eight tf32: the second round of work-items ends after eight of them."""
    drawing = draw(cx.make_mma_atom(cx.XE_DPAS_TT(3, "f32", "tf32")), "A")
    assert drawn(drawing, "A") == {
        ((8 * m + k) % 16, (8 * m + k) // 16): (m, k) for m in range(3) for k in range(8)
    }


# Drawings show registers: what CuTe says of older atoms is not what they hold.
TILED = [row for row in rows("cute_tiled_mma") if row["atom"].startswith("XE_DPAS_TT")]


# The one of the least height of a DPAS is always there.
@pytest.mark.parametrize(
    "row", sampled(TILED[:4], 1, always=TILED[3:4]), ids=lambda r: f"{r['atom']}-{r['wg_tile']}"
)
def test_tiled_mmas_agree_with_cute(row: dict[str, Any]) -> None:
    grid = to_layout(row["atom_layout"])
    mma = cx.workgroup_mma(
        cx.make_mma_atom(get_atom(row["atom"])), tuple(row["wg_tile"]), (grid.shape, grid.stride)
    )
    m, n, _ = row["tile_mnk"]
    for operand, extent in (("A", m), ("B", n), ("C", m)):
        got = drawn(draw(mma, operand))
        assert got == expected(row[operand], extent, operand == "B"), operand


@pytest.mark.parametrize(
    ("op", "value_type"),
    [
        (cx.XE_LOAD_2D(16, 32, 32, 16), "bf16"),
        (cx.XE_LOAD_2D(8, 16, 12), "u8"),  # rows padded to 16: not what CUTLASS's layout says
        (cx.XE_LOAD_2D(32, 4, 8), "u16"),
        (cx.XE_LOAD_2D_VNNI(16, 16, 32, 16), "bf16"),
        (cx.XE_LOAD_2D_VNNI(8, 32, 16), "u8"),
        (cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8), "f32"),
        (cx.XE_LOAD_2D_TRANSPOSE(32, 16, 8), "bf16"),
    ],
    ids=str,
)
def test_copy_atoms_against_tagged_bytes(op: Any, value_type: str) -> None:
    atom = cx.make_copy_atom(op, value_type)
    nbytes = atom.value_type.bytes
    # Tags of bytes repeat beyond 256; a second load of the high halves tells them apart.
    numbers = np.arange(atom.height * atom.width).reshape(atom.height, atom.width)
    halves: list[np.ndarray] = []
    for part in (numbers % 256, numbers // 256):
        stored = part.astype(f"u{nbytes}")
        memory, registers = Memory(), RegisterFile(1 << 14)
        pitch = atom.width * nbytes
        surface = Surface(memory.place(stored), pitch, atom.height, pitch)
        block2d.load(memory, registers, op.message, surface, 0, 0, 0)
        length = op.message.register_bytes("bmg")
        halves.append(registers.read(0, length, "the test").view(stored.dtype).astype(int))
    image = halves[0] + 256 * halves[1]
    cells = cells_of(draw(atom), "in memory")
    assert {(c["row"], c["col"]) for c in cells} == set(np.ndindex(*numbers.shape))
    for cell in cells:
        element = cell["byte"] // nbytes
        assert image[element] == numbers[cell["row"], cell["col"]]
        if atom.faithful:
            assert (cell["lane"], cell["value"]) == (element % 16, element // 16)


def test_stores_against_tagged_bytes() -> None:
    atom = cx.make_copy_atom(cx.XE_STORE_2D(32, 8, 16), "f32")
    memory, registers = Memory(), RegisterFile(1 << 10)
    registers.write(0, np.arange(128, dtype=np.uint32).view(np.uint8))
    surface = Surface(memory.alloc(512), 64, 8, 64)
    block2d.store(memory, registers, atom.op.message, surface, 0, 0, 0)
    stored = memory.array(surface.base, (8, 16), np.uint32)
    for cell in cells_of(draw(atom, "registers")):
        assert stored[cell["row"], cell["col"]] * 4 == cell["byte"]


def test_a_tiled_copy_is_drawn_as_it_lies_in_memory(mma: cx.TiledMma) -> None:
    # Column-major A: memory rows run along m, which the operand's own picture draws downwards.
    kernel = cx.kernel.gemm(mma, a="col")
    copy = next(s.copy for s in kernel.statements() if isinstance(s, Load))
    image, cols = tagged_registers(kernel, "A", 4)
    for cell in cells_of(draw(copy, subgroup=4)):
        assert image[cell["byte"] // 2] == cell["col"] * cols + cell["row"]


def test_a_left_out_reorder_is_marked(mma: cx.TiledMma) -> None:
    kernel = cx.kernel.gemm(mma, a="col", reorder_a=False)
    right, wrong = draw(cx.kernel.gemm(mma, a="col"), "A"), draw(kernel, "A")
    assert "WRONG" not in right.svg
    assert 'class="m"' not in right.svg
    image, cols = tagged_registers(kernel, "A", 0)
    places = {(c["row"], c["col"]): c["byte"] for c in cells_of(right)}
    cells = cells_of(wrong)
    for cell in cells:
        assert image[cell["byte"] // 2] == cell["row"] * cols + cell["col"]
    misplaced = sum(places[c["row"], c["col"]] != c["byte"] for c in cells)
    assert misplaced > 0
    words = f"WRONG: {misplaced} elements are not where the MMA multiplies them"
    assert f"{words} (red corners)." in wrong.scene.caption
    assert wrong.svg.count('class="m"') == misplaced


def test_a_tile_that_is_written_down_is_drawn_as_the_share_that_it_becomes() -> None:
    """B is loaded as the matrix it is, K down, and taken from shared memory as the MMA wants it."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 32, 32), ((2, 2, 1), (2, 1, 0)))
    k = KernelBuilder("by_hand", mma)
    A, B = k.input("A", "bf16", ("M", "K")), k.input("B", "bf16", ("K", "N"))
    D = k.output("D", "f32", ("M", "N"))
    k.shared("sB", "bf16", (32, 32), stages=1)
    m, n = k.grid(m=Tiles("M", 32), n=Tiles("N", 32))
    k.fill("acc", Share(mma, "C"))
    with k.loop("i", 0, Tiles("K", 32)) as i:
        k.load("a", A, Share(mma, "A"), at=(m * 32, i * 32))
        k.load("b", B, (32, 32), at=(i * 32, n * 32))
        k.share("sB", "b")
        k.fence()
        k.barrier()
        k.take("tb", "sB", Share(mma, "B"))
        k.mma("acc", "a", "tb")
        k.barrier()
    k.store(D, "acc", at=(m * 32, n * 32))
    kernel = k.build("D[m,n] = sum(k, A[m,k]*B[k,n], f32)")
    for subgroup in (0, 3):
        drawn = draw(kernel, "B", subgroup=subgroup)
        assert not any("WRONG" in line for line in drawn.scene.caption)
        wanted = draw(mma, "B", subgroup=subgroup)
        held, means = ({tuple(c.items()) for c in cells_of(one)} for one in (drawn, wanted))
        assert held == means


@pytest.mark.parametrize("kind", ["gemm", "slm_gemm", "specialised_gemm"])
@pytest.mark.parametrize("operand", ["A", "B"])
def test_what_registers_are_drawn_to_hold_the_machine_multiplies(kind: str, operand: str) -> None:
    """Elements are tagged by their row, then by their column, and read at the first MMA."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = getattr(cx.kernel, kind)(mma)
    shapes = {"A": (16, 32), "B": (32, 32)}
    tags: list[np.ndarray] = []
    for axis in (0, 1):
        given = {name: np.indices(shape)[axis] for name, shape in shapes.items()}
        tags.append(multiplied_first(kernel, given, operand, subgroup=3))
    cells = cells_of(draw(kernel, operand, subgroup=3))
    assert len(cells) == len(tags[0])
    for cell in cells:
        element = cell["byte"] // 2
        assert (cell["row"], cell["col"]) == (tags[0][element], tags[1][element])


def multiplied_first(
    kernel: cx.Kernel, given: dict[str, np.ndarray], operand: str, subgroup: int
) -> np.ndarray:
    """What a subgroup's registers of an operand hold when its first MMA begins."""
    found: list[np.ndarray] = []

    def watched(thread: Any, statement: Mma, env: Any) -> None:
        if thread.subgroup == subgroup:
            fragment = {"A": statement.a, "B": statement.b}[operand]
            found.append(thread.numbers(fragment, "the test").astype(int))
        does(thread, statement, env)

    does: Any = DOES.without(Mma)
    DOES.of(Mma)(watched)
    try:
        cx.run(kernel, **given, dtype="bf16", executor="reference")
    finally:
        DOES.of(Mma)(does)
    return found[0]


def test_of_registers_that_are_not_known_nothing_is_drawn() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.slm_gemm(mma)
    taken = next(s for s in kernel.statements() if isinstance(s, SharedLoad))
    beyond = kernel.replace(taken, replace(taken, at=Index(None, 1 << 20)))
    with pytest.raises(KernelError, match=r"what registers hold is not known: .* outside sA"):
        draw(beyond, "A")
    with pytest.raises(KernelError, match="no statement loads what the MMA reads as A"):
        draw(kernel.replace(taken, Fill(taken.fragment)), "A")


def test_elements_that_nobody_holds_are_drawn_as_holes(mma: cx.TiledMma) -> None:
    copy = cx.make_block_2d_copy_A(mma, ("ld", 1))
    # Every work-item of the copy is told column 0 of the tile's two halves: the rest is missing.
    threads, values = copy.layout_tv_tiled
    subgroups = cx.make_layout(threads[0], cx.Layout(cx.size(threads, 1), 0))
    broken = replace(copy, layout_tv_tiled=cx.make_layout(subgroups, values))
    kernel = cx.kernel.gemm(mma, copy_a=broken, reorder_a=False)
    drawing = draw(kernel, "A", subgroup=4)
    holes = [c for c in cells_of(drawing) if "lane" not in c]
    assert {(c["row"], c["col"]) for c in holes} == {
        (m, k) for m in range(32, 64) for k in range(32)
    }
    assert "no work-item holds A[m=32, k=0]" in drawing.svg
