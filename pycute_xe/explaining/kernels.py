"""What a kernel does, line by line."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.explaining.explanation import Explanation, Step
from pycute_xe.kernel import Kernel
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import shown

__all__ = ["KernelExplanation", "explain_kernel"]


@checked_fields
@dataclass(frozen=True, repr=False)
class KernelExplanation(Explanation):
    """The listing of a kernel: a step for each line, as deep as the line is indented.

    ``title`` has the operands, ``rule`` the specification; ``result`` is the kernel.
    """

    _repr_mimebundle_ = shown

    def __str__(self) -> str:
        """The listing."""
        return str(self.result)


def explain_kernel(kernel: Kernel) -> KernelExplanation:
    """Return the lines of a kernel's listing as steps.

    Law: as text it is the listing.

    >>> from pycute_xe.naming import default_kernel
    >>> told = explain_kernel(default_kernel("gemm"))
    >>> told.rule, told.steps[-1].text[:31]
    ('D[m,n] = sum(k, A[m,k]*B[k,n], f32)', 'copy      tCrC → D[256*m, 256*n')
    """
    title, *lines = str(kernel).splitlines()
    steps = tuple(
        Step(line.strip(), depth=(len(line) - len(line.lstrip())) // 2 - 1) for line in lines
    )
    return KernelExplanation(title, str(kernel.computes or ""), steps, kernel)
