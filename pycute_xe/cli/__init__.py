"""The command line, ``pycute-xe``."""

from __future__ import annotations

from pycute_xe.cli.app import main

__all__ = ["main"]
