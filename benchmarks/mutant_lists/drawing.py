"""Small wrong changes to drawings."""

from __future__ import annotations

from mutant_lists.mutant import mutants

ALL = (
    "tests/drawing/test_scenes.py tests/drawing/test_layout_drawing.py "
    "tests/drawing/test_drawing.py tests/drawing/test_atoms.py"
)

MUTANTS = [
    *mutants(
        "drawing/of_banks",
        "tests/drawing/test_banks.py",
        ("(str(word * width),)", "(str(word),)", "words are named by their byte"),
        ("        if not held\n", "", "idle banks are shown empty"),
    ),
    *mutants(
        "drawing/of_layout",
        "tests/drawing/test_layout_drawing.py tests/drawing/test_drawing.py",
        (
            "(i % grid.rows, i // grid.rows)",
            "(i // grid.cols, i % grid.cols)",
            "a grid runs down its columns",
        ),
        ("value != layout.offset + inner(i)", "value != inner(i)", "an offset is not a swizzle"),
        ("layout.offset + cosize(inner)", "cosize(inner)", "offsets start at the offset"),
    ),
    *mutants(
        "drawing/of_block2d",
        "tests/drawing/test_block2d.py",
        (
            "if number is None or y >= self.message.height:",
            "if number is None:",
            "rows below the block are padding",
        ),
        (
            "number is None or number >= last for",
            "number is None for",
            "rows below the block are padding",
        ),
        ("not self.inside(x, y)", "not self.inside(y, x)", "x is the column"),
        (
            "self.wide = message.width * message.count",
            "self.wide = message.width",
            "blocks lie side by side",
        ),
    ),
    *mutants(
        "drawing/of_copy",
        "tests/drawing/test_scenes.py tests/drawing/test_atoms.py tests/drawing/test_ownership.py",
        (
            "x = column * self.bits // message.bits - left",
            "x = column - left",
            "a column counts in values",
        ),
        (
            "return before + x // message.width",
            "return before",
            "blocks of a message have frames of their own",
        ),
        (
            "if shown and total > MOST_CELLS:",
            "if total > MOST_CELLS:",
            "one panel is shown at least",
        ),
        ("SUBGROUP, shape[1]\n", "1, shape[1]\n", "16 work-items have addresses of their own"),
        (
            "s.place[copy.y_mode], s.place[copy.x_mode]",
            "s.place[copy.x_mode], s.place[copy.y_mode]",
            "rows are those of memory",
        ),
    ),
    *mutants(
        "drawing/images",
        "tests/drawing/test_scenes.py tests/drawing/test_ownership.py",
        (
            "y, x = divmod(offset, atom.width)",
            "x, y = divmod(offset, atom.width)",
            "x runs along memory",
        ),
        (
            "element = message * SUBGROUP * atom.values + order(offset)",
            "element = order(offset)",
            "messages fill registers in turn",
        ),
        (
            "for e, at in image.items() if e < extent",
            "for e, at in image.items()",
            "padding is not reordered",
        ),
        (
            "yield Slot(group * size(order) + element",
            "yield Slot(element",
            "tiles fill registers in turn",
        ),
    ),
    *mutants(
        "drawing/scene",
        ALL,
        ("if height * width == len(places):", "if True:", "what is not a rectangle has no frame"),
        (
            "number, within = divmod(byte, grf_bytes())",
            "number, within = divmod(byte, 32)",
            "a register has 64 bytes",
        ),
        ("if self.cells > CELL_LIMIT:", "if False:", "too many cells are refused"),
    ),
    *mutants(
        "drawing/measure",
        ALL,
        ("if len(every) > LABELLED:", "if False:", "many cells have no labels"),
        (
            "return sum(extent + PANEL_GAP for extent in before if extent)",
            "return sum(extent for extent in before if extent)",
            "panels stand apart",
        ),
        (
            "max(self.cells.width * len(panel.cols), heading_width(panel))",
            "self.cells.width * len(panel.cols)",
            "headings have room",
        ),
        ("18 * (len(self.caption) - 1)", "0", "captions have several lines"),
    ),
    *mutants(
        "drawing/terminal",
        f"{ALL} tests/drawing/test_side_by_side.py",
        (
            'if cell.is_padding:\n        return "·"',
            'if False:\n        return "·"',
            "padding is a dot",
        ),
        (
            "return 0 if fits[0] else max(least, 1 if fits[1] else 2)",
            "return 0 if fits[0] else 1 if fits[1] else 2",
            "panels abbreviate alike",
        ),
        (
            "least = max((_form(part, width, 0) for part in parts), default=0)",
            "least = 0",
            "panels abbreviate alike",
        ),
        (
            "for cell in reversed(panel.cells)",
            "for cell in panel.cells",
            "the first owner is shown",
        ),
        (
            "if cols[0] <= cell.col <= cols[-1])",
            "if cols[0] <= cell.col)",
            "each part has its own columns",
        ),
    ),
    *mutants(
        "drawing/side_by_side",
        "tests/drawing/test_side_by_side.py",
        (
            "for scene in scenes.values()) <= _ROW",
            "for scene in scenes.values()) > _ROW",
            "narrow panels stand side by side",
        ),
        (
            "layout(cell.col) if flat else layout(cell.row, cell.col)",
            "layout(cell.col)",
            "a grid has two coordinates",
        ),
        (
            "legends.pop() if len(legends) == 1",
            "legends.pop() if legends",
            "unlike legends are left out",
        ),
    ),
    *mutants(
        "drawing/svg",
        ALL,
        (
            "nth = seen[place] = seen.get(place, -1) + 1",
            "nth = seen[place] = 0",
            "owners of one place share its cell",
        ),
        (
            "range(0, len(coords), 1 if pixels >= 20 else 8)",
            "range(0, len(coords))",
            "small cells have few numbers",
        ),
        ("panel.col_name(i) == panel.col_name(i - 1)", "False", "a run of columns has one name"),
    ),
    *mutants(
        "drawing/of_lsc",
        "tests/drawing/test_lsc.py",
        ("(n * each + v * size) // size: (n, v)", "(n * each + v) // size: (n, v)", "side by side"),
        ("columns = 4 if data.mask else", "columns = data.elements if data.mask else", "four"),
        ("number = channel * message.data.elements + element", "number = element", "numbers"),
    ),
    *mutants(
        "drawing/dispatch",
        "tests/drawing/test_side_by_side.py tests/drawing/test_lsc.py tests/drawing/test_views.py "
        "tests/drawing/test_ownership.py tests/drawing/test_drawing.py tests/drawing/test_atoms.py",
        ("return of_tiled_copy(x, subgroup)", "return of_tiled_copy(x, 0)", "which subgroup"),
        ("return of_tiled_mma(x, what, subgroup)", "return of_tiled_mma(x, what, 0)", "of an MMA"),
        ("return of_zooms(x, what, subgroup)", "return of_zooms(x, what, 0)", "of zooms"),
        ("and callable(colour):", "or callable(colour):", "layouts have no parts"),
        ('x.lstrip().startswith("lsc_")', 'x.startswith("lsc_")', "a message behind blanks"),
        ("return coloured(x, colour)", "return coloured(x)", "colours that are given"),
        ("case _ if what is not None:", "case _ if False:", "parts of what has none"),
    ),
]
