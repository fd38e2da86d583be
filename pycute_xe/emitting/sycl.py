"""A C++ file that runs a kernel's CuTe C++ through SYCL, compares it with the host and times it."""

from __future__ import annotations

from dataclasses import fields
from math import isinf
from pathlib import Path
from typing import assert_never

from pycute_xe.emitting.cute import cute, parameters
from pycute_xe.emitting.figures import DEVICES, Figures
from pycute_xe.emitting.problem import (
    claimed,
    claims_of,
    common_sizes,
    numbers,
    surface_rules,
    tolerance,
)
from pycute_xe.emitting.specifying import operations
from pycute_xe.emitting.writer import c_text, launch_axes
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.ir.identity import identity
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    Total,
    Where,
)
from pycute_xe.kernel.spec.functions import function, reduction
from pycute_xe.kernel.spec.specification import Claim

__all__ = ["sycl"]

_BUILD = """\
// {name} on a device: run, compared with the host, timed. Written by pycute_xe.
//
//   {name} {sizes} --save report.json
//
// It needs DPC++ (icpx) and a checkout of intel/sycl-tla (6601377) in SYCL_TLA. -DREGISTERS=128 is
// the other register mode, another -device another GPU.
//
//   icpx -fsycl -fsycl-targets=spir64_gen -Xsycl-target-backend=spir64_gen "-device bmg-g21" \\
//     -Xspirv-translator -spirv-ext={extensions} \\
//     -fno-sycl-instrument-device-code -std=c++17 -O3 -DNDEBUG -DSYCL_INTEL_TARGET \\
//     -DCUTLASS_ENABLE_SYCL -I$SYCL_TLA/include {name}.cpp -o {name}
//
// Or as CMakeLists.txt, with cmake -DCMAKE_CXX_COMPILER=icpx -DSYCL_TLA=...:
//
//   cmake_minimum_required(VERSION 3.22)
//   project({name} CXX)
//   set(DEVICE "bmg-g21" CACHE STRING "the GPU")
//   add_executable({name} {name}.cpp)
//   target_compile_features({name} PRIVATE cxx_std_17)
//   target_include_directories({name} PRIVATE ${{SYCL_TLA}}/include)
//   target_compile_definitions({name} PRIVATE SYCL_INTEL_TARGET CUTLASS_ENABLE_SYCL NDEBUG)
//   target_compile_options({name} PRIVATE -O3 -fsycl -fsycl-targets=spir64_gen
//     -fno-sycl-instrument-device-code)
//   target_link_options({name} PRIVATE -fsycl -fsycl-targets=spir64_gen
//     "SHELL:-Xsycl-target-backend=spir64_gen \\"-device ${{DEVICE}}\\""
//     "SHELL:-Xspirv-translator -spirv-ext={extensions}")
//
"""
_EXTENSIONS = (
    "+SPV_INTEL_split_barrier,+SPV_INTEL_2d_block_io,+SPV_INTEL_subgroup_matrix_multiply_accumulate"
)
_HEADERS = (
    *("algorithm", "chrono", "cmath", "cstdint", "cstdio", "cstring", "fstream", "limits", "map"),
    *("numeric", "random", "sstream", "string", "tuple", "type_traits", "utility", "vector"),
    "sycl/sycl.hpp",
    "sycl/ext/intel/experimental/grf_size_properties.hpp",
    "cute/tensor.hpp",
)
_ARCHITECTURES = ("bmg_g21", "bmg_g31", "lnl_m", "ptl_h", "ptl_u")
"""GPUs with block-2D messages beside pvc: intel/llvm, sycl_ext_oneapi_device_architecture."""
_FIELDS = {
    "str": "std::string",
    "int": "int64_t",
    "float": "double",
    "tuple[float, ...]": "std::vector<double>",
    "tuple[tuple[str, int], ...]": "std::vector<std::pair<std::string, int64_t>>",
}
"""Types of a report's figures in C++."""
_AT = "xe_at"
"""The indices of an element, of which the host's value is a function."""


def sycl(kernel: Kernel, spelled: Kernel, changed: dict[str, str]) -> str:
    """Return a C++ file that runs a kernel on a GPU; ``spelled`` has names that C++ takes.

    Raises `KernelError` for a kernel that claims nothing, or that CuTe C++ cannot say.
    """
    claimed(kernel)
    try:
        text = cute(spelled, _HEADERS)
    except KernelError as error:
        given = {**error.operands, "to": '"sycl"'}
        raise KernelError(error.operation, given, error.condition, error.fix) from None
    space = f"{spelled.name}_xe"
    sizes = ",".join(f"{name}={size}" for name, size in _common(kernel).items())
    return "\n".join(
        [
            _BUILD.format(name=spelled.name, sizes=f"--size {sizes}", extensions=_EXTENSIONS)
            + "\n".join(f"// {old} is called {new} here." for old, new in changed.items()),
            text,
            "#ifndef REGISTERS",
            "#define REGISTERS 256  // of a thread",
            "#endif",
            "",
            *_facts(),
            "",
            Path(__file__).with_name("launching.hpp").read_text(encoding="utf-8"),
            f"namespace {space} {{",
            "",
            *_wrapper(spelled),
            "",
            *_problem(kernel, spelled, changed),
            "",
            f"}}  // namespace {space}",
            "",
            "int main(int count, char **words) {",
            f"  return xe_launching::run<{space}::xe_problem>(count, words);",
            "}",
            "",
        ]
    )


def _common(kernel: Kernel) -> dict[str, int]:
    return common_sizes(kernel, 4096, (128, 1024, 4))


def _facts() -> list[str]:
    """Return what the launching text asks for: GPUs, rules of surfaces, a report's figures."""
    gpus = [
        f"#ifdef __SYCL_TARGET_INTEL_GPU_{name.upper()}__\n"
        f"    syclex::architecture::intel_gpu_{name},\n#endif"
        for name in _ARCHITECTURES
    ]
    known = [(f.name, _FIELDS[str(f.type)]) for f in fields(Figures)]
    return [
        "namespace xe_launching {",
        "namespace syclex = sycl::ext::oneapi::experimental;",
        "namespace intelex = sycl::ext::intel::experimental;",
        "",
        "// GPUs with block-2D messages, of those that the compiler knows.",
        "inline constexpr syclex::architecture ARCHITECTURES[] = {",
        "    syclex::architecture::intel_gpu_pvc,",
        *gpus,
        "};",
        "",
        "// What the messages demand of a surface: a quantity in bytes or rows, how, and a number.",
        "struct Rule {",
        "  char const *quantity, *how;",
        "  int64_t bound;",
        "};",
        "inline constexpr Rule RULES[] = {",
        *(f'    {{"{quantity}", "{how}", {bound}}},' for quantity, how, bound in surface_rules()),
        "};",
        "",
        "// What a run measured.",
        "struct Figures {",
        *(f"  {kind} {name};" for name, kind in known),
        "",
        "  template <class Write> void each(Write write) const {",
        *(f'    write("{name}", {name});' for name, _ in known),
        "  }",
        "};",
        "}  // namespace xe_launching",
    ]


# ------------------------------------------------------------ launch


def _wrapper(kernel: Kernel) -> list[str]:
    """Return the kernel as SYCL takes it: parameters, subgroups and registers, a work-item."""
    own = _kept(kernel)
    names = ", ".join(name.lstrip("*") for _, name in own)
    axes, lanes = launch_axes(kernel), 16 * kernel.subgroups
    lines, counts = list[str](), list[str]()
    for i, axis in enumerate(axes):
        lines.append(f"int xe_group{i} = int(xe_item.get_group({2 - i}));")
        counts.append(" * ".join(f"({c_text(count)})" for _, count in axis))
        for name, count in axis[:-1]:  # the first of a shared axis is the fastest
            lines += [f"int const {name} = xe_group{i} % ({c_text(count)});"]
            lines += [f"xe_group{i} /= {c_text(count)};"]
        lines.append(f"int const {axis[-1][0]} = xe_group{i};")
    counts += ["1"] * (3 - len(counts))
    places = ", ".join(name for name, _ in kernel.grid)
    return [
        f"// For each of {lanes} work-items of a work-group, in subgroups of 16.",
        "struct xe_kernel {",
        *(f"  {kind} {name};" for kind, name in own),
        "",
        "  auto get(xe_launching::syclex::properties_tag) const {",
        "    return xe_launching::syclex::properties{xe_launching::syclex::sub_group_size<16>,",
        "                                            xe_launching::intelex::grf_size<REGISTERS>};",
        "  }",
        "  sycl::nd_range<3> xe_range() const {",
        f"    sycl::range<3> const xe_groups({counts[2]}, {counts[1]}, {counts[0]});",
        f"    sycl::range<3> const xe_local(1, 1, {lanes});",
        "    return {xe_groups * xe_local, xe_local};",
        "  }",
        "  void operator()(sycl::nd_item<3> xe_item) const {",
        *(f"    {line}" for line in lines),
        f"    {kernel.name}_device({names}, {places}, int(xe_item.get_local_linear_id()));",
        "  }",
        "};",
    ]


def _kept(kernel: Kernel) -> list[tuple[str, str]]:
    """Return the parameters that a launch knows: all but a work-group's place and the work-item."""
    given = parameters(kernel)
    return given[: len(given) - len(kernel.grid) - 1]


def _problem(kernel: Kernel, spelled: Kernel, changed: dict[str, str]) -> list[str]:
    """Return the structure of sizes and operands, with what outputs should be."""
    claims, common = claims_of(kernel), _common(kernel)
    sizes = list(zip(kernel.sizes, spelled.sizes, strict=True))
    pairs = list(zip(kernel.operands, spelled.operands, strict=True))
    matrices = [pair for pair in pairs if pair[0].modes]
    count = operations(claimed(kernel), kernel.operands, lambda i: f"double({c_text(i, changed)})")
    outputs = [(i, changed.get(claim.output, claim.output)) for i, claim in enumerate(claims)]
    return [
        "// The problem: sizes, operands, and what the outputs should be.",
        "struct xe_problem {",
        f'  static constexpr char const *xe_name = "{kernel.name}";',
        f'  static constexpr char const *xe_identity = "{identity(kernel)}";',
        f'  static constexpr char const *xe_kind = "{DEVICES[0]}";',
        *(f"  int {own} = {common[name]};" for name, own in sizes),
        *(_declared(kernel, *pair) for pair in pairs),
        "",
        "  template <class Each> void xe_each_size(Each xe_each) {",
        *(f'    xe_each("{name}", {own});' for name, own in sizes),
        "  }",
        "  // Each operand, its extents, how often it is read or written, and what fills it.",
        "  template <class Each> void xe_each_operand(Each xe_each) {",
        *(f"    xe_each({_filled(kernel, *pair)});" for pair in matrices),
        "  }",
        "  // Each output, its value on the host, and how far it may be off.",
        "  template <class Each> void xe_each_output(Each xe_each) const {",
        *(
            f"    xe_each({own}, [this](auto const &{_AT}) {{ return xe_value{i}({_AT}); }}, "
            f"{tolerance(kernel, claims[i])!r});"
            for i, own in outputs
        ),
        "  }",
        f"  double xe_operations() const {{ return {count}; }}",
        f"  xe_kernel xe_launched() const {{ return {{{_arguments(spelled)}}}; }}",
        *(line for i, claim in enumerate(claims) for line in _value(i, claim, changed)),
        "};",
    ]


def _declared(kernel: Kernel, operand: Operand, spelled: Operand) -> str:
    kind = operand.value_type.to_cpp()
    if not operand.modes:
        return f"  {kind} {spelled.name} = {kind}({numbers(kernel, operand)[0]});"
    return (
        f'  xe_launching::Operand<{kind}> {spelled.name}{{"{operand.name}", {operand.contiguous}}};'
    )


_TIMES = {"in": (1, True), "out": (1, False), "inout": (2, True), "scratch": (0, False)}
"""How often an operand of a role is read or written, and whether it is read."""


def _filled(kernel: Kernel, operand: Operand, spelled: Operand) -> str:
    extents = ", ".join(c_text(mode) for mode in spelled.modes)
    times, is_read = _TIMES[operand.role]
    known = ", ".join(map(str, numbers(kernel, operand))) if is_read else ""
    vectors = f"std::vector<int64_t>{{{extents}}}, {times}, std::vector<double>{{{known}}}"
    return f"{spelled.name}, {vectors}"


def _arguments(kernel: Kernel) -> str:
    """Return what the parameters of the kernel are: pointers, strides, scalars, sizes."""
    out: list[str] = []
    for operand in kernel.operands:
        if not operand.modes:
            out.append(operand.name)
            continue
        out.append(f"{operand.name}.pointer()")
        rest = (m for m in range(len(operand.modes)) if m != operand.contiguous)
        out += [f"{operand.name}.strides[{m}]" for m in rest]
    return ", ".join([*out, *kernel.sizes])


# ------------------------------------------------------------ values
# A claim as a function of the host, in float64.


def _value(number: int, claim: Claim, changed: dict[str, str]) -> list[str]:
    """Return the lines of the function that is an output's value."""
    writing = _Value(changed)
    variables = {name: writing.fresh() for name in claim.indices}
    text = writing.text(claim.value, variables)
    head = [f"int64_t const {own} = {_AT}[{i}];" for i, own in enumerate(variables.values())]
    return [
        f"  // {claim}",
        f"  double xe_value{number}(std::vector<int64_t> const &{_AT}) const {{",
        *(f"    {line}" for line in [*head, *writing.lines, f"return {text};"]),
        "  }",
    ]


class _Value:
    """An expression as C++ grows: a loop for each sum, a name for each variable."""

    def __init__(self, changed: dict[str, str]) -> None:
        self.changed = changed
        self.lines: list[str] = []
        self.made = 0

    def fresh(self) -> str:
        """Return a name that nothing else has."""
        self.made += 1
        return f"xe_{self.made}"

    def text(self, value: Expression, variables: dict[str, str]) -> str:
        """Return an expression; what sums need stands in lines before it."""
        match value:
            case Const(number):
                return _number(number)
            case Element(operand, at):
                own = self.changed.get(operand, operand)
                places = ", ".join(c_text(i, self.changed | variables) for i in at)
                return f"{own}.at({{{places}}})" if at else f"double({own})"
            case Apply(name, arguments):
                return self.applied(name, *(self.text(a, variables) for a in arguments))
            case Rounded(to, body):
                return f"xe_launching::rounded<{to.to_cpp()}>({self.text(body, variables)})"
            case Where(index, below, then, otherwise):
                names = self.changed | variables
                condition = f"{c_text(index, names)} < {c_text(below, names)}"
                yes, no = self.text(then, variables), self.text(otherwise, variables)
                return f"({condition} ? {yes} : {no})"
            case Total():
                return self.total(value, variables)
            case Slot():
                raise KernelError("emit", {"value": value}, "a claim names a fragment", "")

    def applied(self, name: str, *given: str | float) -> str:
        """Return a function of texts and numbers."""
        row = function(name, len(given))
        texts = [one if isinstance(one, str) else _number(one) for one in given]
        if row.of is not None:
            return str(row.unfolded(self.applied, *texts))
        return row.cute.format(*texts)

    def total(self, value: Total, variables: dict[str, str]) -> str:
        """Return the name of a sum or an extreme."""
        row, own, inner = reduction(value.how), self.fresh(), dict(variables)
        outer, self.lines = self.lines, []
        outer.append(f"double {own} = {_number(row.nothing)};")
        loops = ""
        for name, extent in value.over:
            limit, inner[name] = c_text(extent, self.changed | inner), self.fresh()
            loops += f"for (int64_t {inner[name]} = 0; {inner[name]} < {limit}; ++{inner[name]}) "
        body = self.text(value.body, inner)
        match row.law:
            case "sum":
                step = f"{own} += {body};"
            case "greatest":
                step = f"{own} = std::max<double>({own}, {body});"
            case "least":
                step = f"{own} = std::min<double>({own}, {body});"
            case _:
                assert_never(row.law)
        lines = [f"{loops}{{", *(f"  {line}" for line in [*self.lines, step]), "}"]
        if value.accumulator is not None and value.accumulator.kind != "float":
            lines.append(f"{own} = double({value.accumulator.to_cpp()}(int64_t({own})));")
        self.lines = [*outer, *lines]
        return own


def _number(value: float) -> str:
    if isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"
