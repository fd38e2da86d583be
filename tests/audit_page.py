"""Writes the tables of docs/atoms/audit.md: CUTLASS's traits against document and hardware.

`PYTHONPATH=. python tests/audit_page.py` writes them anew from tests/data; a test compares. A part
of the page between `<!-- made: NAME … -->` and `<!-- end of made -->` is what the function of that
name here returns for the words behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from audit_rows import Sent, Verdict, documented, picture, said, sent, verdicts
from audit_templates import mma, templates
from golden import rows

from pycute_xe.arch.rules import errors
from pycute_xe.cutlass import LegacyCopyAtom, get_atom, parse_block2d_name, shipped_names

PAGE = Path(__file__).resolve().parent.parent / "docs" / "atoms" / "audit.md"
PART = re.compile(r"(<!-- made: (\w+) ?(.*?) ?-->\n).*?(<!-- end of made -->\n)", re.DOTALL)


def page(text: str) -> str:
    """The page with its generated parts as they are now."""
    return PART.sub(lambda m: f"{m[1]}{PARTS[m[2]](*m[3].split())}{m[4]}", text)


def table(titles: Iterable[str], lines: Iterable[Iterable[object]], left: int = 1) -> str:
    """A table whose first columns hold words and whose other ones hold figures."""
    names = list(titles)
    marks = ["---"] * left + ["---:"] * (len(names) - left)
    cells = [names, marks, *([str(cell) for cell in line] for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def family(name: str) -> str:
    parts = parse_block2d_name(name)
    packed = "Packed_" if parts.packed else ""
    return f"`{packed}{parts.data_type} {'ST' if parts.is_store else 'LD'}_{parts.mode}`"


def summary() -> str:
    """What to take home: the names whose map is wrong, and what the others need."""
    copies = [name for name in shipped_names() if not name.endswith("::PREFETCH")]
    found: dict[str, set[str]] = {}
    for v in verdicts():
        found.setdefault(v.name, set()).add(shown(v))
    wrong = [name for name, kinds in found.items() if "no map" in kinds]
    sound = {name: kinds for name, kinds in found.items() if name not in wrong}
    width = sum(kinds <= {"as named", "in another width"} for kinds in sound.values())
    named = sum(kinds == {"as named"} for kinds in sound.values())
    order = sum("other order" in kinds for kinds in sound.values())
    return (
        f"**{len(wrong)} of the {len(copies)} names have a map that is wrong in C++:** "
        f"{names(wrong)}.\n\n"
        f"Of the other {len(copies) - len(wrong)}, {named} are right as they stand, and "
        f"{width - named} need only [the right width](#most-differences-are-a-matter-of-width). "
        f"Of {order} a work-item finds its own elements in another order, at least for some "
        f"strides, of {len(sound) - width - order} those of other work-items. "
        f"{len(copies) - len(found)} have no map that compiles.\n"
    )


def counts() -> str:
    """How many rows answer each question with yes."""
    found = verdicts()
    onto = [v for v in found if v.onto]
    broken = [v for v in found if not v.onto]
    swapped = [v for v in onto if v.rule == "no"]
    lines: list[tuple[str, list[Verdict]]] = [
        ("rows: a name with the strides of a tensor", list(found)),
        ("the map goes onto the block, each element once", onto),
        ("… and equals the maps of this library, in every offset", pick(onto, equal="yes")),
        ("… or does but for the memory side", pick(onto, equal="memory side differs")),
        ("… but is not the documented one", swapped),
        ("… and the document does not say", pick(onto, rule="-")),
        ("the map is not onto the block", broken),
        ("… elements with several owners", [v for v in broken if v.shared]),
        ("… elements with none", [v for v in broken if v.unowned]),
        ("… values outside of the block", [v for v in broken if v.outside]),
    ]
    cells = [(text, len(some), len({v.name for v in some})) for text, some in lines]
    return table(("", "rows", "names"), cells)


def pick(found: Iterable[Verdict], **wanted: str) -> list[Verdict]:
    return [v for v in found if all(getattr(v, key) == value for key, value in wanted.items())]


SHOWN = ("as named", "in another width", "other order", "other work-item", "no map")


def shown(v: Verdict) -> str:
    """Whether a work-item finds what the map says, in one of the words above."""
    if not v.onto:
        return "no map"
    if parse_block2d_name(v.name).bits in v.units:
        return "as named"
    if v.units:
        return "in another width"
    return "other order" if v.sent == "other order" else "other work-item"


def units() -> str:
    """Per family, where the registers hold what the traits say."""
    count: dict[str, Counter[str]] = {}
    widths: dict[str, set[int]] = {}
    for v in verdicts():
        count.setdefault(family(v.name), Counter())[shown(v)] += 1
        if shown(v) == "in another width":
            widths.setdefault(family(v.name), set()).update(v.units)
    lines: list[list[object]] = []
    for name, found in count.items():
        other = found["in another width"]
        told = f"{other} ({', '.join(map(str, sorted(widths[name])))})" if other else 0
        cells = [told if key == "in another width" else found[key] for key in SHOWN]
        lines.append([name, found.total(), *cells])
    total = sum(count.values(), Counter())
    lines.append(["all", total.total(), *(total[key] for key in SHOWN)])
    titles = ["family", "rows", "in elements of the name", "in another width (bits)"]
    return table([*titles, "same work-item, other order", "another work-item", "no map"], lines)


def faithful() -> str:
    """The library's own answer: `faithful` and `faithful_units` of the shipped copies."""
    count: dict[str, Counter[str]] = {}
    for name in shipped_names():
        atom = get_atom(name)
        assert isinstance(atom, LegacyCopyAtom)
        if atom.name.is_prefetch:
            continue
        units = atom.faithful_units
        said = "faithful" if atom.faithful else f"in {units[0]} bits" if units else "never"
        count.setdefault("stores" if atom.name.is_store else "loads", Counter())[said] += 1
    titles = ("faithful", "in 8 bits", "in 16 bits", "in 32 bits", "in 64 bits", "never")
    lines = [[kind, found.total(), *(found[t] for t in titles)] for kind, found in count.items()]
    return table(("", "names", *titles), lines)


def kinds() -> str:
    """What the traits say where they map onto nothing, and of which names."""
    found: dict[str, list[Verdict]] = {}
    for v in verdicts():
        if not v.onto:
            found.setdefault(str(parse_block2d_name(v.name).fact_of("traits_say")), []).append(v)
    lines = [
        (f"{text[0].upper()}{text[1:]}", names(v.name for v in some), len(some))
        for text, some in found.items()
    ]
    return table(("CUTLASS's traits", "names", "rows"), lines, left=2)


def names(some: Iterable[str]) -> str:
    return ", ".join(f"`{name.removeprefix('XE_2D_')}`" for name in dict.fromkeys(some))


def who(name: str, strides: str, down: str, across: str, *widths: str) -> str:
    """Who owns the first elements of a block: by the document, the traits, and in registers.

    Registers are read as CUTLASS does, or in each of some widths.
    """
    row = next(
        row
        for row in rows("cute_copy_atoms_legacy")["cases"]
        if (row["name"], row["stride_case"]) == (name, strides)
    )
    parts, message = parse_block2d_name(name), sent()[name]
    owners: dict[tuple[int, int], list[int]] = {}
    for t, values in enumerate(said(row)):
        for place in values:
            if t not in owners.setdefault(place, []):
                owners[place].append(t)
    after = picture(name, message.message)
    held = {f"in {width} bits": after.owners(int(width)) for width in widths}
    if not held and not errors(message.message.broken_rules("pvc")):
        held["registers"] = after.owners(max(message.unit_bits, after.bits))
    columns = range(int(across))
    lines: list[tuple[str, list[str]]] = []
    for y in range(int(down)):
        rule = [documented(parts.packed, x) for x in columns] if parts.logical_shape[1] > 15 else []
        lines.append((f"row {y}", [f"c{x}" for x in columns]))
        if rule:
            lines.append(("document", list(map(str, rule))))
        lines.append(("traits", [several(owners.get((y, x), [])) for x in columns]))
        for title, owner in held.items():
            lines.append((title, [str(owner[y, x][0]) for x in columns]))
    title = f"{name}: work-items that own an element of columns c0, c1, …"
    return f'```{{.text .owners title="{title}"}}\n{picture_of(lines)}```\n'


def several(work_items: list[int]) -> str:
    if len(work_items) > 2:
        return "all" if len(work_items) == 16 else f"{work_items[0]}…{work_items[-1]}"
    return "+".join(map(str, work_items)) or "·"


def picture_of(lines: list[tuple[str, list[str]]]) -> str:
    """Lines of cells below each other."""
    wide = 1 + max(len(cell) for _, cells in lines for cell in cells)
    texts = (title.ljust(10) + "".join(c.rjust(wide) for c in cells) for title, cells in lines)
    return "".join(f"{text}\n" for text in texts)


def messages() -> str:
    """Messages of CUTLASS that are illegal, or not what the letter of the name says."""
    lines: list[tuple[str, str, str]] = []
    for row in rows("cutlass_block2d_messages")["messages"]:
        sizes = "x".join(str(row[key]) for key in ("count", "width", "height"))
        told = "; ".join(strange(row))
        if told:
            lines.append((f"`{row['name']}`", f"`d{row['bits']}.{sizes}{row['suffix']}`", told))
    return table(("name", "message", "what it does"), lines, left=3)


def strange(row: dict[str, Any]) -> Iterable[str]:
    name = parse_block2d_name(row["name"])
    moved = row["bits"] * row["count"] * row["width"] * row["height"]
    if row["op"] == "prefetch":
        if moved != name.bits * name.rows * name.cols:
            yield f"fetches {moved // 8} of the {name.bits * name.rows * name.cols // 8} bytes"
        return
    message = sent()[row["name"]].message
    yield from (f"breaks `{broken.rule}`" for broken in errors(message.broken_rules("pvc")))
    if message.vnni != (name.mode == "V"):
        yield "packs rows as LD_V does"
    if row["shuffles"]:
        yield "then exchanges elements between work-items"
    if row["unit_bits"] < row["bits"]:
        yield f"reads the registers in {row['unit_bits']} bits, parts of its elements"
    given = row["units"] * row["unit_bits"]
    if given < moved // 16:
        yield f"is given {given} of the {moved // 16} bits that a work-item stores"


def differ() -> str:
    """Names under which CUTLASS and the library send different messages."""
    lines: list[tuple[str, str, str, str]] = []
    for name, found in sent().items():
        parts = get_atom(name).messages("pvc")
        if [part.message for part in parts] != [found.message]:
            here = ", ".join(f"`{Sent(part.message, 8, False)}`" for part in parts)
            after = picture(name, found.message).owners(64)
            same = "the same" if after == get_atom(name).registers().owners(64) else "others"
            legal = not errors(found.message.broken_rules("pvc"))
            lines.append((f"`{name}`", f"`{found}`", here, same if legal else "– (illegal)"))
    count = f"{len(lines)} of the {len(sent())} copies.\n\n"
    return count + table(("name", "CUTLASS", "here", "registers hold"), lines, left=4)


def unusable() -> str:
    """Names without traits, and those whose traits do not compile."""
    data = rows("cute_copy_atoms_legacy")
    lines: list[tuple[str, str, int]] = []
    for title, key in (
        ("without Copy_Traits", "ops_without_traits"),
        ("whose Copy_Traits do not compile", "not_instantiable"),
    ):
        for kind, twin in (("copies", False), ("prefetches", True)):
            some = [name for name in data[key] if name.endswith("::PREFETCH") == twin]
            short = names(name.removesuffix("::PREFETCH") for name in some)
            lines.append((f"{kind} {title}", short, len(some)))
    return table(("", "names", "how many"), lines, left=2)


def everything() -> str:
    """Every row; those of one name that agree share a line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for v in verdicts():
        widths = " / ".join(", ".join(map(str, w)) or "–" for w in (v.units, v.here))
        cells = (onto(v), v.rule, v.equal, v.sent, widths)
        lines.setdefault((f"`{v.name.removeprefix('XE_2D_')}`", *cells), []).append(v.strides)
    titles = ["name", "strides", "onto", "document", "equal here", "in registers", "widths"]
    cells = [[key[0], " ".join(some), *key[1:]] for key, some in lines.items()]
    text = table(titles, cells, left=len(titles))
    title = f'??? note "All {len(verdicts())} rows, {len(lines)} lines"\n\n'
    return title + "".join(f"    {line}\n" for line in text.splitlines()) + "\n"


def onto(v: Verdict) -> str:
    """Whether the map goes onto the block, or how far it is from that."""
    if v.onto:
        return "yes"
    parts = parse_block2d_name(v.name).logical_shape
    block = "" if sorted(v.declared) == sorted(parts) else ", declares {}×{}".format(*v.declared)
    counted = {"shared": v.shared, "unowned": v.unowned, "outside": v.outside}
    return f"**no**: {', '.join(f'{n} {what}' for what, n in counted.items() if n)}{block}"


_COUNTED = (counts, units, faithful, templates, mma)
_LISTED = (summary, kinds, who, messages, differ, unusable, everything)
PARTS: dict[str, Callable[..., str]] = {f.__name__: f for f in (*_COUNTED, *_LISTED)}


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
