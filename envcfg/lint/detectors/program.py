"""The batch script as a program: what it returns, where it is, what is left on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import groupby

from envcfg.findings import Severity
from envcfg.lint.exit_status import endings
from envcfg.lint.facts import helpers, is_helper
from envcfg.lint.flow import inner_name, is_agent, is_server
from envcfg.lint.model import Command, Context, text_of
from envcfg.lint.program import SHELLS, load_programs
from envcfg.lint.rule import Fault, Job, detects, known_values, known_words
from envcfg.lint.text import Hole, holes, literal, spaced
from envcfg.lint.walk import Program
from envcfg.lint.way import Way

_PBS_PATH = re.compile(
    r"^#PBS[ \t]+-[eo][ \t]+(\S*\$\{?(?!PBS_)[A-Za-z_]\S*)", re.MULTILINE
)
_PATHS = frozenset({"dirname", "readlink", "realpath", "cd"})
_READERS = frozenset({"source", ".", "eval"})
_MOST_ROUNDS = 4  # of programs behind others that end the script
_THROUGH = frozenset("time env nice ionice stdbuf timeout command nohup exec".split())


@detects("EC735")
def no_exec(job: Job) -> Iterator[Fault]:
    """A shell that stays between Slurm and the program, and gets its signals."""
    model = job.model
    if model.scope != "unknown" or model.is_dump or not model.commands:
        return
    if any(c.name in ("trap", "wait", "exec") for c in model.commands):
        return
    last = next(
        (c for c in reversed(model.commands) if c.parent is None and c.unit == 0
         and not c.substitution), None
    )  # fmt: skip
    if last is None:
        return
    forgiven, set_options = last.context.forgiven, last.context.options
    if last.context != Context(forgiven=forgiven, options=set_options):
        return  # in the middle of something
    hands_on = any(h.name in ("@", "*") for w in last.words for h in holes(w.text))
    is_program = last.name.startswith("python") or is_agent(last) or not last.name
    if hands_on and is_program:
        at = last.at if last.stands < 0 else last.stands
        words = {"name": last.name or "the program"}
        yield Fault(at, words)


@detects("EC736")
def script_location(job: Job) -> Iterator[Fault]:
    """The place of a script that sbatch has copied elsewhere."""
    model = job.model
    if model.scope != "batch" or model.flat is None:
        return
    yield from _late(job)
    yield from _made_too_late(job)
    yield from _set_too_late(job)
    if model.scheduler not in known_words("EC736", "copies"):
        return
    for each in model.expansions:
        cut = each.name in ("0", "BASH_SOURCE") and each.hole.op[:1] == "%"
        if cut and each.hole.scope == "batch" and not _is_elsewhere(each.at, job):
            yield Fault(each.at, {"name": "$0" if each.name == "0" else "BASH_SOURCE"})
    for hole in _looked_up(job):
        # Offsets of another file are of what is sourced, which stays where it is.
        own = any(d.line_at <= hole.at for d in model.directives)
        if (model.directives and not own) or _is_elsewhere(hole.at, job):
            continue
        if ":-" not in job.before(hole.at):
            yield Fault(hole.at, {"name": "$0" if hole.name == "0" else "BASH_SOURCE"})


def _looked_up(job: Job) -> Iterator[Hole]:
    """Yield the script's own name where a command makes a folder of it."""
    for command in job.model.commands:
        if command.name not in _PATHS or command.scope != "batch":
            continue
        if any("SLURM" in c or "BASH_SOURCE" in c for c in command.context.conditions):
            continue
        for word in command.arguments:
            for hole in holes(word.text):
                if hole.name in ("0", "BASH_SOURCE") and not hole.op:
                    yield hole


def _is_elsewhere(at: int, job: Job) -> bool:
    """Return whether *at* is in another file than the script."""
    return at < job.model.own or at >= job.model.own + job.model.size


def _late(job: Job) -> Iterator[Fault]:
    late = [d for d in job.model.directives if d.late]
    if late:
        yield Fault(late[0].line_at, {}, "late")
    for each in job.model.directives:
        value = each.value or ""
        if not each.late and re.search(r"\$\{?[A-Za-z_]", value):
            yield Fault(each.at, {"value": value}, "variable")


def _set_too_late(job: Job) -> Iterator[Fault]:
    """Yield what only the scheduler reads, when the script is submitted."""
    model = job.model
    if any(each.name == "sbatch" for each in model.commands):
        return
    for each in model.assignments:
        if each.name in known_words("EC736", "submitted") and each.scope == "batch":
            yield Fault(each.at, {"name": each.name}, "submitted")
    for line in _PBS_PATH.finditer(model.flat.chars if model.flat else ""):
        at = model.flat.origin(line.start(1)) if model.flat else -1
        yield Fault(at, {"value": line[1]}, "pbs-path")


def _made_too_late(job: Job) -> Iterator[Fault]:
    """Yield where the script makes the folder that its own output had to be in."""
    folders = {
        os.path.normpath(os.path.dirname(each.value or "")): each.name
        for each in job.model.directives
        if each.name in ("output", "error") and "/" in (each.value or "")
    }
    for command in job.model.commands:
        if command.name != "mkdir" or command.scope != "batch" or command.unit:
            continue
        if command.context.conditions or command.context.function:
            continue
        for word in command.arguments:
            said = os.path.normpath(word.literal or ".")
            if said in folders:
                words = {"folder": said, "option": folders[said]}
                yield Fault(word.at, words, "output-folder")
                return


@detects("EC737")
def debug_left_on(job: Job) -> Iterator[Fault]:
    """What helps to find a fault, and slows every run."""
    for each in job.model.assignments:
        if each.value is None or each.context.conditions:
            continue
        if not (each.exported or each.how == "env" or each.command is not None):
            continue
        name = inner_name(each.name)
        value = literal(text_of(each.value))
        if value is not None and value in known_values("EC737", "values").get(name, ()):
            is_slow = name in known_words("EC737", "slow")
            severity: Severity | None = None if is_slow else "note"
            yield Fault(each.at, {"name": name, "value": value}, severity=severity)
        elif name == "NCCL_DEBUG_SUBSYS" and value:
            parts = set(value.upper().split(","))
            if not any(p.startswith("^") for p in parts) and not parts & {"NET", "ALL"}:
                yield Fault(each.at, {"value": value}, "hides")


@detects("EC734")
def lost_exit_code(job: Job) -> Iterator[Fault]:
    """A job that ends well whatever its step did, or before that has ended."""
    model = job.model
    programs = _programs(job) if model.scope == "batch" else {}
    reached: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        if model.flat is None or not any(each.fails for each in programs.values()):
            return
        succeed = known_words("EC734", "succeed")
        ways = endings(model.flat, programs, succeed, model.options, reached)
        by_program = sorted(ways, key=lambda each: each.failed)
        for at, found in groupby(by_program, key=lambda each: each.failed):
            if at >= 0:
                yield from _judged(at, [*found], programs[at].name)
        # Behind those that end the script by failing there may be others.
        is_cut = any(each.leaves for each in ways)
        if not is_cut or not any(programs[at].fails for at in reached):
            return
        programs |= dict.fromkeys(reached, Program("true"))


def _judged(at: int, ways: list[Way], name: str) -> Iterator[Fault]:
    """Yield what becomes of a program that fails, if that is the same on all ways."""
    by, is_left = ways[0].by, all(each.running for each in ways)
    if not is_left and any(each.status or each.running or not each.by for each in ways):
        return
    is_open = not is_left and any(each.status is None for each in ways)
    severity: Severity | None = "note" if is_open else None
    where = ways[0].at if by == "wait" and not is_left else at
    words = {"program": name, "what": by}
    yield Fault(where, words, "&" if is_left else by, severity)


def _programs(job: Job) -> dict[int, Program]:
    """Return what each command of the batch script starts, by its offset."""
    found: dict[int, Program] = {}
    for each in job.model.commands:
        if (
            each.stands < 0
            or each.scope != "batch"
            or any(each.name not in _THROUGH for each in job.model.ancestors(each))
        ):
            continue
        main = _main(each, job)
        if each.stands not in found or main is not None:
            # A step that only looks ends well, as what it runs does.
            looks = each.is_step and is_helper(each, job.model)
            name = main.name if main else "hostname" if looks else each.name
            text = spaced(each.arguments) if each.name == "eval" else ()
            found[each.stands] = Program(name, main is not None, text)
    return found


def _main(command: Command, job: Job) -> Command | None:
    """Return what *command* starts for the job; None where it only looks or tidies up."""
    if command.name in _READERS:
        return _made(command, job)
    if command.name == "envcfg_run":
        said = [each.shown for each in command.arguments]
        behind = said[said.index("--") + 1 :] if "--" in said else said
        step = next((each for each in behind if each[:1] != "-"), "")
        return None if os.path.basename(step) in {*helpers(), ""} else command
    found = command
    while found.name in _THROUGH | SHELLS:
        started = job.model.children(found)
        if not started or (found.name in SHELLS and len(started) > 1):
            break
        found = started[0]
    if is_agent(found):
        return found
    program = load_programs().get(found.name)
    if program is None or program.scope not in ("task", "container"):
        return None
    if len(found.words) < 2 or not job.model.children(found):
        return None
    return None if is_helper(found, job.model) or is_server(found, job) else found


def _made(reader: Command, job: Job) -> Command | None:
    """Return the envcfg that makes what *reader* runs; None where it starts no step."""
    spans = [
        (hole.at, hole.at + len(hole.text))
        for word in reader.arguments
        for hole in holes(word.text)
        if "envcfg wrap" in hole.text
    ]
    for maker in job.model.commands[: reader.number] if spans else ():
        if maker.name == "envcfg" and any(a < maker.at <= b for a, b in spans):
            step = job.model.commands[maker.number + 1]
            is_step = step.by_envcfg and step.name not in helpers()
            return maker if is_step else None
    return None
