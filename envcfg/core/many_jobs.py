"""Many jobs: read the logs below folders into a store, and ask the scheduler."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from envcfg.backends.scheduler_client import query, renew_limits
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.schedulers.scheduler import Scheduler
from envcfg.common.characters import one_line
from envcfg.common.errors import OutputError
from envcfg.jobs.accounting import (
    Rows,
    jobs_without_log,
    read_accounting,
    with_accounting,
)
from envcfg.jobs.attempts import attempt_texts, lost_attempts, read_attempts
from envcfg.jobs.file_groups import (
    LogMarks,
    marks_of_text,
    read_marks,
    split_jobs,
)
from envcfg.jobs.job_record import JobRecord, cause_texts, key_of, shown_path
from envcfg.jobs.log_tree import (
    LogFile,
    Skipped,
    find_logs,
    has_grown,
    read_log_edges,
)
from envcfg.jobs.part_file import read_part
from envcfg.jobs.questions import OPEN, cause_history, open_jobs
from envcfg.jobs.store import KnownFile, Store
from envcfg.jobs.workers import judge_jobs
from envcfg.log.judge.next_step import with_earlier
from envcfg.log.numbers import count_of
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.verdict import LogReport

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
    logs = _Logs(store, [path for path in paths if path not in parts])
    logs.judge(progress, part)
    return ReadLogs(len(logs.files), len(logs.changed), logs.skipped)


class _Logs:
    """The logs of one command, compared with those that a store knows."""

    def __init__(self, store: Store, paths: Sequence[str]) -> None:
        """Find the logs of *paths*, and read the marks of those that are new."""
        self.skipped = Skipped()
        self.files: dict[str, LogFile] = {}  # by path, as all here
        self.changed: set[str] = set()
        self._marks: dict[str, LogMarks] = {}
        self._store, self._known = store, store.known_files()
        self._histories = store.histories()
        for file in find_logs(paths, self.skipped):
            before = self._known.get(shown_path(file.path))
            if before and before.identity == file.identity:
                marks = marks_of_text(before.marks)
            elif (read := _marks_of(file.path, self.skipped)) is not None:
                marks = read
                self.changed.add(file.path)
            else:
                continue
            self.files[file.path], self._marks[file.path] = file, marks
        self.jobs = {key_of(job): job for job in split_jobs(self._marks)}

    def judge(self, progress: Progress, part: Part) -> None:
        """Judge new jobs, and those of which a file is new; store them in batches."""
        jobs = [
            (job, max((self.files[name] for name in job.files), key=lambda f: f.mtime))
            for key, job in self.jobs.items()
            if _is_in_part(key, part)
            and not all(self._is_known(name, key) for name in job.files)
        ]
        names = [name for job, _ in jobs for name in job.files]
        self._store.forget(map(shown_path, names))
        done, batch, since = 0, list[JobRecord](), time.monotonic()
        for records in judge_jobs(jobs, Rulebook(load_rules())):
            batch += records
            size = sum(len(record.files) for record in batch)
            if size >= _BATCH or time.monotonic() - since > _SECONDS:
                self._put(batch)
                done, batch, since = done + size, [], time.monotonic()
                progress(done, len(names))
        self._put(batch)

    def _is_known(self, name: str, key: str) -> bool:
        return name not in self.changed and self._known[shown_path(name)].job == key

    def _put(self, batch: Sequence[JobRecord]) -> None:
        files = {
            shown_path(name): KnownFile(
                record.key, self.files[name].identity, self._marks[name].text
            )
            for record in batch
            for name in self.jobs[record.key].files
        }
        joined = []
        for record in batch:
            lost = self.lost_attempts(record.key, record.history)
            joined.append(record._replace(history=(*lost, *record.history)))
        self._store.put(joined, files)

    def lost_attempts(self, key: str, attempts: Sequence[str]) -> Sequence[str]:
        """Return the attempts in the store that come before *attempts* of a job."""
        files = [self.files[name] for name in self.jobs[key].files]
        pairs = [(self._known.get(shown_path(file.path)), file) for file in files]
        is_old = any(
            old and has_grown(old.identity, new.identity) for old, new in pairs
        )
        old_attempts = self._histories.get(key, ())
        return lost_attempts(old_attempts, attempts, is_new_file=not is_old)


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
    return crc32(key.encode("utf-8", "replace")) % count == number - 1


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


def with_store(
    report: LogReport, names: Sequence[str], store: Store
) -> tuple[LogReport, str]:
    """Return *report* with attempts of its job in *store* that its logs have lost.

    How often its cause occurred before comes with it.

    Args:
        report: on one job, or on several.
        names: its logs.
        store: of ``envcfg jobs``.
    """
    logs = _Logs(store, [*filter(os.path.isfile, names)])
    if len(keys := [*logs.jobs]) == 1:
        lost = logs.lost_attempts(keys[0], attempt_texts(report.attempts))
        rules = {rule.id: rule for rule in load_rules()}
        report = with_earlier(report, [*read_attempts(lost, rules)], rules)
    return report, cause_history(store, cause_texts(report)[2])


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
