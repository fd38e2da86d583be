"""Where MMA atoms say their operands lie, against two executions of DPAS.

Random operands are put into register bytes slot by slot as `registers` says; the literal
pseudo-code of the manual and the machine must then both leave ``A B + C`` where it says D lies.
"""

from __future__ import annotations

import dataclasses
import struct
from itertools import product

import dpas_pseudo_code
import numpy as np
import pytest
from every import every
from golden import rows
from sampling import sampled

from pycute_xe.atom import XE_DPAS_TT, MmaAtom, make_mma_atom
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.cutlass import get_atom
from pycute_xe.facts import rows as facts
from pycute_xe.machine import RegisterFile, dpas

GOLDEN = rows("cute_mma_atoms")
OLDER = [
    f"XE_{m}x16x{256 // max(dpas_pseudo_code.BITS[a], dpas_pseudo_code.BITS[b])}_"
    f"{''.join((d, a, b, c)).upper()}_TT"
    for row in facts("dpas", "older_name")
    for (d, a, b, c), ms in [(row["types"], row["m"])]
    for m in ms
]
TYPES = sorted({tuple(row["types"]) for row in GOLDEN})
NEWER = [f"XE_DPAS_TT<{m},{','.join(types)}>" for types, m in product(TYPES, range(1, 9))]
OPERANDS: tuple[Operand, ...] = ("A", "B", "C", "D")


def mma(name: str) -> MmaAtom:
    atom = get_atom(name)
    assert isinstance(atom, MmaAtom)
    return atom


def code(value: int, kind: str) -> int:
    """The bits of a small number in a type."""
    if kind in ("f32", "tf32", "bf16"):
        found = int.from_bytes(struct.pack("<f", value), "little")
        return found >> 16 if kind == "bf16" else found
    if kind == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    return value & ((1 << dpas_pseudo_code.BITS[kind]) - 1)


def matrix(shape: tuple[int, int], kind: str, seed: int) -> np.ndarray:
    """Numbers that every type holds exactly, as it does their sums of products."""
    low = 0 if kind[0] == "u" else -1
    return np.random.default_rng(seed).integers(low, 2, shape)


def placed(atom: MmaAtom, operand: Operand, values: np.ndarray) -> bytes:
    """Register bytes with each element in the slot that the atom says."""
    kind, slots = atom.operand_type(operand), atom.registers(operand).slots
    assert sorted(slots) == list(np.ndindex(*values.shape))  # each once, nothing empty
    bits = sum(
        code(int(values[place]), kind.name) << (slot * kind.bits)
        for slot, place in enumerate(slots)
        if place is not None
    )
    return bits.to_bytes(len(slots) * kind.bits // 8, "little")


def taken(atom: MmaAtom, data: bytes) -> np.ndarray:
    """D as a matrix, from register bytes."""
    kind = atom.operand_type("D").name
    out = np.zeros(atom.operand_shape("D"))
    for slot, place in enumerate(atom.registers("D").slots):
        assert place is not None
        out[place] = dpas_pseudo_code.element(data, kind, slot)
    return out


def run(atom: MmaAtom, a: bytes, b: bytes, c: bytes) -> tuple[bytes, bytes]:
    """D by the manual's pseudo-code, and by the machine."""
    op = atom.op
    types = (op.D.name, op.A.name, op.B.name, op.C.name)
    literal = dpas_pseudo_code.dpas(types, op.M, c, b, a)
    registers, at = RegisterFile(1 << 13), {"src2": 0, "src1": 1024, "acc": 2048, "dst": 4096}
    for key, data in (("src2", a), ("src1", b), ("acc", c)):
        registers.write(at[key], np.frombuffer(data, np.uint8))
    dpas.execute(registers, op, **at)
    return literal, registers.read(at["dst"], len(literal), "the test").tobytes()


def multiplies(atom: MmaAtom) -> bool:
    values = {
        operand: matrix(atom.operand_shape(operand), atom.operand_type(operand).name, seed)
        for seed, operand in enumerate(OPERANDS[:3])
    }
    a, b, c = (placed(atom, operand, values[operand]) for operand in OPERANDS[:3])
    wanted = values["A"] @ values["B"] + values["C"]
    return all(
        np.array_equal(taken(atom, data) % 2**32, wanted % 2**32) for data in run(atom, a, b, c)
    )


def ownership_is_registers(atom: MmaAtom, operand: Operand) -> bool:
    """Whether elements dealt to 16 work-items one by one, or byte by byte, are those it says."""
    bits = atom.operand_type(operand).bits
    unit, slots = max(1, 8 // bits), atom.registers(operand).slots
    for work_item, owned in enumerate(atom.ownership(operand)):
        mine = [s for s in range(len(slots)) if s // unit % 16 == work_item]
        if list(owned) != [slots[s] for s in mine]:
            return False
    return True


@pytest.mark.parametrize("name", [*OLDER, *sampled(NEWER, 16)])
def test_registers_hold_the_operands(name: str) -> None:
    atom = mma(name)
    assert multiplies(atom)
    agrees = {operand: ownership_is_registers(atom, operand) for operand in OPERANDS}
    assert atom.faithful == all(agrees.values())
    assert agrees["C"]
    assert agrees["D"]
    notes = " ".join(atom.notes)
    assert ("layout of A" in notes) == (not agrees["A"])
    assert ("layout of B" in notes) == (not agrees["B"])


def test_the_older_names_are_those_of_cute() -> None:
    assert {row["name"] for row in GOLDEN if row["kind"] == "legacy"} <= set(OLDER)
    assert all(mma(name).shipped for name in OLDER)


def test_how_many_are_faithful() -> None:
    older = [name for name in OLDER if mma(name).faithful]
    newer = [name for name in NEWER if mma(name).faithful]
    assert (len(older), len(OLDER)) == (3, 28)
    assert (len(newer), len(NEWER)) == (228, 232)


@every("m", range(1, 9))
@every("kind", ["TF32", "BF16", "F16", "S8", "U8"])
def test_older_names_that_are_not_shipped(kind: str, m: int) -> None:
    """Being shipped changes no register."""
    k, acc = {"TF32": 8, "S8": 32, "U8": 32}.get(kind, 16), "S32" if kind[-1] == "8" else "F32"
    atom = mma(f"XE_{m}x16x{k}_{acc}{kind}{kind}{acc}_TT")
    assert multiplies(atom)
    assert atom.faithful == all(ownership_is_registers(atom, operand) for operand in OPERANDS)
    assert ("ships no operation" in " ".join(atom.notes)) == (not atom.shipped)


@pytest.mark.parametrize("kind", ["bf16", "f16", "tf32"])
def test_the_older_atoms_have_the_registers_of_the_new_ones(kind: str) -> None:
    new = make_mma_atom(XE_DPAS_TT(8, "f32", kind))
    old = dataclasses.replace(new, legacy=True)
    assert old.by_registers == new != old
    assert old.by_registers.tv_layout_B == new.tv_layout_B
    assert new.by_registers is new


def test_odd_rows_lie_elsewhere_by_either_name() -> None:
    odd = make_mma_atom(XE_DPAS_TT(3, "f32", "tf32"))
    assert not odd.by_registers.faithful
    assert not dataclasses.replace(odd, legacy=True).by_registers.faithful
