"""`explore` on a cluster of Dask, a worker of which is killed on the way: the answer is the same.

    pip install -e ".[dask]"
    python benchmarks/cluster.py [--workers 2]

A LocalCluster is started with so many processes; `Client.get_executor()` is the executor. One
worker is killed by its process id while batches are ahead.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from importlib import import_module
from typing import Any

import pycute_xe as cx

SPACE = cx.Space(tiles_k=(32,), stages=(1, 2), rows=(4, 8))
BEST = 400
PROBLEMS = ({"M": 1000, "N": 4096, "K": 4097}, {"M": 8, "N": 1024, "K": 512})


def killed_on_the_way(client: Any) -> tuple[Any, int]:
    """Explore on the workers of a client, of which one is killed; return what came, and its id."""
    pids = list(client.run(os.getpid).values())
    timer = threading.Timer(0.5, os.kill, (pids[0], signal.SIGKILL))
    timer.start()
    explored = cx.explore(SPACE, "b580", PROBLEMS, best=BEST, executor=client.get_executor())
    killed = not timer.is_alive()
    timer.join()
    if not killed:
        raise SystemExit("the workers were ready before one was killed")
    return explored, pids[0]


def main() -> None:
    """Print whether the answer is that of one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    dask: Any = import_module("dask.distributed")
    plain = cx.explore(SPACE, "b580", PROBLEMS, best=BEST)
    with (
        dask.LocalCluster(
            n_workers=asked.workers, threads_per_worker=1, dashboard_address=None
        ) as some,
        dask.Client(some) as client,
    ):
        start = time.perf_counter()
        explored, pid = killed_on_the_way(client)
        took = time.perf_counter() - start
    print(f"process {pid} killed; {explored.built:,} candidates built in {took:.1f} s")
    print("the same answer" if explored == plain else "ANOTHER ANSWER")


if __name__ == "__main__":
    main()
