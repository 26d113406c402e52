"""The last words of a program that ended without a known cause."""

import re
from collections.abc import Collection, Sequence

from envcfg.common.characters import one_line
from envcfg.log.read.endings import has_agents
from envcfg.log.read.exceptions import LogException
from envcfg.log.read.line_owner import Owner, speaker
from envcfg.log.read.prefix import parse, quotes_launcher, without_colours
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog

RULE = "exception-survived"
_WIDE = 160  # characters of a line
_EXCEPTION = r"^(?-i:(?:\w+\.)+[A-Z]\w+): "  # by its name and modules
_ERROR = re.compile(
    r"(?i)(?:\b\w*(?:error|exception)\b|\bfatal\b|\bcan(?:not|'t)\b|\bunable to\b"
    r"|\bnot available\b|\bcould not\b|\bfail(?:ed|ure)\b|\babort(?:ed|ing)?\b"
    r"|\bdenied\b|\bkilled\b"
    r"|\bnot found\b|\w+notfound\b|\bno such \w+|\bnot in \w+$|core dumped|\w fault\b"
    r"|\bmismatch\b|\bdoes(?: not|n't) exist\b|\bmay be stuck\b|\bno available\b"
    r"|(?-i:\bSIG[A-Z]{3,4}\b)|\btimed out\b|\bmissing rank"
    r"|\b(?:invalid|illegal|unknown|unrecogni[sz]ed|uncorrectable)\b)"
    rf"|{_EXCEPTION}"
)
_NAMES_ERROR = re.compile(
    r"(?i)error\b|exception\b|\bfatal\b|\bno such \w+|\bnot found\b|\bdoes not exist\b"
    rf"|{_EXCEPTION}"
)
_FEW = 5  # last lines in which a program reports a good end
_FINISHED = re.compile(r"(?i)\b(?:finished|completed?(?! stack)|done|success\w*)\b")
_STEP = re.compile(r"(?i)\b(?:step|epoch|iter(?:ation)?)s?\b\W{0,3}\d")
_HARMLESS = re.compile(
    r"(?i)\b(?:0|no) (?:errors|failures)\b|\berror[_ ]?(?:rate|bar)|warn|\bignor"
    r"|^\[W\d{0,4} |@ +0x[0-9a-f]"
    r"|NCCL INFO|\bset the environment variable|^envcfg: |\bcoproc ENVCFG_|^\s*raise\b"
    r"|\bFailed to send MESSAGE_TASK_EXIT"
)

_FRAME = " " * 4  # in front of the lines of the program in a traceback
_IN_FILE = 'File "'  # in the line of a frame
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception): ")


def last_exception(job: JobLog) -> LogException | None:
    """Return the last exception of *job* that does not only follow from another one."""
    endings = job.endings
    thrown = endings.tracebacks.found
    rules = ((event, endings.rule_of(event)) for event in reversed(thrown))
    causes = (event for event, rule in rules if not (rule and rule.consequence))
    return next(causes, thrown[-1] if thrown else None)


def words_of(thrown: LogException) -> str:
    """Return the type, message and place of an exception."""
    place = f" ({thrown.frame.short})" if thrown.frame else ""
    return one_line(f"{thrown.text[:_WIDE]}{place}")


def last_words(job: JobLog) -> tuple[str, LogRule | None]:
    """Return the last line that looks like an error, with its writer, and the rule for it.

    The words may be empty.
    """
    endings, thrown = job.endings, last_exception(job)
    tails = {source: _lines_of(tail) for source, tail in reversed(job.tails.items())}
    if any(_FINISHED.search(line) for tail in tails.values() for line in tail[-_FEW:]):
        return "", None
    is_doubt = thrown is not None and job.weights.get(id(thrown)) == "doubt"
    if thrown and is_doubt and not endings.tracebacks.after(thrown)[0]:
        words = f"last words of {endings.process_of(thrown).words}: {words_of(thrown)}"
        return words, endings.rule_of(thrown)
    for source, lines in tails.items():
        for number in reversed(range(len(lines))):
            line = lines[number]
            if _STEP.search(line):
                break  # the program went on after the lines before this one
            front, text = _split_line(lines, number)
            if _ERROR.search(text) and not _HARMLESS.search(f"{text} {line}"):
                writer = speaker(front)
                writer = (
                    endings.files.get(source, writer) if writer == Owner() else writer
                )
                match = job.rulebook.match(text)
                words = f"last words of {writer.words}: {one_line(text[:_WIDE])}"
                return words, match and match.rule
    return "", None


def error_before(job: JobLog, ranks: Collection[int], exits: Collection[str]) -> str:
    """Return the last error line of a process that ended with a mere exit code.

    If no line is an error, return the last output of the process.

    Args:
        job: the lines of the log.
        ranks: of the process; empty if the log does not name them.
        exits: lines that report exits.
    """
    last: str | None = None
    for source, tail in reversed(job.tails.items()):
        lines = _lines_of(tail)
        first = next((n for n, line in enumerate(lines) if line in exits), len(lines))
        of_file = job.endings.files.get(source, Owner()).ranks
        # The last line before the exit is the program's, unless an agent writes there.
        is_last = first < len(lines) and not has_agents(job.endings.lines)
        for number in reversed(range(first)):
            line = lines[number]
            front, text = _split_line(lines, number)
            own = {*(speaker(front).ranks or of_file)}
            is_report = quotes_launcher(line) and not _RAISED.search(text)
            if not text or is_report or (own and ranks and own.isdisjoint(ranks)):
                continue
            words = one_line(text.strip()[:_WIDE])
            # Below the line of a frame, a traceback quotes the program.
            is_code = front.endswith(_FRAME) and _IN_FILE in lines[max(number - 1, 0)]
            if is_code or _STEP.search(line) or _HARMLESS.search(text):
                words = ""
            # A line without a name, or of all ranks, must be an error beyond doubt.
            elif _ERROR.search(text) and (
                own or (_NAMES_ERROR.search(text) and lines.count(line) == 1)
            ):
                return f": {words}"
            if last is None and (own or is_last):
                is_known = "NCCL " in line or job.rulebook.match(text)
                is_output = words and not is_known and lines.count(line) == 1
                last = f", after: {words}" if is_output else ""
            is_last = False
    return last or ""


def _lines_of(tail: bytes) -> list[str]:
    return without_colours(tail.decode("utf-8", "replace")).splitlines()


def _split_line(lines: Sequence[str], number: int) -> tuple[str, str]:
    """Return the text before the message of a line, and the message, with the next line
    if it ends with a colon."""
    text = parse(lines[number]).message
    front = lines[number].partition(text)[0] if text else ""
    below = "".join(lines[number + 1 : number + 2])
    if text.endswith(":") and not quotes_launcher(below):
        text = f"{text} {parse(below).message.strip()}"
    return front, text
