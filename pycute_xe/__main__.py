"""``python -m pycute_xe`` is ``pycute-xe``."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt ends the program without a traceback, at any time."""
    # Until the program runs, and click says that it is aborted, the system ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pycute_xe.cli import main as program

    signal.signal(signal.SIGINT, signal.default_int_handler)
    program(prog_name="pycute-xe")


if __name__ == "__main__":
    main()
