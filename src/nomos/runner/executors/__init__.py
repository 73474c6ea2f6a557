"""Where cases run: in this process, in processes of their own, on Ray.

A worker prepares a job once and then evaluates ranges of it; a pool has workers, hands ranges
out and replaces a worker that died. The driver sees the same interface for all of them.

The invariant: a task is given to a pool as data and comes back as data, or as its failure. A
worker that crashes, hangs or runs out of memory costs its own range only.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nomos.errors import NomosError
from nomos.runner import posix

if TYPE_CHECKING:
    from nomos.runner.executors.pool import WorkerPool
    from nomos.runner.executors.worker import Setting
    from nomos.runner.options import Options


def make_pool(setting: Setting, options: Options) -> WorkerPool:
    """Return workers outside this process."""
    if options.engine == "ray":
        from nomos.runner.executors.ray import RayPool

        return RayPool(setting, options)
    from nomos.runner.executors import forking, processes

    if not posix.CAN_START_WORKERS:
        raise NomosError(
            "workers need POSIX: on this system, cases run in one process only. Leave out "
            "--jobs, --isolate, --call-timeout and --memory-limit, or use WSL"
        )
    # Libraries of devices want processes that were started, not forked.
    forks = posix.CAN_FORK and options.device == "cpu"
    launch = partial(forking.fork_process, what="work")
    return processes.ProcessPool(
        setting, options, launch if forks else processes.spawn_process
    )
