"""Documents: every value that a user holds as JSON, and back.

`documents` has `to_json`, `from_json`, `schema` and `read_report`. `text` reads JSON within limits
and names the place of what is wrong; `registry` is the closed table of classes that documents may
name; `codecs` writes and reads by the annotations of fields, `makers` what these do not say. A
value is read by its own constructor. Nothing is executed, imported by a name that is not in the
table, or unpickled.
"""

from __future__ import annotations

from pycute_xe.files.documents import FORMAT, VERSION, from_json, read_report, schema, to_json
from pycute_xe.files.registry import kinds
from pycute_xe.files.text import MOST_CHARACTERS, MOST_DEPTH, MOST_DIGITS, MOST_TEXT, MOST_VALUES

__all__ = [
    "FORMAT",
    "MOST_CHARACTERS",
    "MOST_DEPTH",
    "MOST_DIGITS",
    "MOST_TEXT",
    "MOST_VALUES",
    "VERSION",
    "from_json",
    "kinds",
    "read_report",
    "schema",
    "to_json",
]
