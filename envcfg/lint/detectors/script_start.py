"""Commands that cannot start, signals that nothing gets, and secrets in a script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_values, known_words
from envcfg.lint.program_starts import unwrap
from envcfg.lint.resource_facts import steps
from envcfg.lint.script_model import Command
from envcfg.lint.script_source import decoded
from envcfg.lint.value_flow import is_agent

_PATTERN = re.compile(r"/[^\s]*%[AajJNtux](?![A-Za-z0-9])")
_SIGNAL = re.compile(r"(?i)(?:(R?B?):)?(?:SIG)?([A-Z0-9]+)(?:@\d+)?")
_TEMPLATE = re.compile(r"[^<]*<[A-Za-z][\w -]*>")
_NO_START = frozenset("version help usage test-only".split())


@detects("EC753")
def cannot_start(job: ScriptJob) -> Iterator[Fault]:
    """A command that the shell does not find, or that starts nothing.

    The first line may name a shell with characters outside ASCII, a name may be misspelt,
    srun may have no program, and a path may hold a pattern that only Slurm replaces.
    """
    model = job.model
    first = model.flat.chars.partition("\n")[0] if model.flat else ""
    if first.startswith("#!") and not first.isascii() and model.flat:
        name = decoded(first).split()[-1]
        yield Fault(model.flat.origin(0), {"name": name}, "first-line")
    for command in model.commands:
        is_known = bool(command.words) and command.name not in model.functions
        if not is_known or command.scope == "unknown":
            continue
        yield from _not_found(command, job)
        if command.is_srun and not command.is_open and not command.substitution:
            start = unwrap(command.name, command.arguments)
            is_action = not _NO_START.isdisjoint(command.options)
            # A placeholder, which bash reads as a file, is a fault of another rule.
            is_action |= bool(_TEMPLATE.match(job.behind(command.offset)))
            if start and not (start.rest or start.is_open or is_action):
                yield Fault(command.offset, {"name": command.name}, "alone")
        if command.name in known_words("EC753", "paths") and command.scope == "batch":
            for word in command.arguments:
                if match := _PATTERN.search(word.literal or ""):
                    yield Fault(word.offset, {"name": match[0]}, "pattern")


def _not_found(command: Command, job: ScriptJob) -> Iterator[Fault]:
    """Yield names that differ in case from a program, or lack the slash of a file."""
    name, right = command.name, command.name.lower()
    if name != right and right in known_words("EC753", "programs"):
        yield Fault(command.offset, {"name": name, "right": right})
    word = command.words[0].literal or ""
    is_file = word.endswith((".sh", ".py", ".bash")) and "/" not in word
    # srun itself looks in the current folder.
    if not is_file or command.scope != "batch" or "PATH" in job.model.set_names:
        return
    # A module or an environment may add the folder of the file to PATH.
    may_add = ("source ", ". ", "module ", "ml ", "conda ")
    is_added = any(o.description.startswith(may_add) for o in job.model.opaque)
    words = {"name": name, "right": f"./{name}"}
    yield Fault(command.offset, words, "no-slash", "note" if is_added else "warning")


@detects("EC654")
def lost_signal(job: ScriptJob) -> Iterator[Fault]:
    """A signal of Slurm that reaches no process, or a trap that runs too late.

    Without ``B:`` the signal goes to steps only, so a script without steps never sees it.
    With it, the batch shell gets the signal, and runs its trap only after the program in
    the foreground has ended.
    """
    model = job.model
    given = [d for d in model.directives if d.name == "signal" and not d.late]
    match = _SIGNAL.fullmatch(given[-1].value or "") if given else None
    if match is None or model.unread:
        return
    to_batch, words = "B" in (match[1] or "").upper(), {"name": match[2]}
    names = {command.name for command in model.commands}
    others = names & known_words("EC654", "starters")
    if not (to_batch or others or steps(model)):
        yield Fault(given[-1].offset, words)
    signals = {
        word.shown.upper().removeprefix("SIG")
        for command in model.commands
        for word in command.words[2:]
        if command.name == "trap"
    }
    # A trap of EXIT runs too if a signal ends bash; other words may be the signal.
    has_trap = match[2].upper() in signals
    is_open = any(not word.isalpha() for word in signals) or "EXIT" in signals
    if to_batch and not (has_trap or is_open or "exec" in names):
        yield Fault(given[-1].offset, words, "no-trap")
    elif has_trap and steps(model) and not to_batch:
        yield Fault(given[-1].offset, words, "no-batch")
    if not (to_batch and has_trap) or "wait" in names:
        return
    for command in model.commands:
        if not (command.is_step or is_agent(command) or command.name == "python"):
            continue
        # Bash runs a trap at once only while it waits for a background program.
        context = command.context
        is_waited_for = not (context.background or command.substitution)
        if is_waited_for and command.scope == "batch" and context.function != "trap":
            yield Fault(command.offset, {"name": command.name}, "late-trap")
            return


@detects("EC755")
def secret(job: ScriptJob) -> Iterator[Fault]:
    """A key or token in the text of the script, comments included."""
    if flat := job.model.flat:
        for name, pattern in known_values("EC755", "patterns").items():
            for match in re.finditer(pattern, flat.chars):
                offset = flat.origin(match.start())
                yield Fault(offset, {"name": name}, is_secret=True)


@detects("EC763")
def slip_of_bash(job: ScriptJob) -> Iterator[Fault]:
    """A slip that bash accepts and reads as something else."""
    if flat := job.model.flat:
        for form, pattern in known_values("EC763", "slips").items():
            for match in re.finditer(pattern, flat.chars, re.MULTILINE):
                yield Fault(flat.origin(match.end() - 1), form=form)
