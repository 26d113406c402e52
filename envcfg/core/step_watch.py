"""Watch a running step: its network, its silence, and the cause of its end.

All of NCCL's files are read as they grow, until the step ends: a restart may use another
network. The output of the step may grow by gigabytes. Only its beginning, where NCCL may
also write, is read, and its end if the step failed.

Only the files in the step's own folder prove a network good or bad, because processes of
this step wrote them. A program may print lines of any other job into the output.
Errors here are notes: the step continues, and its network is not called verified.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from envcfg.common.characters import one_line
from envcfg.common.errors import EnvcfgError
from envcfg.log.expectations import Expectations
from envcfg.log.files import check_files
from envcfg.log.follow import GrowingFile, is_safe, present
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.log_source import EDGE, files_in
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.read.stacks import describe_stacks
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport

_SETTLED = 60.0  # seconds without a line of NCCL, after which no more are expected
_MOST = 2048  # files of NCCL's log to read
_LAST = 1 << 22  # bytes at the end of the output to read after a failed step
_COUNTED = 1 << 30  # bytes of a file, up to which lines are counted


class Network:
    """The network use of a step, from NCCL's lines."""

    def __init__(
        self,
        folder: str,
        outputs: Mapping[str, int],
        expect: Expectations,
        verify: str,
        say: Callable[[str], None],
    ) -> None:
        """Begin to read.

        Args:
            folder: the folder of NCCL's log, a file per process; empty if there is
                none.
            outputs: output files of the step, each with the offset of its first byte.
            expect: the requirements on NCCL's log.
            verify: ``warn``, ``stop``, or ``off`` for no verdict.
            say: writes a line into the job's output.
        """
        self._rulebook = rulebook = Rulebook(load_rules())
        # Two jobs are filled: one with all lines, one with NCCL's lines in its own files.
        self._reader = Reader(JobLog(rulebook), JobLog(rulebook, certain=True))
        self._folder, self._starts, self._expect = folder, outputs, expect
        self._verify, self._say = verify, say
        self._outputs = [
            GrowingFile(name, self._reader.begin(name, plain=True, proves=False), start)
            for name, start in outputs.items()
        ]
        self._files: dict[str, GrowingFile] = {}
        self._began = self._news = time.monotonic()
        self.is_open = verify != "off"  # there is no verdict yet
        # A good verdict may still become bad.
        self.is_good = self.is_bad = False
        self.has_steps = False  # a line shows a step of the program
        self._is_told = self._is_near = self._is_start_told = False

    def look(self) -> None:
        """Read new lines, and print the verdict as soon as it is reliable."""
        if not (self.is_open or self.is_good):
            return
        try:
            mattered = self._read_news()
            self._tell_start()
            # Judging is expensive, so it happens only after lines that matter.
            if mattered:
                self._news = time.monotonic()
            if mattered or self._is_near:
                self._judge()
        except (OSError, EnvcfgError) as err:
            # After an error the state may be incomplete, so no verdict is given
            # later.
            self.is_open = self.is_good = False
            self._say(f"note: not verified: {_error_text(err)}")
            return
        if self.is_open and not self._is_told and self._is_settled():
            self._tell_open()

    def _is_settled(self) -> bool:
        # Before the first line, the program may still load its data, so the wait is
        # longer.
        wait = _SETTLED if self._reader.jobs[0].records else 10 * _SETTLED
        return time.monotonic() - self._news > wait

    def end(self, code: int) -> None:
        """Report the verdict, or the cause of the failure with exit code *code*."""
        try:
            if code:
                for line in self._cause(code):
                    self._say(line)
            # The last lines may have arrived after the last look.
            elif self.is_open or self.is_good:
                self._read_news()
                self._judge(is_last=True)
                if self.is_open and not self._is_told:
                    self._tell_open()
        except (OSError, EnvcfgError) as err:
            self.is_good = False
            self._say(
                f"note: what the step has written cannot be read: {_error_text(err)}"
            )

    def _read_news(self) -> bool:
        mattered, folder = False, self._folder
        for name in files_in(folder)[:_MOST] if folder else ():
            if name not in self._files:
                number = self._reader.begin(name, plain=False)
                self._files[name] = GrowingFile(name, number)
            mattered |= self._files[name].advance(self._reader)
        for output in self._outputs:
            if output.position - self._starts[output.name] < EDGE:
                mattered |= output.advance(self._reader)
        progress = self._reader.jobs[0].life.progress
        self.has_steps |= progress is not None and progress.step is not None
        return mattered

    def _report(self, number: int) -> LogReport:
        reader = self._reader
        reading = Coverage(reader.files, reader.size)
        return judge(reader.jobs[number], self._expect, reader.locate, reading)

    def _final_report(self, *outputs: str) -> LogReport:
        """Return the report of check-log on the step's folder and its part of *outputs*."""
        # The folder may be gone: its step removes it after a success.
        is_there = bool(self._folder) and os.path.isdir(self._folder)
        files = files_in(self._folder)[:_MOST] if is_there else []
        starts = {name: self._starts[name] for name in outputs}
        for name, start in starts.items():
            size = os.path.getsize(name)
            # A very large output is read only at its end, where the cause of a failure is.
            starts[name] = size - _LAST if size - start > _COUNTED else min(start, size)
        return check_files(
            [*starts, *files], self._rulebook, self._expect, starts=starts
        )

    def _judge(self, *, is_last: bool = False) -> None:
        """Report a verdict if the last look gave the same, so that all ranks are in it.

        At the end no line can follow, and the files are judged as check-log judges them.
        """
        proof = self._final_report() if is_last else self._report(1)
        is_good = proof.verdict == "ok"
        is_bad = not is_good and proof.network_verdict in ("degraded", "broken")
        if self.is_good and is_good:
            return
        # Lines of the output count in neither report: the proof is the whole evidence.
        is_final = (
            _is_proven(proof)
            if is_last
            else is_safe(proof, proof, self._reader.jobs[1])
        )
        if not ((is_good or is_bad) and is_final):
            self._is_near = False
            # The files of a verified step are removed, so they must prove it to the end.
            if is_last and self.is_good:
                self.is_open, self.is_good = True, False
            return
        # The first safe look is not enough, because slower ranks may still write.
        if not (self._is_near or is_last):
            self._is_near = True
            return
        self.is_open, self.is_good, self.is_bad = False, is_good, is_bad
        self._is_told = self._is_near = False
        after = f"after {time.monotonic() - self._began:.0f} s"
        word, _, text = proof.summary.partition(": ")
        if is_good:
            self._say(f"verified {after}: {text}")
            return
        begin = f"warning: {word} {after}"
        if self._verify == "stop":
            begin = f"error: the step is stopped {after}: {word}"
        self._say(f"{begin}: {text}; envcfg check-log {self._where()} says more")

    def _tell_start(self) -> None:
        """Report once that the first step waited for a compiler."""
        note = self._reader.jobs[0].cold_start.note
        if note and not self._is_start_told:
            self._say(f"note: {note[0]}; --keep-caches keeps them for the next job")
            self._is_start_told = True

    def _tell_open(self) -> None:
        """Report why nothing is verified."""
        self._is_told = True
        reason = "no line of NCCL: the program does not use it, or does not say so"
        whole, own = self._reader.jobs
        if own.records:
            reason = self._report(1).summary.partition(": ")[2]
            reason = f"{reason}; envcfg check-log {self._where()} says more"
        elif whole.records:
            reason = (
                "NCCL's lines are in the output, and may be those of another job; "
                f"envcfg check-log {self._where()} says more"
            )
        if len(self._files) == _MOST:
            reason = f"of NCCL's files {_MOST} were read, which is a part; {reason}"
        self._say(f"note: not verified: {reason}")

    def _where(self) -> str:
        return self._folder if self._files else min(self._starts)

    def _cause(self, code: int) -> Iterator[str]:
        """Yield the first cause of the step's end, and the next step."""
        report = self._final_report(*self._starts)
        for bug in report.bugs:
            yield f"note: this is a bug in envcfg: {bug.part}: {bug.error} ({bug.place})"
        cause = report.cause
        if cause is None:
            outputs = ", ".join(self._starts) or "an output that is not a file"
            yield f"the step ended with {code}, and no line in {outputs} says why"
            return
        where = cause.evidence
        place = ""
        # Counting lines of a huge file takes too long at the end of a job.
        if where and os.path.getsize(where.file) < _COUNTED:
            place = f" ({where.file}:{where.line})"
        yield f"first cause: {cause.message}{place}"
        fix = next(
            (f.fix for f in report.findings if f.rule == cause.rule and f.fix), ""
        )
        yield f"next: {report.next.answer}{f': {fix}' if fix else ''}"


class LastWords:
    """The output of a step's ranks from now on."""

    def __init__(self, names: Sequence[str]) -> None:
        """Begin at the end of the files *names*."""
        self._starts = {name: os.path.getsize(name) for name in present(names)}

    def stacks(self) -> str:
        """Return the positions of the ranks from their stacks; empty if there are none."""
        lines: list[str] = []
        for name, start in self._starts.items():
            # A file may vanish between the two calls, and the others still count.
            with suppress(OSError), open(name, "rb") as file:
                file.seek(start)
                lines += file.read(_LAST).decode("utf-8", "replace").splitlines()
        return describe_stacks(lines)


class Silence:
    """The time since the last change of *names*, which are files and folders."""

    def __init__(self, names: Sequence[str], least: int) -> None:
        """Begin to measure; after *least* seconds the files are silent; 0 means never."""
        self._names, self._next = names, float(least)
        self._least = self._next
        self._state: Sequence[object] = ()
        self._since = time.monotonic()

    def seconds(self) -> float:
        """Return the seconds of silence if it is time to ask, otherwise 0."""
        if self._least and (state := self._look()) != self._state:
            self._state, self._since, self._next = state, time.monotonic(), self._least
        silent = time.monotonic() - self._since
        return silent if self._least and silent >= self._next else 0.0

    def begin_anew(self) -> None:
        """Start the wait again, twice as long as before."""
        # The interval grows, because each question disturbs a job that may only be
        # slow.
        self._state, self._next = self._look(), 2 * self._next

    def _look(self) -> Sequence[object]:
        try:
            states = [os.stat(name) for name in present(self._names)]
        except OSError:  # a missing file does not change
            return ()
        return [(state.st_size, state.st_mtime_ns) for state in states]


def _is_proven(report: LogReport) -> bool:
    """Return whether the last report of a step that ended well is a verdict on it.

    The number of ranks is envcfg's own expectation, and a rank may do without NCCL.
    """
    wrong = {f.rule for f in report.findings if f.severity in ("error", "warning")}
    return wrong != {"ranks-unexpected"}


def _error_text(err: OSError | EnvcfgError) -> str:
    if isinstance(err, EnvcfgError):
        return one_line(err.message)
    return one_line(f"{err.filename or 'a file'}: {err.strerror}")
