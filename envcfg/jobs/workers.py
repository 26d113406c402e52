"""Judge the logs of many jobs in several processes, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from envcfg.common.errors import EnvcfgError
from envcfg.jobs.file_groups import JobFiles
from envcfg.jobs.job_record import JobRecord, job_record
from envcfg.log.files import check_files
from envcfg.log.judge.next_step import with_doubts
from envcfg.log.read.rulebook import Rulebook
from envcfg.log.verdict import LogReport, OpenQuestion

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_CHUNK = 16  # jobs that a process gets at once
_MOST = 16  # processes; a login node has many cores, for many users

Task = tuple[JobFiles, int, int]  # with time and owner of the files


def judge_jobs(tasks: Sequence[Task], rulebook: Rulebook) -> Iterator[list[JobRecord]]:
    """Yield the records of jobs, some at a time, in any order.

    A log that ends a process gives its job a record with a note; the others go on.
    """
    chunks = [tasks[at : at + _CHUNK] for at in range(0, len(tasks), _CHUNK)]
    count = min(len(os.sched_getaffinity(0)), _MOST, len(chunks))
    if count < 2:
        for chunk in chunks:
            yield [_judge_job(task, rulebook) for task in chunk]
        return
    workers = _Workers(rulebook)
    try:
        left = iter(chunks)
        for _ in range(count):
            workers.start(next(left))
        while workers.chunks:
            for pipe in workers.ready():
                done, chunk = workers.answer(pipe)
                yield done
                # A chunk that ended its process is judged job by job.
                if len(chunk) > 1:
                    for task in chunk:
                        yield [*workers.judge_alone(task)]
                following = next(left, None)
                if following is not None:
                    workers.give(pipe, following)
                else:
                    workers.end(pipe)
    finally:
        workers.end_all()


class _Workers:
    """Processes that each judge a chunk of jobs."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._processes: dict[Connection, BaseProcess] = {}
        self.chunks: dict[Connection, Sequence[Task]] = {}

    def start(self, chunk: Sequence[Task]) -> Connection:
        """Start a process with its first chunk."""
        context = get_context("fork")  # the rules are loaded once
        own, other = context.Pipe()
        process = context.Process(
            target=_serve, args=(other, [*self._processes, own], self._rulebook)
        )
        process.daemon = True
        process.start()
        other.close()
        self._processes[own] = process
        self.give(own, chunk)
        return own

    def ready(self) -> list[Connection]:
        """Return the pipes with an answer, or of processes that ended."""
        return [pipe for pipe in wait([*self.chunks]) if isinstance(pipe, Connection)]

    def answer(self, pipe: Connection) -> tuple[list[JobRecord], Sequence[Task]]:
        """Return the records from a process, and the jobs that it could not judge."""
        chunk = self.chunks.pop(pipe)
        try:
            return pipe.recv(), ()
        except (EOFError, OSError):
            self.end(pipe)
        note = "reading it ended the process, perhaps out of memory"
        records = [_unread(chunk[0], note)] if len(chunk) == 1 else []
        return records, chunk

    def judge_alone(self, task: Task) -> list[JobRecord]:
        """Return the record of one job, judged in a process of its own."""
        pipe = self.start([task])
        records, _ = self.answer(pipe)
        self.end(pipe)
        return records

    def give(self, pipe: Connection, chunk: Sequence[Task]) -> None:
        """Send a chunk to the process of *pipe*, or to a new one if that has ended."""
        if pipe not in self._processes:
            self.start(chunk)
            return
        self.chunks[pipe] = chunk
        with suppress(OSError):  # the answer shows that it has ended
            pipe.send(chunk)

    def end(self, pipe: Connection) -> None:
        """End the process of *pipe*."""
        process = self._processes.pop(pipe, None)
        if process:
            process.kill()
            process.join()
            pipe.close()

    def end_all(self) -> None:
        """End all processes."""
        for pipe in [*self._processes]:
            self.end(pipe)


def _serve(pipe: Connection, others: Sequence[Connection], rulebook: Rulebook) -> None:
    """Judge the chunks from *pipe* until its other end is closed."""
    import signal

    # The end of a pipe shows the end of envcfg only if no other process holds it open.
    for connection in others:
        connection.close()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # envcfg itself ends this process
    with suppress(EOFError, OSError):
        while True:
            pipe.send([_judge_job(task, rulebook) for task in pipe.recv()])
    os._exit(0)


def _judge_job(task: Task, rulebook: Rulebook) -> JobRecord:
    job, mtime, owner = task
    unread = [f"{name}: cannot be read" for name in job.files if not _is_readable(name)]
    readable = [name for name in job.files if _is_readable(name)]
    report: LogReport | None = None
    try:
        if readable:
            report = check_files(readable, rulebook)
    except EnvcfgError as err:
        unread.append(err.message)
    except Exception as err:  # noqa: BLE001  # a bug on one log must not stop the others
        unread.append(f"a bug in envcfg: {err!r}")
    if report and report.bugs:
        unread.append(f"a bug in envcfg: {report.bugs[0].error}")
    if report and unread:
        report = with_doubts(report, [OpenQuestion(unread[0], "")])
    return job_record(job, report, mtime=mtime, owner=owner, notes=unread)


def _is_readable(name: str) -> bool:
    return os.access(name, os.R_OK)


def _unread(task: Task, note: str) -> JobRecord:
    job, mtime, owner = task
    return job_record(job, None, mtime=mtime, owner=owner, notes=[note])
