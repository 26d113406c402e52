"""The exit code of the batch script: whether it is that of the job's program."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from envcfg.backends.schedulers import ENDERS, SUBMITTERS
from envcfg.job.plan.shell_text import SHELLS, find_operand
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.program_starts import helpers, load_programs, shell_input
from envcfg.lint.resource_facts import is_helper
from envcfg.lint.script_model import Command, Expansion, Model, between, by_offset
from envcfg.lint.shell_state import set_options
from envcfg.lint.traced_text import INSIDE, holes
from envcfg.lint.value_flow import TESTS, is_agent, is_server

_READERS = frozenset({"source", ".", "eval"})
_SHOWERS = frozenset({"echo", "printf"})
_APART = frozenset({"coproc", "setsid"})  # they may end before their program
_RESULTS = frozenset({"?", "PIPESTATUS"})
_PROCESS = frozenset({"!"})
_EXITS = frozenset({"exit", "return"})
# After these commands, another job goes on, or the author wants the job to fail.
_LEAVES = SUBMITTERS | ENDERS | {"false"}
_AT_ONCE = _EXITS | TESTS | {"break", "continue", "trap", "exec"}
_LONG_SLEEP = re.compile(r"\d{3,}|.*[mhd$]")
_EXIT_0 = re.compile(r"\w+\s+0\b")
_IF = re.compile(r"\b(?:el)?if\s+$")
_UNTIL = re.compile(r"\b(?:until|while\s+!)\s+$")
_PYTHON = re.compile(r"python[\d.]*")
_LOOP = re.compile(r"while|until")


@detects("EC734")
def lost_exit_code(job: ScriptJob) -> Iterator[Fault]:
    """A job that succeeds although its step failed, or that ends before its step."""
    model = job.model
    if model.flat is None or model.unread:
        return
    # A trap for errors, or one that exits, decides about the exit code itself.
    if any(c.name == "trap" and _exits_in_trap(c, job) for c in model.commands):
        return
    results, processes = _last_reads(job, _RESULTS), _last_reads(job, _PROCESS)
    for commands in _shells(job):
        shell = _read_shell(commands, job)
        for number, step in enumerate(commands):
            if step.number in shell.mains and (
                step.name != "exec" or step.context.piped
            ):
                last_read = results
                if step.context.background:
                    last_read = max(results, processes)
                if last_read > step.number:  # the script reads an exit code after it
                    continue
                fault = _fault(step, number + 1, shell, job)
                # A plain program may be of many whose exit codes do not matter.
                name = shell.mains[step.number].name
                is_of_many = len(shell.mains) > 1 and step.scope == "batch"
                is_plain = is_of_many and _PYTHON.fullmatch(name)
                if fault is not None and (not is_plain or fault.form in ("|", "&")):
                    yield fault


class _Shell(NamedTuple):
    """The commands of one shell, with the places that decide about earlier steps.

    A script may start thousands of steps, so no step may search all later commands.
    """

    commands: Sequence[Command]  # in the order they run
    # The main programs, by the number of the command that starts each.
    mains: Mapping[int, Command]
    exits: Sequence[int]  # indexes of the commands that may end the shell
    # Index of the last command that does so; -1: there is none.
    keeps: int  # an exit code
    waits: int  # for the background
    breaks: int  # a loop


def _read_shell(commands: Sequence[Command], job: ScriptJob) -> _Shell:
    mains = {c.number: main for c in commands if (main := _main(c, job)) is not None}
    exits, keeps, waits, breaks = [], -1, -1, -1
    for index, command in enumerate(commands):
        if command.name in _EXITS:
            exits.append(index)
        keeps = index if _keeps(command, job) else keeps
        waits = index if _waits(command, job) else waits
        breaks = index if command.name == "break" else breaks
    return _Shell(commands, mains, exits, keeps, waits, breaks)


def _shells(job: ScriptJob) -> Iterator[list[Command]]:
    """Yield the commands of the script, and of each shell in it, in the order they run."""
    commands, shells = job.model.commands, dict[int, list[Command]]()
    for command in commands:
        around = {above.name for above in job.model.ancestors(command)}
        parents = _prefixes() | SHELLS
        if (
            command.scope != "batch"
        ):  # the shell of a task, in the text of a launch line
            parents |= load_programs().keys()
        if (
            command.scope != "unknown"
            and around <= parents
            and not (command.substitution or command.variant)
            and command.context.function != "trap"
            and (command.stands >= 0 or command.name in TESTS)
        ):
            parent = -1 if command.parent is None else command.parent
            context = commands[parent].context
            is_marked = context.piped or context.background or context.tested
            is_text = commands[parent].name in SHELLS and not is_marked
            if command.scope != "batch" and not is_text:
                continue
            words = [w.shown for w in commands[parent].words] if parent >= 0 else []
            words = words[: find_operand(words)[0]]
            # An inner shell has its own options ("bash -eo pipefail -c").
            options = command.context.options | set_options(words, frozenset())
            context = command.context._replace(options=options)
            shells.setdefault(parent, []).append(command._replace(context=context))
    yield from shells.values()


def _fault(step: Command, behind: int, shell: _Shell, job: ScriptJob) -> Fault | None:
    """Return the fault if no exit code shows that a program failed; None if one may.

    Each program of the job is assumed to fail, and the last command that then certainly
    runs decides. A script that ends with an exit code keeps it. *behind* is the index of
    the command after *step*.
    """
    context, program = step.context, shell.mains[step.number].name
    if context.piped:
        while behind < len(shell.commands) and shell.commands[behind].context.piped:
            behind += 1
        ends = shell.commands[behind : behind + 1]
        behind += 1
        if "pipefail" not in context.options:
            is_lost = ends and _hides(ends[0], step, shell.mains)
            return _by_sign("|", step, program) if is_lost else None
    is_tested = context.tested or context.forgiven or context.background
    if "errexit" in context.options and not is_tested:
        return None
    # A loop that waits for its success and that nothing else ends.
    is_endless = _UNTIL.search(job.before(step.stands)) and context.tested
    if is_endless and shell.breaks < behind:
        return None
    if shell.keeps >= behind:
        return None
    if context.background and shell.waits < behind:
        return _by_sign("&", step, program)
    last = _last(step, behind, shell, job)
    if last is step and context.tested and _IF.search(job.before(step.stands)):
        return _by_sign("if", step, program)
    if last in (None, step) or last.number in shell.mains:
        return None
    if last.context.tested or last.name in TESTS:
        return None
    return _by_command(last, step, program, job)


def _hides(end: Command, step: Command, mains: Collection[int]) -> bool:
    """Return whether the exit code of a pipe, that of *end*, hides that of *step*."""
    # "! program | tee" fails if the program ends well.
    is_negated = step.context.tested and not end.context.tested
    return not is_negated and end.number not in mains


def _by_sign(sign: str, step: Command, program: str) -> Fault:
    """Return the fault of a *step* if the operator *sign* replaces its exit code."""
    return Fault(step.stands, {"program": program, "command": sign}, sign)


def _by_command(last: Command, step: Command, program: str, job: ScriptJob) -> Fault:
    """Return the fault of a *step* if the exit code of *last* replaces its own."""
    command = by = last.name
    if by in _EXITS:
        command = f"{by} {last.arguments[0].shown}"
    elif by == program:
        command = f"a later {by}"
    words = {"program": program, "command": command}
    ends_well = known_words("EC734", "succeed") | _AT_ONCE | {"wait"}
    is_known = by in ends_well or is_helper(last, job.model)
    return Fault(
        last.offset if by == "wait" else step.stands,
        words,
        by,
        None if is_known else "note",
    )


def _exits_in_trap(trap: Command, job: ScriptJob) -> bool:
    """Return whether a trap may change the exit code of the script."""
    words = [word.shown for word in trap.arguments if word.shown != "--"]
    names = " ".join(words[:1]).split()
    ends = not job.model.functions.isdisjoint(names) or "exit" in " ".join(words[:1])
    return "ERR" in words or (ends and not {"EXIT", "0"}.isdisjoint(words))


def _last_reads(job: ScriptJob, names: Collection[str]) -> int:
    """Return the number of the last command that may keep one of *names*; -1: none."""
    commands = job.model.commands
    numbers = (
        expansion.number
        for expansion in job.model.expansions
        if expansion.name in names
        # "source <(envcfg wrap ... || echo exit $?)" reads the exit code of envcfg. If a
        # test has an effect on the exit code, its branch has a command that keeps it.
        and not any(
            c.substitution or c.name in TESTS or _shows(c, expansion)
            for c in commands[expansion.number : expansion.number + 1]
        )
        and not _follows_echo(commands[: expansion.number])
    )
    return max(numbers, default=-1)


def _follows_echo(before: Sequence[Command]) -> bool:
    """Return whether ``$?`` after these commands is that of a command that only shows."""
    return bool(before) and before[-1].name in _SHOWERS and not before[-1].substitution


def _shows(command: Command, expansion: Expansion) -> bool:
    """Return whether *command* only shows the value of *expansion* in the log."""
    is_kept = command.output or command.context.piped or "-v" in command.options
    return command.name in _SHOWERS and expansion.use == "word" and not is_kept


def _keeps(command: Command, job: ScriptJob) -> bool:
    """Return whether *command* may end the script with the exit code of another."""
    words = [word.shown for word in command.arguments]
    # A variable with the exit code may still hold 0 here, so the text decides.
    if command.name in _EXITS:
        if words == ["$?"] and _follows_echo(job.model.commands[: command.number]):
            return False
        return bool(words) and not _EXIT_0.match(job.behind(command.stands))
    if command.name == "kill":
        return not {"0", "$$"}.isdisjoint(words)
    return command.name in _LEAVES or (command.name == "wait" and bool(words))


def _waits(command: Command, job: ScriptJob) -> bool:
    """Return whether *command* may wait for programs in the background."""
    if command.context.background:
        return False
    if any(map(_LOOP.match, command.context.conditions)) or command.name == "kill":
        return True
    if command.name == "sleep":
        return any(_LONG_SLEEP.match(word.shown) for word in command.arguments)
    # The job's program may be in the foreground, and others only accompany it.
    quick = known_words("EC734", "succeed") | _AT_ONCE | job.model.functions
    return command.name not in quick


def _last(step: Command, behind: int, shell: _Shell, job: ScriptJob) -> Command | None:
    """Return the command that decides the exit code after *step* has failed.

    None if that is open: the last command is in a branch for other reasons.
    """
    commands, end = shell.commands, len(shell.commands)
    for index in shell.exits[bisect_left(shell.exits, behind) :]:
        command = commands[index]
        # An "exit" in the text of another shell does not end the script here.
        is_end = command.name == "exit" and command.unit == step.unit
        if (is_end or not command.arguments) and _runs(command, step, job):
            # Without a number it passes on the exit code of the command before.
            end = index + 1 if command.arguments else index
            break
    for index in reversed(range(behind, end)):
        command = commands[index]
        is_passing = command.name in _EXITS and not command.arguments
        runs = not is_passing and _runs(command, step, job)
        if runs is None:
            # An "if" that is not taken ends well, as its last command does; "&&" fails.
            is_if = not job.before(command.stands).rstrip().endswith(("&&", "||"))
            is_if &= not any(step.context.conditions)
            ends_well = command.name in known_words("EC734", "succeed")
            return command if is_if and ends_well else None
        if runs:
            return command
    return step


def _runs(command: Command, step: Command, job: ScriptJob) -> bool | None:
    """Return whether *command* runs after *step* has failed; None if that is open."""
    around = [condition for condition in step.context.conditions if condition]
    conditions = [condition for condition in command.context.conditions if condition]
    while conditions and around and conditions[0] == around[0]:
        del conditions[0], around[0]
    if not conditions:
        return True
    # Another branch of the same "if" or "case" does not run.
    if around and conditions[0].partition(" in ")[0] == around[0].partition(" in ")[0]:
        return False
    if around and conditions[0] == f"! ( {around[0]} )":
        return False
    written = re.split(r"&&|\|\||;", job.behind(step.stands), maxsplit=1)[0].strip(
        "\\ )"
    )
    if _LOOP.match(conditions[0]) or not written or written not in conditions[0]:
        return None
    return conditions[0].startswith("!")


@cache
def _prefixes() -> frozenset[str]:
    """Return the names of programs that run another in their place, and end as it does."""
    return frozenset(
        name
        for name, program in load_programs().items()
        if program.scope is None and not program.shell and name not in _APART
    )


def _main(command: Command, job: ScriptJob) -> Command | None:
    """Return the job's main program under *command*; None if it only inspects or cleans
    up.

    The output of envcfg comes first, because its name hides the program. Then programs
    that run another in their place are followed, down to a launcher or a container.
    """
    if command.name in _READERS:
        return _made(command, job)
    if command.name == "envcfg_run":
        # The command after "--" decides: envcfg_run also starts helpers.
        words = [argument.shown for argument in command.arguments]
        behind = words[words.index("--") + 1 :] if "--" in words else words
        step = next((word for word in behind if word[:1] != "-"), "")
        return None if os.path.basename(step) in {*helpers(), ""} else command
    target = command
    while target.name in _prefixes() | SHELLS:
        commands = job.model.children(target)
        if not commands or (target.name in SHELLS and len(commands) > 1):
            break
        target = commands[0]
    if is_agent(target):
        return target
    program = load_programs().get(target.name)
    # Without steps, a program that is started by itself is the job.
    is_task = command.scope != "batch"
    if target.name in SHELLS and not target.substitution:
        is_file = shell_input(target).file is not None and not job.model.children(
            target
        )
        return target if is_file and not _has_steps(job.model) else None
    if _PYTHON.fullmatch(target.name) and (is_task or not _has_steps(job.model)):
        return target if _is_script(target) else None
    if program is None or program.scope not in INSIDE:
        return None
    # A verb such as "exec" decides whether a program starts a container at all.
    says = {word.literal for word in target.arguments}
    is_open = target.is_open and not (program.verbs and says.isdisjoint(program.verbs))
    if len(target.words) < 2 or not (is_open or job.model.children(target)):
        return None
    # A server runs beside the job and its end has no meaning for the job's success.
    return None if is_helper(target, job.model) or is_server(target, job) else target


@lru_cache(maxsize=4)
def _has_steps(model: Model) -> bool:
    return any(command.is_step for command in model.commands)


def _is_script(command: Command) -> bool:
    """Return whether Python runs a program, and no line of code or server."""
    words = [word.shown for word in command.arguments]
    return any(word.endswith(".py") for word in words) and "-c" not in words


def _made(reader: Command, job: ScriptJob) -> Command | None:
    """Return the envcfg call that generates the input of *reader*; None if it starts no
    step."""
    spans = [
        (hole.offset, hole.offset + len(hole.text))
        for word in reader.arguments
        for hole in holes(word.text)
        if "envcfg wrap" in hole.text
    ]
    # Only calls before the reader can produce its input.
    makers = [
        maker
        for begin, end in spans
        for maker in between(_makers(job.model), begin, end + 1)
        if maker.number < reader.number
    ]
    for maker in sorted(makers, key=lambda maker: maker.number)[:1]:
        step = job.model.commands[maker.number + 1]
        return maker if step.by_envcfg and step.name not in helpers() else None
    return None


@lru_cache(maxsize=4)
def _makers(model: Model) -> list[Command]:
    """Return the calls of envcfg, by offset."""
    return by_offset(command for command in model.commands if command.name == "envcfg")
