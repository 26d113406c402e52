"""A list of bad nodes: one line per node, with the time and the reason.

The format also covers lists of other tools, which have only a name on each line:
``failing_nodes.txt`` of Primus' node-smoke (github.com/AMD-AGI/Primus, commit fd1eeabb
of 2026-08-22, docs/02-user-guide/node-smoke-test-instruction.md, "Outputs") and
``task_N.drained`` of NVRx (github.com/NVIDIA/nvidia-resiliency-ext, commit d8686d9 of
2026-08-07, examples/fault_tolerance/deployment/slurm/drain_poller.sh).
"""

from __future__ import annotations

import os
import re
import stat
import time
from calendar import timegm
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import one_line, split_lines
from envcfg.common.errors import OutputError
from envcfg.common.findings import Finding
from envcfg.common.provenance import now_text
from envcfg.log.names import is_node_name
from envcfg.log.numbers import count_of, first_of
from envcfg.log.verdict import LogReport
from envcfg.nodes.preflight.node_list import fold_nodes
from envcfg.nodes.probe.node_answer import job_name
from envcfg.nodes.probe.slurm_job import node_names

HEAD = "# envcfg bad nodes: NODE TIME REASON"
_DAYS = 7  # after which a node is probably repaired
_DAY = 86400.0
_MOST = 1 << 20  # bytes of a list
_LONGEST = 200  # characters of a reason
_WORD_MOST = 131071  # bytes of a word of a command line in Linux
_COMMA = re.compile(r",(?![^\[]*\])")
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_USE = "--exclude-from names a list of nodes"
_SKEW = 3600.0  # seconds by which clocks of nodes may differ
_RESTARTS = ("restart", "restart without")


class BadNode(NamedTuple):
    """A node to leave out; *age* in seconds, *reason* may be empty."""

    name: str
    age: float
    reason: str


def read_bad_nodes(path: str) -> tuple[list[BadNode], list[Finding]]:
    """Return the entries of the list *path* that count, and notes on all entries.

    The newest entry of a node counts. Without a time, or with one in the future, an entry
    is as old as the file. A list that the first job is to begin does not exist yet: a note.

    Raises:
        OutputError: the list cannot be read.
    """
    try:
        # A pipe without a writer would keep the open waiting.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, encoding="utf-8", errors="replace") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                msg = f"{path} is not a regular file"
                raise OutputError(msg, hint=_USE)
            lines = file.read(_MOST + 1)
    except FileNotFoundError:
        message = f"{path} does not exist yet: no node is left out"
        return [], [Finding("bad-nodes", "note", "--exclude-from", message)]
    except OSError as err:
        msg = f"{path}: {err.strerror}"
        raise OutputError(msg, hint=_USE) from None
    if len(lines) > _MOST:
        msg = f"{path}: larger than 1 MiB, so it is not a list of nodes"
        raise OutputError(msg, hint="--exclude-from takes a line for each node")
    entries, wrong = _parse(lines, status.st_mtime)
    nodes = [node for node in entries.values() if node.age <= _DAYS * _DAY]
    return nodes, [*_notes(path, nodes, entries), *wrong]


def _parse(text: str, written: float) -> tuple[dict[str, BadNode], list[Finding]]:
    now = time.time()
    entries: dict[str, BadNode] = {}
    wrong = []
    for number, line in enumerate(split_lines(text), 1):
        names, _, rest = line.strip().partition(" ")
        if not names or names.startswith("#"):
            continue
        stamp, _, reason = rest.strip().partition(" ")
        try:
            moment = float(timegm(time.strptime(stamp, _TIME)))
        except ValueError:
            moment, reason = written, rest.strip()
        place = f"--exclude-from, line {number}"
        if moment > now + _SKEW:
            moment = min(written, now)
            message = f"{names[:60]}: {stamp} is in the future: the file's time is used"
            wrong.append(Finding("bad-nodes", "warning", place, one_line(message)))
        for name in _COMMA.split(names):
            node = BadNode(name, now - moment, one_line(reason)[:_LONGEST])
            if not is_node_name(name):
                message = f"{name[:60]!r} is not the name of a node, and is ignored"
                wrong.append(Finding("bad-nodes", "warning", place, message))
            elif name not in entries or node.age <= entries[name].age:
                entries[name] = node
    return entries, wrong


def _notes(
    path: str, nodes: Sequence[BadNode], entries: Mapping[str, BadNode]
) -> list[Finding]:
    notes = []
    if nodes:
        texts = [f"{node.name} ({_why(node)})" for node in nodes]
        notes.append(f"left out: {first_of(texts)}")
    names = {node.name for node in nodes}
    if old := [name for name in entries if name not in names]:
        many = count_of(len(old), "entry", "entries")
        notes.append(
            f"{many} of {path} older than {_DAYS} days, so used again: {first_of(old)}"
        )
    return [Finding("bad-nodes", "note", "--exclude-from", text) for text in notes]


def _why(node: BadNode) -> str:
    days, hours = divmod(max(0, int(node.age // 3600)), 24)
    age = f"{days} d" if days else f"{hours} h"
    return f"{node.reason}, {age} ago" if node.reason else f"{age} ago"


def add_bad_nodes(path: str, reasons: Mapping[str, str]) -> list[Finding]:
    """Append nodes with their reasons to the list *path*; return warnings.

    A failed write is a warning: the result of the check itself is more important. Lists
    of other tools stay unchanged, because these tools read them back.
    """
    text = "".join(
        f"{name} {now_text()} {one_line(reason)[:_LONGEST]}\n"
        for name, reason in reasons.items()
        if is_node_name(name)
    )
    if not text:
        return []
    problem = ""
    try:
        # Several jobs may append at the same time, so each writes once, at the end.
        with open(path, "a+b", buffering=0) as file:
            file.seek(0)
            head = file.read(len(HEAD))
            if head and head != HEAD.encode():
                problem = "envcfg did not write this list"
            else:
                begin = "" if head else f"{HEAD}\n"
                if head and file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":
                    begin = "\n"
                file.write(f"{begin}{text}".encode())
    except OSError as err:
        problem = f"{err.strerror}"
    if not problem:
        return []
    message = f"{', '.join(reasons)} not added to {path}: {problem}"
    return [_warning(message)]


def excluded(path: str, also: str | None = None) -> tuple[str, list[Finding]]:
    """Return the nodes of the list *path* in Slurm's form, and notes; empty: no node.

    Args:
        path: the list.
        also: nodes that are left out anyway.

    Raises:
        OutputError: the list cannot be read, or is too long for the scheduler.
    """
    nodes, notes = read_bad_nodes(path)
    folded = fold_nodes([node.name for node in nodes])
    names = ",".join(filter(None, (also, folded))) if folded else ""
    if len(f"--exclude={names}") > _WORD_MOST:
        msg = f"{path}: too many nodes: --exclude may have {_WORD_MOST} bytes"
        raise OutputError(msg, hint="delete the lines of nodes that are repaired")
    return names, notes


def without_bad_nodes(report: LogReport, path: str) -> tuple[LogReport, list[Finding]]:
    """Return *report* with a restart without the nodes of the list *path*, and warnings.

    Nodes that *report* itself leaves out are added to the list, if Slurm has them. A list
    that cannot be read is a warning: the next step is more important.
    """
    step = report.next
    if step.action not in _RESTARTS:
        return report, []
    cluster = set(node_names())
    names = [job_name(name, cluster) for name in step.nodes]
    own, findings = _of_cluster(names, cluster)
    findings += add_bad_nodes(path, dict.fromkeys(own, step.reason))
    try:
        nodes, notes = read_bad_nodes(path)
    except OutputError as err:
        nodes, notes = [], [_warning(err.message)]
    findings += [note for note in notes if note.severity == "warning"]
    others, more = _of_cluster([node.name for node in nodes], cluster)
    findings += more
    out = tuple(dict.fromkeys((*own, *others)))
    step = step._replace(action="restart without" if out else "restart", nodes=out)
    return report._replace(next=step), findings


def _of_cluster(
    names: Sequence[str], cluster: Collection[str]
) -> tuple[list[str], list[Finding]]:
    """Return *names* without those of nodes outside of *cluster*, and a warning on these.

    Slurm refuses a job, or its update, for one name of another cluster. If *cluster* is
    empty, Slurm did not answer, and all names are returned.
    """
    here = [name for name in names if not cluster or "[" in name or name in cluster]
    if not (others := sorted({*names}.difference(here))):
        return here, []
    message = f"{first_of(others)}: not a node of this cluster, so not left out"
    return here, [_warning(message)]


def _warning(message: str) -> Finding:
    return Finding("bad-nodes", "warning", "--exclude-from", message)
