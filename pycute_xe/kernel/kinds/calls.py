"""Floor 7: the named arguments that kinds of GEMMs share, and the recipe that they say."""

from __future__ import annotations

from typing import TypedDict

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import InputError
from pycute_xe.kernel.ir.operands import Order
from pycute_xe.kernel.kinds.given_copies import GivenCopy
from pycute_xe.kernel.kinds.recipe import Epilogue, Input, Mainloop, Schedule
from pycute_xe.numeric import Numeric

__all__ = ["Given", "Recipe", "recipe_of"]

Recipe = tuple[Mainloop, Epilogue, Schedule]


class Given(TypedDict, total=False):
    """What every kind of GEMM may be given by name; `Input` and `Epilogue` say what it means.

    ``types`` holds the types in memory of A and B too; ``batch`` gives every matrix a leading mode.
    """

    copy_a: GivenCopy
    copy_b: GivenCopy
    copy_d: GivenCopy
    reorder_a: bool
    reorder_b: bool
    transform_a: str | None
    transform_b: str | None
    epilogue: str | None
    d_type: Numeric | str | None
    types: dict[str, Numeric | str] | None
    orders: dict[str, Order] | None
    also: dict[str, str] | None
    batch: bool
    epilogue_tile: tuple[int, int] | None


def recipe_of(
    kind: str,
    mma: TiledMma,
    orders: tuple[Order, Order, Order],
    given: Given,
    *,
    ahead: int = 0,
    stages: int | None = None,
    many: int = 0,
) -> Recipe:
    """Return the recipe of what a caller gives; with ``many``, of B0, B1 and so on.

    Raises `InputError` for an argument that no kind has.
    """
    unknown = next((name for name in given if name not in Given.__annotations__), None)
    if unknown is not None:
        known = ", ".join(Given.__annotations__)
        wrong = f"{unknown} is not an argument of {kind}"
        raise InputError(kind, {unknown: given.get(unknown)}, wrong, f"use {known}")
    types = given.get("types") or {}

    def factor(name: str, order: Order) -> Input:
        transform = given.get("transform_a" if name == "A" else "transform_b")
        if many and transform is not None and name != "A":
            transform = transform.replace("B", name)
        return Input(
            order,
            types.get(name),
            transform,
            given.get("copy_a" if name == "A" else "copy_b"),
            given.get("reorder_a" if name == "A" else "reorder_b", True),
            ahead,
            stages,
        )

    a, b, d = orders
    each = tuple(factor(f"B{i}", b) for i in range(many))
    ending = Epilogue(
        given.get("epilogue"), given.get("d_type"), d, given.get("types"), given.get("orders"),
        given.get("also"), given.get("epilogue_tile"), given.get("copy_d"),
    )  # fmt: skip
    groups = Schedule("batch" if given.get("batch") else "none")
    return Mainloop(mma, factor("A", a), each or factor("B", b)), ending, groups
