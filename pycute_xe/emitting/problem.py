"""The problem that a program of a kernel runs: sizes, what fills operands, surfaces, tolerances."""

from __future__ import annotations

from pycute_xe.arch.rules import rules
from pycute_xe.converting import bounds
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.probes import tolerance_of
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim, Specification

__all__ = ["claimed", "claims_of", "common_sizes", "numbers", "surface_rules", "tolerance"]


def claimed(kernel: Kernel) -> Specification:
    """Return what a kernel computes.

    Raises `KernelError` for a kernel that claims nothing, or speaks of states.
    """
    if kernel.computes is None or not kernel.computes.claims:
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            "the kernel claims nothing, so that its result cannot be compared",
            "give it a specification",
        )
    if kernel.computes.defines:
        state = kernel.computes.defines[0].name
        wrong = f"{state} is defined step by step, which no program here computes"
        raise KernelError("emit", {"kernel": kernel.name}, wrong, 'use emit(kernel, "opencl")')
    if kernel.computes.tickets:
        wrong = f"{kernel.computes.tickets[0]}, in an order that no program here knows"
        raise KernelError("emit", {"kernel": kernel.name}, wrong, 'use emit(kernel, "opencl")')
    for claim in kernel.computes.claims:
        if isinstance(claim, Scatter):
            wrong = f"{claim.output} is claimed at places that are looked up: no program here can"
            raise KernelError("emit", {"kernel": kernel.name}, wrong, 'use emit(kernel, "opencl")')
    return kernel.computes


def claims_of(kernel: Kernel) -> tuple[Claim, ...]:
    """Return what a kernel claims of each output. Raises `KernelError` as `claimed`."""
    return tuple(claim for claim in claimed(kernel).claims if isinstance(claim, Claim))


def tolerance(kernel: Kernel, claim: AnyClaim) -> float:
    """Return how far a right output may be off, as a share of the largest element."""
    return tolerance_of(claim.value, kernel.operand(claim.output).value_type)


def numbers(kernel: Kernel, operand: Operand) -> range | tuple[float, ...]:
    """Return numbers of an operand's type of which sums are exact."""
    kind = operand.value_type
    products = (statement.touched.product for statement in kernel.statements())
    sums = {product.mma.atom.op.C for product in products if product is not None}
    if kind.kind != "float":
        low, high = bounds(kind)
        most = 128 if all(k.kind != "float" for k in sums) and sums else 8
        return range(max(low, -most), min(high, most) + 1) if operand.modes else (1,)
    if not operand.modes:
        return (0.5,)
    if kind.row.positive:
        return (0.5, 1, 2)
    if kind.bits < 8:
        return (-2, -1, -0.5, 0, 0.5, 1, 2)
    if any(k.bits == 16 for k in sums):
        return (-1, 0, 0, 1)
    if any(tolerance(kernel, claim) for claim in claimed(kernel).claims):
        return tuple(n / 8 for n in range(-4, 5))
    return range(-4, 5)


def surface_rules() -> tuple[tuple[str, str, int], ...]:
    """Return the strictest that documents demand of surfaces: a quantity, how and a number."""
    strictest: dict[tuple[str, str], int] = {}
    for target in ("pvc", "bmg"):
        for rule in rules("block2d", "surface", target):
            bound, key = rule.bounds[0], (rule.quantity, rule.kind)
            if isinstance(bound, int):
                stricter = min if rule.kind == "at_most" else max
                strictest[key] = stricter(strictest.get(key, bound), bound)
    return tuple(sorted((quantity, how, bound) for (quantity, how), bound in strictest.items()))


def common_sizes(kernel: Kernel, matrix: int, deep: tuple[int, int, int]) -> dict[str, int]:
    """Return sizes to begin with.

    ``matrix`` is that of matrices; what has more modes takes ``deep``: the last, the one before,
    the others.
    """
    sizes = dict.fromkeys(kernel.sizes, deep[2])
    for operand in kernel.operands:
        rank = len(operand.modes)
        for number, mode in enumerate(operand.modes):
            behind = min(rank - 1 - number, 2)
            size = matrix if rank == 2 else deep[behind] if rank > 2 else 1
            sizes |= {name: max(sizes[name], size) for name in mode.names}
    return sizes
