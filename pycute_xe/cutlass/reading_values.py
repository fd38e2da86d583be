"""Floor 6: what C++ templates stand for, a table from their names to values of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from pycute_xe.cutlass.reading_atoms import COUNTS, MEANINGS, unwrapped
from pycute_xe.cutlass.reading_meanings import Number, Slip
from pycute_xe.cutlass.reading_names import meaning_of_name, nearest_name
from pycute_xe.cutlass.reading_text import at_place, refuse
from pycute_xe.cutlass.reading_types import Type
from pycute_xe.errors import CuteError

__all__ = ["value_of"]


@dataclass(frozen=True)
class _Scope:
    """The text that is read, and the names that it has declared."""

    text: str
    names: dict[str, Any]

    def fail(self, node: Type, condition: str, fix: str) -> NoReturn:
        refuse(self.text, node.at, condition, fix)

    def value(self, node: Type) -> Any:
        """Return what a type stands for."""
        if node.is_number:
            return Number(int(node.name))
        if node.name in self.names and node.arguments is None:
            if node.member:
                self.fail(node, f"{node.name}::{node.member} is not known", "write the type itself")
            return self.names[node.name]
        if node.arguments is None:
            return self.plain(node)
        return self.template(node, node.arguments)

    def plain(self, node: Type) -> Any:
        try:
            found = meaning_of_name(node.name, node.member)
        except CuteError as error:
            raise at_place(self.text, node.at, error) from None
        if found is not NotImplemented:
            return found
        if node.name in MEANINGS:
            self.fail(node, f"{node.name} is given no arguments", f"write {node.name}<…>")
        name = f"{node.name}::{node.member}" if node.member else node.name
        return self.fail(node, f"unknown name {name}", nearest_name(node.name, tuple(MEANINGS)))

    def template(self, node: Type, arguments: tuple[Type, ...]) -> Any:
        name = f"{node.name}<>::{node.member}" if node.member else node.name
        meaning: Callable[..., Any] | None = MEANINGS.get(name)
        if meaning is None:
            self.unknown(node, name)
        least, most = COUNTS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.fail(
                node,
                f"{node.name} takes {wanted} arguments, not {len(arguments)}",
                f"give {wanted} arguments",
            )
        values = [self.value(argument) for argument in arguments]
        try:
            return meaning(*values)
        except Slip as slip:
            self.fail(arguments[slip.index], slip.condition, slip.fix)
        except CuteError as error:
            raise at_place(self.text, node.at, error) from None

    def unknown(self, node: Type, name: str) -> NoReturn:
        members = [known.split("::")[1] for known in MEANINGS if known.startswith(f"{node.name}<>")]
        if members:
            self.fail(
                node, f"{node.name} is a helper, not a type of this kind", f"append ::{members[0]}"
            )
        if node.member and node.name in MEANINGS:
            self.fail(node, f"{name} is not known", f"leave ::{node.member} out")
        self.fail(node, f"unknown template {name}", nearest_name(node.name, tuple(MEANINGS)))


def value_of(text: str, named: list[tuple[str, Type]], last: Type) -> Any:
    """Return the value of a type, after the declarations of the text.

    Raises `InputError` for what stands for nothing, and what the library raises for a value that
    it refuses, each with line and column.
    """
    scope = _Scope(text, {})
    for name, node in named:
        scope.names[name] = scope.value(node)
    return unwrapped(scope.value(last))
