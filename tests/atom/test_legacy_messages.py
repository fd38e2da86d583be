"""The messages of older names against those that CUTLASS sends (tests/data/README.md)."""

from __future__ import annotations

from every import every
from golden import rows

from pycute_xe.arch import Block2D
from pycute_xe.arch.target import targets
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, shipped_names
from pycute_xe.cutlass.legacy_lowering import sent_by_cutlass

SENT = {
    row["name"]: Block2D(
        row["op"],
        row["bits"],
        row["height"],
        row["width"],
        row["count"],
        transpose=row["suffix"][0] == "t",
        vnni=row["suffix"][1] == "t",
    )
    for row in rows("cutlass_block2d_messages")["messages"]
}

# CUTLASS's messages that do not move the block of their name, and what they do not do.
NOT_TAKEN = {
    "XE_2D_U8x32x4_LD_T": "breaks transpose-bits",
    "XE_2D_U8x32x8_LD_T": "breaks transpose-bits",
    "XE_2D_U8x8x32_ST_N": "breaks store-count",
    "XE_2D_Packed_U16x16x32_LD_N::PREFETCH": "moves 512 of the 1024 bytes",
    "XE_2D_TF32x16x16_LD_N::PREFETCH": "moves 512 of the 1024 bytes",
}


def atom_of(name: str) -> LegacyCopyAtom:
    atom = get_atom(name)
    assert isinstance(atom, LegacyCopyAtom)
    return atom


def test_there_is_a_message_for_every_shipped_name() -> None:
    assert sorted(SENT) == sorted(shipped_names())


@every("name", shipped_names())
def test_names_send_what_cutlass_sends(name: str) -> None:
    atom, notes = atom_of(name), " ".join(atom_of(name).notes)
    for target in targets():
        parts = [part.message for part in atom.messages(target)]
        if name in NOT_TAKEN:
            assert parts != [SENT[name]]
        else:
            assert parts == [SENT[name]]
    assert sent_by_cutlass(atom.name) in (None, SENT[name])
    assert ("CUTLASS sends " in notes) == (name in NOT_TAKEN)
    assert NOT_TAKEN.get(name, "") in notes


def test_what_a_name_does_not_tell_is_told() -> None:
    told = [name for name in shipped_names() if "CUTLASS moves it as" in " ".join(_notes(name))]
    assert len(told) == 18
    assert any("packed as for VNNI" in note for note in _notes("XE_2D_U8x32x32_LD_N"))
    shuffled = [name for name in shipped_names() if "between work-items" in " ".join(_notes(name))]
    assert shuffled == ["XE_2D_U4x32x64_LD_N", "XE_2D_U4x16x64_LD_N"]


def _notes(name: str) -> tuple[str, ...]:
    return atom_of(name).notes


def test_names_that_cute_cannot_build_are_reported() -> None:
    data = rows("cute_copy_atoms_legacy")
    without, unusable = data["ops_without_traits"], data["not_instantiable"]
    for name in shipped_names():
        notes = _notes(name)
        assert any("without Copy_Traits" in note for note in notes) == (name in without)
        broken = name in unusable and name not in without
        assert any("do not compile" in note for note in notes) == broken
    assert (len(without), len(set(unusable) - set(without))) == (15, len(unusable))
    (wrong,) = [n for n in _notes("XE_2D_TF32x1x8_LD_N") if "32 rows by 16 columns" in n]
    assert "documented ownership" in wrong


def test_vnni_below_8_bits_is_no_operand_of_dpas() -> None:
    assert any("packs bytes" in note for note in _notes("XE_2D_U4x32x32_LD_V"))
    (part,) = atom_of("XE_2D_U4x32x32_LD_V").messages("bmg")
    assert (part.message.bits, part.message.vnni) == (8, True)
    first = atom_of("XE_2D_U4x32x32_LD_V").registers().slots[:8]
    assert first == tuple((row, col) for row in range(4) for col in range(2))
