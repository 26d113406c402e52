"""The words of the user's command, checked on this machine, and the start that its
files decide."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import UsageError, nearest
from envcfg.common.findings import Finding
from envcfg.job.plan.command_launcher import BY_KIND, python_end
from envcfg.job.plan.launcher_words import check_value
from envcfg.job.plan.plan import Options, Statement
from envcfg.job.plan.program_start import SUBMITS, start
from envcfg.job.plan.shell_text import SHELLS, find_text, script_file

# Variables that a program has anyway if it is started once per node.
_OWN = {"{address}": "MASTER_ADDR", "{port}": "MASTER_PORT", "{node_rank}": "NODE_RANK"}
# Keys of a launcher's row that hold for a launcher after another program.
_TAKEN = ("source", "date", "also")
# Keys of rows that decide only if no other row does.
_ASIDE = ("submits", "weak")
_SCHEDULERS = ("SLURM_", "PBS_", "FLUX_")
# A variable of a scheduler, or a value of an array in bash.
_OF_JOB = r"\$\{?(?:(?:SLURM|PBS|FLUX)_\w|\w+\[)"
_SHELL_SIGNS = r"[;&|<>`]|\$\("  # that only a shell understands
_OWN_STEPS = "a script that starts its own ranks: envcfg submit {0}, or wrap --from {0}"
_SIGN_WORD = r"&&?|\|\|?|;|[12&]?>>?|<|2>&1"
_QUOTES = "\u201c\u201d\u2018\u2019\u201e"
_MOST = 2000  # names of a folder that are compared with a missing one


def program_notes(
    command: Sequence[str], folder: str, *, is_contained: bool
) -> list[Finding]:
    """Warn if the file of *command* is missing here, or is Python code without "python".

    It is a warning because the file may exist only in the job. In a container, an
    absolute path belongs to the image, unless that folder here has a similar name.

    Args:
        command: the program and its arguments, without the launcher.
        folder: the base of a relative path.
        is_contained: the command runs in a container.
    """
    first = command[0] if command else ""
    if " " in first and not os.path.exists(os.path.join(folder, first)):
        fix = f"leave out the quotes: -- {first}"
        if re.search(_SHELL_SIGNS, first):
            fix = f"let a shell read it: -- bash -c {shlex.quote(first)}"
        message = "is one word, and no program has this name"
        return [Finding("program-not-here", "warning", first, message, fix)]
    if said := _first_words(command, is_contained=is_contained):
        return [Finding("program-not-started", "warning", *said)]
    path = _file_of(command) if command else None
    if path is None or (path == command[0] and _is_program(path)):
        return []
    program = os.path.normpath(os.path.join(folder, path))
    is_python = path == command[0] and path.endswith(".py")
    if os.path.exists(program):
        message = "is not a program that can be started directly"
        fix = f"-- python {path} ..."
        note = Finding("program-not-started", "warning", path, message, fix)
        return [note] if is_python else []
    fix = literal_path_fix(path) or "give the path as the job sees it"
    if near := near_file(program):
        like = os.path.join(os.path.dirname(path), near)
        fix = f"did you mean {'python ' if is_python else ''}{like}?"
    elif is_contained and path.startswith("/"):
        return []
    folder_of = os.path.dirname(program)
    message = f"does not exist on this machine, in {folder_of}; the job checks again"
    return [Finding("program-not-here", "warning", path, message, fix)]


def _first_words(
    command: Sequence[str], *, is_contained: bool
) -> tuple[str, str, str] | None:
    """Return the words that no rank can start, why, and what to type instead."""
    word = command[0] if command else ""
    if re.match(r"[A-Za-z_]\w*=", word):
        message = "is an assignment, and no program has this name"
        return word, message, f"--set {word} --"
    if word.startswith("-") and word != "--":
        message = "is an option, and no program has this name"
        return word, message, "write it before the --"
    begin = " ".join(command)
    if text := find_text(command) if word in SHELLS else None:
        begin = command[text]
    for entry in load_kept_file("knowledge/first_words.yaml").values():
        if entry.get("contained") and not is_contained:
            continue
        if match := re.match(rf"(?:{entry['begin']})(?!\S)", begin):
            return match[0], entry["message"], entry["fix"]
    return None


def literal_notes(command: Sequence[str], others: Sequence[str]) -> list[Finding]:
    """Warn of words of *command* and *others* with a variable: envcfg expands none."""
    name = r"(?:[^=$]+=)?\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})(?:[/:.-].*)?"
    literal = [
        word
        for before, word in pairwise(("", *command, *others))
        # The word after -c is the text of a shell, which expands it.
        if re.fullmatch(rf"{name}|.*{_OF_JOB}.*", word, re.S)
        and not re.fullmatch(r"-\w*c", before)
    ]
    message = "stays as it is written, because envcfg expands no variables"
    fix = "let your shell expand it, in double quotes instead of single quotes"
    if any(re.search(_OF_JOB, word) for word in literal):
        message += ", and only the job has its value"
        words = (f'"{w}"' if w in literal else shlex.quote(w) for w in command)
        fix = f"let a shell of the rank read it: -- bash -c {shlex.quote(' '.join(words))}"
    subject = ", ".join(dict.fromkeys(literal))
    found = Finding("variable-literal", "warning", subject, message, fix)
    return [found] * bool(literal)


def literal_signs(command: Sequence[str]) -> Iterator[Finding]:
    """Yield a warning on the first sign of a shell, and on quotes of a word processor."""
    sign = next((word for word in command if re.fullmatch(_SIGN_WORD, word)), "")
    if sign:
        message = "is a sign of a shell, and the program gets it as a word"
        text = " ".join(w if w == sign else shlex.quote(w) for w in command)
        fix = f"let a shell read it: -- bash -c {shlex.quote(text)}"
        yield Finding("word-literal", "warning", sign, message, fix)
    for word in command:
        if word and (word[0] in _QUOTES or word[-1] in _QUOTES):
            message = "has quotes of a word processor, which no shell removes"
            fix = f"type it again: {shlex.quote(word.strip(_QUOTES))}"
            yield Finding("word-literal", "warning", word, message, fix)
            return


def literal_path_fix(path: str) -> str:
    """Return what to type for a *path* that only a shell would expand; else nothing."""
    if "$" in path:
        return "envcfg expands no variables: let your shell do it, in double quotes"
    if "~" in path:
        return "~ in quotes stays as it is: write $HOME, in double quotes"
    return ""


def _file_of(command: Sequence[str]) -> str | None:
    """Return the file that Python or a shell would run, or that the command names by
    path."""
    first, name = command[0], command[0].rpartition("/")[2]
    if name in SHELLS:
        return script_file(command)
    if name.rstrip("0123456789.") != "python":
        return first if "/" in first or first.endswith(".py") else None
    end = python_end(command)
    return end.value if end and not end.name and end.value != "-" else None


def _is_program(name: str) -> bool:
    from shutil import which

    return which(name) is not None


def near_file(path: str) -> str | None:
    """Return a file with a name similar to that of *path*, and the same suffix, if any."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    try:
        names = os.listdir(folder)[:_MOST]
    except (OSError, ValueError):  # a NUL is not a path
        return None
    stems = [root for root, end in map(os.path.splitext, names) if end == ending]
    near = nearest(stem, stems)
    return near and f"{near}{ending}"


def start_as_read(options: Options, gpus: int | None) -> tuple[Options, list[Finding]]:
    """Return the options for a program that is started as its files say, and notes.

    Args:
        gpus: the number of GPUs per node, if it is known.

    Raises:
        UsageError: two statements, or a statement and an option, contradict each other.
    """
    statements = options.statements
    certain = [statement for statement in statements if statement.is_sure]
    # A script may prepare data before its own program, and submit the next job after it.
    certain = [s for s in certain if s.row.keys().isdisjoint(_ASIDE)] or certain
    starts = [s for s in certain or statements if s.kind not in {"rank", ""}]
    # Branches that start programs of one kind decide, too.
    if not certain and len(statements) > 1 and len({s.kind for s in starts}) == 1:
        certain = starts
    options = options._replace(statements=())
    is_many = (options.ranks or gpus or 1) > 1
    launcher = LAUNCHERS[options.launcher] if options.launcher else None
    if launcher and launcher.is_whole:
        return options, []
    if not certain:
        return options, _unknown_notes(statements) if is_many and not launcher else []
    # A script that makes its own cluster of Ray runs once, with all that uses it.
    makes_cluster = any("own_hosts" in s.row.get("agent", ()) for s in starts)
    if makes_cluster and any(s.row.get("needs") for s in starts):
        certain = [
            s._replace(row={"kind": "once"}) for s in starts if s.row.get("needs")
        ]
    kinds = {s.kind: s for s in certain}
    if len(kinds) > 1 and is_many:
        msg = ", but ".join(map(str, kinds.values()))
        hint = "run a step for each; or --launcher whole-node for all of it"
        raise UsageError(msg, hint=hint)
    statement = certain[0]
    options = options._replace(statements=(statement,))
    if statement.kind == "rank":
        return options._replace(
            launcher=options.launcher or statement.row.get("by")
        ), []
    row, words = _row_of(statement, options, gpus)
    name = statement.text.rpartition(" ")[2]
    free = options._replace(launcher=None)
    started, notes = start(free, row, name, words, gpus)
    if not started.launcher and options.ranks == 1:
        started, notes = start(free._replace(ranks=None), row, name, words, gpus)
    if launcher or not started.launcher:
        if not is_many and not (launcher and launcher.is_agent):
            return options, []
        choice = "launcher" if launcher else "ranks"
        msg = (
            f"{statement}, but --{choice} {getattr(options, choice)} starts it per rank"
        )
        hint = "--launcher whole-node; for a file that is misread: a row in "
        raise UsageError(msg, hint=f"{hint}~/.config/envcfg/programs.yaml")
    if words and started.program:
        return started, notes
    alone = ""
    meets = statement.row.get("meets", "").split()
    option_names = {
        word.partition("=")[0].replace("_", "-") for word in statement.words
    }
    if statement.row.get("submits"):
        alone = SUBMITS
    elif statement.row.get("steps") and options.container:
        alone = "; an image has no such program"
    elif options.known_nodes != 1 and meets and option_names.isdisjoint(meets):
        alone = f"; on several nodes each works alone, as it is not told {meets[0]}"
    elif "launcher" in statement.row and not meets and options.known_nodes != 1:
        alone = "; on several nodes each would reach for the others by itself"
    note = notes[0]._replace(
        severity="warning" if alone else "note",
        message=f"is used, because {statement}{alone}",
        fix=_OWN_STEPS.format(statement.path)
        if statement.row.get("steps")
        else notes[0].fix,
    )
    return started, [note]


def _row_of(
    statement: Statement, options: Options, gpus: int | None
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return a row that starts the program as its statement says, and its words.

    The words are empty if they are in a file, or in the text of a shell.
    """
    row, words = statement.row, [*statement.words]
    is_last = words and [*options.command[-len(words) :]] == words
    if not statement.path and is_last:
        if "launcher" not in row:
            return row, words
        own = {
            "options": row.get("takes", {}),
            "place": "begin",
            "kind": statement.kind,
        }
        return {**{key: row[key] for key in _TAKEN if key in row}, **own}, words
    variables = _line_variables(statement, options, gpus)
    made = {
        "kind": statement.kind,
        "variables": variables,
        "source": f"{statement.path}:{statement.line}",
        "date": "of the file",
        "needs": row.get("needs"),
    }
    return made, ()


def _unknown_notes(statements: Sequence[Statement]) -> list[Finding]:
    """Return a note on a program with an uncertain start."""
    statement = next((s for s in statements if s.kind), statements[0])
    message = "starts no processes and joins none, as torchrun, mp.spawn or "
    message += "init_process_group do: it is started once per rank"
    if statement.kind:
        message = f"{statement.text} (line {statement.line}) only under a condition: "
        message += "it is started once per rank"
    return [Finding("launcher-unknown", "note", statement.path, message, BY_KIND)]


def _line_variables(
    statement: Statement, options: Options, gpus: int | None
) -> dict[str, str]:
    """Return the variables that a launcher's line reads, with their values.

    Raises:
        UsageError: the line contradicts the job.
    """
    variables: dict[str, str] = {}
    takes = {
        option.replace("_", "-"): value
        for key in ("takes", "also", "options")
        for option, value in statement.row.get(key, {}).items()
    }
    for word, following in zip(
        statement.words, (*statement.words[1:], ""), strict=False
    ):
        option, equals, value = word.partition("=")
        template = takes.get(option.replace("_", "-"))
        if template is None:
            continue
        value = value if equals or not template else following
        if "$" not in value:
            own = f"{statement.path}:{statement.line}: "
            name = statement.text.removeprefix("starts ")
            ranks = options.ranks or gpus
            try:
                check_value(
                    name,
                    option,
                    value,
                    template.strip("{}"),
                    options.known_nodes,
                    ranks,
                )
            except UsageError as error:
                msg, hint = f"{own}{error}", "envcfg sets MASTER_ADDR, MASTER_PORT, "
                hint += "NODE_RANK, and WORLD_SIZE: the nodes"
                raise UsageError(msg, hint=hint) from error
            if template == "{node_rank}" and (options.known_nodes or 1) > 1:
                msg = f"{own}{name} {option} {value}: each node would have this number"
                raise UsageError(msg, hint=f"{option} $NODE_RANK")
        names = re.findall(r"\$\{?([A-Za-z]\w*)\}?", value) if "$(" not in value else []
        roles = zip(names, re.findall(r"\{\w+\}", template), strict=False)
        variables |= {
            name: role
            for name, role in roles
            if _OWN.get(role) != name and not name.startswith(_SCHEDULERS)
        }
    return variables
