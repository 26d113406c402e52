"""A log that still grows: read what is new, and stop at the first verdict that is safe."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from glob import glob

from envcfg.budget import MB
from envcfg.errors import UsageError
from envcfg.log.batches import by_job
from envcfg.log.content import is_compressed
from envcfg.log.facts import Spot
from envcfg.log.files import log_budget
from envcfg.log.job import Job
from envcfg.log.reader import Reader
from envcfg.log.sidecar_watch import SidecarWatch
from envcfg.log.source import BLOCK, LONGEST, files_in
from envcfg.log.verdict import LogReport

_PAUSE = 0.15  # seconds between two looks
_SETTLE = 0.6  # seconds that others have to say the same, once the verdict is safe
# These can still change when more of the job's lines come.
_UNSAFE = {"ranks-unexpected", "worlds-of-one"}
# These too, while a process has not said which network it takes instead of the plugin.
_HASTY = {"plugin-init-failed", "plugin-init-fatal", "plugin-not-found"}
_TROUBLE = {"plugin-failed", "plugin-missing", "plugin-unsupported"}

Judge = Callable[[Job], LogReport]


class Growing:
    """One file that grows: where we are, and the line that is not whole yet."""

    def __init__(self, name: str, number: int, start: int | None = None) -> None:
        """Begin *name*, source *number* of the reader, at byte *start*: None: the first.

        From another byte on, lines are counted when somebody asks for their numbers.
        """
        self.name = name
        self.number = number
        self.rest = b""
        self.position = self.offset = start or 0
        self.lines = 0 if start is None else None

    def skip(self, position: int) -> None:
        """Go on at *position*, if that is further on."""
        if position > self.position:
            self.position = self.offset = position
            self.rest = b""

    def advance(self, reader: Reader) -> bool:
        """Read what is new, up to the last whole line; return whether anything mattered."""
        size = os.path.getsize(self.name)
        if size == self.position:
            return False
        if size < self.position:
            self.position = 0  # begun again by who writes it
            self.rest = b""
        mattered = False
        with log_budget(self.name) as budget, open(self.name, "rb") as file:
            file.seek(self.position)
            while new := file.read(BLOCK):
                if self.position == 0 and is_compressed(new):
                    msg = f"{self.name}: a compressed file cannot be followed"
                    raise UsageError(msg, hint="leave --follow out")
                self.position += len(new)
                reader.size += len(new)
                budget.more(len(new) / MB)
                text = self.rest + new
                # A return that is the last of it may be half of a line's end.
                cut = max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
                cut = cut or (len(text) if len(text) > LONGEST else 0)
                self.rest = text[cut:]
                whole, spot = text[:cut], Spot(self.number, self.offset, 0)
                mattered |= reader.take(whole, spot, self.lines)
                self.offset += len(whole)
                if self.lines is not None:
                    self.lines += whole.count(b"\n")
        return mattered


def follow(
    names: Sequence[str], reader: Reader, judge: Judge, timeout: float | None
) -> tuple[LogReport, LogReport]:
    """Read *names* while they grow, until a verdict is safe or *timeout* seconds are over.

    A file that is not there yet is waited for; patterns and folders are looked at again.
    Answers of RAS and dumps that appear among them end it where they show an error.

    Args:
        names: files, folders or patterns.
        reader: reads into two jobs, the second of which takes in certain lines only.
        judge: gives the report on a job as it stands.
        timeout: seconds; None waits for ever.

    Returns:
        What all of it comes to, and what the certain lines of the log alone come to.
    """
    beside = SidecarWatch(reader.jobs[0].rulebook.rules)
    look = _Look(names, reader, beside)
    whole, certain = reader.jobs
    end = None if timeout is None else time.monotonic() + timeout

    def answer(report: LogReport) -> LogReport:
        return beside.added_to(report, alone=not look.growing)

    while True:
        mattered = look.again()
        late = end is not None and time.monotonic() >= end
        news = beside.has_news()
        if mattered or late or news:
            report, proof = judge(whole), judge(certain)
            if is_safe(report, proof, certain):
                # Others may say the same at the same moment: the answer names them all.
                settled = time.monotonic() + _SETTLE
                while time.monotonic() < settled:
                    time.sleep(_PAUSE)
                    if not look.again():
                        break
                return answer(judge(whole)), judge(certain)
            # Files beside the log may show what does not get better any more.
            shown = answer(report).findings if news else ()
            errors = [each for each in shown if each.severity == "error"]
            if late or any(each not in report.findings for each in errors):
                return answer(report), proof
        time.sleep(_PAUSE)


class _Look:
    """All files that fit the names, as far as they are read."""

    def __init__(
        self, names: Sequence[str], reader: Reader, beside: SidecarWatch
    ) -> None:
        self.names = names
        self.reader = reader
        self.beside = beside
        self.growing: dict[str, Growing] = {}

    def again(self) -> bool:
        """Read what is new; return whether any of it mattered."""
        mattered = False
        found = present(self.names)
        if len(jobs := by_job(found)) > 1:
            msg = (
                f"--follow follows one job, and these are of several: {', '.join(jobs)}"
            )
            raise UsageError(msg, hint="name the file of the job that runs")
        for name in found:
            if name not in self.growing:
                if self.beside.takes(name) is not False:
                    continue
                number = self.reader.begin(name, plain=False)
                self.growing[name] = Growing(name, number)
            mattered |= self.growing[name].advance(self.reader)
        return mattered


def present(names: Sequence[str]) -> list[str]:
    """Return the files that *names* stand for by now."""
    found: list[str] = []
    for name in names:
        if os.path.isdir(name):
            found += files_in(name)
        elif os.path.isfile(name):
            found.append(name)
        else:
            found += sorted(each for each in glob(name) if os.path.isfile(each))
    return list(dict.fromkeys(found))


def is_safe(report: LogReport, proof: LogReport, certain: Job) -> bool:
    """Return whether more lines of this job cannot mend or spoil the verdict.

    Bad is bad as soon as a line shows it of which it is certain who wrote it. ``ok`` is
    safe when every node has also shown, on channels to others, whether the memory of its
    GPUs goes to the NIC directly.

    Args:
        report: on all lines.
        proof: on the certain ones.
        certain: what those said.
    """
    if report.verdict == "ok":
        proven = {rank.host for rank in report.ranks if rank.gdr != "unknown"}
        return proven == {rank.host for rank in report.ranks}
    # The plugin does not work, and what a process takes instead is not said.
    is_choosing = any(
        not (p.networks or p.channels or "socket-interfaces" in p.seen)
        and not _TROUBLE.isdisjoint(p.seen)
        for p in certain.everyone
    )
    unsafe = _UNSAFE | _HASTY if is_choosing else _UNSAFE
    return any(
        finding.severity in ("error", "warning") and finding.rule not in unsafe
        for finding in proof.findings
    )
