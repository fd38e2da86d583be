"""The steps of a rule as it applied to the operands at hand, and atoms and messages in words.

`explain` (`dispatch`) takes an operation with its operands, an atom, a message, or a copy with an
MMA. `compositions` walks the algebra; `atoms`, `copy_names`, `copies`, `choices` and `lsc_messages`
put atoms and messages into words. An `explanation` comes out: steps up to the result, or up to the
one that refuses. The operations themselves are not asked how they did it.
"""

from __future__ import annotations

from pycute_xe.explaining.dispatch import EXPLAINED, explain
from pycute_xe.explaining.explanation import Explanation, Step

__all__ = ["EXPLAINED", "Explanation", "Step", "explain"]
