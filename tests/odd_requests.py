"""Odd inputs of the playground: empty, huge, foreign, nested, misnamed, injected.

Each must be answered in the library's words, or stopped by a limit that says so. Called by the
tests of answers in this Python, and by site_doings.py in Chromium, as addresses of the page.
"""

from __future__ import annotations

COPY, MMA = "XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>"
SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'

_EXPRESSIONS = (
    *(" ", "\x00", "\u00a0", "(", ")" * 300, "(" * 900 + ")" * 900, "8:1" * 600, "1" * 1999),
    *("４:１", "λ:μ", "8:1 🙂", "\u202e1:8", "4:2\n8:1", SCRIPT, IMAGE, "javascript:alert(1)"),
    *("0:1", "-4:1", "4:-1", "4.5:1", "1e9:1", "nan:1", "inf:1", "10**12:1", "4:1:2", "None:None"),
    *("__import__('os')", "().__class__", "(lambda: 1)()", "[x for x in 9]", "9**9**9", "a.b.c"),
    *("1000000000:1", "(1000000,1000000):(1,1000000)", "999999999999999999:1", "1" * 30 + ":1"),
    *("image(1000000000:1)", "is_injective(100000000:3)", "right_inverse(1000000000:1)"),
    *("complement(2:3, 1000000000000)", "blocked_product(100000:1, 100000:1)", "_:_", "E(99999)"),
    *(
        "functionally_equal(100000000:1, (10000,10000):(1,10000))",
        "layout_add(9999999:1, 9999999:2)",
    ),
    *("max_common_layout(10000000:1, 10000000:2)", "is_bijective((4096,4096):(4096,1))"),
    *(
        "Sw<99,0,3> o 8:1",
        "Sw<-1,0,3>",
        "as_f2(Sw<9,9,9> o 1073741824:1)",
        "logical_divide(8:1, 0)",
    ),
    *("coalesce(" * 45 + "8:1" + ")" * 45, "size(" * 200 + "8:1" + ")" * 200, "(4,8):(8,1)(9,9)"),
    *("tile_to_shape(8:1, (1000000,1000000))", "upcast((4,8):(8,1), 0)", "1@0@0@0@0@0@0:1"),
    *("make_ordered_layout((9,9,9,9,9,9,9,9), (8,7,6,5,4,3,2,1))", "sort(nullspace(9999999:0))"),
)
_NAMES = (
    *(
        SCRIPT,
        IMAGE,
        "XE",
        "xe_dpas_tt",
        "XE_2D_U16x999999x16_LD_N",
        "XE_LOAD_2D<16,1000000000,16>",
    ),
    *("XE_LOAD_2D<16,8,8,8,8,8>", "XE_DPAS_TT<99999999,f32,bf16>", "XE_DPAS_TT<8,f32,f64>"),
    *(
        "XE_DPAS_TT<8,f32,bf16>" * 50,
        "XE_2D_" * 300,
        "UniversalCopy<u8,u128>",
        "🙂",
        "XE_LOAD_2D<>",
    ),
)
REQUESTS: tuple[dict[str, str], ...] = (
    *({"kind": "expression", "text": text} for text in _EXPRESSIONS),
    *({"kind": "atom", "name": name} for name in _NAMES),
    {"kind": "atom", "name": COPY, "target": "nvidia"},
    {"kind": "atom", "name": COPY, "target": SCRIPT},
    {"kind": "atom", "name": MMA, "operand": "Z"},
    {"kind": "atom", "name": COPY, "operand": "A"},
    {"kind": "atom", "name": MMA, "element": "999999,999999", "operand": "B"},
    *({"kind": "atom", "name": COPY, "element": at} for at in ("16,16", "-1,0", "5;7", "٥,٧", "5")),
    {"kind": "diff", "one": "4:1", "other": COPY},
    {"kind": "diff", "one": "1000000000:1", "other": "1000000000:2"},
    {"kind": "diff", "one": "size(8:1)", "other": "8"},
    {"kind": "feeds", "copy": MMA, "mma": COPY},
    {"kind": "feeds", "copy": COPY, "mma": MMA, "operand": "Z"},
    {"kind": "tile", "mma": COPY, "tile": "64,64,32", "subgroups": "2,2,1"},
    {"kind": "tile", "mma": MMA, "tile": "999936,999936,999936", "subgroups": "1,1,1"},
    {"kind": "tile", "mma": MMA, "tile": "4096,4096,32", "subgroups": "8,4,1"},
    {"kind": "tile", "mma": MMA, "tile": "256,256,32", "subgroups": "999999,1,1"},
    {"kind": "tile", "mma": MMA, "tile": "256,256,32", "subgroups": "0,0,0"},
    {"kind": "tile", "mma": MMA, "tile": "64,64,32", "subgroups": "2,2,1", "subgroup": "9"},
    {"kind": "tile", "mma": MMA, "tile": "64,64,32", "subgroups": "2,2,1", "subgroup": "x"},
    {"kind": "tile", "mma": MMA, "tile": "64,64,32", "subgroups": "2,2,1", "element": "64,64"},
    {"kind": "tile", "mma": MMA, "tile": SCRIPT, "subgroups": "2,2,1"},
    {"kind": "verify", "name": MMA, "row": "v", "column": "t"},
    {"kind": "verify", "name": COPY, "row": "v"},
    *(
        {"kind": "verify", "name": COPY, "row": row, "column": "t"}
        for row in (
            "t**t",
            "v/0",
            "t % 0",
            "9**9**9",
            "x",
            "(" * 500,
            "v if t else 0",
            "1.5",
            IMAGE,
        )
    ),
    {"kind": "verify", "name": COPY, "row": "10" * 900 + "*v", "column": "t"},
)
"""Requests as the page makes them."""
STATES: tuple[str, ...] = (
    *("?", "?kind=", "?kind=nonsense&text=4:1", '?kind="]', "?kind=%22%5D%2C*&text=8:1"),
    *(
        "?kind=expression&text=%FF%FE",
        "?kind=expression&text=%",
        "?text=8:1&text=4:1",
        "?kind=tile",
    ),
    *(f"?kind=expression&text={IMAGE}", f"?kind={SCRIPT}", "?kind=constructor", "?kind=__proto__"),
)
"""Addresses of the page that no form makes."""
