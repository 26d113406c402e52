"""``--metrics DIR``: a running step as OpenMetrics, and its messages as JSON lines.

``envcfg-JOB-STEP.prom`` is for node-exporter's textfile collector, and replaced as a
whole. ``envcfg-JOB-STEP.jsonl`` is for Vector, Loki or OpenTelemetry's file receiver.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.atomic_write import put_file
from envcfg.common.characters import without_surrogates
from envcfg.common.findings import Finding
from envcfg.common.provenance import now_text
from envcfg.core.step_pace import StepPace
from envcfg.core.step_watch import Network
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.report.metrics import Sample, metrics_text, node_samples

_FASTEST, _SLOWEST = 5.0, 60.0  # seconds between two writes
_OLD = 3600.0  # seconds after which the file of a step that has ended is removed
_PATIENCE = 2.0  # seconds for a write: a file system may not answer for hours
_VERDICTS = ("ok", "degraded", "broken", "unknown")
_SEVERITY = re.compile(r"(error|warning|note|unknown): ")


class StepMetrics:
    """The files of one step."""

    def __init__(self, folder: str) -> None:
        """Make *folder*, and remove old files of this user's steps in it."""
        self._job, self._step = _job(), str(os.getppid())
        name = re.sub(r"[^\w.-]", "_", f"envcfg-{self._job}-{self._step}")
        self._path = os.path.join(folder, name)
        self._text, self._written, self._problem = "", 0.0, ""
        self._thread: Thread | None = None
        self._try(partial(self._begin, folder))

    @property
    def problem(self) -> str:
        """Why the last write failed; empty if it did not."""
        hangs = self._thread and self._thread.is_alive()
        return f"{self._path}.prom: no answer" if hangs else self._problem

    def _try(self, write: Callable[[], None]) -> None:
        """Wait for *write*, but not long; leave it out while an earlier one hangs."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=write, daemon=True)
            self._thread.start()
            self._thread.join(_PATIENCE)

    def _begin(self, folder: str) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
            _remove_old(folder)
        except OSError as err:
            self._problem = f"{folder}: {err.strerror}"

    def say(self, text: str) -> None:
        """Append a message of the watcher to the events."""
        match = _SEVERITY.match(text)
        self._append(match[1] if match else "info", text)

    def update(
        self,
        network: Network,
        nodes: Sequence[NodeView] = (),
        findings: Sequence[Finding] = (),
        pace: StepPace | None = None,
        *,
        exit_code: int | None = None,
    ) -> None:
        """Write the state of the step, if it is new or old enough.

        With an *exit_code* the step has ended.
        """
        now = time.monotonic()
        if exit_code is not None:
            word = "info" if exit_code == 0 else "error"
            self._append(word, f"the step ended with {exit_code}", exit_code=exit_code)
        elif now - self._written < _FASTEST:
            return
        samples = [
            Sample("envcfg_step_running", exit_code is None, {}),
            *network_samples(network),
            *node_samples(nodes, findings),
        ]
        if pace and (seconds := pace.seconds) is not None:
            samples.append(Sample("envcfg_step_pace_seconds", seconds, {}))
        if pace and (ratio := pace.slowdown) is not None:
            samples.append(Sample("envcfg_step_slowdown_ratio", ratio, {}))
        text = metrics_text(samples, {"job": self._job, "step": self._step})
        is_due = now - self._written >= _SLOWEST or exit_code is not None
        if text != self._text or is_due:
            self._written = now
            self._try(partial(self._put, text))

    def _put(self, text: str) -> None:
        path = f"{self._path}.prom"
        try:
            put_file(path, text.encode("utf-8"), 0o644, private=False)
        except OSError as err:
            # An earlier problem is often the cause, as of a missing folder.
            self._problem = self._problem or f"{path}: {err.strerror}"
        else:
            self._text, self._problem = text, ""

    def _append(self, severity: str, message: str, **more: object) -> None:
        import json

        event = {
            "time": now_text(),
            "severity": severity,
            "message": without_surrogates(message),
            "job": self._job,
            "step": self._step,
            **more,
        }
        # json.dumps escapes all but ASCII, so a message is one line of valid UTF-8.
        self._try(partial(_add_line, f"{self._path}.jsonl", json.dumps(event)))


def _add_line(path: str, text: str) -> None:
    with suppress(OSError), open(path, "a", encoding="ascii", opener=_open) as file:
        file.write(f"{text}\n")


def _open(path: str, flags: int) -> int:
    """Open a file of a shared folder: no link to another file, no pipe to wait for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def network_samples(network: Network) -> Iterator[Sample]:
    """Yield the verdict on the network of a step, its ranks and its bad nodes."""
    proof = network.proof
    verdict = "ok" if network.is_good else "unknown"
    if network.is_bad and proof:
        verdict = proof.network_verdict
    for word in _VERDICTS:
        yield Sample("envcfg_step_verdict", word == verdict, {"verdict": word})
    if network.first_step is not None:
        yield Sample("envcfg_step_first_step_seconds", network.first_step, {})
    for node in network.bad_nodes:
        yield Sample("envcfg_node_bad", 1, {"node": node, "rule": network.bad_rule})
    # Without a verdict, a rank may still change its network.
    if proof is None or verdict == "unknown":
        return
    fast = [rank for rank in proof.ranks if rank.verdict == "ok"]
    yield Sample("envcfg_step_ranks", proof.job.world_size or len(proof.ranks), {})
    yield Sample("envcfg_step_ranks_fast", len(fast), {})
    for rank in proof.ranks:
        if rank.verdict in ("degraded", "broken"):
            labels = {"rank": rank.rank, "node": rank.host}
            yield Sample("envcfg_rank_slow", 1, labels)


def _job() -> str:
    """Return the id of this job; the id of this shell outside of a job."""
    names = [scheduler.job_variable for scheduler in SCHEDULERS.values()]
    ids = filter(None, map(os.environ.get, ("FLUX_JOB_ID", *names)))
    return next(ids, f"local-{os.getppid()}")


def _remove_old(folder: str) -> None:
    """Remove metrics of steps that ended: a running step writes at least each minute."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith("envcfg-") and entry.name.endswith(".prom")):
                continue
            # Another user's file, and one that was removed meanwhile, stay as they are.
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_old = time.time() - status.st_mtime > _OLD
                if is_old and status.st_uid == os.geteuid():
                    os.unlink(entry.path)
