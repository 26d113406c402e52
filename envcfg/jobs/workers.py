"""Judge the logs of many jobs in several processes, in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from envcfg.common.errors import EnvcfgError
from envcfg.jobs.attempts import attempt_texts
from envcfg.jobs.file_groups import JobFiles
from envcfg.jobs.job_record import JobRecord, job_record
from envcfg.jobs.log_tree import LogFile
from envcfg.log.files import check_files
from envcfg.log.judge.next_step import with_doubts
from envcfg.log.read.rulebook import Rulebook
from envcfg.log.verdict import LogReport, OpenQuestion

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_CHUNK = 16  # jobs that a process gets at once
_MOST = 16  # processes; a login node has many cores, for many users

Task = tuple[JobFiles, LogFile]  # with the file that was changed last


def judge_jobs(tasks: Sequence[Task], rulebook: Rulebook) -> Iterator[list[JobRecord]]:
    """Yield the records of jobs, some at a time, in any order.

    A log that ends its process gives its job a record with a note; the others go on.
    """
    left = deque(tasks[at : at + _CHUNK] for at in range(0, len(tasks), _CHUNK))
    count = min(len(os.sched_getaffinity(0)), _MOST)
    if len(left) < 2 or count < 2:
        for chunk in left:
            yield [_judge_job(task, rulebook) for task in chunk]
        return
    workers: dict[Connection, BaseProcess] = {}
    given: dict[Connection, Sequence[Task]] = {}
    try:
        while left or given:
            while left and len(given) < count:
                idle = {*workers} - {*given}
                pipe = idle.pop() if idle else _start(rulebook, workers)
                given[pipe] = left.popleft()
                with suppress(OSError):  # the answer shows that it has ended
                    pipe.send(given[pipe])
            ready = wait([*given])
            for pipe in [pipe for pipe in given if pipe in ready]:
                chunk = given.pop(pipe)
                try:
                    yield pipe.recv()
                except (EOFError, OSError):
                    workers.pop(pipe).join()
                    # One of them ended it, so each gets a process.
                    left.extendleft([task] for task in chunk[1:] and chunk)
                    if len(chunk) == 1:
                        yield [_unread(chunk[0])]
    finally:
        for process in workers.values():
            process.kill()
            process.join()


def _start(rulebook: Rulebook, workers: dict[Connection, BaseProcess]) -> Connection:
    """Add a process that judges the chunks from a pipe; return the pipe."""
    context = get_context("fork")  # the rules are loaded once
    own, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, [*workers, own], rulebook))
    process.daemon = True
    process.start()
    other.close()
    workers[own] = process
    return own


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
    job, newest = task
    readable = [name for name in job.files if os.access(name, os.R_OK)]
    unread = [f"{name}: cannot be read" for name in job.files if name not in readable]
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
    record = job_record(job, report, newest, unread)
    return record._replace(history=attempt_texts(report.attempts if report else ()))


def _unread(task: Task) -> JobRecord:
    job, newest = task
    notes = ["reading it ended the process, perhaps out of memory"]
    return job_record(job, None, newest, notes)
