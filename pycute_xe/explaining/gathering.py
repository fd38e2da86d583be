"""Floor 9: what divides and products share: mode by mode, then gathered or unpacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pycute_xe.algebra.divide import unpacked, zip_modes
from pycute_xe.explaining.script import Script
from pycute_xe.layout import Layout, make_layout
from pycute_xe.typing import Tiler, is_tuple

__all__ = ["Gathering"]

Tell = Callable[[Script, Layout, Tiler], Layout]


@dataclass(frozen=True)
class Gathering:
    """The zipped, tiled and flat forms of an operation, told from its logical form.

    ``verb`` joins a mode and its tiler, ``whole`` is what is operated on; ``first`` and ``second``
    name the two modes of each result, ``kept`` says what ``_`` does.
    """

    name: str
    tell_logical: Tell
    verb: str
    whole: str
    first: str
    second: str
    kept: str

    def by_mode(self, script: Script, layout: Layout, tiler: tuple[Any, ...]) -> Layout:
        """Write the logical form of each mode that the tiler has an entry for."""
        if len(tiler) > len(layout):
            script.stop(f"the tiler has {len(tiler)} entries, the {self.whole} {len(layout)} modes")
        parts: list[Layout] = []
        for i, entry in enumerate(tiler):
            entry_ = "_" if entry is None else entry
            with script.within(f"mode {i}, {layout[i]}, {self.verb} {entry_}"):
                parts.append(self.tell_logical(script, layout[i], entry))
        out = make_layout(*parts, *list(layout)[len(tiler) :])
        script.say("the modes together", out)
        return out

    def zipped(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the logical form, and both halves of its modes gathered."""
        if tiler is None:
            out = make_layout(layout, Layout(1, 0))
            script.say(self.kept, out)
            return out
        with script.within(f"logical_{self.name}"):
            found = self.tell_logical(script, layout, tiler)
        if not is_tuple(tiler):
            pair = f"({self.first}, {self.second})"
            script.say(f"one tiler for the whole {self.whole}: {pair} already", found)
            return found
        firsts, seconds = zip_modes(found, tiler)
        several = _plural(self.first), _plural(self.second)
        script.say(f"the {several[0]} of the modes, gathered", make_layout(*firsts))
        script.say(f"the {several[1]} of the modes, gathered", make_layout(*seconds))
        out = make_layout(make_layout(*firsts), make_layout(*seconds))
        script.say(f"(({several[0]}), ({several[1]}))", out)
        return out

    def tiled(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the zipped form, and its second half unpacked."""
        first, second = self._halves(script, layout, tiler)
        out = make_layout(first, *unpacked(second))
        script.say(f"the modes of the {self.second} stand by themselves", out)
        return out

    def flat(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the zipped form, and both halves unpacked."""
        first, second = self._halves(script, layout, tiler)
        out = make_layout(*unpacked(first), *unpacked(second))
        script.say(f"the modes of {self.first} and {self.second} stand by themselves", out)
        return out

    def _halves(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        with script.within(f"zipped_{self.name}"):
            return self.zipped(script, layout, tiler)


def _plural(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"
