"""What a program measured on a device: the value behind its report."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import median

from pycute_xe.emitting.figures import DEVICES, Figures
from pycute_xe.errors import InputError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.ir.identity import identity
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import glance, shown

__all__ = ["Measurement"]


@checked_fields
@dataclass(frozen=True, slots=True)
class Measurement(Figures):
    """A kernel on a device: its identity, sizes, timings, and whether its results were right.

    Its fields are those of `Figures`. Raises `InputError` naming a figure that no run has.

    >>> one = Measurement("gemm", "0" * 64, "Arc B580", "gpu", "26.1", (("M", 8),), 256, 0.5,
    ...     (2e-6, 1e-6, 4e-6), 4096, 512, 1.0, 0.0, "")
    >>> one.equal, one.usual, one.operations_per_second
    (True, 2e-06, 2048000000.0)
    """

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kernel, the device and the rate."""
        return glance(self)

    def __post_init__(self) -> None:
        """Check each figure."""
        names = [name for name, _ in self.sizes]
        digits = len(self.identity) == 64 and not set(self.identity) - set("0123456789abcdef")
        timed = (self.build_seconds, self.tolerance, *self.seconds)
        for right, condition in (
            (digits, "the identity is not 64 hexadecimal digits"),
            (self.kind in DEVICES, f"{self.kind!r} is neither {' nor '.join(DEVICES)}"),
            (len(set(names)) == len(names), "a size is named twice"),
            (all(size >= 1 for _, size in self.sizes), "a size must be 1 or more"),
            (self.registers in (128, 256), "the registers of a thread must be 128 or 256"),
            (len(self.seconds) > 0, "there is no run"),
            (all(isfinite(s) and s >= 0 for s in timed), "a time must be a number from 0 on"),
            (min(self.operations, self.bytes) >= 0, "operations and bytes must be 0 or more"),
            (0 <= self.compared <= 1, "the share that is compared must be 0 to 1"),
        ):
            if not right:
                fix = "take the file that a program of emit wrote"
                raise InputError("Measurement", {"kernel": self.kernel}, condition, fix)

    @property
    def equal(self) -> bool:
        """Whether all that was compared was right."""
        return not self.different

    @property
    def usual(self) -> float:
        """The median of the runs, in seconds."""
        return median(self.seconds)

    @property
    def operations_per_second(self) -> float:
        """The rate of the usual run; infinite where the device's clock saw no time pass."""
        return self.operations / self.usual if self.usual else float("inf")

    @property
    def bytes_per_second(self) -> float:
        """The rate of the usual run; infinite where the device's clock saw no time pass."""
        return self.bytes / self.usual if self.usual else float("inf")

    @typed
    def measures(self, kernel: Kernel) -> bool:
        """Whether it is of this kernel: their identities are one."""
        return self.identity == identity(kernel)

    def __str__(self) -> str:
        """The kernel and its sizes, the device, the rates, and what came of the comparison."""
        sizes = " ".join(f"{name}={size}" for name, size in self.sizes)
        tera, giga = self.operations_per_second / 1e12, self.bytes_per_second / 1e9
        rates = f"{tera:.4g} TFLOP/s, {giga:.4g} GB/s"
        lines = [
            f"{self.kernel} {sizes} on {self.device}",
            f"  {self.usual * 1e3:.4g} ms in {len(self.seconds)} runs: {rates}",
        ]
        share = f", {self.compared:.0%} of the elements" if self.compared < 1 else ""
        return "\n".join([*lines, f"  {self.different or f'equal to NumPy{share}'}"])
