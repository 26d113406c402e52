"""The right to use the test cluster: one run of the tests at a time has it.

Runs share the cluster's jobs, files and network, so a second run would get wrong results. The
kernel frees the lock when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import TextIO

from job import ClusterError

LOCK = Path("/var/cache/envcfg-cluster/holder")
# `up` and `down` refuse to change a cluster that is held, except for its holder.
VARIABLE = "ENVCFG_CLUSTER_HOLDER"


def take_cluster(lock: Path = LOCK) -> TextIO:
    """Take the cluster for this process; it is free again when the file is closed.

    Raises:
        ClusterError: another run has the cluster; the error names that run.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    file = lock.open("a+", encoding="utf-8")
    if not _lock(file):
        file.seek(0)
        holder = file.read().strip() or "another run"
        file.close()
        msg = f"the test cluster is in use by {holder}: run this again when that has ended"
        raise ClusterError(msg)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    file.truncate(0)
    file.write(f"process {os.getpid()} in {os.getcwd()} since {since}\n")
    file.flush()
    os.environ[VARIABLE] = str(os.getpid())
    return file


def _lock(file: TextIO) -> bool:
    """Lock the file, within a second: `up` and `down` have it for a moment, to look."""
    for _ in range(10):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)
        else:
            return True
    return False
