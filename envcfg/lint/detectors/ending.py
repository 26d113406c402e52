"""With what a batch script ends: the exit code of its step, or another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby

from envcfg.findings import Severity
from envcfg.lint.exit_status import endings
from envcfg.lint.facts import helpers, is_helper
from envcfg.lint.flow import is_agent, is_server
from envcfg.lint.model import Command
from envcfg.lint.program import SHELLS, load_programs
from envcfg.lint.rule import Fault, Job, detects, known_words
from envcfg.lint.text import holes, spaced
from envcfg.lint.walk import Program
from envcfg.lint.way import Way

_READERS = frozenset({"source", ".", "eval"})
_MOST_ROUNDS = 4  # of programs behind others that end the script
_THROUGH = frozenset("time env nice ionice stdbuf timeout command nohup exec".split())


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
            name = main.name if main else _helper(each, job)
            text = spaced(each.arguments) if each.name == "eval" else ()
            found[each.stands] = Program(name, main is not None, text)
    return found


def _helper(command: Command, job: Job) -> str:
    """Return the name by which one knows whether a command ends well."""
    if command.is_step and is_helper(command, job.model):
        return "hostname"
    return command.name


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
