"""What differs between two values of one kind: `diff`.

`dispatch` asks what is said of each value as a `Side` (`sides`): facts in sections, owners of
elements, lines of a listing. `kernels`, `tilings` and `plans` make one from what readers count and
judge; two sides give a `Difference` of `pycute_xe.comparing.changes`. `layouts` are compared
offset by offset, block-2D copies and operands of MMAs by `pycute_xe.comparing.differences`.
"""

from __future__ import annotations

from pycute_xe.differing.dispatch import diff

__all__ = ["diff"]
