"""A batch job of the test cluster: what became of it, and what it wrote."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster import Cluster

POLL_SECONDS = 0.1

#: States that a job does not leave any more.
FINISHED = frozenset(
    (
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    )
)


class ClusterError(Exception):
    """The cluster cannot do what was asked, or not in time."""


@dataclass
class Job:
    """A batch job; `refresh` and `wait` bring its fields up to date.

    Attributes:
        state: Slurm's word, such as RUNNING, COMPLETED, FAILED, TIMEOUT.
        exit_code: what the batch script ended with (0 until it has ended).
        signal: the number of the signal that ended it, else 0.
        output: the file that holds its standard output and error.
    """

    cluster: Cluster
    id: int
    state: str = "PENDING"
    exit_code: int = 0
    signal: int = 0
    nodes: str = ""
    output: Path = field(default_factory=Path)

    @property
    def is_finished(self) -> bool:
        """Whether the job has ended, well or not."""
        return self.state in FINISHED

    @property
    def stdout_bytes(self) -> bytes:
        """What the job has written so far: standard output and error."""
        return self.output.read_bytes() if self.output.is_file() else b""

    @property
    def stdout(self) -> str:
        """The same as text; what is not UTF-8 is replaced."""
        return self.stdout_bytes.decode(errors="replace")

    def refresh(self) -> Job:
        """Ask Slurm how the job is."""
        shown = self.cluster.node("login", ["scontrol", "show", "job", str(self.id)])
        facts = dict(re.findall(r"^ {3}(\w+)=(\S*)", shown.stdout, re.MULTILINE))
        ended = re.search(r" ExitCode=(\d+):(\d+)$", shown.stdout, re.MULTILINE)
        output = re.search(r"^ {3}StdOut=(.*)$", shown.stdout, re.MULTILINE)
        if ended is None or output is None:
            raise ClusterError(f"job {self.id} is unknown: {shown.stderr}")
        self.state = facts["JobState"]
        self.exit_code, self.signal = int(ended[1]), int(ended[2])
        self.nodes = facts["NodeList"]
        self.output = Path(output[1])
        return self

    def wait(self, *, timeout: float = 120) -> Job:
        """Wait until the job has ended; cancel it and complain if it takes too long."""
        return self._wait_for(FINISHED, timeout)

    def wait_running(self, *, timeout: float = 30) -> Job:
        """Wait until the job runs, or has ended already."""
        return self._wait_for(FINISHED | {"RUNNING"}, timeout)

    def wait_output(self, text: str, *, count: int = 1, timeout: float = 60) -> Job:
        """Wait until the job has written *text*, *count* times with any text between."""
        deadline = time.monotonic() + timeout
        while self.stdout.count(text) < count:
            over = self.refresh().is_finished or time.monotonic() > deadline
            if over and self.stdout.count(text) < count:
                raise ClusterError(f"no {text!r} from {self._describe()}")
            time.sleep(POLL_SECONDS)
        return self

    def wait_until(self, condition: Callable[[Job], bool], *, timeout: float) -> Job:
        """Wait until *condition* holds for the job; complain if it ends without."""
        deadline = time.monotonic() + timeout
        while not condition(self.refresh()):
            if self.is_finished or time.monotonic() > deadline:
                raise ClusterError(f"not what was waited for: {self._describe()}")
            time.sleep(POLL_SECONDS)
        return self

    def update(self, *changes: str) -> Job:
        """Change the job as an administrator: ``job.update("TimeLimit=1")``."""
        done = self.cluster.node(
            "login", ["scontrol", "update", f"JobId={self.id}", *changes]
        )
        if done.returncode != 0:
            raise ClusterError(f"{changes}: {done.stderr}")
        return self

    def skip_requeue_delay(self) -> None:
        """Start the job soon after it is put back into the queue; Slurm waits two minutes.

        Not at once: in the second in which a node has ended the first start, it refuses another.
        A job whose delay ended between the question and the change has started: all is well.
        """
        self._wait_for(frozenset({"PENDING"}), timeout=180)
        try:
            self.update("StartTime=now+3")
        except ClusterError as err:
            if "no longer pending" not in str(err):
                raise

    def cancel(self, *options: str) -> None:
        """End the job, or signal it: ``job.cancel("--signal=TERM", "--batch")``."""
        self.cluster.run(["scancel", *options, str(self.id)], check=True)

    def _wait_for(self, states: frozenset[str], timeout: float) -> Job:
        deadline = time.monotonic() + timeout
        while self.refresh().state not in states:
            if time.monotonic() > deadline:
                self.cancel()
                raise ClusterError(f"not within {timeout} s: {self._describe()}")
            time.sleep(POLL_SECONDS)
        return self

    def _describe(self) -> str:
        return f"job {self.id} ({self.state}), which wrote:\n{self.stdout}"
