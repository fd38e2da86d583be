"""Which statement each instruction of machine code belongs to, and how that is known."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from compiled_cases import RECORDED, listed, needs_compiler
from every import every
from machine_code import NULL, grf, instruction, sent
from recorded_origins import KERNELS, Record, records
from sampling import sampled

import pycute_xe as cx
from pycute_xe.emitting.names import spelled
from pycute_xe.emitting.opencl import BEFORE, statement_lines
from pycute_xe.errors import InputError, ToolError
from pycute_xe.kernel import Fill, If, Load, Loop, Mma, Prefetch, Statement, Store
from pycute_xe.kernel.ir.listing import line_in
from pycute_xe.native import Explained, Toolchain
from pycute_xe.native.assembly import Reg
from pycute_xe.native.explained import KINDS, Part
from pycute_xe.native.operands import bytes_read, bytes_written
from pycute_xe.native.origins import read_visa

by_name = pytest.mark.parametrize("record", records(), ids=str)


def recorded(name: str) -> Record:
    return next(record for record in records() if record.name == name)


def scattered(made: Explained) -> int:
    """Instructions of no statement that stand neither at the start nor at the end."""
    rows = ("computed once for several statements", "unattributed")
    return sum(len(made.of(part)) for part in made.parts if part.title in rows)


def statements(record: Record, made: Explained) -> list[tuple[Statement, Part]]:
    parts = [part for part in made.parts if part.number >= 0]
    return list(zip(record.kernel.statements(), parts, strict=True))


# ---------------------------------------------------------------- the text's lines


@every("name", KERNELS)
def test_the_line_of_the_listing_stands_above_what_a_statement_writes(name: str) -> None:
    kernel = KERNELS[name]()
    text = cx.emit(kernel).splitlines()
    owners = statement_lines(kernel, cx.emit(kernel))
    called = spelled(kernel)[0]
    said = [line_in(called, each) for each in called.statements()]
    heads = [number for number, owner in owners.items() if owner != BEFORE]
    titles = [text[number - 1].strip() for number in heads]
    found = [(owners[n], t[3:]) for n, t in zip(heads, titles, strict=True) if t[3:] in said]
    assert found == list(enumerate(said))
    kinds = [type(each) for each in kernel.statements()]
    braces = [kinds[owners[n]] for n in heads if text[n - 1].strip() == "}"]
    assert Counter(braces) == Counter(kind for kind in kinds if kind in (If, Loop))
    assert text[min(owners) - 1].startswith("__kernel")
    assert text[max(owners) :] == ["}"]


def test_renamed_kernels_have_the_lines_of_their_text() -> None:
    kernel = cx.kernel.gemm(
        cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16), ((1, 1, 1), (1, 1, 0))),
        epilogue="half*acc",
    )
    text = cx.emit(kernel)
    assert "half is called half_ here" in text
    first = min(n for n, owner in statement_lines(kernel, text).items() if owner == 0)
    assert text.splitlines()[first - 1].strip() == "// fill      tCrC = 0"


# ---------------------------------------------------------------- recorded code


@by_name
def test_every_instruction_has_one_part(record: Record) -> None:
    made = record.explained()
    code = json.loads(record.code)
    entries = code.get("insts", code.get("elems", ()))
    total = sum(each["kind"] == "I" and each["op"] != "illegal" for each in entries)
    assert len(made.instructions) == total
    assert sum(numbers[0] for _, numbers in made.rows()) == total
    assert sum(sum(numbers[2:]) for _, numbers in made.rows()) == total
    assert made.attributed == sum(len(made.of(p)) for p in made.parts if p.number >= 0)
    assert scattered(made) < 0.02 * total


@by_name
def test_messages_and_dpas_are_those_of_their_statements(record: Record) -> None:
    made = record.explained()
    for statement, part in statements(record, made):
        counts = made.counts(part)
        if isinstance(statement, (Load, Prefetch, Store)):
            assert counts["send"] == statement.copy.messages, part.title
            assert not {"dpas", "move", "alu"} & counts.keys(), part.title
        if isinstance(statement, Fill):
            fragment = record.kernel.fragment(statement.fragment)
            registers = fragment.elements * fragment.value_type.bits // 8 // 64
            assert counts["move"] == registers // 2, part.title
        if not isinstance(statement, Mma):
            assert "dpas" not in counts, part.title
    dpas = sum(made.counts(part).get("dpas", 0) for part in made.parts)
    assert dpas == listed(record.kernel)["dpas"] == len(re.findall(r"dpas\.\d", record.listing))


@by_name
def test_spills_are_those_of_the_compilers_comments(record: Record) -> None:
    made = record.explained()
    spills = [each for each in made.instructions if each.kind == "spill"]
    assert len(spills) == len(re.findall(r"scratch space (?:spill|fill)", record.listing))
    inside = sum(each.depth > 0 for each in spills)
    first = f"warning: {inside} messages to or from scratch memory stand in loops\n"
    assert str(made).startswith(first if inside else f"{made.kernel} for {made.target}")
    assert bool(spills) == bool(made.scratch)


def test_the_main_loop_of_the_page_is_as_counted_by_hand() -> None:
    # Counted in the disassembly: what stands between the arrival and the jump back.
    made = recorded("gemm").explained()
    arrival = next(made.of(part)[0] for part in made.parts if part.kind == "BarrierArrive")
    loop = [each for each in made.instructions if each.depth and each.number >= arrival.number]
    assert Counter(each.kind for each in loop) == {
        "move": 32,
        "dpas": 8,
        "fill": 8,
        "send": 7,
        "wait": 6,
        "index": 4,
        "jump": 2,
    }
    names = {part.number: part.title.split()[0] for part in made.parts}
    assert {names[each.part] for each in loop if each.kind == "move"} == {"reorder"}
    assert Counter(names[each.part] for each in loop if each.kind == "fill") == {
        "barrier": 2,
        "copy": 4,
        "prefetch": 2,
    }
    assert not made.notes


def test_payloads_that_each_trip_fills_are_noted() -> None:
    made = recorded("shared tiles").explained()
    assert [words.partition(":")[0] for words in made.notes] == [
        "copy A[32*m, 32*k+32] → tArA",
        "copy B[32*k+32, 64*n] → tBrB",
    ]
    assert "6 instructions fill the payload of 1 message in each trip" in made.notes[0]
    # Pitch and x are written together, and x follows the trip.
    assert "5 with what no trip changes (base, width, height, y, block)" in made.notes[0]


def test_what_is_written_out_is_noted() -> None:
    record = recorded("gemm")
    made = record.explained()
    last = max(int(n) for n in re.findall(r"/// \$(\d+)", record.visa))
    send = re.search(
        r"^    LOC (\d+)\n    (raw_sends\S+ .*? tBrB\.0) /// \$(\d+)$", record.visa, re.M
    )
    assert send is not None
    # The same message once more, by one that stands elsewhere: the listing names the copy.
    visa = f"{record.visa}\n    LOC {send[1]}\n    {send[2]} /// ${last + 9}"
    at = record.listing.rindex("load_block2d")
    copied = re.sub(r"\$\d+(?=\n|$)", f"${last + 9}", record.listing[at:], count=1)
    listing = record.listing[:at] + copied
    again = record.explained(listing, visa)
    assert "copy B[32*k, 64*n] → tBrB: written out 2 times" in again.notes
    assert not any("written out" in words for words in made.notes)


# ---------------------------------------------------------------- how it is known

# Line 10 heads the function, 11 writes the first statement of the kernel, 12 the second.
LINES = {"10": BEFORE, "11": 0, "12": 1, "13": 2, "14": 3}
DECLARED = [f".decl V{i:04} v_type=G type=d num_elts=1" for i in range(9)] + [
    ".decl V0009 v_type=G type=q num_elts=1 alias=<V0001, 0>",
    ".decl tCrC v_type=G type=ud num_elts=512 align=wordx32",
    ".decl xe_payload0 v_type=G type=ud num_elts=16 align=wordx32",
]


def known(*code: str) -> list[tuple[str, str]]:
    """The parts of instructions of vISA, and how they are known; each is one of machine code."""
    visa, listing, entries = [*DECLARED], ["", "// B000: Preds:{}, Succs:{}"], []
    for number, each in enumerate(code):
        where, _, words = each.partition("|")
        visa += [f"    LOC {where}"] if where else []
        visa.append(f"    {words} /// ${number}")
        op = "mov" if words.split()[0].startswith(("lsc", "cmp", "raw")) else words.split()[0]
        listing.append(f"(W) {op} (1|M0) r1.0<1>:d r2.0<0;1,0>:d {{I@1}} // ${number}")
        entries.append({"kind": "I", "id": number, "op": op, "es": 1, "srcs": []})
    record = replace(
        recorded("gemm"), lines=LINES, code=json.dumps({"elems": entries}), visa="\n".join(visa)
    )
    made = record.explained("\n".join(listing))
    names = {part.number: part.title for part in made.parts}
    return [(" ".join(names[each.part].split()[:2]), each.by) for each in made.instructions]


USES = "lsc_load_block2d.ugm (M1, 1) tCrC:d16.2x16x16nt flat[V0005,V0005,V0005,V0005,V0005,{}]"


def test_a_line_is_believed_where_the_statement_uses_the_result() -> None:
    first, second, head = known(
        "13|add (M1_NM, 1) V0000(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        f"13|{USES.format('V0000')}",
        "10|add (M1_NM, 1) V0002(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
    )
    assert first == second == ("prefetch A[32*m,", "line")
    assert head == ("the start:", "line")


def test_what_lost_its_line_is_of_the_one_statement_that_uses_it() -> None:
    code = known(
        "11|mov (M1_NM, 16) tCrC(0,0)<1> 0x0:ud",
        "|add (M1_NM, 1) V0001(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        "|shl (M1_NM, 1) V0000(0,0)<1> V0009(0,0)<0;1,0> 0x1:w",
        f"13|{USES.format('V0000')}",
    )
    assert code == [
        ("fill tCrC", "line"),
        ("prefetch A[32*m,", "use"),
        ("prefetch A[32*m,", "use"),
        ("prefetch A[32*m,", "line"),
    ]


def test_a_line_whose_statement_does_not_use_the_result_is_not_believed() -> None:
    code = known(
        "11|add (M1_NM, 1) V0000(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        f"13|{USES.format('V0000')}",
    )
    assert code[0] == ("prefetch A[32*m,", "use")


def test_what_several_use_and_what_none_does_are_rows_of_their_own() -> None:
    code = known(
        "11|mov (M1_NM, 16) tCrC(0,0)<1> 0x0:ud",
        "|add (M1_NM, 1) V0000(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        "|add (M1_NM, 1) V0002(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        f"13|{USES.format('V0000')}",
        f"14|{USES.format('V0000')}",
    )
    assert code[1:3] == [("computed once", "use"), ("unattributed", "")]


def test_a_store_uses_all_that_it_names() -> None:
    code = known(
        "11|mov (M1_NM, 16) tCrC(0,0)<1> 0x0:ud",
        "|add (M1_NM, 1) V0000(0,0)<1> V0004(0,0)<0;1,0> 0x1:w",
        "13|lsc_store_block2d.ugm (M1, 1) flat[V0000,V0005,V0005,V0005,V0005,V0005] tCrC:d32",
    )
    assert code[1] == ("prefetch A[32*m,", "use")


SENT = "raw_sends.15.1.0.0 (M1, 1) 0x0:ud 0x2000203:ud xe_payload0.0 %null.0 %null.0"


def test_a_payload_is_of_the_one_statement_that_sends_it() -> None:
    moved = "12|add (M1_NM, 1) xe_payload0(0,6)<1> xe_payload0(0,6)<0;1,0> 0x20:ud"
    assert known(moved, f"13|{SENT}")[0] == ("prefetch A[32*m,", "use")
    assert known(moved, f"13|{SENT}", f"14|{SENT}")[0] == ("for 0", "line")


def test_names_of_one_line_are_parts_of_that_lines_payload() -> None:
    declared = [
        ".decl xe_payload0 v_type=G type=ud num_elts=16",
        ".decl xe_base v_type=G type=uq num_elts=8 alias=<xe_payload0, 0>",
        ".decl xe_payload1 v_type=G type=ud num_elts=16",
        ".decl xe_base v_type=G type=uq num_elts=8 alias=<xe_payload1, 0>",
        "    LOC 11",
        "    mov (M1_NM, 1) xe_base(0,0)<1> 0x0:d /// $1",
        "    mov (M1_NM, 1) xe_payload0(0,2)<1> 0x0:d /// $2",
        "    LOC 12",
        "    mov (M1_NM, 1) xe_base(0,0)<1> 0x0:d /// $3",
        "    raw_sends.15.1.0.0 (M1, 1) 0x0:ud 0x2000203:ud xe_payload0.0 %null.0 %null.0 /// $4",
    ]
    visa = read_visa("\n".join(declared))
    assert [visa[i].writes for i in (1, 2, 3)] == ["xe_payload0", "xe_payload0", "xe_payload1"]
    assert [visa[i].payload for i in (1, 2, 3, 4)] == [True, True, False, False]
    assert visa[4].message
    assert visa[4].reads == {"xe_payload0"}


def test_bytes_of_registers_are_those_of_the_walk() -> None:
    four = instruction("mov", grf(2, "ud", (1,), element=2), grf(3, "ud"), size=4)
    assert [*bytes_written(four)] == [*range(2 * 64 + 8, 2 * 64 + 24)]
    assert [*bytes_read(four)] == [*range(3 * 64, 3 * 64 + 16)]
    apart = instruction("mov", grf(2, "uw", (2,)), grf(3, "uw", (4, 2, 1)), size=4)
    assert [*bytes_written(apart)] == [128, 129, 132, 133, 136, 137, 140, 141]
    assert [*bytes_read(apart)] == [192, 193, 194, 195, 200, 201, 202, 203]
    once = instruction("add", grf(2, "d", (1,)), grf(3, "d", (0, 1, 0)), size=1)
    assert [*bytes_read(once)] == [192, 193, 194, 195]
    loaded = sent(Reg("r", 4, 0, None, "ud", "", 2), 0x02800203)
    assert [*bytes_written(loaded)] == [*range(256, 384)]
    assert [*bytes_written(replace(loaded, to=NULL))] == []


# ---------------------------------------------------------------- refusals


def test_a_listing_of_other_code_is_refused() -> None:
    record = recorded("gemm")
    shorter, at = record.listing, record.listing.rindex("\n(W) send")
    for other in (shorter.replace("dpas", "dp4a", 1), shorter[:at]):
        with pytest.raises(ToolError, match="not that of its machine code"):
            record.explained(other)


def test_records_without_lines_are_refused() -> None:
    record = recorded("gemm")
    visa = "\n".join(row for row in record.visa.splitlines() if not row.startswith("    LOC"))
    with pytest.raises(ToolError, match="name no line of the text"):
        record.explained(visa=visa)


def test_a_compiler_that_writes_no_steps_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "ocloc"
    script.write_text("#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done; echo made > $1/a.bin\n")
    silent = Toolchain("1.2.3", ("pvc",), ("sh", str(script)), ("false",))
    with pytest.raises(ToolError, match="does not write down its steps"):
        silent.followed("kernel", "pvc", "")


def test_a_statement_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"no statement begins with 'copx'.* use the, fill, for"):
        recorded("gemm").explained().code("copx")


# ---------------------------------------------------------------- as text, table, record, picture


def test_the_table_fits_a_screen() -> None:
    lines = str(recorded("gemm").explained()).splitlines()
    rows = lines[1:-1]
    assert len({len(row) for row in rows}) == 1
    assert max(map(len, rows)) <= 100
    assert len(lines) <= 40


def test_code_shows_a_loop_with_what_is_inside() -> None:
    made = recorded("gemm").explained()
    code = made.code("for 0 <= k").splitlines()
    titles = [
        row for row in code if not re.match(r" *\??  ?[a-z]+ +(\(W|sync|send|load|dpas|…)", row)
    ]
    assert titles[0] == "for 0 <= k < ceil_div(K, 32):"
    assert titles[-1] == "  barrier   wait"
    assert not any("bias" in row for row in code)
    assert "  ? fill  … and 12 more" in made.code("copy A")
    assert len(made.code()) > len(made.code("for"))


def test_the_record_holds_everything() -> None:
    made = recorded("parts of K").explained()
    data = json.loads(made.to_json())
    assert len(data["instructions"]) == len(made.instructions)
    assert Counter(each["by"] for each in data["instructions"])["use"] == sum(
        each.by == "use" for each in made.instructions
    )
    assert made == recorded("parts of K").explained()
    assert hash(made) == hash(recorded("parts of K").explained())


def test_a_notebook_shows_a_table_that_unfolds() -> None:
    made = recorded("more than there is room for").explained()
    shown = made._repr_mimebundle_()
    assert shown["text/plain"] == str(made)
    page = ET.fromstring(shown["text/html"])
    rows = page.findall(".//tbody/tr")
    assert len(page.findall(".//details")) == sum(1 for _, n in made.rows() if n[0])
    assert len(rows) == len(list(made.rows())) + len(page.findall(".//details"))
    assert "unattributed" in shown["text/html"]
    assert len(page.findall(".//li")) == len(made.notes)


def test_a_drawing_has_a_cell_for_each_instruction() -> None:
    made = recorded("parts of K").explained()
    drawing = cx.draw(made)
    cells = [cell for panel in drawing.scene.panels for cell in panel.cells]
    assert [dict(cell.data)["number"] for cell in cells] == list(range(len(made.instructions)))
    assert [cell.label for cell in cells] == [KINDS[each.kind] for each in made.instructions]
    dashed = [cell.colour is None for cell in cells]
    assert dashed == [each.part < 0 for each in made.instructions]
    assert "by the compiler's lines" in " ".join(drawing.scene.caption)


# ---------------------------------------------------------------- compiled


@needs_compiler
@pytest.mark.parametrize("name", sampled(KERNELS, 1))
@pytest.mark.long
def test_compiled_kernels_are_explained(name: str) -> None:
    kernel, mode = KERNELS[name](), 128 if name.startswith("more") else 256
    made = cx.native.explain(kernel, registers=mode, compiler=RECORDED)
    binary = cx.native.compile(kernel, registers=mode, compiler=RECORDED)
    assert len(made.instructions) == len(binary.assembly.instructions)
    kinds = Counter(each.kind for each in made.instructions)
    assert kinds["dpas"] == binary.dpas
    assert bool(kinds["spill"]) == bool(binary.scratch)
    assert not any("instructions differ" in words for words in made.notes)
    assert scattered(made) < 0.02 * len(made.instructions)


@needs_compiler
@pytest.mark.long
def test_a_loop_that_is_written_out_is_noted() -> None:
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.split_k(mma, parts=3)
    made = cx.native.explain(kernel, compiler=RECORDED)
    prefetches = cx.native.compile(kernel, compiler=RECORDED).messages["prefetch"]
    ahead = [each for each in made.instructions if re.search("load_block2d.*null:0", each.text)]
    assert len(ahead) == prefetches == listed(kernel)["prefetch"] + 2
    assert [words for words in made.notes if "written out" in words] == [
        "prefetch A[32*m, 96*p+32*s]: written out 2 times",
        "prefetch B[96*p+32*s, 64*n]: written out 2 times",
        "for 0 <= p < 2: has no jump back: it is written out",
    ]


@pytest.mark.skipif(bool(cx.native.missing("bmg")), reason=cx.native.missing("bmg"))
@pytest.mark.parametrize("name", sampled(KERNELS, 1))
@pytest.mark.long
def test_line_records_do_not_change_the_code_of_the_newest_compiler(name: str) -> None:
    made = cx.native.explain(KERNELS[name](), "bmg")
    assert not any("instructions differ" in words for words in made.notes)
    assert scattered(made) < 0.02 * len(made.instructions)
