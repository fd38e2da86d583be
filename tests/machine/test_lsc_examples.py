"""The code examples of the vISA manual's LSC_UNTYPED.md, each run against NumPy.

The machine executes the text of the document as it stands; NumPy says with indexing alone what must
be in registers or memory afterwards. ``LEGAL`` says on which targets each is legal, and which rule
forbids it elsewhere: two of the document's own examples are legal nowhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pycute_xe.arch.lsc import Block2DMessage, decode, encode, encode_descriptor, parse
from pycute_xe.errors import LegalityError
from pycute_xe.machine import Memory, RegisterFile, Slm
from pycute_xe.machine.lsc import SurfaceState, execute

ALL = ("bmg", "lnl", "ptl", "pvc")
BLOCK = "flat[VSURF_BASE,VSURF_W,V_SURF_H,SURF_P,OFF_X,OFF_Y]"
V12, V13, V10, VDATA = (64 * n for n in (0, 16, 48, 64))
WIDE, HIGH = 128, 80  # of the surface of blocks, bytes and rows
COUNTER = 15_000


class Place:
    """Random bytes in memory, shared memory and registers, and the machine on them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.data = self.rng.integers(0, 2**32, 4096, dtype=np.uint32)
        self.memory, self.slm, self.registers = Memory(), Slm(16384), RegisterFile(256 * 64)
        self.base = self.memory.place(self.data)
        self.slm.write(0, self.data.view(np.uint8))
        self.grf = self.rng.integers(0, 256, 256 * 64, dtype=np.uint8)
        self.registers.write(0, self.grf)

    def addresses(self, values: np.ndarray, kind: str) -> None:
        self.registers.write(V12, values.astype(kind).view(np.uint8))

    def picks(self, room: int = 4) -> np.ndarray:
        """Elements of 32 bits for 32 channels, some of them the same."""
        return self.rng.integers(0, 4096 - 64 - room, 32)

    def run(self, text: str) -> int:
        """The document's names stand for registers, and for the surface of blocks."""
        surface = {"VSURF_BASE": self.base, "VSURF_W": WIDE - 1, "V_SURF_H": HIGH - 1}
        operands = {"V12": V12, "V13": V13, "V10": V10, "VDATA": VDATA, "V0": 0, **surface}
        return execute(
            parse(text),
            memory=self.memory,
            registers=self.registers,
            operands=operands | {"SURF_P": WIDE - 1, "OFF_X": 8, "OFF_Y": 3},
            surfaces={
                4: SurfaceState(self.base + 64, 8192, self.base),
                0xA0: SurfaceState(self.base, 8192, self.base + 4 * 1000),
            },
            slm=self.slm,
        )

    def held(self, at: int, count: int, kind: str = "u4") -> np.ndarray:
        size = np.dtype(kind).itemsize
        return self.registers.read(at, count * size, "the test").view(kind)

    def stored(self) -> np.ndarray:
        return self.memory.read(self.base, 16384).view("u4")

    def rows(self, kind: str) -> np.ndarray:
        """The surface of blocks, row by row."""
        return self.data.view(kind)[: WIDE * HIGH // np.dtype(kind).itemsize].reshape(HIGH, -1)


def gather_past_the_caches(p: Place, text: str) -> None:
    picks = p.picks()
    p.addresses(p.base + 4 * picks - 0x100, "u8")
    assert p.run(text) == 128
    assert p.held(V13, 32).tolist() == p.data[picks].tolist()


def vectors_from_slm(p: Place, text: str) -> None:
    picks = p.picks()
    p.addresses(4 * picks, "u2")
    p.run(text)
    expected = np.stack([p.data[picks + v] for v in range(4)])
    assert p.held(V13, 128).reshape(4, 32).tolist() == expected.tolist()


def prefetch(p: Place, text: str) -> None:
    p.addresses(p.base + 4 * p.picks(), "u8")
    before = p.registers.read(0, 256 * 64, "the test").copy()
    assert p.run(text) == 128
    assert np.array_equal(p.registers.read(0, 256 * 64, "the test"), before)
    assert np.array_equal(p.stored(), p.data)


def sixteen_in_a_row(p: Place, text: str) -> None:
    """From 64 bytes into the memory, where the surface of entry 4 begins."""
    p.addresses(np.array([4 * 21]), "u4")
    p.run(text)
    assert p.held(V13, 16).tolist() == p.data[16 + 21 :][:16].tolist()


def every(step: int, slm: bool = False) -> Callable[[Place, str], None]:
    def strided(p: Place, text: str) -> None:
        start = 5
        p.addresses(np.array([4 * start + (0 if slm else p.base)]), "u4")
        p.run(text)
        assert p.held(V13, 32).tolist() == p.data[start + step * np.arange(32)].tolist()

    return strided


def scatter(p: Place, text: str) -> None:
    picks = p.rng.permutation(4096)[:32]
    p.addresses(p.base + 4 * picks, "u8")
    p.run(text)
    expected = p.data.copy()
    expected[picks] = p.held(V13, 32)
    assert p.stored().tolist() == expected.tolist()


def vectors_to_slm(p: Place, text: str) -> None:
    picks = 4 * p.rng.permutation(1000)[:32]
    p.addresses(4 * picks, "u4")
    p.run(text)
    expected = p.data.copy()
    for v in range(4):
        expected[picks + v] = p.held(V13, 128).reshape(4, 32)[v]
    assert p.slm.read(0, 16384).view("u4").tolist() == expected.tolist()


def two_blocks_of_bytes(p: Place, text: str) -> None:
    """16 columns and 32 rows each, side by side, from column 8 and row 3."""
    p.run(text)
    blocks = np.stack([p.rows("u1")[3:35, 8 + 16 * b :][:, :16] for b in range(2)])
    assert p.held(VDATA, 1024, "u1").reshape(2, 32, 16).tolist() == blocks.tolist()


def columns_of_words(p: Place, text: str) -> None:
    """32 columns and 16 rows, column after column."""
    p.run(text)
    block = p.rows("u2")[3:19, 8:40]
    assert p.held(VDATA, 512, "u2").reshape(32, 16).tolist() == block.T.tolist()


def pairs_of_rows(p: Place, text: str) -> None:
    """16 columns and 32 rows; two rows together make a row of pairs."""
    p.run(text)
    block = p.rows("u2")[3:35, 8:24]
    pairs = block.reshape(16, 2, 16).swapaxes(1, 2)
    assert p.held(VDATA, 512, "u2").reshape(16, 16, 2).tolist() == pairs.tolist()


def block_store(p: Place, text: str) -> None:
    p.run(text)
    expected = p.data.copy()
    rows = expected.view("u2").reshape(-1, WIDE // 2)
    rows[3:35, 8:24] = p.held(VDATA, 512, "u2").reshape(32, 16)
    assert p.stored().tolist() == expected.tolist()


def counter(p: Place, text: str) -> None:
    """Each channel finds what those before it left."""
    added = p.held(V10, 32).copy()
    p.run(text)
    sums = np.concatenate([[0], np.cumsum(added, dtype=np.uint32)]).astype(np.uint32)
    assert p.held(VDATA, 32).tolist() == (p.data[1000] + sums[:-1]).astype("u4").tolist()
    assert p.stored()[1000] == np.uint32((int(p.data[1000]) + int(sums[-1])) % 2**32)


EXAMPLES: dict[str, tuple[Callable[[Place, str], None], tuple[str, ...], str]] = {
    "lsc_load.ugm.uc.uc  (M1,32) V13:d32    flat[V12+0x100]:a64": (gather_past_the_caches, ALL, ""),
    "lsc_load.slm   (M1,32) V13:d32x4  flat[V12]:a16": (vectors_from_slm, ALL, ""),
    "lsc_load.ugm  (M1,32) null:d32  flat[V12]:a64": (prefetch, ALL, ""),
    "lsc_load.ugm  (M1,32) V0:d32    flat[V12]:a64 // V0 is the null register in vISA": (
        prefetch,
        ALL,
        "",
    ),
    "lsc_load.ugm          (M1_NM,1)  V13:d32x16t  bti(0x4)[V12]:a32": (sixteen_in_a_row, ALL, ""),
    "lsc_load_strided.ugm  (M1_NM,16) V13:d32      bti(0x4)[V12]:a32": (sixteen_in_a_row, ALL, ""),
    "lsc_load_strided.ugm   (M1,32) V13:d32  flat[V12]:a32": (every(1), ALL, ""),
    "lsc_load_strided.ugm   (M1,32) V13:d32  flat[V12,0x100]:a32": (every(64), ALL, ""),
    "lsc_load_strided.slm   (M1,32) V13:d32  flat[V12,0x0]:a32": (every(0, slm=True), ALL, ""),
    "lsc_store.ugm     (M1,32) flat[V12]:a64  V13:d32": (scatter, ALL, ""),
    "lsc_store.slm     (M1,32) flat[V12]:a32  V13:d32x4": (vectors_to_slm, ALL, ""),
    f"lsc_load_block2d.ugm  (M1_NM,1)  VDATA:d8.2x16x32nn    {BLOCK}": (
        two_blocks_of_bytes,
        ALL,
        "",
    ),
    f"lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x32x16tn   {BLOCK}": (
        columns_of_words,
        (),
        "transpose-bits",
    ),
    f"lsc_load_block2d.ugm  (M1_NM,1) VDATA:d16.1x16x32nt   {BLOCK}": (pairs_of_rows, ALL, ""),
    f"lsc_store_block2d.ugm (M1_NM,1)  {BLOCK}  VDATA:d16.16x32nn": (
        block_store,
        (),
        "store-height",
    ),
    "lsc_apndctr_atomic_add.ugm  (M1,32) VDATA:d32 bti(0xA0) V10:d32": (
        counter,
        ("bmg", "lnl", "ptl"),
        "counter-target",
    ),
}


@pytest.mark.parametrize("text", EXAMPLES)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_an_example_against_numpy(text: str, seed: int) -> None:
    EXAMPLES[text][0](Place(seed), text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_where_an_example_is_legal(text: str) -> None:
    _, legal, rule = EXAMPLES[text]
    message = parse(text)
    for target in ALL:
        errors = [b.rule for b in message.check(target) if b.level == "error"]
        assert errors == ([] if target in legal else [rule]), target


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_as_numbers(text: str) -> None:
    message = parse(text)
    assert decode(encode(message)) == message
    assert encode(message).code[0] == 0x89
    assert encode_descriptor(message, "bmg").desc & 0x3F == encode(message).code[1]


def test_the_two_that_are_called_identical() -> None:
    """They load the same, and are different messages of as many registers."""
    texts = list(EXAMPLES)[4:6]
    held: list[list[int]] = []
    for text in texts:
        place = Place(7)
        place.addresses(np.array([64]), "u4")
        place.run(text)
        held.append(place.held(V13, 16).tolist())
    assert held[0] == held[1]
    assert len({encode_descriptor(parse(text)).desc for text in texts}) == 2


def test_the_comments_that_contradict_their_examples() -> None:
    """Height 16 and width 32, and height 64 and width 16, say the comments; the grammar says else.

    d16.1x16x32nt, "as above", has the sizes that the first comment's grammar would give it too.
    """
    first, second = (parse(text) for text in list(EXAMPLES)[11:13])
    assert isinstance(first, Block2DMessage)
    assert isinstance(second, Block2DMessage)
    assert (first.block.width, first.block.height) == (16, 32)
    assert (second.block.width, second.block.height) == (32, 16)


def test_a_caching_alone_is_not_a_pair() -> None:
    """The syntax has .L3 in brackets; in the table of pairs none has one default alone."""
    alone = parse("lsc_load.ugm.ca (M1,16) V13:d32 flat[V12]:a64")
    assert alone == parse("lsc_load.ugm.ca.df (M1,16) V13:d32 flat[V12]:a64")
    for target in ALL:
        assert [b.rule for b in alone.check(target)] == ["caching-load"]
        assert not parse("lsc_load.ugm.df (M1,16) V13:d32 flat[V12]:a64").check(target)
    with pytest.raises(LegalityError, match=r"caching ca\.df"):
        encode_descriptor(alone)


@pytest.mark.parametrize("mask", ["x", "y", "xz", "xyz", "yw", "xyzw", "w"])
def test_any_mask_is_executed_and_few_are_legal(mask: str) -> None:
    """A quad store of the machine against NumPy; the verifier takes channels from the first on."""
    text = f"lsc_store_quad.ugm (M1,16) flat[V12]:a64 V13:d32.{mask}"
    place = Place(3)
    picks = 4 * place.rng.permutation(1000)[:16]
    place.addresses(place.base + 4 * picks, "u8")
    place.run(text)
    expected = place.data.copy()
    for row, letter in enumerate(mask):
        expected[picks + "xyzw".index(letter)] = place.held(V13 + 64 * row, 16)
    assert place.stored().tolist() == expected.tolist()
    legal = "xyzw".startswith(mask)
    for target in ALL:
        broken = [b.rule for b in parse(text).check(target)]
        assert broken == ([] if legal else ["quad-store-mask"])
        assert not parse(f"lsc_load_quad.ugm (M1,16) V13:d32.{mask} flat[V12]:a64").check(target)
