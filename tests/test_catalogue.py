"""The pages that the site makes of the atoms: every atom, all its notes, and true words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import atom_catalogue
import atom_linear
import atom_mma
import atom_templates
import atom_words
import pytest
from every import every

import pycute_xe as cx
from pycute_xe.arch.target import targets
from pycute_xe.atom import MmaAtom
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, shipped_names
from pycute_xe.errors import LegalityError
from pycute_xe.facts import rows

Place = tuple[int, int]


@cache
def pages() -> dict[str, str]:
    families = {key: atom_catalogue.family_page(key) for key in atom_catalogue.FAMILIES}
    others = {"templates": atom_templates, "mma": atom_mma, "linear": atom_linear}
    return {**families, **{key: module.page() for key, module in others.items()}}


@cache
def sections() -> dict[str, list[str]]:
    """Anchor → the sections that have it, over all pages."""
    found: dict[str, list[str]] = {}
    for text in pages().values():
        for part in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
            anchor = re.search(r"\{ #([^ ]+) \}", part.splitlines()[0])
            if anchor:
                found.setdefault(anchor[1], []).append(part)
    return found


COPIES = [name for name in shipped_names() if not name.endswith("::PREFETCH")]
LINEAR = [
    "XE_1D_LOAD_GLOBAL",
    "XE_1D_STORE_GLOBAL",
    "XE_1D_LDSM",
    "XE_1D_STSM",
    "XE_ATOMIC",
    "UniversalCopy",
]
OLDER = [
    f"XE_{m}x16x{cx.XE_DPAS_TT(m, *row['types']).K}_{''.join(row['types']).upper()}_TT"
    for row in rows("dpas", "older_name")
    for m in row["m"]
]


@pytest.mark.long
def test_every_atom_that_is_shipped_has_one_anchor() -> None:
    names = [*COPIES, *OLDER, *atom_templates.TEMPLATES, *LINEAR]
    assert sorted(sections()) == sorted(names)
    assert all(len(found) == 1 for found in sections().values())
    assert (len(COPIES), len(OLDER)) == (90, 28)


@pytest.mark.parametrize("name", [*shipped_names(), *OLDER])
@pytest.mark.long
def test_all_notes_of_an_atom_stand_in_its_section(name: str) -> None:
    copy, _, prefetch = name.partition("::")
    (text,) = sections()[copy]
    title = "note on the prefetch" if prefetch else "note"
    told = re.findall(rf"^\| {title} \| (.*)\. \|$", text, re.MULTILINE)
    assert [note.lower() for note in told] == [note.lower() for note in get_atom(name).notes]
    if prefetch:
        assert f'id="{copy}-PREFETCH"' in text


@every("name", COPIES)
@pytest.mark.long
def test_a_section_says_what_the_atom_answers(name: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, LegacyCopyAtom)
    (text,) = sections()[name]
    for target in targets():
        assert all(f"`{part}`" in text for part in atom.messages(target))
    assert ("(faithful)" in text) == atom.faithful
    for unit in atom.faithful_units:
        assert atom.faithful or f"if read in {unit} bits" in text
    assert " ".join(f"({y},{x})" for y, x in atom.ownership()[1][:6]) in text
    (types,) = re.findall(r"^\| value types (.*)$", text, re.MULTILINE)
    carried = set(re.findall(r"`(\w+)`", types))
    for value_type in cx.numeric.numerics():
        try:
            get_atom(name, value_type)
        except cx.DTypeError:
            assert value_type not in carried
        else:
            assert value_type in carried


# ------------------------------------------------------------------ words


def numbers(words: str, t: int) -> list[int]:
    """Work out "2t, 2t + 1, … with r = t div 2" for one work-item; not what dots leave out."""
    words, _, where = words.partition(" with ")
    names = {"t": t}
    if where:
        letter, term = where.split(" = ")
        names[letter] = value(term, names)
    first, to, last = words.partition(" to ")
    if to:
        return list(range(value(first, names), value(last, names) + 1))
    return [value(term, names) for term in words.replace("…", "").split(",") if term.strip()]


def value(term: str, names: dict[str, int]) -> int:
    text = term.replace("mod", "%").replace("div", "//")
    return int(eval(re.sub(r"(\d)([a-z(])", r"\1*\2", text), {}, names))


def places(words: str, t: int) -> tuple[set[int], set[int] | None]:
    """Columns and rows that words give a work-item; ``None``: every row."""
    told = [re.sub(r"^\w+ ", "", part) for part in words.split("; ")]
    columns = set(numbers(told[0], t))
    return columns, set(numbers(told[1], t)) if len(told) > 1 else None


def holds(words: str, owned: Sequence[Sequence[Place]], shape: Place) -> None:
    for t, held in enumerate(owned):
        columns, down = places(words, t)
        got_columns, got_rows = {x for _, x in held}, {y for y, _ in held}
        if "…" not in words.split("; ")[0]:
            assert columns == got_columns
        assert columns <= got_columns
        if down is None:
            assert got_rows == set(range(shape[0]))
        else:
            assert down <= got_rows
            assert "…" in words or down == got_rows


@every("name", COPIES)
@pytest.mark.long
def test_the_words_on_ownership_are_true(name: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, LegacyCopyAtom)
    words = atom_words.ownership(atom.ownership(), atom.shape)
    assert "work-item" not in words, "there are words for every shipped copy"
    assert f"| {words} |" in sections()[name][0]
    holds(words, atom.ownership(), atom.shape)


@every("name", [*OLDER, "XE_DPAS_TT<8,f32,bf16>", "XE_DPAS_TT<8,s32,s8,u4>"])
@every("operand", ["A", "B", "C"])
@pytest.mark.long
def test_the_words_on_operands_are_true(name: str, operand: str) -> None:
    atom = get_atom(name)
    assert isinstance(atom, MmaAtom)
    words = atom_words.ownership(atom.ownership(operand), atom.operand_shape(operand))
    assert words in pages()["mma"]
    holds(words, atom.ownership(operand), atom.operand_shape(operand))


def test_ownership_without_a_pattern_is_listed() -> None:
    odd = tuple(((0, t * t),) for t in range(16))
    assert atom_words.ownership(odd, (1, 256)) == "work-item 0: (0,0); work-item 1: (0,1)"
    both = tuple(((0, t), (1, t + 16)) for t in range(16))
    assert atom_words.ownership(both, (2, 32)).startswith("work-item 0: (0,0) (1,16);")


def test_elements_that_no_message_packs_have_an_atom_but_no_message() -> None:
    atom = cx.make_copy_atom(cx.XE_LOAD_2D_VNNI(64, 8, 4), "u64")
    with pytest.raises(LegalityError, match="bits is 64, must be 8 or 16"):
        atom.messages("bmg")


@pytest.mark.parametrize("kind", LINEAR)
def test_linear_copies_stand_on_their_page(kind: str) -> None:
    (text,) = sections()[kind]
    atoms = [get_atom(name) for name in cx.cutlass.catalogue() if name.startswith(f"{kind}<")]
    assert atoms
    for atom in atoms:
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{atom.op}` |")]
        try:
            sent = [str(part.message) for part in atom.messages("bmg")]
        except LegalityError:
            assert "none: " in row
            continue
        assert all(f"`{message}`" in row for message in sent)
        assert ("(faithful)" in row) == atom.faithful
        assert f"| {len(atom.ownership())} |" in row
        for note in atom.notes:
            assert note[1:] in text
