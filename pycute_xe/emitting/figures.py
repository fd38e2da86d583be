"""What a run of a program measures, and on which kinds of devices: part of every program."""

from __future__ import annotations

from dataclasses import dataclass

DEVICES = ("gpu", "cpu")
"""The kinds of devices that a program runs on, by preference."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured.

    ``identity`` is that of the kernel; ``kind`` is the device's; ``seconds`` are those of each run.
    ``operations`` counts additions and multiplications, ``bytes`` each operand once. ``compared``
    is the share of elements that NumPy computed too, within ``tolerance`` of the largest;
    ``different`` names the first that differs and is empty where none does.
    """

    kernel: str
    identity: str
    device: str
    kind: str
    driver: str
    sizes: tuple[tuple[str, int], ...]
    registers: int
    build_seconds: float
    seconds: tuple[float, ...]
    operations: int
    bytes: int
    compared: float
    tolerance: float
    different: str
