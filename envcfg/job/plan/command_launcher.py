"""The meaning of a command that begins with a known program; pure.

``torchrun --nproc-per-node=4 train.py`` names the launcher, the ranks and the program.
Options that the job decides are removed, with a note. A program that cannot be replaced
is started once per node or job (``program_start``). All are data:
``knowledge/programs.yaml``.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from envcfg.backends.starters import STARTERS
from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding, Severity
from envcfg.common.getopt import OptionSpec, OptionTable, OptionWord, getopt
from envcfg.job.plan.plan import Options
from envcfg.job.plan.shell_text import SHELLS
from envcfg.profile.folders import program_files

_PYTHON = OptionTable(
    {"--check-hash-based-pycs": OptionSpec("check-hash-based-pycs", "value")},
    {
        letter: OptionSpec(letter, "value" if letter in "cmWX" else "")
        for letter in "cmWXbBdEhiIOPqRsSuvVx"
    },
)


# The hint if the kind of a program is unknown.
BY_KIND = (
    "if it starts the ranks of its node itself: --launcher whole-node; if it runs once "
    "per job: --launcher once, or ray; if it is a rank: --launcher srun"
)


def recognise(
    options: Options, gpus: int | None = None
) -> tuple[Options, list[Finding]]:
    """Return the options with the launcher taken out of the command, and a note on it.

    Args:
        gpus: the number of GPUs per node, if it is known.

    Raises:
        UsageError: if the command begins with a launcher and cannot be understood, or goes
            against ``--launcher``.
    """
    command = options.command
    name = command[0].rpartition("/")[2] if command else ""
    # A starter inside the step would start a second step in each task.
    if name in STARTERS:
        msg = (
            f"the command begins with {name}, and envcfg writes the {name} line itself"
        )
        own = STARTERS[name].own
        hint = f"; --{own}-arg for its options" if own else ""
        raise UsageError(msg, hint=f"give the program alone{hint}")
    match_found = program_of_command(command)
    if match_found is None:
        return options, [*_unknown_notes(options, gpus)]
    # Import late: most commands name no launcher, and the module loads more tables.
    from envcfg.job.plan.launcher_words import (
        program_of,
        ranks_of,
        recognised_note,
        split_words,
    )

    record, words = match_found
    python, module = _interpreter(name, command)
    if "launcher" not in record:
        from envcfg.job.plan.program_start import start

        known_as = record["begins"][0].split()[0] if name == "env" else name
        return start(options, record, module[0] if module else known_as, words, gpus)
    launcher = record["launcher"]
    # The user contradicts the command, and either may be the mistake. Neither wins
    # silently.
    if options.launcher not in {None, launcher}:
        msg = f"the command begins with {name}, which --launcher {options.launcher} is not"
        hint = f"leave out --launcher, or {name} from the command"
        raise UsageError(msg, hint=hint)
    size = options.known_nodes, options.ranks or gpus
    split = split_words(module[0] if module else name, record, words, *size)
    program, index = program_of(name, python, split)
    # Old scripts parse --local_rank, and torch.distributed.launch added it unless
    # told otherwise.
    takes_rank = "local_rank" in record and not split.hides_local_rank
    return options._replace(
        launcher=launcher,
        # The user's --ranks wins over the command, as any envcfg option does.
        ranks=options.ranks or ranks_of(name, split.ranks),
        agent_options=split.kept_options,
        command=program,
        has_mode=split.has_mode,
        local_rank_at=index if takes_rank else None,
        local_rank_option=record.get("local_rank_option", options.local_rank_option),
    ), [recognised_note(command[0], launcher, split)]


def _unknown_notes(options: Options, gpus: int | None) -> Iterator[Finding]:
    """Yield a note on a program of unknown kind, which is started once per rank.

    It is a warning if a command of the image uses a launcher. A missing file has a
    warning of its own.
    """
    from envcfg.job.plan.program_start import environment_length

    words = options.command[environment_length(options.command) :]
    if options.launcher or options.ranks or not words or (gpus or 1) == 1:
        return
    name = words[0].rpartition("/")[2]
    if name in load_kept_file("knowledge/plain_tools.yaml")["words"].split():
        return
    module = _interpreter(name, words)[1]
    message = "is no program that envcfg knows, and no file that it can read: "
    message += "it is started once per rank"
    subject = module[0] if module else words[0]
    severity: Severity = "note"
    if name in options.image_facts.imports:
        library, path = options.image_facts.imports[name]
        message = f"uses {library} in the image ({path}), and is started once per rank"
        subject, severity = name, "warning"
    elif not module and (name.startswith("python") or name in SHELLS):
        return
    yield Finding("launcher-unknown", severity, subject, message, BY_KIND)


def program_of_command(
    command: Sequence[str],
) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return the row of the program that begins *command*, and the rest of the words.

    ``env NAME=VALUE...`` may come before a program that stays in the command.
    """
    if match_found := launcher_of(command):
        return match_found
    from envcfg.job.plan.program_start import environment_length

    match_found = launcher_of(command[environment_length(command) :])
    # The variables of a program that is replaced would be lost.
    return match_found if match_found and "launcher" not in match_found[0] else None


def start_kind(row: Mapping[str, Any]) -> str:
    """Return how often a row's program is started: per rank or node, or once.

    A launcher with an agent starts the ranks of its node.
    """
    return "node" if "agent" in row else str(row["kind"])


def launcher_of(
    command: Sequence[str],
) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """Return the record of the launcher that begins *command*, and the rest of the
    words."""
    name = command[0].rpartition("/")[2] if command else ""
    module = _interpreter(name, command)[1]
    # With python -m, the module is the launcher; without it, the basename of the
    # program.
    words_given = module or (name, *command[1:])
    # A launcher is a script of Python, too: python /opt/bin/torchrun.
    if not module and name.startswith("python") and (end := python_end(command)):
        folder, _, script = (end.value or "").rpartition("/")
        if folder and not end.name and script in first_words():
            words_given = (script, *command[end.end :])
    for entry in _records():
        for beginning in entry["begins"]:
            words = beginning.split()
            # A name with a dot is a module: as a program it is another one.
            rest = words_given[len(words) :]
            begins = [*words_given[: len(words)]] == words
            begins = begins and (bool(module) or "." not in words[0])
            if begins and ("when" not in entry or _has_words(rest, entry["when"])):
                return entry, rest
    return None


def _has_words(words: Sequence[str], text: str) -> bool:
    """Return whether the patterns in *text* match consecutive words, or one with ``=``."""
    patterns = text.split()
    parts = [part for word in words for part in word.split("=", 1)]
    # Parsers of options take underscores for dashes.
    parts = [
        part.replace("_", "-") if part.startswith("--") else part for part in parts
    ]
    return any(
        all(map(fnmatchcase, parts[index : index + len(patterns)], patterns))
        for index in range(len(parts) - len(patterns) + 1)
    )


def first_words() -> set[str]:
    """Return the first word of every command that starts a known launcher."""
    return {begin.split()[0] for entry in _records() for begin in entry["begins"]}


def _records() -> Sequence[Mapping[str, Any]]:
    """Return all rows, in the order in which they are compared with a command."""
    rows = [*_built_in().values()]
    if any(map(os.path.exists, program_files(os.environ))):
        # Import late: most users have no rows of their own.
        from envcfg.job.plan.user_programs import user_rows

        rows = [*user_rows(os.environ), *rows]
    return rows


@cache
def _built_in() -> Mapping[str, Any]:
    table: Mapping[str, Any] = load_kept_file("knowledge/programs.yaml")
    return table


def _interpreter(
    name: str, command: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Python with its own options, and the words after -m; empty if it is not
    Python."""
    if not name.startswith("python"):
        return (), ()
    end = python_end(command)
    if end is None or end.name != "m" or end.value is None:
        return (), ()
    # Other letters may come before that of the module, as in -um.
    letters = command[end.begin][: end.cut - 1]
    options = (*command[: end.begin], *([letters] if letters != "-" else ()))
    return options, (end.value, *command[end.end :])


def python_end(command: Sequence[str]) -> OptionWord | None:
    """Return the word that ends the options of Python: -c, -m, or a file."""
    words = getopt(_PYTHON, command, 1)
    ends = (word for word in words if word.name in {"c", "m", ""})
    return next((word for word in ends if word.value != "--"), None)
