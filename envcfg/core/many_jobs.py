"""Many jobs: read the logs below folders into a store, and ask the scheduler."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from envcfg.backends.scheduler_client import query, renew_limits
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.schedulers.scheduler import Scheduler
from envcfg.common.characters import one_line
from envcfg.common.errors import OutputError
from envcfg.common.provenance import sha256_of
from envcfg.jobs.accounting import (
    Rows,
    jobs_without_log,
    read_accounting,
    with_accounting,
)
from envcfg.jobs.file_groups import (
    JobFiles,
    LogMarks,
    marks_of_text,
    read_marks,
    split_jobs,
)
from envcfg.jobs.job_record import JobRecord, key_of, shown_path
from envcfg.jobs.log_tree import LogFile, Skipped, find_logs, read_log_edges
from envcfg.jobs.part_file import read_part
from envcfg.jobs.questions import OPEN, open_jobs
from envcfg.jobs.store import KnownFile, Store
from envcfg.jobs.workers import Task, judge_jobs
from envcfg.log.numbers import count_of
from envcfg.log.read.rulebook import Rulebook, load_rules

_PAGE = 2000  # jobs in memory at once
_BATCH, _SECONDS = 500, 5.0  # files of a transaction, or its time
_IDS, _QUESTIONS = 300, 40  # jobs of a question to the scheduler; the most questions

Progress = Callable[[int, int], None]  # gets the files that are read, and their number
Part = tuple[int, int]  # I of N


class ReadLogs(NamedTuple):
    """The numbers of files of a run, for messages."""

    files: int  # logs
    read: int  # of them new or changed
    skipped: Skipped


def read_logs(
    store: Store,
    paths: Sequence[str],
    progress: Progress = lambda _done, _total: None,
    part: Part = (1, 1),
) -> ReadLogs:
    """Read new and changed logs of *paths* into *store*.

    Args:
        store: files of earlier runs are read again only if they have changed.
        paths: logs, folders, and files that ``--part`` wrote.
        progress: called after each batch.
        part: of the jobs that are read here.

    Raises:
        OutputError: one of *paths* does not exist, or the store cannot be written.
    """
    parts = [
        path for path in paths if path.endswith(".ndjson") and os.path.isfile(path)
    ]
    for path in parts:
        _load_part(store, path)
    skipped = Skipped()
    files, known = {}, store.known_files()
    marks, changed = {}, set()
    for file in find_logs([path for path in paths if path not in parts], skipped):
        before = known.get(shown_path(file.path))
        if before and before.identity == file.identity:
            marks[file.path] = marks_of_text(before.marks)
        elif (read := _marks_of(file.path, skipped)) is not None:
            marks[file.path] = read
            changed.add(file.path)
        if file.path in marks:
            files[file.path] = file
    jobs = {
        key_of(job): job for job in split_jobs(marks) if _is_in_part(key_of(job), part)
    }
    stale = {
        key: job for key, job in jobs.items() if _is_stale(key, job, changed, known)
    }
    store.forget(shown_path(name) for job in stale.values() for name in job.files)
    tasks = [_task_of(job, files) for job in stale.values()]

    def put(batch: Sequence[JobRecord]) -> None:
        names = {name: job.key for job in batch for name in jobs[job.key].files}
        known = {
            shown_path(name): KnownFile(key, files[name].identity, marks[name].text)
            for name, key in names.items()
        }
        store.put(batch, known)

    total = sum(len(job.files) for job in stale.values())
    done, batch, since = 0, list[JobRecord](), time.monotonic()
    for records in judge_jobs(tasks, Rulebook(load_rules())):
        batch += records
        size = sum(len(record.files) for record in batch)
        if size >= _BATCH or time.monotonic() - since > _SECONDS:
            put(batch)
            done, batch, since = done + size, [], time.monotonic()
            progress(done, total)
    put(batch)
    return ReadLogs(len(files), len(changed), skipped)


def _marks_of(path: str, skipped: Skipped) -> LogMarks | None:
    try:
        text = read_log_edges(path)
    except OSError as err:
        # The file may be a part of a job, which is then incomplete.
        skipped.unreadable[path] = f"{err.strerror or err}"
        return LogMarks()
    if text is None:
        skipped.others += 1
        return None
    return read_marks(text)


def _is_in_part(key: str, part: Part) -> bool:
    number, count = part
    return int(sha256_of(key.encode("utf-8", "replace"))[:12], 16) % count == number - 1


def _is_stale(
    key: str, job: JobFiles, changed: set[str], known: Mapping[str, KnownFile]
) -> bool:
    """Return whether a job is new, or a file of it."""
    return any(
        name in changed or known[shown_path(name)].job != key for name in job.files
    )


def _task_of(job: JobFiles, files: Mapping[str, LogFile]) -> Task:
    own = [files[name] for name in job.files]
    return job, max(file.mtime for file in own), own[0].owner


def add_accounting(store: Store, name: str | None, part: Part = (1, 1)) -> list[str]:
    """Add the scheduler's facts to the jobs in *store*; return notes.

    Args:
        store: jobs whose end the scheduler has reported are not asked for again.
        name: a file with the answer, also about jobs without a log; None: the scheduler
            is asked.
        part: of the jobs; logs of the other jobs are in other parts.

    Raises:
        OutputError: the file cannot be read.
    """
    if name is not None:
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                rows = read_accounting(file, name)
        except OSError as err:
            msg = f"{name}: {err.strerror}"
            hint = "--accounting takes the output of sacct --parsable2"
            raise OutputError(msg, hint=hint) from err
        _put_rows(store, "1", rows)
        if part == (1, 1):
            store.put(jobs_without_log(rows, store.jobs_with_log()))
        return []
    return [note for known in SCHEDULERS.values() for note in _ask(store, known)]


def _ask(store: Store, scheduler: Scheduler) -> Iterator[str]:
    """Ask *scheduler* for the jobs with an unknown end, some at a time; yield notes."""
    if not scheduler.accounting:
        return
    ids = open_jobs(store)
    for number, start in enumerate(range(0, len(ids), _IDS)):
        many = count_of(len(ids) - start, "job")
        if number == _QUESTIONS:
            yield f"no accounting of {many}: --accounting FILE has no limit"
            return
        renew_limits()  # the limit of one question, not of all
        asked = ",".join(ids[start : start + _IDS])
        answer = query([word.format(asked) for word in scheduler.accounting])
        if answer.is_absent:
            return
        lines = answer.text.splitlines()
        if not lines:
            reason = (
                answer.fault
                or one_line(answer.err.partition("\n")[0])
                or "it has no such job"
            )
            yield f"no accounting of {many}: {reason}"
            return
        _put_rows(store, OPEN, read_accounting(lines, scheduler.title))


def _put_rows(store: Store, where: str, rows: Rows) -> None:
    key = ""
    page = f'({where}) AND raw_id != \'\' AND "key" > ? ORDER BY "key" LIMIT {_PAGE}'
    while batch := [*store.find(page, [key])]:
        key = batch[-1].key
        pairs = zip(batch, (with_accounting(job, rows) for job in batch), strict=True)
        store.put([after for before, after in pairs if after != before])


def _load_part(store: Store, path: str) -> None:
    rows = read_part(path)
    while batch := [*islice(rows, _BATCH)]:
        known = {name: file for _, files in batch for name, file in files.items()}
        store.put([record for record, _ in batch], known)
