"""Configurations of GEMMs in a checkout of intel/sycl-tla: read, and compared in C++.

    SYCL_TLA=~/sycl-tla STUBS=~/stubs python benchmarks/configurations.py [--write]

Each place of an example, a test or a benchmark that ends in ``using Gemm = …`` is a configuration:
the declarations of its scope and of those around it. What `from_cute` reads must be the same type
in C++ as the source declares, apart from ``const``; what it does not read is listed with the name
that is unknown. ``--write`` renews the list in tests/data. STUBS is as in `cute_asserts`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from pycute_xe.cutlass import from_cute
from pycute_xe.cutlass.configuration import CutlassType
from pycute_xe.errors import CuteError
from pycute_xe.kernel import from_cutlass

DATA = Path(__file__).parents[1] / "tests" / "data" / "configurations.tsv"
FOLDERS = ("examples", "benchmarks/gemm", "test/unit/gemm/device")
OTHERS = re.compile(r"sm\d|ampere|cuda|testbed|flash_attention|_moe_", re.IGNORECASE)
OPTIONS = ["-std=c++17", "-DSYCL_INTEL_TARGET", "-DCUTLASS_ENABLE_SYCL", "-w", "-fpermissive"]
PRELUDE = Path(__file__).with_name("configurations.hpp")
# What stands for a parameter of a template: a type, or a layout.
FILLED = {False: "cutlass::float_e5m2_t", True: "cutlass::layout::RowMajor"}
DECLARED = re.compile(r"(using|static constexpr|constexpr)\b")


def bare(text: str) -> str:
    """Return C++ without comments and directives."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"^\s*#[^\n]*", "", text, flags=re.MULTILINE)


def scopes(text: str) -> list[tuple[int, int]]:
    """Return where each pair of braces begins and ends."""
    begun: list[int] = []
    out: list[tuple[int, int]] = []
    for i, mark in enumerate(text):
        if mark == "{":
            begun.append(i)
        elif mark == "}" and begun:
            out.append((begun.pop(), i))
    return out


def statements(text: str) -> list[str]:
    """Return the declarations of a scope, without those of the scopes in it."""
    flat, level = "", 0
    for mark in text:
        level -= mark == "}"
        flat += mark if not level else ""
        level += mark == "{"
    parts = (part.strip() for part in re.sub(r"\}\s*(?=using|constexpr)", "};", flat).split(";"))
    return [part for part in parts if DECLARED.match(part)]


def blocks(text: str) -> Iterator[str]:
    """Yield the configurations of a source file, parameters of templates filled."""
    text = bare(text)
    every, seen = scopes(text), set[tuple[int, int]]()
    for match in re.finditer(r"using (Gemm|GemmKernel)\s*=\s*[^;]*GemmUniversal", text):
        around = sorted(s for s in every if s[0] < match.start() < s[1])
        if not around or around[-1] in seen:
            continue
        seen.add(around[-1])
        own = statements(text[around[-1][0] + 1 : around[-1][1]])
        ends = [i for i, one in enumerate(own) if re.match(r"using Gemm\s*=", one)]
        ends += [i for i, one in enumerate(own) if re.match(r"using GemmKernel\s*=", one)]
        if not ends:
            continue
        header = text[max(0, around[-1][0] - 400) : around[-1][0]]
        templates = re.findall(r"template\s*<((?:[^<>]|<[^<>]*>)*)>\s*[^;{}]*$", header)
        names = re.findall(r"(?:class|typename)\s+(\w+)", templates[-1] if templates else "")
        given = [f"using {name} = {FILLED['Layout' in name]}" for name in names]
        outer = statements(text[: around[0][0]])
        for first, last in pairwise(around):
            outer += statements(text[first[0] + 1 : last[0]])
        kept = [one for one in outer if not re.search(r"typename \w+::|Params|_builtin", one)]
        yield ";\n".join([*given, *kept, *own[: ends[0] + 1]]) + ";"


def judged(block: str) -> tuple[CutlassType | None, str, str]:
    """Return what is read of a configuration, whether it is a kernel, and what that computes."""
    try:
        value = from_cute(block)
    except CuteError as error:
        return None, "not read", re.sub(r"line \d+, column \d+: ", "", error.condition)
    assert from_cute(value.to_cpp()) == value
    try:
        kernel = from_cutlass(value, group=128)
    except CuteError as error:
        return value, "read", error.condition
    return value, "kernel", str(kernel).splitlines()[1].strip().removeprefix("computes").strip()


def spoken(text: str, marks: str = "#[^\n]*") -> str:
    """Return a header without its directives, or without some of them."""
    return re.sub(rf"^{marks}", "", text, flags=re.MULTILINE)


def compiled(pairs: list[tuple[str, str, str]], checkout: Path, stubs: Path) -> list[str]:
    """Return the files in which C++ declares another type than the one that was read."""
    text = [f'#include "{PRELUDE.name}"', "using namespace cute; using namespace cutlass;"]
    for i, (name, block, cpp) in enumerate(pairs):
        last = re.findall(r"using (\w+)\s*=", block)[-1]
        kernel = f"{last}::GemmKernel" if last == "Gemm" else last
        claim = f'static_assert(alike<{kernel}, {cpp}>, "differs: {name}");'
        text.append(f"namespace block{i} {{\n{block}\n{claim}\n}}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(checkout / "include", root / "include")
        shutil.copy(stubs / "cute/util/compat.hpp", root / "include/cute/util/compat.hpp")
        shutil.copy(PRELUDE, root)
        for kind, name in (("gemm", "xe_mma_builder"), ("epilogue", "xe_builder")):
            builder = checkout / f"include/cutlass/{kind}/collective/builders/{name}.inl"
            own = spoken(builder.read_text("utf-8"), r"#(?:[^\n]*include[^\n]*|pragma once)")
            (root / f"{kind}_builder.inl").write_text(own, "utf-8")
        declared = checkout / "include/cutlass/epilogue/collective/collective_builder.hpp"
        text_of = spoken(declared.read_text("utf-8"))
        (root / "epilogue_builder_decl.inl").write_text(text_of, "utf-8")
        (root / "all.cpp").write_text("\n".join(text), encoding="utf-8")
        options = [*OPTIONS, f"-I{stubs}", f"-I{root / 'include'}", f"-I{root}"]
        command = ["g++", *options, "-fsyntax-only", str(root / "all.cpp")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = re.findall(r"error: (.*)", done.stderr)
    return [error.removeprefix("static assertion failed: ") for error in errors]


def main() -> int:
    """Read every configuration, compare in C++ and print what came out."""
    checkout, stubs = Path(os.environ["SYCL_TLA"]), Path(os.environ["STUBS"])
    lines, pairs, numbers = ["file\tverdict\tsays\ttype"], list[tuple[str, str, str]](), [0, 0, 0]
    sources = sorted(path for folder in FOLDERS for path in (checkout / folder).rglob("*.[ch]pp"))
    for path in sources:
        name = str(path.relative_to(checkout))
        if OTHERS.search(name):
            continue
        for block in blocks(path.read_text(encoding="utf-8")):
            value, verdict, says = judged(block)
            cpp = "" if value is None else value.to_cpp()
            numbers[("kernel", "read", "not read").index(verdict)] += 1
            lines.append("\t".join((name, verdict, says, cpp)))
            if value is not None:
                pairs.append((name, block, cpp))
    print(*lines[1:] if "-v" in sys.argv else (), sep="\n")
    total = f"{numbers[0]} kernels, {numbers[1]} more read, {numbers[2]} not"
    print(f"{sum(numbers)} configurations: {total}")
    wrong = compiled(pairs, checkout, stubs)
    print(f"{len(pairs)} types compared in C++, {len(wrong)} differ", *wrong, sep="\n")
    spoilt = [(n, b, c.replace("<2>", "<5>").replace("<3>", "<5>")) for n, b, c in pairs]
    print(f"with other stages: {len(compiled(spoilt, checkout, stubs))} differ")
    if "--write" in sys.argv:
        DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
