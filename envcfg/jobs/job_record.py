"""The record of a job: one row in the store and in each report."""

import os
import re
import time
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from envcfg.common.characters import Texts, one_line
from envcfg.common.secrets import hide
from envcfg.jobs.file_groups import JobFiles
from envcfg.jobs.log_tree import LogFile
from envcfg.log.verdict import LogReport

_CUT = 300  # characters of a text
_NODES = 4096  # of a job; the number of nodes counts all
# A place in a file, an address, a number. A short number that belongs to a word, as in
# `b2` and `SH-4`, is a part of a name.
_NUMBER = re.compile(
    r"\([\w.-]+:\d+\)$|0x[0-9a-f]+|(?<![A-Za-z_])(?<![A-Za-z]-)\d+|(?<!\d)\d{3,}"
)
_SOCKET = "Socket"  # NCCL's name of TCP


class JobRecord(NamedTuple):
    """A job, by its log and the scheduler; None and an empty text: unknown."""

    key: str  # unique: cluster and id, else the first file
    id: str = ""  # as users know it; `100_7` for a task of an array
    array: str = ""  # the array of a task
    raw_id: str = ""  # as in `JobFiles`
    cluster: str = ""
    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    state: str = ""  # by the scheduler, as in `NODE_FAIL`
    started: str = ""  # ISO time, as all times here
    ended: str = ""  # by the scheduler, else the last change of the log
    week: str = ""  # of the end: `2026-W48`
    nodes: int | None = None  # how many
    gpus: int | None = None
    gpu_hours: float | None = None
    lost_hours: float | None = None  # GPU-hours after the last checkpoint of a dead job
    tcp_hours: float | None = None  # GPU-hours with TCP between nodes
    attempts: int = 1  # starts of the job, as the scheduler counts them
    network: str = ""
    verdict: str = "inconclusive"
    class_: str = ""  # the part that must be changed
    cause: str = ""  # of the end or of the verdict; empty if all is well
    title: str = ""  # the cause without numbers, equal for many jobs
    fingerprint: str = ""  # equal for the same cause
    next: str = ""
    progress: str = ""  # last step and last checkpoint: `900/800`
    log_verdict: str = ""  # by the log alone
    node_names: Texts = ()
    bad_nodes: Texts = ()  # nodes that the cause names
    versions: Texts = ()  # of libraries, and of envcfg
    notes: Texts = ()
    files: Texts = ()
    history: Texts = ()  # attempts with a known end, each as JSON


def plain_text(text: str) -> str:
    """Return *text* for the store: one line, without secrets, of limited length."""
    line = one_line(hide(text))
    return line if len(line) <= _CUT else f"{line[: _CUT - 1]}…"


def shown_path(path: str) -> str:
    """Return *path* as text that a database can hold."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def array_of(id_: str) -> str:
    """Return the array of a task; empty for another job."""
    return id_.rpartition("_")[0]


def key_of(job: JobFiles) -> str:
    """Return the key of a job: cluster and id; without an id, its first file."""
    if job.id:
        # The same number in two folders may be of two clusters.
        folder = "" if job.cluster else os.path.dirname(shown_path(job.files[0]))
        return f"{job.cluster}/{job.id}/{folder}"
    return shown_path(job.files[0])


def job_record(
    job: JobFiles,
    report: LogReport | None,
    newest: LogFile,
    notes: Sequence[str] = (),
) -> JobRecord:
    """Return the record of *job*.

    Args:
        job: its files and its id.
        report: the answer of check-log; None if no file could be read.
        newest: the one of its files that was changed last.
        notes: reasons why it is not complete.
    """
    moment = time.gmtime(newest.mtime // 10**9)
    record = JobRecord(
        key=key_of(job),
        id=job.id,
        array=array_of(job.id),
        raw_id=job.raw_id,
        cluster=job.cluster,
        name=plain_text(_name_of(job)),
        user=_user_name(newest.owner),
        ended=time.strftime("%Y-%m-%dT%H:%M:%S", moment),
        week=time.strftime("%G-W%V", moment),
        notes=tuple(map(plain_text, (*notes, *filter(None, [job.doubt])))),
        files=tuple(map(shown_path, job.files)),
        cause="the log cannot be read",
        title="the log cannot be read",
        log_verdict="inconclusive",
    )
    return record if report is None else _with_report(record, report)


def _with_report(record: JobRecord, report: LogReport) -> JobRecord:
    from envcfg import __version__

    cause, facts = report.cause, report.job
    message, title, fingerprint = cause_texts(report)
    network = facts.network or ""
    if len(facts.networks) > 1:
        network = f"mixed: {', '.join(facts.networks)}"
    progress = facts.progress
    steps = (progress.step, progress.checkpoint) if progress else ()
    bad = tuple(map(plain_text, cause.nodes)) if cause else ()
    versions = [
        f"{name} {one}" for name, many in facts.versions.items() for one in many
    ]
    return record._replace(
        verdict=report.verdict,
        log_verdict=report.verdict,
        network=plain_text(network),
        nodes=facts.node_count or len(facts.nodes) or None,
        class_=cause.class_ if cause else "",
        cause=message,
        title=title,
        fingerprint=fingerprint,
        next=report.next.answer,
        progress=plain_text("/".join(step or "" for step in steps)),
        # A node that ended a job may be in no line of NCCL.
        node_names=tuple(dict.fromkeys((*map(plain_text, facts.nodes[:_NODES]), *bad))),
        bad_nodes=bad,
        versions=tuple(map(plain_text, (*versions, f"envcfg {__version__}"))),
    )


def cause_texts(report: LogReport) -> tuple[str, str, str]:
    """Return the cause, the cause without numbers, and the fingerprint; empty if ok."""
    if report.verdict == "ok":
        return "", "", ""
    message = (
        report.cause.message if report.cause else report.summary.partition(": ")[2]
    )
    nodes = {*report.job.nodes, *(report.cause.nodes if report.cause else ())}
    title = plain_text(_title(message, nodes))
    return plain_text(message), title, plain_text(report.next.fingerprint or title)


def _title(message: str, nodes: Collection[str]) -> str:
    """Return *message* without the process, numbers and *nodes*, but with its place."""
    message = message.partition(" ended: ")[2] or message
    for node in sorted(nodes, key=len, reverse=True):
        message = message.replace(node, "NODE")
    return _NUMBER.sub(lambda m: m[0] if m[0][0] == "(" else "N", message)


def _name_of(job: JobFiles) -> str:
    """Return the job's name in the names of its files."""
    name = os.path.basename(job.files[0])
    if not job.id:
        return name
    stem = name.rpartition(job.id.partition("_")[0])[0]
    return re.sub(r"^(?:slurm|flux)$|\.[oe]$", "", stem.rstrip("-_."))


@cache
def _user_name(number: int) -> str:
    from pwd import getpwuid

    try:
        return getpwuid(number).pw_name
    except KeyError:
        return str(number)


def with_hours(record: JobRecord) -> JobRecord:
    """Return *record* with its GPU-hours by their use."""
    hours = record.gpu_hours
    # The log's verdict counts: the scheduler's state names no cause of a loss.
    is_dead = record.log_verdict == "broken" or record.state in DEAD
    return record._replace(
        lost_hours=hours and hours * _lost_share(record.progress) if is_dead else None,
        tcp_hours=hours if _SOCKET in record.network and record.nodes != 1 else None,
    )


def _lost_share(progress: str) -> float:
    """Return the part of the work after the last checkpoint; all if there is none."""
    step, _, checkpoint = progress.partition("/")
    try:
        done, kept = float(step), float(checkpoint)
    except ValueError:
        return 1.0
    return (done - kept) / done if 0 < kept <= done else 1.0


# States of jobs that ended without success.
DEAD = (
    *("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
)
