"""What the playground of the site asks and shows: plain dictionaries in, plain dictionaries out.

`answer` takes a request and returns texts and drawings; it needs the standard library alone, so
that it runs in a browser, and executes nothing but operations of the library that it names.
`layouts` and `atoms` answer, of what `fields` read; `holders` and `formulas` say who owns what.
"""

from __future__ import annotations

from pycute_xe.playground.answers import KINDS, answer

__all__ = ["KINDS", "answer"]
