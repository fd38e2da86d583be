"""The libraries that the algebra is compared with, under one set of names.

The peers live in an environment of their own (`make bench` makes it) whose packages are put at the
end of the path: pure Python all three, they run in one process. A peer that is not there is left
out, with a message.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pycute_xe as cx

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Library:
    """A library's operations under CuTe's names; `table` lists all offsets its own way."""

    name: str
    layout: Callable[..., Any]
    operations: dict[str, Callable[..., Any]]
    table: Callable[[Any], Any]


OPERATIONS = (
    "coalesce",
    "composition",
    "complement",
    "logical_divide",
    "logical_product",
    "right_inverse",
    "left_inverse",
)


def ours() -> Library:
    """This library."""
    return Library("pycute_xe", cx.Layout, {n: getattr(cx, n) for n in OPERATIONS}, cx.table)


def _peer(name: str, module: str, renamed: dict[str, str]) -> Library | None:
    try:
        peer = import_module(module)
    except ImportError as error:
        print(f"{name} is left out: {error} (`make bench` installs it)", flush=True)
        return None

    def table(layout: Any) -> list[int]:
        return [layout(i) for i in range(peer.size(layout))]

    operations = {n: getattr(peer, renamed.get(n, n)) for n in OPERATIONS}
    return Library(name, peer.Layout, operations, table)


def libraries(environment: Path) -> list[Library]:
    """This library, then the peers found in an environment."""
    sys.path.extend(map(str, environment.glob("lib/python3*/site-packages")))
    peers = (
        _peer("pycute", "pycute", {}),
        _peer("tensor-layouts", "tensor_layouts", {"composition": "compose"}),
    )
    return [ours(), *(peer for peer in peers if peer)]


def parser(description: str | None) -> ArgumentParser:
    """Options that every comparison has."""
    options = ArgumentParser(description=description)
    options.add_argument("--peers", type=Path, default=ROOT / ".venv-peers", metavar="ENVIRONMENT")
    return options
