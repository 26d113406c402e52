"""A step that is watched while it runs: its network, its silence, what ended it.

All of NCCL's files is read as it comes. The output of the step may grow by gigabytes:
only its begin is read, where NCCL may write, too, and its end when the step has failed.
What goes wrong here is a note: the step goes on, and its network is not called verified.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from envcfg.characters import one_line
from envcfg.errors import EnvcfgError
from envcfg.log.expectations import Expectations
from envcfg.log.follow import Growing, is_safe, present
from envcfg.log.job import Job
from envcfg.log.judge import Read, judge
from envcfg.log.reader import Reader
from envcfg.log.rulebook import Rulebook, load_rules
from envcfg.log.source import EDGE, files_in
from envcfg.log.stacks import places
from envcfg.log.verdict import LogReport

_SETTLED = 60.0  # seconds without a line of NCCL, after which none is awaited
_MOST = 2048  # files of NCCL's log that are read
_LAST = 1 << 22  # bytes at the end of the output that are read when a step failed
_COUNTED = 1 << 30  # bytes of a file in which lines are counted


class Network:
    """What NCCL uses, as far as its lines show it.

    Attributes:
        is_open: no verdict is known yet.
        is_good, is_bad: which one it is.
    """

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
            folder: NCCL's log, a file per process; empty where there is none.
            outputs: files that the step writes to, each with the byte where it begins.
            expect: what NCCL's log must show.
            verify: ``warn``, ``stop``, or ``off``: no verdict is wanted.
            say: writes a line into the job's output.
        """
        rulebook = Rulebook(load_rules())
        self._reader = Reader(Job(rulebook), Job(rulebook, certain=True))
        self._folder, self._starts, self._expect = folder, outputs, expect
        self._verify, self._say = verify, say
        self._outputs = [
            Growing(name, self._reader.begin(name, plain=True), start)
            for name, start in outputs.items()
        ]
        self._files: dict[str, Growing] = {}
        self._began = self._news = time.monotonic()
        self.is_open = verify != "off"
        self.is_good = self.is_bad = False
        self._is_told = self._is_near = False

    def look(self) -> None:
        """Read what is new, and say what it comes to as soon as that is safe."""
        if not self.is_open:
            return
        try:
            mattered = self._read()
            if mattered:
                self._news = time.monotonic()
            if mattered or self._is_near:
                self._judge()
        except (OSError, EnvcfgError) as err:
            self.is_open = False
            self._say(f"note: not verified: {_said(err)}")
            return
        if self.is_open and not self._is_told and self._is_settled():
            self._tell_open()

    def _is_settled(self) -> bool:
        wait = _SETTLED if self._reader.jobs[0].records else 10 * _SETTLED
        return time.monotonic() - self._news > wait

    def end(self, code: int) -> None:
        """Say the last words on a step that has ended with *code*."""
        try:
            if code:
                for line in self._cause(code):
                    self._say(line)
            elif self.is_open:
                self._read()
                self._judge(is_last=True)
                if self.is_open and not self._is_told:
                    self._tell_open()
        except (OSError, EnvcfgError) as err:
            self._say(f"note: what the step has written cannot be read: {_said(err)}")

    def _read(self, *, whole: bool = False) -> bool:
        """Read what is new; *whole*: of the output, its end, too."""
        mattered, folder = False, self._folder
        is_gone = whole and not os.path.isdir(folder)
        for name in files_in(folder)[:_MOST] if folder and not is_gone else ():
            if name not in self._files:
                number = self._reader.begin(name, plain=False)
                self._files[name] = Growing(name, number)
            mattered |= self._files[name].advance(self._reader)
        for output in self._outputs:
            if whole:
                output.skip(os.path.getsize(output.name) - _LAST)
            if whole or output.position - self._starts[output.name] < EDGE:
                mattered |= output.advance(self._reader)
        return mattered

    def _report(self, number: int = 0) -> LogReport:
        reader = self._reader
        read = Read(reader.files, reader.size)
        return judge(reader.jobs[number], self._expect, reader.locate, read)

    def _judge(self, *, is_last: bool = False) -> None:
        """Say a verdict that was safe at the look before: now all ranks are in it."""
        report, proof = self._report(), self._report(1)
        is_good = report.verdict == "ok"
        is_bad = not is_good and proof.network_verdict in ("degraded", "broken")
        if not ((is_good or is_bad) and is_safe(report, proof, self._reader.jobs[1])):
            self._is_near = False
            return
        if not (self._is_near or is_last):
            self._is_near = True
            return
        self.is_open, self.is_good, self.is_bad = False, is_good, is_bad
        after = f"after {time.monotonic() - self._began:.0f} s"
        word, _, said = (report if is_good else proof).summary.partition(": ")
        if is_good:
            self._say(f"verified {after}: {said}")
            return
        begin = f"warning: {word} {after}"
        if self._verify == "stop":
            begin = f"error: the step is stopped {after}: {word}"
        self._say(f"{begin}: {said}; envcfg check-log {self._where()} says more")

    def _tell_open(self) -> None:
        """Say why nothing is verified."""
        self._is_told = True
        said = "no line of NCCL: the program does not use it, or does not say so"
        if self._reader.jobs[0].records:
            said = self._report().summary.partition(": ")[2]
            said = f"{said}; envcfg check-log {self._where()} says more"
        if len(self._files) == _MOST:
            said = f"of NCCL's files {_MOST} were read, which is a part; {said}"
        self._say(f"note: not verified: {said}")

    def _where(self) -> str:
        return self._folder if self._files else min(self._starts)

    def _cause(self, code: int) -> Iterator[str]:
        """Yield what ended the step first, and what to do."""
        self._read(whole=True)
        report = self._report()
        cause = report.cause
        if cause is None or report.next is None:
            outputs = ", ".join(self._starts) or "an output that is not a file"
            yield f"the step ended with {code}, and no line in {outputs} says why"
            return
        where = cause.evidence
        place = ""
        if where and os.path.getsize(where.file) < _COUNTED:
            place = f" ({where.file}:{where.line})"
        yield f"first cause: {cause.message}{place}"
        fix = next(
            (f.fix for f in report.findings if f.rule == cause.rule and f.fix), ""
        )
        action = " ".join((report.next.action, *report.next.nodes))
        yield f"next: {action}{f': {fix}' if fix else ''}"


class LastWords:
    """What ranks write into the output of a step from now on."""

    def __init__(self, names: Sequence[str]) -> None:
        """Begin at the end of the files *names*."""
        self._starts = {name: os.path.getsize(name) for name in present(names)}

    def stacks(self) -> str:
        """Return where they were, as their stacks say; empty where there are none."""
        lines: list[str] = []
        for name, start in self._starts.items():
            with suppress(OSError), open(name, "rb") as file:
                file.seek(start)
                lines += file.read(_LAST).decode("utf-8", "replace").splitlines()
        return places(lines).said


class Silence:
    """Since when *names*, files and folders of them, have not changed."""

    def __init__(self, names: Sequence[str], least: int) -> None:
        """Begin; *least* seconds are silence, 0: nothing is."""
        self._names, self._next = names, float(least)
        self._least = self._next
        self._state: Sequence[object] = ()
        self._since = time.monotonic()

    def seconds(self) -> float:
        """Return how long it is silent where somebody is to be asked, else 0."""
        if self._least and (state := self._look()) != self._state:
            self._state, self._since, self._next = state, time.monotonic(), self._least
        silent = time.monotonic() - self._since
        return silent if self._least and silent >= self._next else 0.0

    def begin_anew(self) -> None:
        """Go on as if nothing was written by now; the next time is twice as late."""
        self._state, self._next = self._look(), 2 * self._next

    def _look(self) -> Sequence[object]:
        try:
            states = [os.stat(name) for name in present(self._names)]
        except OSError:  # what is gone does not move
            return ()
        return [(each.st_size, each.st_mtime_ns) for each in states]


def _said(err: OSError | EnvcfgError) -> str:
    if isinstance(err, EnvcfgError):
        return one_line(err.message)
    return one_line(f"{err.filename or 'a file'}: {err.strerror}")
