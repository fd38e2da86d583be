"""Time a warm `import pycute_xe`: the best of five fresh interpreters, in seconds.

The target is 25 ms. What an interpreter needs without the import is shown beside it.
"""

from __future__ import annotations

import subprocess
import sys

CODE = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def import_seconds(module: str, runs: int = 5) -> float:
    """Seconds of the fastest of several imports, after one that warms the file caches."""
    command = [sys.executable, "-c", CODE.format(module=module)]
    times = [float(subprocess.check_output(command, text=True)) for _ in range(runs + 1)]
    return min(times[1:])


if __name__ == "__main__":
    for name in ("pycute_xe", "numpy"):
        print(f"import {name:10} {import_seconds(name) * 1000:7.1f} ms (best of five)")
