"""Floor 9: the points a kernel visits: problem sizes, grid and loop variables, as constraints."""

from __future__ import annotations

from collections.abc import Mapping

from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Index, Kernel, Loop, Tiles, When
from pycute_xe.signatures import shortly
from pycute_xe.verifying.flow import Site
from pycute_xe.verifying.regions import Names, Region

__all__ = ["SIZES", "Base", "Space", "place_text"]

SIZES: Names = ("M", "N", "K")

Base = tuple[tuple[int, Index], tuple[int, Index]]
"""For each of two axes the extent of a tile and the number of the tile."""


class Space:
    """The coordinates of everything that happens: sizes first, then a kernel's variables.

    Variables that a statement does not depend on are 0 there. ``params`` fixes sizes.
    Raises `InputError` for sizes that are no extents of the kernel.

    >>> import pycute_xe as cx
    >>> space = Space(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))), {"K": 5})
    >>> space.names, space.sizes
    (('M', 'N', 'K', 'v0', 'v1', 'v2', 'v3'), 'M >= 1 and N >= 1 and K >= 1 and K = 5')
    """

    def __init__(self, kernel: Kernel, params: Mapping[str, int] | None = None) -> None:
        self.kernel = kernel
        variables = [var for var, _ in kernel.grid]
        self.starts = dict.fromkeys(variables, 0)
        for statement in kernel.statements():
            if isinstance(statement, Loop):
                variables.append(statement.var)
                least = self.starts.get(statement.var, statement.start)
                self.starts[statement.var] = min(least, statement.start)
        self.variables = {var: f"v{i}" for i, var in enumerate(dict.fromkeys(variables))}
        self.names: Names = (*SIZES, *self.variables.values())
        self.sizes = " and ".join(
            [*(f"{name} >= 1" for name in SIZES), *_fixed({} if params is None else params)]
        )

    def index(self, index: Index) -> str:
        """Return a tile number as an expression."""
        if index.var is None:
            return str(index.offset)
        return f"{self.variables[index.var]} + {index.offset}"

    def below(self, index: Index, count: Tiles) -> str:
        """Return the constraint ``index < count``, where ``count`` is never negative."""
        _known(count.extent)
        at = self.index(index)
        text = f"{count.tile}*({at} - {count.plus}) < {count.extent}"
        least = index.offset + (self.starts[index.var] if index.var is not None else 0)
        return f"({text} or {at} < 0)" if least < 0 else text

    def domain(self, site: Site) -> str:
        """Return the constraints on sizes and variables under which a statement is done."""
        out = [self.sizes]
        bound: set[str] = set()
        for var, count in self.kernel.grid:
            out += [f"0 <= {self.variables[var]}", self.below(Index(var), count)]
            bound.add(var)
        for around in site.context:
            match around.statement:
                case Loop(var, start, stop):
                    name = self.variables[var]
                    out.append(f"{start} <= {name}")
                    out.append(self.within_loop(Index(var), stop))
                    bound.add(var)
                case When(index, count):
                    out.append(self.below(index, count))
                case _:
                    pass
        out += [f"{name} = 0" for var, name in self.variables.items() if var not in bound]
        return " and ".join(out)

    def within_loop(self, index: Index, stop: Tiles | int) -> str:
        """Return the constraint that an index has not reached the end of its loop."""
        if isinstance(stop, int):
            return f"{self.index(index)} < {stop}"
        return self.below(index, stop)

    def lifted(self, region: Region, base: Base, kept: Names) -> Region:
        """Place coordinates (r, c) of a tile in the matrix: (R, C), for each value of the names."""
        names = (*self.names, *kept, "R", "C")
        return region.to(names, self.placed(base))

    def placed(self, base: Base) -> str:
        """Return the equations between (r, c) in a tile and (R, C) in the matrix."""
        (rows, i), (columns, j) = base
        return (
            f"R = {place_text(rows, self.index(i), 'r')} and "
            f"C = {place_text(columns, self.index(j), 'c')}"
        )


def place_text(tile: int, number: str, inside: str) -> str:
    """Return where a coordinate inside a tile lies in the matrix."""
    return f"{tile}*({number}) + {inside}"


def _known(extent: str) -> None:
    if extent not in SIZES:
        raise KernelError(
            "verify", {"extent": extent}, f"the sizes of a problem are {', '.join(SIZES)}", ""
        )


def _fixed(params: Mapping[str, int]) -> list[str]:
    given = dict(params) if isinstance(params, Mapping) else {"params": params}  # pyright: ignore[reportUnnecessaryIsInstance]
    for name, value in given.items():
        if name not in SIZES or type(value) is not int or value < 1:
            raise InputError(
                "verify",
                {str(name): shortly(value)},
                "params fixes extents M, N or K, 1 or more",
                'verify(kernel, {"K": 64})',
            )
    return [f"{name} = {value}" for name, value in params.items()]
