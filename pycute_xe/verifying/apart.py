"""Floor 9: questions in a process of their own, which can be stopped."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["answered_apart"]

# The longest time, in seconds, that the system's clocks count in milliseconds.
LONGEST = 2.0**31 / 1000


def answered_apart(program: str, question: str, seconds: float) -> str:
    """Return what a program prints that reads a question; nothing where it is stopped or fails."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=max(0.0, seconds) if seconds < LONGEST else None,
            check=True,
            text=True,
        )
    except (subprocess.SubprocessError, OSError):
        return ""
    return done.stdout
