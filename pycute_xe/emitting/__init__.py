"""Kernels in other languages: `emit`."""

from __future__ import annotations

from pycute_xe.emitting.emitter import Language, emit

__all__ = ["Language", "emit"]
