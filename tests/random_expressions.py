"""Expressions of the layout algebra, made at random from a seed: most have a value, some do not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_TWO = (
    *("composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"),
    *("logical_product", "zipped_product", "blocked_product", "raked_product", "layout_add"),
    *("max_common_layout", "functionally_equal"),
)
_ONE = (
    *("coalesce", "complement", "right_inverse", "left_inverse", "filter", "filter_zeros", "size"),
    *("cosize", "rank", "depth", "flatten", "is_injective", "is_bijective", "image", "sort"),
)
_SLIPS = ("coalesce(", "4:x", "compositoin(8:1, 4:2)", "(2,4):(1)", "complement(4)", "8:1.0", "a.b")


def random_expressions(count: int, seed: int = 0) -> Iterator[str]:
    """Yield expressions; the same for the same seed.

    >>> len(list(random_expressions(5))), list(random_expressions(2)) == list(random_expressions(2))
    (5, True)
    """
    random = Random(seed)
    for number in range(count):
        yield random.choice(_SLIPS) if number % 25 == 24 else _expression(random, 2)


def _expression(random: Random, level: int) -> str:
    if level == 0:
        return _layout(random)
    match random.randrange(8):
        case 0 | 1 | 2:
            return f"{random.choice(_ONE)}({_expression(random, level - 1)})"
        case 3 | 4:
            operands = _expression(random, level - 1), _layout(random, small=True)
            return f"{random.choice(_TWO)}({', '.join(operands)})"
        case 5:
            return f"Sw<{random.randint(1, 3)},{random.randint(0, 2)},3> o {_layout(random)}"
        case 6:
            return f"({_layout(random)})({random.randrange(8)})"
        case _:
            return _layout(random)


def _layout(random: Random, small: bool = False) -> str:
    modes = [_mode(random, small) for _ in range(random.randint(1, 2 if small else 3))]
    if len(modes) == 1:
        return ":".join(modes[0])
    shape, stride = (",".join(parts) for parts in zip(*modes, strict=True))
    return f"({shape}):({stride})"


def _mode(random: Random, small: bool) -> tuple[str, str]:
    extent, step = random.choice((1, 2, 3, 4, 8)), random.choice((0, 1, 2, 3, 4, 8, 16, 32))
    if small or random.random() < 0.7:
        return str(extent), str(step)
    return f"({extent},{random.choice((2, 4))})", f"({step},{random.choice((1, 2, 8, 64))})"
