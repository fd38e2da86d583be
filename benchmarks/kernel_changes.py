"""What is done to random kernels: each change is a small function of a random source and a kernel.

A change of statements that a kernel does not have leaves it as it is. `refused` changes raise a
`CuteError` at construction.
"""

from __future__ import annotations

import dataclasses
import random

from index_changes import (
    Change,
    added,
    batched,
    bent,
    divided,
    exchanged,
    far,
    indexed,
    one,
    renamed,
)
from value_changes import late, mapped, operands

import pycute_xe as cx
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Index,
    Kernel,
    Loop,
    Map,
    Part,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Tiles,
)
from pycute_xe.kernel.kinds.vectors import vector_gather

# ---------------------------------------------------------------- statements


def dropped(r: random.Random, kernel: Kernel) -> Kernel:
    """Leave a statement out."""
    return kernel.replace(one(r, kernel), None)


def doubled(r: random.Random, kernel: Kernel) -> Kernel:
    """Do a statement twice."""
    statement = one(r, kernel)
    return kernel.replace(statement, (statement, statement))


def swapped(r: random.Random, kernel: Kernel) -> Kernel:
    """Exchange two statements."""
    first, second = one(r, kernel), one(r, kernel)
    if isinstance(first, (Loop, If)) or isinstance(second, (Loop, If)):
        return kernel
    mark = Fill("nowhere")
    holder = dataclasses.replace(
        kernel,
        fragments=(*kernel.fragments, cx.kernel.Fragment("nowhere", cx.as_numeric("f32"), 1)),
    )
    found = holder.replace(first, mark).replace(second, first).replace(mark, second)
    return dataclasses.replace(found, fragments=kernel.fragments)


def moved(r: random.Random, kernel: Kernel) -> Kernel:
    """Put a statement before or behind another."""
    first, second = one(r, kernel), one(r, kernel)
    if isinstance(first, Loop) or first == second:
        return kernel
    pair = r.choice([(first, second), (second, first)])
    return kernel.replace(first, None).replace(second, pair)


# ---------------------------------------------------------------- loops, conditions, grids


def looped(r: random.Random, kernel: Kernel) -> Kernel:
    """Start a loop a trip later, or end it a trip earlier or later."""
    loop = one(r, kernel, Loop)
    if loop is None:
        return kernel
    later = dataclasses.replace(loop, start=loop.start + 1)
    longer = dataclasses.replace(loop, stop=loop.stop + r.choice([-1, 1]))
    return kernel.replace(loop, r.choice([later, longer]))


def conditioned(r: random.Random, kernel: Kernel) -> Kernel:
    """Bend a condition: another bound, another index, or none at all."""
    statement = one(r, kernel, If)
    if statement is None:
        return wrapped(r, kernel)
    by = r.choice([-1, 1, 2])
    new = r.choice(
        [
            dataclasses.replace(statement, below=statement.below + by),
            dataclasses.replace(statement, index=statement.index + by),
            dataclasses.replace(statement, index=statement.below, below=statement.index),
            statement.body,
        ]
    )
    return kernel.replace(statement, new)


def wrapped(r: random.Random, kernel: Kernel) -> Kernel:
    """Do a statement only where a condition holds."""
    statement = one(r, kernel)
    if isinstance(statement, (BarrierArrive, BarrierWait)):
        return kernel
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    names = [name for name, _ in kernel.grid] + loops
    bounds = [Index(None, 1), Index(None, 3), Index(r.choice(kernel.sizes)), Tiles("M", 8)]
    bound = r.choice(bounds) if r.random() < 0.95 else Index(None, 2**20)
    return kernel.replace(statement, If(Index(r.choice(names)), bound, (statement,)))


def tiled(r: random.Random, kernel: Kernel) -> Kernel:
    """Change the number of work-groups along the first axis of the grid."""
    (var, count), *rest = kernel.grid
    new = r.choice([count + 1, count - 1, Tiles(r.choice(kernel.sizes), r.choice([8, 32, 64]))])
    return dataclasses.replace(kernel, grid=((var, new), *rest))


def turned(r: random.Random, kernel: Kernel) -> Kernel:
    """Exchange the numbers of work-groups along two axes."""
    counts = [count for _, count in kernel.grid]
    r.shuffle(counts)
    names = [name for name, _ in kernel.grid]
    return dataclasses.replace(kernel, grid=tuple(zip(names, counts, strict=True)))


# ---------------------------------------------------------------- registers


def permuted(r: random.Random, kernel: Kernel) -> Kernel:
    """Give a reorder other slots, of a permutation or not."""
    statement = one(r, kernel, Reorder)
    if statement is None:
        return kernel
    size, part = cx.size(statement.slots), r.choice([2, 4, 8, 16])
    slots = [
        cx.Layout((part, size // part), (size // part, 1)),
        cx.Layout(size),
        cx.Layout((2, size // 2), (0, 2)),
    ]
    return kernel.replace(statement, dataclasses.replace(statement, slots=r.choice(slots)))


def parted(r: random.Random, kernel: Kernel) -> Kernel:
    """Take another part of a fragment."""
    statement = one(r, kernel, Part)
    if statement is None:
        return kernel
    first = max(0, statement.first + r.choice([-16, 16, -128, 128]))
    size = cx.size(statement.slots)
    slots = r.choice([statement.slots, cx.Layout((2, size // 2), (size // 2, 1))])
    return kernel.replace(statement, dataclasses.replace(statement, first=first, slots=slots))


def filled(r: random.Random, kernel: Kernel) -> Kernel:
    """Fill a fragment with another number."""
    statement = one(r, kernel, Fill)
    if statement is None:
        return kernel
    return kernel.replace(statement, dataclasses.replace(statement, value=1.0))


def broadcast(r: random.Random, kernel: Kernel) -> Kernel:
    """Take a vector along the other mode, from one place, or element by element."""
    statement = one(r, kernel, Map)
    if statement is None or not statement.gathers:
        return kernel
    sizes = [cx.size(by) for _, by in statement.gathers]
    choices = [cx.Layout(sizes[0], 0), cx.Layout(sizes[0])]
    if any(isinstance(s, cx.kernel.Mma) for s in kernel.statements()):
        choices = [vector_gather(kernel.mma, r.choice("mn")), choices[0]]
    by = r.choice(choices)
    gathers = tuple((name, by) for name, _ in statement.gathers)
    return kernel.replace(statement, dataclasses.replace(statement, gathers=gathers))


def reduced(r: random.Random, kernel: Kernel) -> Kernel:
    """Take the maximum for the sum, or reduce other elements together."""
    statement = one(r, kernel, Reduce)
    if statement is None:
        return kernel
    size = cx.size(statement.slots)
    new = r.choice(
        [
            {"how": "max" if statement.how == "sum" else "sum"},
            {"slots": cx.Layout((16, size // 16), (0, 1))},
            {"slots": cx.Layout((16, size // 16), (1, 0))},
        ]
    )
    return kernel.replace(statement, dataclasses.replace(statement, **new))


def narrowed(r: random.Random, kernel: Kernel) -> Kernel:
    """Give a fragment that is converted to, or computed into, another type of its width."""
    found = {s.destination for s in kernel.statements() if isinstance(s, (Convert, Map))}
    others = {"bf16": "f16", "f16": "bf16", "f32": "bf16", "s8": "u8"}
    names = sorted(n for n in found if kernel.fragment(n).value_type.name in others)
    if not names:
        return kernel
    chosen = r.choice(names)
    fragments = tuple(
        dataclasses.replace(f, value_type=cx.as_numeric(others[f.value_type.name]))
        if f.name == chosen
        else f
        for f in kernel.fragments
    )
    return dataclasses.replace(kernel, fragments=fragments)


def shared(r: random.Random, kernel: Kernel) -> Kernel:
    """Shift what goes to or from shared memory, or leave a fence or a whole barrier out."""
    statement = one(r, kernel, SharedLoad, SharedStore, Fence, BarrierArrive)
    if isinstance(statement, (SharedLoad, SharedStore)):
        at = r.choice([statement.at + 8, statement.at - 1, Index(), statement.at + 1024])
        return kernel.replace(statement, dataclasses.replace(statement, at=at))
    if isinstance(statement, BarrierArrive):
        return kernel.replace(statement, Fence()).replace(BarrierWait(), Fence())
    return kernel if statement is None else kernel.replace(statement, None)


CHANGES: tuple[Change, ...] = (
    *(dropped, doubled, swapped, moved, bent, looped),
    *(indexed, permuted, filled, tiled, broadcast),
    *(far, divided, exchanged, batched, renamed, added),
    *(conditioned, wrapped, turned, parted, reduced, narrowed, shared),
    *(mapped, mapped, operands, late),
)
"""All changes. Those of what maps compute stand twice, as they are many in one."""
