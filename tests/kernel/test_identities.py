"""What a kernel's names are replaced by depends on where they stand."""

from __future__ import annotations

from pycute_xe.kernel import Index, Kernel, Operand
from pycute_xe.kernel.index import Looked
from pycute_xe.kernel.ir.identities import extents_of, identified

OPERANDS = (
    Operand("left", "f32", (Index("A") + Index("E"), "B")),
    Operand("table", "s32", ("Z",)),
    Operand("right", "f32", (Index.of({Looked("table", (Index("Y"),)): 2}, 0), "B")),
    Operand("out", "f32", (Index("X") * 2, "C"), role="out"),
)


def test_extents_are_those_of_outputs_first_and_those_that_are_modes_of_their_own() -> None:
    kernel = Kernel("any", 1, OPERANDS, (), (), (), None)
    assert extents_of(kernel) == ("C", "B", "Z", "X", "A", "E", "Y")
    assert identified(kernel)[1].sizes["C"] == "n_0"
