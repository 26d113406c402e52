"""The scheduler's accounting of jobs: rows of ``sacct --parsable2``; pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from envcfg.common.characters import one_line, whole_number
from envcfg.common.errors import OutputError
from envcfg.jobs.job_record import (
    DEAD,
    JobRecord,
    array_of,
    plain_text,
    with_hours,
)
from envcfg.log.numbers import collect, grouped

_GPUS = re.compile(r"(?:^|,)gres/gpu(?::\w+)?=(\d{1,9})")
_ENTRY = re.compile(r"([^,\[\]]+)(?:\[([\d,-]{1,9999})\]([^,\[\]]*))?(?:,|$)")
_MOST = 4096  # nodes of a list
_NO_LOG = "no log found"

_COLUMNS = (
    *("JobID", "JobIDRaw", "Cluster", "User", "Account", "Partition", "JobName"),
    *("State", "ExitCode", "Start", "End", "ElapsedRaw", "NNodes", "AllocTRES"),
    "NodeList",
)
Attempt = Mapping[str, str]  # one start of a job: these columns; empty if unknown
Rows = Mapping[str, Sequence[Attempt]]  # by id, also by the raw id


def _gpus(attempt: Attempt) -> int | None:
    """Return the number of GPUs; None if the accounting does not show it."""
    tres = attempt["AllocTRES"]
    # A GPU is also counted under the name of its type.
    return max(map(int, _GPUS.findall(tres)), default=0) if tres else None


def read_accounting(lines: Iterable[str], name: str) -> Rows:
    """Return attempts by the id of their job, in the order of their starts.

    Raises:
        OutputError: *lines* do not begin with the columns' names.
    """
    rows = iter(lines)
    heads = next(rows, "").rstrip("\n").split("|")
    if not {"JobID", "State"} <= {*heads}:
        msg = f"{name}: its first line does not name the columns JobID and State"
        hint = "write it by sacct --duplicates --parsable2 --format=JobID,State,..."
        raise OutputError(msg, hint=hint)
    blank = dict.fromkeys(_COLUMNS, "")
    attempts = []
    for line in rows:
        fields = line.rstrip("\n").split("|")
        attempt = {**blank, **dict(zip(heads, fields, strict=False))}
        # A step has a dot in its id.
        if attempt["JobID"] and "." not in attempt["JobID"]:
            attempts.append(attempt)
    attempts.sort(key=lambda attempt: attempt["Start"])
    return collect(
        (id_, attempt)
        for attempt in attempts
        for id_ in {attempt["JobID"], attempt["JobIDRaw"]} - {""}
    )


def with_accounting(record: JobRecord, rows: Rows) -> JobRecord:
    """Return *record* with the facts of the scheduler; unchanged if it has none."""
    attempts = rows.get(record.id) or rows.get(record.raw_id) or ()
    if not record.id:  # the number may count runs, so the job's name must fit too
        attempts = [attempt for attempt in attempts if _is_name(record, attempt)]
    by_cluster = grouped(attempts, lambda attempt: attempt["Cluster"])
    if record.cluster and record.cluster in by_cluster:
        own = by_cluster[record.cluster]
    elif len(by_cluster) == 1 and not (record.cluster and next(iter(by_cluster))):
        own = [*attempts]
    elif by_cluster:
        names = ", ".join(sorted(filter(None, by_cluster))) or "without a name"
        note = plain_text(f"not compared: job {record.id} is of cluster {names}")
        return record._replace(notes=tuple({**dict.fromkeys(record.notes), note: None}))
    else:
        return record
    last = own[-1]
    values = {name: plain_text(value) for name, value in last.items()}
    uses = [(_gpus(attempt), whole_number(attempt["ElapsedRaw"])) for attempt in own]
    hours = [g * s / 3600 for g, s in uses if g is not None and s is not None]
    end = _time(values["End"])
    nodes = tuple(expand_list(last["NodeList"]))
    record = record._replace(
        id=record.id or record.raw_id,
        cluster=last["Cluster"] or record.cluster,
        name=values["JobName"] or record.name,
        user=values["User"] or record.user,
        account=values["Account"],
        partition=values["Partition"],
        state=values["State"].partition(" ")[0],
        started=_time(values["Start"]),
        ended=end or record.ended,
        week=_week(end) or record.week,
        nodes=whole_number(values["NNodes"]) or record.nodes,
        gpus=_gpus(last),
        gpu_hours=sum(hours) if len(hours) == len(own) else None,
        attempts=len(own),
        node_names=nodes or record.node_names,
    )
    return with_hours(_compared(record, values["ExitCode"]))


def jobs_without_log(
    rows: Rows, known: Collection[tuple[str, str]]
) -> Iterator[JobRecord]:
    """Yield a record for each job in *rows* that has no log.

    Args:
        rows: the accounting.
        known: cluster and id of each job with a log; an unknown cluster is empty.
    """
    for id_, attempts in rows.items():
        for cluster, own in grouped(attempts, lambda one: one["Cluster"]).items():
            ids = own[-1]["JobID"], own[-1]["JobIDRaw"] or id_
            is_known = any((c, one) in known for c in ("", cluster) for one in ids)
            if id_ == ids[0] and not is_known:
                job_id, raw_id, cluster_name = map(plain_text, (id_, ids[-1], cluster))
                record = JobRecord(
                    key=f"{cluster_name}/{job_id}/",
                    id=job_id,
                    array=array_of(job_id),
                    raw_id=raw_id,
                    cluster=cluster_name,
                    log_verdict="inconclusive",
                    next="unknown",
                    cause=_NO_LOG,
                    title=_NO_LOG,
                    fingerprint=_NO_LOG,
                )
                yield with_accounting(record, {job_id: own})


def _is_name(record: JobRecord, attempt: Attempt) -> bool:
    """Return whether the file of *record* has the name of a job, as in ``%x-%j.out``."""
    name = attempt["JobName"]
    return record.name.startswith(
        tuple(f"{name}{sign}{record.raw_id}." for sign in "-_.")
    )


def _compared(record: JobRecord, code: str) -> JobRecord:
    """Return *record* with a note if the scheduler and the log disagree."""
    state, verdict = record.state, record.log_verdict
    notes = [note for note in record.notes if not note.startswith("the scheduler")]
    if state == "COMPLETED" and verdict == "broken":
        notes.append("the scheduler reports COMPLETED, and the log an end by an error")
    elif state in DEAD and verdict in ("ok", "inconclusive"):
        exit_code = f", exit code {code}" if code not in ("", "0:0") else ""
        title = f"{state}, {_NO_LOG}"
        if record.files:
            note = f"the scheduler reports {state}{exit_code}, and the log is {verdict}"
            notes.append(note)
            title = f"{state}, and the log shows no cause"
        # A job that failed is never ok.
        record = record._replace(
            verdict="inconclusive",
            class_="node" if state == "NODE_FAIL" else "",
            cause=title,
            title=title,
            fingerprint=title,
            next="unknown",
        )
    return record._replace(notes=tuple(notes))


def _time(text: str) -> str:
    """Return a time if *text* is one, and not a word such as Unknown."""
    return text if text[:1].isdigit() else ""


def _week(text: str) -> str:
    with suppress(ValueError):
        return datetime.fromisoformat(text).strftime("%G-W%V")
    return ""


def expand_list(text: str) -> list[str]:
    """Return the nodes of a list as Slurm folds it; none if it has another form.

    >>> expand_list("login,nid[001-002,7]")
    ['login', 'nid001', 'nid002', 'nid7']
    """
    text = one_line(text)
    names: list[str] = []
    if _ENTRY.sub("", text):
        return []
    for head, ranges, tail in _ENTRY.findall(text):
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            low, high = whole_number(first), whole_number(last or first)
            numbers = range(low, high + 1) if low is not None and high else range(0)
            names += (f"{head}{n:0{len(first)}}{tail}" for n in numbers[: _MOST + 1])
            if len(names) > _MOST:
                return []
        names += () if ranges else (head,)
    return names
