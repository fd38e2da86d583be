"""Names of a kernel as names of the texts that hold it: each an identifier that nothing else has.

What users call operands, sizes, variables and fragments may be a word of C, a macro, a function
that the text calls, or an instruction of vISA. Such a name gets an underscore behind it, or ``n_``
before it, in the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from keyword import kwlist
from pathlib import Path
from typing import Any

from pycute_xe.kernel import Kernel, Loop, Operand
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Looked, Quotient
from pycute_xe.kernel.spec.expression import Element, Slot
from pycute_xe.typing import is_tuple

__all__ = ["called", "spelled"]

# ------------------------------------------------------------ words

_C = (
    "auto bool break case char const continue default do double else enum extern float for global "
    "goto half if inline int kernel local constant private generic long quad register return short "
    "signed sizeof static struct switch typedef uchar uint ulong union unsigned ushort void "
    "volatile while uniform pipe event_t sampler_t size_t ptrdiff_t intptr_t uintptr_t restrict "
    "complex imaginary read_only write_only read_write main true false vec_step typeof asm "
    "get_group_id get_local_id get_sub_group_id get_sub_group_local_id sub_group_broadcast"
)
_CPP = (
    "alignas alignof and and_eq bitand bitor catch char8_t char16_t char32_t class co_await "
    "co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete "
    "dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr "
    "operator or or_eq protected public reinterpret_cast requires static_assert static_cast "
    "template this thread_local throw try typeid typename using virtual wchar_t xor xor_eq"
)
_HOST = "queue kernel context text groups build launch np cl OPTIONS REGISTERS std sycl get printf"
_CUTE = (
    "cute fill make_tensor make_layout make_shape make_stride make_coord make_gmem_ptr "
    "make_identity_tensor barrier_arrive barrier_wait retyped viewed tile_at by_mode same moved "
    "register_tv reordered Layout Shape Stride Step Mma"
)
"""What CuTe's texts call, and SYCL's; CUTLASS makes a macro of ``printf``."""
_MACROS = (
    r"M_\w+|CL\w*_\w+|cl_\w+|cles_\w+|(FLT|DBL|HALF|FP|ATOMIC|HUGE)_\w+|\w+_(MAX|MIN|BIT|DIM)|"
    r"INFINITY|NAN|NULL|MAXFLOAT|CLINKAGE|unix|linux|i386|image\dd_\w+|"
    r"E[A-Z0-9]+|errno|BUFSIZ|CLOCKS_PER_SEC|(EXIT|SEEK|LC|L|P)_\w+|SIG\w+|\w+_t"
)
"""Macros of C's headers, of which C++'s include the most, and names that types have."""
_CALLS = (
    r"(convert|as|intel|sub_group|work_group|atom|atomic|native|half|get|async|read|write|amd|arm|"
    r"clock|dot|ndrange|wait|bitfield|vload|vstore|vloada|vstorea|fast|create|set|is|enqueue)\w*|"
    r"(un)?(char|short|int|long|float|double|half)\d*|u(char|short|int|long)\d+|\w+_(fence|event)|"
    r"a?(sin|cos|tan)(h|pi)?|atan2(pi)?|abs(_diff)?|add_sat|all|any|barrier|bit_reverse|bitselect|"
    r"cbrt|ceil|clamp|clz|copysign|cross|ctz|degrees|distance|erfc?|exp|exp2|exp10|expm1|fabs|fdim|"
    r"floor|fma|fmax|fmin|fmod|fract|frexp|hadd|hypot|ilogb|ldexp|length|lgamma(_r)?|log|log2|"
    r"log10|log1p|logb|mad|mad24|mad_hi|mad_sat|max|maxmag|min|minmag|mix|modf|mul24|mul_hi|nan|"
    r"nextafter|normalize|popcount|pow|pown|powr|prefetch|printf|radians|remainder|remquo|rhadd|"
    r"rint|rootn|rotate|round|rsqrt|select|shuffle2?|sign|signbit|sincos|smoothstep|sqrt|step|"
    r"sub_sat|tgamma|trunc|upsample"
)
"""The functions of OpenCL C: clang 22, ``opencl-c.h``. A kernel stands beside them."""
_VISA = (
    r"[A-Z]+_?\d+|(lsc|raw|dcl|implicit|sampler|fcall|dpas|mach|mad|sad2|dp|rnd|sqrt|rsqt|div)\w*|"
    r"addc?|add3|addr|and|arg|asr|avg|barrier|bfe|bfi|bfn|bfrev|bti|call|cbit|cmp|cos|exp|faddr|"
    r"fbh|fbl|fcvt|fence|flat|frc|fret|function|goto|ifcall|input|inv|jmp|kernel|label|lifetime|"
    r"line|log|lrp|max|min|mod|movs?|mulh?|nbarrier|not|null|or|pln|pow|rol|ror|sbarrier|sel|"
    r"send\w*|setp|shl|shr|sigm|sin|slm|smov|srnd|ss|subb?|subroutine|surface|svm|switchjmp|tanh|"
    r"tgm|ugm|urb|wait|xor|yield|[a-z]\d+|u?[bdqvw]|[bdhqv]?f|uv"
)
"""The words of vISA's assembler, and what it calls its own variables: IGC 1.0.12504."""
_VIEW = r"_(ud?|d|f|u?w|hf|bf|u?b|\d+)_*"


@cache
def _words() -> frozenset[str]:
    """The words of C, C++ and Python, and what the preludes and texts call."""
    preludes = (
        Path(__file__).with_name(name).read_text("utf-8") for name in ("prelude.cl", "portable.cl")
    )
    code = re.sub(r"//.*", "", "\n".join(preludes))
    own = re.findall(r"([a-z]\w*)\(", code)
    return frozenset(own) | {
        *f"{_C} {_CPP} {_HOST} {_CUTE}".split(),
        *kwlist,
        SUBGROUP_INDEX,
        "thread",
    }


def _is_word(name: str) -> bool:
    """Whether a name in a function's text would be read as something else."""
    return name in _words() or re.fullmatch(_MACROS, name) is not None


def _is_call(name: str) -> bool:
    """Whether a name beside the text's functions would be read as something else."""
    return _is_word(name) or re.fullmatch(_CALLS, name) is not None


def _is_visa(name: str) -> bool:
    """Whether a variable of vISA cannot have a name."""
    return _is_word(name) or re.fullmatch(_VISA, name) is not None


# ------------------------------------------------------------ spelling


class _Spelling:
    """The names that are given so far, and those that are taken."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.views: list[str] = []

    def name(
        self, given: str, taken: Callable[[str], bool] = _is_word, *behind: str, before: str = ""
    ) -> str:
        """Return a name that is free, with what stands behind or before it in others."""
        plain = re.sub(r"[^A-Za-z0-9_]", lambda match: f"u{ord(match[0]):x}", given)
        if plain.startswith(("_", "xe_", "XE_")) or plain[0].isdigit():
            plain = f"n_{plain}"
        while True:
            forms = {plain, *(plain + end for end in behind), *({before + plain} if before else ())}
            if not any(taken(form) or form in self.used or self.is_view(form) for form in forms):
                self.used |= forms
                return plain
            longer = f"{plain}_"  # some families of words have every ending
            plain = f"n_{plain}" if taken(longer) or self.is_view(longer) else longer

    def is_view(self, name: str) -> bool:
        """Whether a view of a fragment may have this name."""
        return any(re.fullmatch(re.escape(f) + _VIEW, name) for f in self.views)


def called(kernel: Kernel) -> str:
    """Return the name of a kernel's function in the texts that hold it.

    >>> import dataclasses, pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> called(gemm), called(dataclasses.replace(gemm, name="sin"))
    ('gemm', 'sin_')
    """
    return _Spelling().name(kernel.name, _is_call)


def spelled(kernel: Kernel) -> tuple[Kernel, dict[str, str]]:
    """Return a kernel of the same meaning whose names every text takes, and the names that changed.

    It is the kernel itself where none did. What it claims is left out otherwise: no text says it.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> spelled(cx.kernel.gemm(mma, epilogue="half*acc"))[1]
    {'half': 'half_'}
    """
    spelling = _Spelling()
    function = spelling.name(kernel.name, _is_call, "_device", "_xe")
    things: dict[str, str] = {}
    for part in (*kernel.fragments, *kernel.shared):
        things[part.name] = spelling.name(part.name, _is_visa)
        spelling.views.append(things[part.name])
    for operand in kernel.operands:
        things[operand.name] = spelling.name(operand.name, _is_word, *_behind(operand), before="s")
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    variables = {
        name: spelling.name(name)
        for name in dict.fromkeys([*kernel.sizes, *(name for name, _ in kernel.grid), *loops])
    }
    every = {kernel.name: function} | things | variables
    changed = {old: new for old, new in every.items() if old != new}
    if not changed:
        return kernel, changed
    renaming = _Renaming(things, variables)
    renamed = Kernel(
        function,
        kernel.subgroups,
        tuple(renaming.operand(operand) for operand in kernel.operands),
        tuple(replace(f, name=things[f.name]) for f in kernel.fragments),
        tuple((variables[name], renaming.index(count)) for name, count in kernel.grid),
        renaming.of(kernel.body),
        None,
        tuple(replace(array, name=things[array.name]) for array in kernel.shared),
    )
    return renamed, changed


def _behind(operand: Operand) -> Iterable[str]:
    rank = len(operand.modes)
    of_modes = (f"_{what}{mode}" for what in ("pitch", "stride") for mode in range(rank))
    return ("_width", "_height", "_pitch", "_ld", *of_modes)


class _Renaming:
    """New names of operands, fragments and arrays, and of sizes and variables."""

    # Fields of statements that name an operand, a fragment or a shared array.
    THINGS = frozenset(
        ("operand", "fragment", "source", "destination", "accumulator", "a", "b", "array", "output")
    )

    def __init__(self, things: dict[str, str], variables: dict[str, str]) -> None:
        self.things, self.variables = things, variables

    def operand(self, operand: Operand) -> Operand:
        modes = tuple(map(self.index, operand.modes))
        return Operand(
            self.things[operand.name], operand.value_type, modes, operand.contiguous, operand.role
        )

    def index(self, index: Index) -> Index:
        return Index.of({self.atom(atom): scale for atom, scale in index.terms}, index.offset)

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Quotient):
            return Quotient(self.index(atom.index), atom.divisor)
        if isinstance(atom, Looked):
            return Looked(self.things[atom.operand], tuple(map(self.index, atom.at)))
        return self.variables.get(atom, atom)

    def of(self, value: Any) -> Any:
        """Return anything of a kernel's body, renamed."""
        if isinstance(value, Index):
            return self.index(value)
        if is_tuple(value):
            return tuple(map(self.of, value))
        if isinstance(value, Element):
            return Element(self.things[value.operand], self.of(value.at))
        if isinstance(value, Slot):
            return Slot(self.things.get(value.fragment, value.fragment))
        if is_dataclass(value) and type(value).__module__.startswith("pycute_xe.kernel"):
            one: Any = value
            return replace(
                one, **{f.name: self.field(f.name, getattr(one, f.name)) for f in fields(one)}
            )
        return value

    def field(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value if name in ("copy", "mma") else self.of(value)
        if name in self.THINGS:
            return self.things.get(value, value)
        return self.variables.get(value, value) if name == "var" else value
