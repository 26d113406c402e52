"""A step that is watched while it runs: its network, its silence, what ended it.

All of NCCL's files is read as it comes. The output of the step may grow by gigabytes:
only its begin is read, where NCCL may write, too, and its end when the step has failed.
A look is followed by a pause of fifty times its length. What goes wrong here is a note:
the step goes on, and its network is not called verified.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.characters import one_line
from envcfg.errors import EnvcfgError
from envcfg.hang.judge import span
from envcfg.log.expectations import Expectations
from envcfg.log.follow import Growing, is_safe
from envcfg.log.job import Job
from envcfg.log.judge import Read, judge
from envcfg.log.reader import Reader
from envcfg.log.rulebook import Rulebook, load_rules
from envcfg.log.source import EDGE, files_in
from envcfg.log.verdict import LogReport

_PAUSE = 1.0  # seconds between two looks, at least
_HASTE, _REST = (
    4,
    50,
)  # times as long as a look takes is waited, before and after a verdict
_SETTLED = 60.0  # seconds without a line of NCCL, after which none is awaited
_MOST = 2048  # files of NCCL's log that are read
_COUNTED = 1 << 30  # bytes of a file in which lines are counted


class Watched(NamedTuple):
    """What is watched.

    Attributes:
        folder: NCCL's log, a file per process; empty where there is none.
        outputs: files that the step writes to, each with the byte at which it begins.
        expect: what NCCL's log must show.
        verify: ``warn``, ``stop``, or ``off``.
        silence: seconds without output, after which envcfg hang is asked; 0: never.
        stops_silent: the step is stopped where somebody does.
    """

    folder: str
    outputs: Mapping[str, int]
    expect: Expectations
    verify: str
    silence: int
    stops_silent: bool


class Hands(NamedTuple):
    """What watching needs of the world.

    Attributes:
        wait: for seconds, or until the step ends; returns its exit code as text then, an
            empty text where nobody is left to tell it, None while the step runs.
        say: writes a line into the job's output.
        stop: ends the step.
        ask: returns lines that say who holds up the job, and whether somebody does.
    """

    wait: Callable[[float], str | None]
    say: Callable[[str], None]
    stop: Callable[[], None]
    ask: Callable[[], tuple[list[str], bool]]


def watch(watched: Watched, hands: Hands) -> str:
    """Watch a step until it ends, and say once what is known of it.

    Returns:
        ``stopped`` where it was ended from here, ``verified`` where its network was, else
        nothing.
    """
    network = _Network(watched, hands.say)
    silence = _Silence(watched)
    pause, stopped = _PAUSE, False
    while (ended := hands.wait(pause)) is None:
        if stopped:
            continue
        began = time.thread_time()
        network.look()
        spent = time.thread_time() - began
        stopped = network.is_bad and watched.verify == "stop"
        if not stopped and silence.is_due():
            lines, is_held_up = hands.ask()
            for line in (f"silent for {span(silence.seconds)}: envcfg hang", *lines):
                hands.say(line)
            stopped = is_held_up and watched.stops_silent
            if stopped:
                hands.say(
                    "error: the step is stopped: it is silent, and held up as above"
                )
            silence.begin_anew()
        if stopped:
            hands.stop()
        pause = max(_PAUSE, spent * (_HASTE if network.is_open else _REST))
    if ended and not stopped:
        network.end(int(ended))
    return "stopped" if stopped else "verified" if ended and network.is_good else ""


class _Network:
    """What NCCL uses, as far as its lines show it.

    Attributes:
        is_open: no verdict is known yet.
        is_good, is_bad: which one it is.
    """

    def __init__(self, watched: Watched, say: Callable[[str], None]) -> None:
        rulebook = Rulebook(load_rules())
        self._reader = Reader(Job(rulebook), Job(rulebook, certain=True))
        self._watched, self._say = watched, say
        self._outputs = [
            Growing(name, self._reader.begin(name, plain=True), start)
            for name, start in watched.outputs.items()
        ]
        self._files: dict[str, Growing] = {}
        self._began = self._news = time.monotonic()
        self.is_open = watched.verify != "off"
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
        mattered, folder = False, self._watched.folder
        is_gone = whole and not os.path.isdir(folder)
        for name in files_in(folder)[:_MOST] if folder and not is_gone else ():
            if name not in self._files:
                number = self._reader.begin(name, plain=False)
                self._files[name] = Growing(name, number)
            mattered |= self._files[name].advance(self._reader)
        for output in self._outputs:
            if whole:
                output.skip(os.path.getsize(output.name) - EDGE)
            if whole or output.position - self._watched.outputs[output.name] < EDGE:
                mattered |= output.advance(self._reader)
        return mattered

    def _report(self, number: int = 0) -> LogReport:
        reader = self._reader
        read = Read(reader.files, reader.size)
        return judge(reader.jobs[number], self._watched.expect, reader.locate, read)

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
        if self._watched.verify == "stop":
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
        return self._watched.folder if self._files else min(self._watched.outputs)

    def _cause(self, code: int) -> Iterator[str]:
        """Yield what ended the step first, and what to do."""
        self._read(whole=True)
        report = self._report()
        cause = report.cause
        if cause is None or report.next is None:
            outputs = ", ".join(self._watched.outputs) or "an output that is no file"
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


class _Silence:
    """Since when nothing was written."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._times = 1
        self._state: Sequence[object] = ()
        self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long nothing has been written."""
        return time.monotonic() - self._since

    def is_due(self) -> bool:
        """Return whether it is time to ask: at once, and then each time twice as late."""
        if not self._watched.silence or not self._watched.outputs:
            return False
        if (state := self._look()) != self._state:
            self._state, self._since, self._times = state, time.monotonic(), 1
        return self.seconds >= self._watched.silence * self._times

    def begin_anew(self) -> None:
        """What was written by now is our own."""
        self._state = self._look()
        self._times *= 2

    def _look(self) -> Sequence[object]:
        names = list(self._watched.outputs)
        try:
            names += files_in(self._watched.folder) if self._watched.folder else []
            states = [os.stat(name) for name in names]
        except OSError:  # what is gone does not move
            return ()
        return [(each.st_size, each.st_mtime_ns) for each in states]


def _said(err: OSError | EnvcfgError) -> str:
    if isinstance(err, EnvcfgError):
        return one_line(err.message)
    return one_line(f"{err.filename or 'a file'}: {err.strerror}")
