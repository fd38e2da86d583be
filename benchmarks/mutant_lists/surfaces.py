"""Small wrong changes to the command line."""

from __future__ import annotations

from mutant_lists.mutant import mutants

LAYOUT = "tests/cli/test_layout.py"
GEMM = "tests/cli/test_gemm.py"
ATOMS = "tests/cli/test_atoms.py"

MUTANTS = [
    *mutants(
        "cli/tokens",
        LAYOUT,
        ("(?![A-Za-z0-9_]))", ")", "4x is not 4 and x"),
        ("found[0], at + 1)", "found[0], at)", "columns count from 1"),
        (
            'if kind == "name" and found[0] in _WORDS:',
            "if False:",
            "words of Python are refused as such",
        ),
    ),
    *mutants(
        "cli/expression",
        LAYOUT,
        ("negative = not negative", "negative = True", "two minus signs are none"),
        ("if len(items) == 1 and not comma:", "if len(items) == 1:", "(4,) is a tuple"),
        ("if self.depth > DEPTH_LIMIT:", "if False:", "brackets nest to a limit"),
        (
            "            self.deeper(self.now.column)\n            node",
            "            node",
            "calls nest to a limit",
        ),
        ("            elif named:\n", "            elif False:\n", "arguments by name come last"),
        ("-mode if negative else mode", "mode", "modes count from the end too"),
        (
            "if mode >= RANK_LIMIT or len(path) >= RANK_LIMIT:",
            "if mode >= RANK_LIMIT:",
            "paths have a limit",
        ),
        ("if len(self.now.text) > DIGITS_LIMIT:", "if False:", "digits have a limit"),
        ("if len(text) > LENGTH_LIMIT:", "if False:", "texts have a limit"),
    ),
    *mutants(
        "cli/atom_place",
        ATOMS,
        ("self.first_bit % 8\n", "0\n", "narrow elements share a byte"),
        (
            "divmod(slot * bits, 8 * grf_bytes())",
            "divmod(slot, 8 * grf_bytes())",
            "places count in bits",
        ),
        (
            "if unit % bits == 0)",
            "if unit >= bits)",
            "units hold whole elements",
            "all widths of registers are powers of two, where the two say the same",
        ),
    ),
    *mutants(
        "cli/layout_outcome",
        LAYOUT,
        ("',' if len(value) == 1 else ''", "''", "(4,) is a tuple"),
        (
            "layout_table(layout).splitlines()[1:]",
            "layout_table(layout).splitlines()",
            "the value is told once",
        ),
        (
            "if not console.is_terminal or wide <= console.width:",
            "if True:",
            "a table fits the terminal",
        ),
    ),
    *mutants(
        "cli/files",
        GEMM,
        (
            'order="F" if fortran_order else "C"',
            'order="C"',
            "column-major archives are read as such",
        ),
        ("if len(names) == 1:", "if names:", "one of several arrays must be named"),
        ("if promised > MOST_UNPACKED:", "if False:", "archives unpack to a limit"),
        ("if held < promised:", "if False:", "a file cut short is refused"),
        ("if not array.dtype.isnative:", "if False:", "other byte orders are converted"),
        (
            "array.dtype.itemsize == 2 and array.dtype.names is None",
            "array.dtype.itemsize == 2",
            "records of two bytes are not bf16",
        ),
        ("if dtype.hasobject:", "if False:", "nothing is unpickled"),
        ("and not Path(where).exists()", "", "a file may have a colon in its name"),
        ('elif path.suffix.lower() == ".npz":', "elif False:", "an array is not an archive"),
    ),
    *mutants(
        "cli/gemm_command",
        GEMM,
        (
            "((m, n, 1), (n, 1, 0))",
            "((m, n, 1), (1, m, 0))",
            "neighbours in N are neighbours in number",
        ),
        ("strict=request.strict,", "strict=False,", "strict refuses what the arrays break"),
        ("executor=request.executor,", 'executor="fast",', "the executor asked for runs"),
        ("if request.strict:\n", "if False:\n", "strict refuses"),
        ("start = -room.ctypes.data % 64", "start = 0", "arrays start at 64 bytes"),
        (
            'order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"',
            'order = "C"',
            "an array keeps its order",
        ),
    ),
]
