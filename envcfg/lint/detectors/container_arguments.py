"""Values on the way to the program: its arguments, and variables that enter a container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envcfg.job.plan.shell_text import SHELLS, find_text
from envcfg.lint.detectors.data_flow import literal_quotes, lost_settings
from envcfg.lint.lint_rule import Edit, Fault, ScriptJob, detects, known_words
from envcfg.lint.script_model import Array, Command
from envcfg.lint.system_recognition import is_singularity
from envcfg.lint.traced_text import holes, shown
from envcfg.lint.value_flow import TESTS, command_with

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PREFIXES = ("SINGULARITYENV_", "APPTAINERENV_")
# A process id, a command, an argument, or a name that no program would export.
_DOLLAR = re.compile(r"`|\$(?:\$|\d|([a-z][a-z0-9]*)\b)")
# Commands that start no program: split arguments do not harm a message.
_SILENT = TESTS | {
    "echo", "printf", "logger", "cat", "for", "set", "shift", "module", "source", ".",
    "exit", "return",
}  # fmt: skip
# Quotes of --name "value" and name="value" inside a string.
_BEFORE_QUOTED = re.compile(r"(?<![\w-])--[\w-]+[ =]$")
_NEXT_WORD = re.compile(r'[ \t]+[^"]*"')
_BARE = re.compile(r"[A-Za-z0-9_{/.]")
_WITHOUT_INDEX = re.compile(r"\$(?:\w+\b|\{\w+\})(?!\[)")


@detects("EC105")
def reparsed_arguments(job: ScriptJob) -> Iterator[Fault]:
    """Arguments that are split, or parsed again, on their way to the program."""
    model = job.model
    for expansion in model.expansions:
        if expansion.name not in ("@", "*") or expansion.use != "word":
            continue
        if expansion.hole.op:  # it changes the list on purpose
            continue
        command = command_with(model, expansion)
        if command is None or not _passes_on(command):
            continue
        if not expansion.hole.quoted:
            sign = expansion.name
            # The fix must replace exactly the written form.
            is_braced = job.before(expansion.offset + 2).endswith("{")
            form = f"${{{sign}}}" if is_braced else f"${sign}"
            edit = Edit(expansion.offset, expansion.offset + len(form), '"$@"')
            yield Fault(expansion.offset, {"form": form}, edit=edit)
        elif command.name == "eval":
            yield Fault(expansion.offset, {}, "eval")
    yield from _first_elements(job)
    yield from _joined(job)
    for command in model.commands:
        offset = _pasted(command)
        if offset is not None:
            yield Fault(offset, {"form": "$@"}, "pasted")
        offset = literal_quotes(command)
        if offset is not None:
            yield Fault(offset, {}, "literal-quotes")
    yield from _ended_quotes(job)


def _first_elements(job: ScriptJob) -> Iterator[Fault]:
    """Yield arrays of options of which a command gets the first element only."""
    for expansion in job.model.expansions:
        command = command_with(job.model, expansion)
        if command is None or not _passes_on(command):
            continue
        variable = command.find(expansion.name)
        values = variable.values if variable else ()
        items = values[0].items if values and isinstance(values[0], Array) else ()
        # Another first element may be meant, as that of a list of nodes.
        is_option = len(items) > 1 and shown(items[0]).startswith("-")
        is_whole = _WITHOUT_INDEX.match(job.behind(expansion.offset))
        if len(values) == 1 and is_option and is_whole:
            yield Fault(expansion.offset, {"name": expansion.name}, "first")


def _joined(job: ScriptJob) -> Iterator[Fault]:
    """Yield variables that hold ``$@`` as one text, and that a command gets in quotes."""
    # Other names, as in CONFIG=$@, may stand for the one argument of the script.
    several = re.compile("|".join(known_words("EC105", "lists")), re.IGNORECASE)
    joined = {
        assignment.name: assignment
        for assignment in job.model.assignments
        if several.search(assignment.name)
        and assignment.shown == "$@"
        and assignment.text[0].hole
        and not isinstance(assignment.value, Array)
    }
    for expansion in job.model.expansions:
        name, hole = expansion.name, expansion.hole
        if name not in joined or not hole.quoted or expansion.use != "word":
            continue
        command = command_with(job.model, expansion)
        is_read = command is None or command.name in _SILENT | SHELLS
        # As a part of a longer text it is meant as text.
        words = () if command is None or is_read else command.arguments
        if any(word.shown == "$@" and word.text[0].hole for word in words):
            yield Fault(joined.pop(name).offset, {"name": name}, "joined")


def _passes_on(command: Command) -> bool:
    if command.name in _SILENT or not command.words or command.substitution:
        return False
    # A command from a variable is unknown, and gets the benefit of the doubt if quoted.
    return bool(command.name) or command.words[0].is_loose


def _pasted(command: Command) -> int | None:
    """Return the offset of ``$@`` or ``$*`` inside the text of ``bash -c``; else None."""
    if command.name not in SHELLS:
        return None
    index = find_text([word.shown for word in command.words])
    if index is None:
        return None
    text = command.words[index].text
    if len(text) < 2:
        return None  # the argument is the whole command, and nothing is added to it
    for hole in holes(text):
        if hole.name in ("@", "*"):
            return hole.offset
    return None


def _ended_quotes(job: ScriptJob) -> Iterator[Fault]:
    """Yield double quotes that were meant as text of a string but end it."""
    texts = [assignment.value for assignment in job.model.assignments]
    for command in job.model.commands:
        if command.name in SHELLS:
            texts += [word.text for word in command.arguments]
    for text in texts:
        if not isinstance(text, tuple) or isinstance(text, Array):
            continue
        for before, piece in pairwise(text):
            ends = _BEFORE_QUOTED.search(before.chars)
            if not ends or piece.hole or not _BARE.match(piece.chars):
                continue
            # A quote of one character must separate the pieces; other gaps are expansions.
            if (
                piece.offset != before.offset + len(before.chars) + 1
                or before.offset < 0
            ):
                continue
            line = job.before(piece.offset)
            # An escaped quote is text, and an empty string does not end a quoted part.
            if not line.endswith('"') or line.endswith(('\\"', '""')):
                continue
            # Without a blank, bash joins the parts again, and only the quotes are lost.
            rest = job.behind(piece.offset + len(piece.chars))
            if piece is text[-1] and _NEXT_WORD.match(rest):
                yield Fault(piece.offset - 1, {}, "ended-quotes")


@detects("EC838")
def container_environment(job: ScriptJob) -> Iterator[Fault]:
    """A value that arrives cut, or not at all."""
    lists = [
        (name, word.shown, word.offset)
        for command in job.model.commands
        for name, word in command.options_in_order
        if (command.is_image and name == "env")
        or (command.is_srun and name == "export")
    ]
    exports = [
        directive for directive in job.model.directives if directive.name == "export"
    ]
    lists += [(export.name, export.value or "", export.offset) for export in exports]
    for name, setting, offset in lists:
        # Both options separate entries by commas, with different quoting.
        if cut := _cut_in_env(setting) if name == "env" else _cut_in_export(setting):
            yield Fault(offset, {"value": cut[0], "part": cut[1], "name": name})
    yield from _evaluated(job)
    yield from _other_prefix(job)
    for command in job.model.commands:
        told = command.options
        # Without quotes the value ends at the blank, and "Libfabric" becomes the image.
        has_both = command.is_image and {"env", "image"} <= told.keys()
        if command.variant or not has_both:
            continue
        if told["env"].shown.endswith("=AWS") and told["image"].shown == "Libfabric":
            words = {"value": "NCCL_NET=AWS Libfabric", "part": "NCCL_NET=AWS"}
            yield Fault(told["env"].offset, words, "blank")
    yield from _dropped(job)
    yield from _replaced(job)


def _cut_in_env(message: str) -> tuple[str, str] | None:
    """Return a setting that is cut at a comma, and the part that remains."""
    parts = message.split(",")
    # One setting with commas is harmless if no further setting follows.
    if len(parts) < 2 or message.count("=") < 2 or '"' in message:
        return None
    if not any(_SETTING.match(part) for part in parts[1:]):
        return None
    return _cut(parts)


def _cut_in_export(message: str) -> tuple[str, str] | None:
    parts = message.split(",")
    if not any("=" in part for part in parts) or '"' in message or "'" in message:
        return None
    cut = _cut(parts)
    # A name in capitals may be a variable that the user wants to pass on.
    return None if cut is None or cut[1].rpartition(",")[2].isupper() else cut


def _cut(parts: list[str]) -> tuple[str, str] | None:
    before = ""
    for part in parts:
        if _SETTING.match(part):
            before = part
        elif before and part and not (part.isupper() and _NAME.fullmatch(part)):
            return f"{before},{part}", before
    return None


def _dropped(job: ScriptJob) -> Iterator[Fault]:
    """Yield starters that drop variables which the script exports for the program."""
    faults = [fault for fault in lost_settings(job.model) if fault.form == "dropped"]
    for offset in {fault.offset: None for fault in faults}:
        same = [fault for fault in faults if fault.offset == offset]
        # Three names are enough to recognise the problem.
        names = ", ".join(str(fault.words["name"]) for fault in same[:3])
        yield same[0]._replace(words={**same[0].words, "name": names})


def _evaluated(job: ScriptJob) -> Iterator[Fault]:
    """Yield text that the start of the container parses again, as a command or a name."""
    names = job.model.set_names
    for assignment in job.model.assignments:
        # A dump of an environment shows values, not shell code.
        if not assignment.name.startswith(_PREFIXES) or assignment.how == "env":
            continue
        for piece in assignment.text:
            if piece.hole or piece.offset < 0:
                continue
            for match in _DOLLAR.finditer(piece.chars):
                offset = piece.offset + match.start()
                # An escape, or a variable that the script sets, is intended.
                if job.before(offset).endswith("\\") or match[1] in names:
                    continue
                yield Fault(
                    offset, {"name": assignment.name, "said": match[0]}, "read-again"
                )
                break


def _other_prefix(job: ScriptJob) -> Iterator[Fault]:
    """Yield variables for the container with a prefix that this runtime does not read."""
    # If one start uses Apptainer, its prefix is read there.
    starts = [c for c in job.model.commands if c.is_image]
    if not starts or not all(is_singularity(start, job) for start in starts):
        return
    names = job.model.set_names
    for assignment in job.model.assignments:
        name = assignment.name.removeprefix("APPTAINERENV_")
        if (
            name == assignment.name
            or not assignment.exported
            or f"SINGULARITYENV_{name}" in names
        ):
            continue
        yield Fault(
            assignment.offset, {"name": assignment.name, "own": name}, "other-prefix"
        )


def _replaced(job: ScriptJob) -> Iterator[Fault]:
    """Yield a value of LD_LIBRARY_PATH that the start of the container overwrites."""
    first = next((c for c in job.model.commands if c.is_image), None)
    if first is None:
        return
    for assignment in job.model.assignments:
        is_host = assignment.scope in ("batch", "task") and assignment.command is None
        variable = first.find(assignment.name) if is_host else None
        if assignment.name == "LD_LIBRARY_PATH" and variable and variable.is_given:
            yield Fault(assignment.offset, {}, "replaced")
            return
