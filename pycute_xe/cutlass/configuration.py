"""The templates of which CUTLASS configures a GEMM, as values: main loop, epilogue, policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.errors import InputError
from pycute_xe.facts import rows
from pycute_xe.numeric import Numeric
from pycute_xe.typing import is_tuple

__all__ = [
    "CutlassType",
    "Parameter",
    "Pointer",
    "cpp_of",
    "parameters_of",
    "shown",
    "tag_of",
    "templates",
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a template: its name, the kind of its argument and C++'s default."""

    name: str
    kind: str
    default: str = ""

    @classmethod
    def read(cls, text: str) -> Parameter:
        """Read ``name:kind`` or ``name:kind=default``."""
        name, _, rest = text.partition(":")
        kind, _, default = rest.partition("=")
        return cls(name, kind, default)


@cache
def templates() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of CUTLASS's templates and tags by name."""
    every = (*rows("cutlass", "template"), *rows("cutlass", "tag"))
    return {str(row["name"]): row for row in every}


@cache
def parameters_of(name: str, count: int) -> tuple[Parameter, ...]:
    """Return the parameters of a template, those of the older form where so many arguments fit it.

    >>> [p.name for p in parameters_of("MainloopXeL1Staged", 1)]
    ['Stages', 'KernelSchedule']
    """
    row = templates()[name]
    older = cast("tuple[str, ...]", row.get("older", ()))
    texts = older if count == len(older) and older else row.get("arguments", ())
    return tuple(map(Parameter.read, cast("tuple[str, ...]", texts)))


@dataclass(frozen=True)
class CutlassType:
    """A template of CUTLASS with its arguments, or a name without any: a value that says a type.

    Law: ``from_cute(x.to_cpp()) == x``. Which templates there are, what their parameters are called
    and what fills them are rows of ``atoms/cutlass.toml``. Raises `InputError` for an unknown name,
    and for arguments that do not fill the parameters. C++: the class template of this name.

    >>> from pycute_xe.cutlass import from_cute
    >>> policy = from_cute("cutlass::gemm::MainloopXeL1Staged<2>")
    >>> policy["Stages"], policy["KernelSchedule"].name
    (2, 'KernelXe')
    """

    name: str
    arguments: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in templates():
            known = ", ".join(sorted(templates()))
            wrong = f"{self.name} is not a template of CUTLASS that is known here"
            raise InputError("CutlassType", {"name": self.name}, wrong, f"use one of {known}")
        for index, value in enumerate(self.arguments):
            if wrong := self.misfit(index, value, len(self.arguments)):
                raise InputError("CutlassType", {"name": self.name}, *wrong)

    def misfit(self, index: int, value: Any, count: int) -> tuple[str, str] | None:
        """What is wrong with one of so many arguments and a way out; nothing where it fits."""
        parameters = parameters_of(self.name, count)
        if index >= len(parameters):
            return f"{self.name} takes at most {len(parameters)} arguments", "leave the last out"
        parameter = parameters[index]
        if kind_of(value) & _FILLS.get(parameter.kind, {parameter.kind}):
            return None
        wrong = f"{parameter.name} of {self.name} cannot be {shown(value)}"
        return wrong, f"give {_WANTED.get(parameter.kind, parameter.kind.replace('_', ' '))}"

    @property
    def row(self) -> Mapping[str, Any]:
        """The facts of the template."""
        return templates()[self.name]

    @property
    def kind(self) -> str:
        """What an argument calls for that this fills."""
        return str(self.row["kind"])

    def __getitem__(self, name: str) -> Any:
        """Return the argument of a parameter, C++'s default where none is given.

        Raises `InputError` for a parameter that the template does not have or that has no default.
        """
        parameters = parameters_of(self.name, len(self.arguments))
        for parameter, value in zip(parameters, self.arguments, strict=False):
            if parameter.name == name:
                return value
        default = next((p.default for p in parameters[len(self.arguments) :] if p.name == name), "")
        if not default:
            names = ", ".join(p.name for p in parameters)
            wrong = f"{self.name} has no argument {name}"
            raise InputError("CutlassType", {"name": name}, wrong, f"use one of {names}")
        of, _, element = default.partition("/")
        if element:
            return int(of) // self[element].bits
        return self[default] if default in (p.name for p in parameters) else tag_of(default)

    def has(self, name: str) -> bool:
        """Whether the template has a parameter of a name."""
        return name in (p.name for p in parameters_of(self.name, len(self.arguments)))

    def to_cpp(self) -> str:
        """Return the type in C++, with all names in full."""
        full = str(self.row["cpp"])
        return f"{full}<{', '.join(map(cpp_of, self.arguments))}>" if self.arguments else full

    def __str__(self) -> str:
        return self.to_cpp()


@cache
def tag_of(name: str) -> CutlassType:
    """Return what a name without arguments stands for."""
    return CutlassType(name)


# ------------------------------------------------------------ arguments
# What may fill a parameter.

_FILLS: dict[str, set[str]] = {
    "tile_or_void": {"tile", "void", "automatic_tile"},
    "element_or_void": {"element", "void"},
    "elements": {"element", "elements"},
    "copy": {"copy", "void"},
    "scheduler": {"scheduler", "void"},
    "problem": {"tile", "sizes", "problem"},
    "strides": {"strides", "sizes", "tile"},
    "layout": {"layout", "strides", "sizes"},
}
"""The kinds of values that fill a parameter, where these are not the one of its own name."""

_WANTED = {
    "tile": "a tile, such as Shape<_256,_256,_32>",
    "element": "a type of elements, such as bfloat16_t",
    "elements": "a type of elements, or a tuple of it and those of scale and zero point",
    "mma": "a TiledMMA",
    "copy": "a copy operation, or void",
    "strides": "strides, such as TagToStrideA_t<cutlass::layout::RowMajor>",
    "number": "a number",
}


def kind_of(value: Any) -> set[str]:
    """The kinds of parameters that a value may fill."""
    if isinstance(value, CutlassType):
        return {value.kind}
    if isinstance(value, Pointer):
        return kind_of(value.to)
    if isinstance(value, TiledMma):
        return {"mma"}
    if isinstance(value, (Block2DOp, LegacyCopyName)):
        return {"copy"}
    if isinstance(value, Numeric):
        return {"element"}
    if isinstance(value, int):
        return {"number"}
    if is_tuple(value):
        numbers = all(type(part) is int for part in value)
        typed = value and isinstance(value[0], Numeric)
        return {"tile"} if numbers else {"elements", "sizes"} if typed else {"sizes"}
    return set()


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer to a type: strides and layouts of a group have one for each problem."""

    to: Any

    def to_cpp(self) -> str:
        """Return the type in C++."""
        return f"{cpp_of(self.to)}*"


def cpp_of(value: Any) -> str:
    """Return an argument in C++."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, LegacyCopyName):
        return str(value)
    if is_tuple(value):
        parts = (f"_{p}" if type(p) is int else cpp_of(p) for p in value)
        return f"cute::tuple<{', '.join(parts)}>"
    return value.to_cpp()


def shown(value: Any) -> str:
    """Return an argument for a message."""
    return cpp_of(value) if kind_of(value) else f"{type(value).__name__} {value}"
