"""``python -m pycute_xe`` is ``pycute-xe``."""

from __future__ import annotations

from pycute_xe.cli import main

if __name__ == "__main__":
    main(prog_name="pycute-xe")
