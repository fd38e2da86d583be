"""Floor 9: proofs in a process of their own, which can be stopped."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping

from pycute_xe.kernel import Kernel
from pycute_xe.verifying.verdict import Verdict

__all__ = ["decided_apart"]

_CHILD = (
    "import pickle, sys\n"
    "from pycute_xe.verifying.prover import verify_here\n"
    "kernel, fixed = pickle.load(sys.stdin.buffer)\n"
    "sys.stdout.buffer.write(pickle.dumps(verify_here(kernel, fixed, 0)))\n"
)

# The longest time, in seconds, that the system's clocks count in milliseconds.
LONGEST = 2.0**31 / 1000


def decided_apart(kernel: Kernel, fixed: Mapping[str, int], seconds: float) -> Verdict | None:
    """Return the verdict of a process that is stopped after so many seconds; None where it was.

    What it reads and writes is made by this process and by itself.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=pickle.dumps((kernel, dict(fixed))),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds if seconds < LONGEST else None,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    found = pickle.loads(done.stdout)  # noqa: S301 - written by the process started above
    return found if isinstance(found, Verdict) else None
