"""What an LSC message is, for people and for programs."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycute_xe.arch.lsc import encode, encode_descriptor
from pycute_xe.cli.files import json_text, picked
from pycute_xe.errors import CuteError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.arch.rules import Broken
    from pycute_xe.arch.target import Target

__all__ = ["LscOutcome", "pointed"]

_HEAD = r"(?:\([^)]*\) )?(?P<op>lsc_\w+)\.(?P<sfid>\w+)(?:\.(?P<caching>\w+(?:\.\w+)?))? "
_TEXT = re.compile(_HEAD + r"\((?P<exec_mask>\w+),(?P<exec_size>\d+)\) .*")
_DATA, _ADDRESS = re.compile(r":(d[0-9]\S*)"), re.compile(r" ((flat|bss|ss|bti)[\[(]\S*)")
_FIELDS = {  # what a rule speaks about, where it is not the name of a field
    "caching": "caching",
    "exec_size": "exec_size",
    "last_channel": "exec_mask",
    "sfid": "sfid",
    **dict.fromkeys(("op", "kind", "extra", "prefetch", "has_src1", "has_src2"), "op"),
    **dict.fromkeys(("model", "address_bits", "scale", "offset", "pitch", "x", "y"), "address"),
}


@dataclass(frozen=True)
class LscOutcome:
    """A message, the machine it is judged for, and the files that were written."""

    message: Message | Block2DMessage
    target: Target
    files: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that the message breaks."""
        return self.message.check(self.target)

    @property
    def legal(self) -> bool:
        """Whether no rule refuses."""
        return all(broken.level != "error" for broken in self.broken)

    def to_json(self) -> str:
        """Return everything, for programs."""
        fields, code, words = None, None, None
        try:
            encoded = encode(self.message)
            code = encoded.code.hex()
            fields = [
                {"field": f.name, "bytes": f.code.hex(), "meaning": f.meaning}
                for f in encoded.fields
            ]
            desc, ext = encode_descriptor(self.message, self.target)
            words = {"desc": desc, "ext": ext}
        except CuteError as refused:
            del refused  # what has no number is null
        rules = [
            picked(b, "rule", "level", "condition", "source")
            | {"way_out": b.fix, "column": column_of(str(self.message), b) + 1}
            for b in self.broken
        ]
        return json_text(
            {
                "text": str(self.message),
                "target": self.target.name,
                "legal": self.legal,
                "rules": rules,
                "binary": code,
                "fields": fields,
                "send": words,
                "files": list(self.files),
            }
        )

    def show(self, verbose: bool) -> None:
        """Print what the message does, the rules that it breaks, its fields and its drawing."""
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        for number, line in enumerate(self.lines(verbose)):
            console.print(Text(line), soft_wrap=True, style="" if number else "bold")
        if not self.files:
            from pycute_xe.drawing import draw

            try:
                console.print()
                console.print(draw(self.message), soft_wrap=True)
            except CuteError as refused:
                console.print(Text(f"no drawing: {refused.condition}"), soft_wrap=True, style="dim")
        for path in self.files:
            console.print(Text(f"wrote {path}"), soft_wrap=True)

    def lines(self, verbose: bool) -> Iterator[str]:
        """Yield the explanation, broken rules with a mark below their field, and the fields."""
        from pycute_xe.explaining import explain

        yield from str(explain(self.message, self.target)).splitlines()
        for broken in self.broken:
            yield ""
            yield from pointed(str(self.message), broken)
        if self.broken:
            with suppress(CuteError):  # no change of fields helps
                yield f"\nlegal instead: {self.message.nearest(self.target)}"
        if verbose:
            yield ""
            yield from str(encode(self.message)).splitlines()


def pointed(text: str, broken: Broken) -> tuple[str, str, str]:
    """Return the text, a mark below the field that breaks a rule, and what is wrong with it.

    >>> from pycute_xe.arch.lsc import parse
    >>> load = parse("lsc_load.slm (M1,16) V13:d32 flat[V12]:a64")
    >>> print(*pointed(str(load), load.check("bmg")[0])[:2], sep=chr(10))
    lsc_load.slm (M1,16) V13:d32 flat[V12]:a64
                                 ^
    """
    mark = {"error": "✗", "warning": "!"}[broken.level]
    remark = f"{mark} {broken.condition} ({broken.rule}) [{broken.source}]. Way out: {broken.fix}"
    return text, " " * column_of(text, broken) + "^", remark


def column_of(text: str, broken: Broken) -> int:
    """Return where the field stands in a message's text that a broken rule speaks about."""
    quantity = broken.condition.split(" is ")[0].replace(" ", "_")
    match = _TEXT.fullmatch(text)
    if match is None:
        return 0
    field = _FIELDS.get(quantity, "address" if quantity.startswith(("surface", "base")) else "data")
    if field in ("data", "address"):
        place = (_DATA if field == "data" else _ADDRESS).search(text, match.end("exec_size"))
        return match.start("op") if place is None else place.start(1)
    start = match.start(field)
    return match.start("sfid") if start < 0 else start
