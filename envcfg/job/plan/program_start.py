"""The start of a program of ``knowledge/programs.yaml`` that is not a rank; pure.

``axolotl train c.yaml`` starts the ranks of its node. It is started once per node, and
gets nodes, ranks and address from the job, by options or variables. The user's own
values are left out. A value that contradicts the job is an error.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from envcfg.backends.launchers import NODE, ONCE
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.common.getopt import OptionSpec, OptionTable, getopt
from envcfg.job.plan.applicable_settings import GIVEN
from envcfg.job.plan.launcher_words import check_value, ranks_of
from envcfg.job.plan.plan import Options, ProgramStart

# Values that a program gets from the job, by their names in the table, and how a task
# expands them.
ROLES = {
    "nodes": "$envcfg_nodes",
    "node_rank": "$NODE_RANK",
    "ranks": "$ENVCFG_LOCAL_RANKS",
    "all_ranks": "$((envcfg_nodes * ENVCFG_LOCAL_RANKS))",
    "first_rank": "$((NODE_RANK * ENVCFG_LOCAL_RANKS))",
    "is_first": "$((NODE_RANK == 0))",
    "address": "$MASTER_ADDR",
    "port": "$MASTER_PORT",
    "id": "$envcfg_id",
}
SUBMITS = "; it needs the scheduler's commands: usually it runs without envcfg"
KINDS = {"node": NODE, "once": ONCE, "rank": None}
# A text, not a pattern: most commands need none, and every command reads this module.
_ASSIGNMENT = r"[A-Za-z_]\w*="


def environment_length(command: Sequence[str]) -> int:
    """Return the number of words in ``env NAME=VALUE...`` before a program."""
    if not command or command[0].rpartition("/")[2] != "env":
        return 0
    index = 1
    while index < len(command) and re.match(_ASSIGNMENT, command[index]):
        index += 1
    return index


def start(
    options: Options,
    row: Mapping[str, Any],
    name: str,
    words: Sequence[str],
    gpus: int | None,
) -> tuple[Options, list[Finding]]:
    """Return the options for a program that is started once per node or job.

    Args:
        row: its row in the table.
        name: its name in messages.
        words: the words of the command after those that name the program.
        gpus: the number of GPUs per node, if the profile has it.

    Raises:
        UsageError: the command contradicts the job.
    """
    launcher = _launcher_of(row)
    pairs = {**row.get("options", {}), **row.get("variables", {})}
    words_of_row = tuple(
        f"{name}={value}" if value or name[0] != "-" else name
        for name, value in pairs.items()
    )
    program = ProgramStart(
        name=name,
        place=len(options.command),
        words=words_of_row,
        reason=GIVEN._replace(
            why=f"{name} learns by it of the job",
            source=row["source"],
            date=str(row["date"]),
        ),
        ranks=None,
        is_for_several="others" in row,
        others=tuple(row.get("others", "").split()),
        port=_port(row, words),
        path=row.get("health", ""),
    )
    # An explicit choice of the user may be right for this program. A number of ranks
    # belongs to the program only if it gets that number.
    if launcher is None or options.launcher not in {None, launcher}:
        return options, []
    refused, remedies = row.get("refused", {}), row.get("remedies", {})
    if (options.known_nodes or 1) > 1:
        refused = {**refused, **row.get("refused_on_several", {})}
    for word in takewhile("--".__ne__, words):
        option = word.partition("=")[0].replace("_", "-")
        if reason := refused.get(option):
            msg = f"{name} {option}: {reason}"
            raise UsageError(msg, hint=remedies.get(option, f"leave out {option}"))
    if not program.counts_ranks and (options.launcher or options.ranks):
        return options, []
    if not words_of_row:
        is_needed = program.port or None
        options = options._replace(launcher=launcher, program=is_needed and program)
        return options, [_plain_note(row, name)]
    job = _Job(name, row, options, gpus)
    length = len(options.command) - len(words)
    before = job.without_variables(options.command[:length])
    remaining = job.without_options(words)
    separator = row.get("separator")
    if separator and separator not in remaining:
        remaining.append(separator)
    command = (*before, *remaining)
    is_first = row.get("place") == "begin"
    program = program._replace(
        place=len(before) if is_first else len(command), ranks=job.ranks or gpus
    )
    gone = f"; left out: {', '.join(job.left_out)}" if job.left_out else ""
    message = f"is used, because {name} "
    if program.counts_ranks:
        message += "starts the ranks of its node: one task per node, which gets "
        message += f"nodes and ranks from the job{gone}"
    else:
        message += "takes all GPUs of its node itself: one task per node, and one "
        message += f"server on all nodes{gone}"
    note = _recognised(launcher, message)
    return options._replace(
        launcher=launcher, command=command, program=program, ranks=job.ranks
    ), [note]


def _port(row: Mapping[str, Any], words: Sequence[str]) -> str:
    """Return the port of a server: that of the command, or the server's own default."""
    if "port" not in row:
        return ""
    table = OptionTable({"--port": OptionSpec("port", "value")})
    ports = [word.value or "" for word in getopt(table, words) if word.name == "port"]
    port = ports[-1] if ports else str(row["port"])
    return port if port.isdecimal() else ""


def _plain_note(row: Mapping[str, Any], name: str) -> Finding:
    """Return the note on a program that gets nothing from the job."""
    launcher = _launcher_of(row)
    message = (
        f"is used, because {name} takes all GPUs of its node itself: one task per node"
    )
    if launcher == ONCE:
        message = f"is used, because {name} runs once per job: on the first node"
    elif launcher != NODE:
        message = f"is used, because {name} needs such a cluster, and runs once in it"
    note = _recognised(launcher, message)
    if not row.get("submits"):
        return note
    return note._replace(severity="warning", message=message + SUBMITS)


def _recognised(launcher: str | None, message: str) -> Finding:
    fix = "otherwise: --launcher NAME, as in srun for a process per GPU"
    return Finding("launcher-recognised", "note", f"launcher {launcher}", message, fix)


def _launcher_of(row: Mapping[str, Any]) -> str | None:
    """Return the launcher of a program: that of the cluster that it needs, if any."""
    return row.get("needs") or KINDS[row["kind"]]


class _Job:
    """The job's values, compared with those of the command."""

    def __init__(
        self, name: str, row: Mapping[str, Any], options: Options, gpus: int | None
    ) -> None:
        """Compare with the user's *options* and the *gpus* of a node."""
        self.name, self.row, self.gpus = name, row, gpus
        # The ranks per node from the user or the command; None: the job decides.
        self.ranks = options.ranks
        self.nodes = options.known_nodes
        # Options and variables that were removed from the command.
        self.left_out: list[str] = []
        self._templates = {
            option.replace("_", "-"): value
            for key in ("options", "also")
            for option, value in row.get(key, {}).items()
        }
        self._templates |= dict.fromkeys(row.get("ranks", "").split(), "{ranks}")

    def without_variables(self, words: Sequence[str]) -> list[str]:
        """Return the words that name the program, without variables of the job."""
        count = environment_length(words)
        variables = self.row.get("variables", {})
        kept = []
        for index, word in enumerate(words):
            variable, _, value = word.partition("=")
            template = variables.get(variable) if index < count else None
            if template is None or template == value:
                kept.append(word)
            else:
                self._compare(variable, template, value)
        return kept

    def without_options(self, words: Sequence[str]) -> list[str]:
        """Return the words after the program, without options that the job decides."""
        kept: list[str] = []
        rest = list(words)
        takes_value = False  # the word before is an unknown option without a value
        while rest:
            word = rest.pop(0)
            option, equals, value = word.partition("=")
            template = self._templates.get(option.replace("_", "-"))
            if template is not None:
                if template and not equals:
                    if not rest:
                        msg = f"{self.name} {word}: a value is missing"
                        raise UsageError(msg, hint="leave the option out")
                    value = rest.pop(0)
                self._compare(option, template, value)
                takes_value = False
                continue
            kept.append(word)
            # The words after the program's own name belong to its script or recipe.
            is_own = word.startswith("-") or takes_value
            if self.row.get("place") == "begin" and not is_own:
                return kept + rest
            takes_value = word.startswith("-") and not equals
        return kept

    def _compare(self, name: str, template: str, value: str) -> None:
        """Leave *name* out, unless its value contradicts the job.

        Raises:
            UsageError: it does.
        """
        if template == "{ranks}":
            number = ranks_of(self.name, value)
            wanted = self.ranks or self.gpus
            if number and wanted and number != wanted:
                msg = f"{self.name} {name} {value}: the job has {wanted} on each node"
                hint = f"leave out {name}; or give --ranks {number} to envcfg"
                raise UsageError(msg, hint=hint)
            self.ranks = self.ranks or number
        else:
            role, ranks = template.strip("{}"), self.ranks or self.gpus
            check_value(self.name, name, value, role, self.nodes, ranks)
        self.left_out.append(name)
