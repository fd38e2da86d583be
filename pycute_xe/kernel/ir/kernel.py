"""A kernel as a value: operands, fragments, statements, and what they should compute."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycute_xe.atom.tilings import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import as_index
from pycute_xe.kernel.ir.checks import check_program
from pycute_xe.kernel.ir.listing import listing
from pycute_xe.kernel.ir.program import Program, walk
from pycute_xe.kernel.ir.statements import If, Loop, Mma, Statement
from pycute_xe.signatures import typed, typed_fields

__all__ = ["Kernel"]


@typed_fields
@dataclass(frozen=True)
class Kernel(Program):
    """What each work-group of a grid does to operands in memory.

    ``grid`` binds a variable to the number of work-groups along an axis; ``body`` is what each of
    ``subgroups`` subgroups of a work-group executes; ``computes`` says what should come of it, and
    no reader makes the one from the other. Raises `KernelError` for a name that is unknown or bound
    twice, a fragment that some path reads before it is written, a barrier of which some path does
    only one half, and for types and sizes that do not fit.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> gemm.name, len(gemm.operands), hash(gemm) == hash(gemm)
    ('gemm', 3, True)
    """

    def __post_init__(self) -> None:
        """Check that the statements fit the operands, the fragments and one another."""
        object.__setattr__(
            self, "grid", tuple((name, as_index(count)) for name, count in self.grid)
        )
        check_program(self)

    @property
    def mma(self) -> TiledMma:
        """The tiled MMA of the first multiplication; `KernelError` where nothing is multiplied."""
        for statement in walk(self.body):
            if isinstance(statement, Mma):
                return statement.mma
        raise KernelError("mma", {"kernel": self.name}, "the kernel multiplies nothing", "")

    @typed
    def loop(self, var: str) -> Loop:
        """Return the loop over a variable; `KernelError` for an unknown one."""
        for statement in walk(self.body):
            if isinstance(statement, Loop) and statement.var == var:
                return statement
        raise KernelError(
            "loop",
            {"kernel": self.name, "var": var},
            f"no loop of this kernel has the variable {var}",
            "name one of its loops",
        )

    @typed
    def replace(self, old: Statement, new: Statement | tuple[Statement, ...] | None) -> Kernel:
        """Return the kernel with one statement exchanged for another, several, or none.

        Every occurrence of ``old`` changes. Raises `KernelError` where it does not occur.

        >>> import dataclasses, pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> loop = gemm.loop("k")
        >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
        >>> str(short.loop("k").stop)
        'ceil_div(K, 32)-1'
        """
        by = () if new is None else new if isinstance(new, tuple) else (new,)
        body = _replaced(self.body, old, by)
        if body == self.body and by != (old,):
            raise KernelError(
                "replace",
                {"kernel": self.name},
                "the kernel does not contain this statement",
                "take one from kernel.statements()",
            )
        return replace(self, body=body)

    def __str__(self) -> str:
        """A readable listing: operands, what is computed, registers, statements."""
        return listing(self)


def _replaced(
    body: tuple[Statement, ...], old: Statement, by: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if statement == old:
            out.extend(by)
        elif isinstance(statement, (Loop, If)):
            out.append(replace(statement, body=_replaced(statement.body, old, by)))
        else:
            out.append(statement)
    return tuple(out)
