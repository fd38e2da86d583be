"""Floor 9: loops that only prefetch, looked at once instead of trip by trip."""

from __future__ import annotations

from dataclasses import dataclass, field

from pycute_xe.executing.groups.registers import Groups
from pycute_xe.kernel import If, Index, Loop, Prefetch, Statement, walk

__all__ = ["Fetching"]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Indices that must be looked up inside, and modes of operands that they must be inside of."""

    looked: tuple[Index, ...]
    beside: tuple[tuple[Index, str, int], ...]


@dataclass(eq=False)
class Fetching:
    """What is kept of loops while work-groups are done one by one."""

    _loops: dict[int, tuple[Loop, _Asked | None]] = field(
        default_factory=dict[int, "tuple[Loop, _Asked | None]"]
    )

    def harmless(self, groups: Groups, loop: Loop) -> bool:
        """Whether a loop only prefetches, and none of its trips can do what is refused.

        ``groups`` is one work-group, all of whose subgroups take part in one trip at least. Where
        something is outside, or depends on the trip, the answer is no: it is done trip by trip.
        """
        if id(loop) not in self._loops:
            asked = _asked(loop)
            self._loops[id(loop)] = loop, asked
            if asked is not None and groups.ahead is not None:
                for index in asked.looked:
                    groups.ahead.ask(index)
        asked = self._loops[id(loop)][1]
        if asked is None or groups.active is not None:
            return False
        if any(_number(groups, index) is None for index in asked.looked):
            return False
        for index, operand, mode in asked.beside:
            at = _number(groups, index)
            if at is None or not 0 <= at < groups.memory[operand].shape[mode]:
                return False
        return True


def _number(groups: Groups, index: Index) -> int | None:
    """Return an index, None where it looks up outside, or something that no table says."""
    if not index.looked_up:
        found = groups.number(index)
        return found if isinstance(found, int) else None
    return groups.ahead.number(index, groups.first, groups.names) if groups.ahead else None


def _asked(loop: Loop) -> _Asked | None:
    looked: list[Index] = []
    beside: list[tuple[Index, str, int]] = []
    for statement in walk(loop.body):
        if isinstance(statement, If) and _plain(statement, loop):
            looked += [i for i in (statement.index, statement.below) if i.looked_up]
        elif isinstance(statement, Prefetch) and _aligned(statement):
            for mode, index in enumerate(statement.at):
                if mode not in statement.modes:
                    beside.append((index, statement.operand, mode))
                elif index.looked_up:
                    looked.append(index - Index(loop.var) * dict(index.terms).get(loop.var, 0))
        else:
            return None
    every = (*looked, *(index for index, _, _ in beside))
    return None if any(loop.var in i.names for i in every) else _Asked(tuple(looked), tuple(beside))


def _plain(statement: If, loop: Loop) -> bool:
    """Whether what is inside asks for nothing that the condition keeps from being asked."""
    return all(isinstance(inner, Prefetch) for inner in statement.body) and statement in loop.body


def _aligned(statement: Statement) -> bool:
    """Whether blocks start at elements of their message, whatever the names are."""
    if not isinstance(statement, Prefetch) or len(statement.modes) != 2 or None in statement.modes:
        return False
    copy, mode = statement.copy, statement.modes[statement.copy.x_mode]
    if mode is None:
        return False
    index = statement.at[mode]
    steps = (index.offset, *(c for _, c in index.terms))
    return all(step * copy.value_type.bits % copy.op.bits == 0 for step in steps)
