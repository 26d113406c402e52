"""A launcher inside the command: in a shell's text, or after another program.

``bash -c 'torchrun train.py'`` is torchrun's command if the text is one plain command.
Any other text, and words after ``env`` or ``nsys``, stay unchanged: the command starts
once per node, because its launcher starts the ranks itself. Missing options are
reported. The programs that start others are data, ``knowledge/wrappers.yaml`` and
``backends/programs``, read only if a launcher may follow. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.backends.launchers import LAUNCHERS, NODE, ONCE
from envcfg.backends.programs import load_all
from envcfg.common.findings import Finding, Severity
from envcfg.job.plan.command_launcher import (
    first_words,
    launcher_of,
    program_of_command,
)
from envcfg.job.plan.plan import Options
from envcfg.job.plan.program_start import KINDS

# Options of a wrapper with values that could have the name of a program.
_NAMING = frozenset(("-n", "--name", "-o", "--output", "--python"))
_SCRIPTS = (".py", ".sh")


class _NestedLauncher(NamedTuple):
    """A launcher inside a command."""

    record: Mapping[str, Any]
    name: str
    words: Sequence[str]
    behind: tuple[str, ...]  # the programs before it, the nearest last


def look_inside(options: Options) -> tuple[Options, list[Finding]]:
    """Return the options for a launcher inside the command, and findings."""
    command = options.command
    if not any(name in word for word in command[1:] for name in first_words()):
        return options, []  # the usual case reads no other file
    if program_of_command(command):
        return options, []
    from envcfg.common.datafile import load_yaml
    from envcfg.job.plan.shell_text import plain_command

    wrappers = {**load_yaml("knowledge/wrappers.yaml")["wrappers"], **_containers()}
    inside = next(_launchers(command, wrappers, ()), None)
    if inside is None or not inside.behind:
        return options, []
    if inside.record["kind"] == "rank" and "launcher" not in inside.record:
        return options, []
    launcher = inside.record.get("launcher")
    plain = plain_command(command)
    if plain and options.launcher in {None, launcher}:
        name = command[0].rpartition("/")[2]
        message = f"is left out: its text is one plain command, of {inside.name}"
        note = Finding("shell-left-out", "note", f"{name} -c", message)
        # The launcher may be in the text of another shell, or after a wrapper.
        inner, findings = look_inside(options._replace(command=plain))
        return inner, [note, *findings]
    own = NODE if launcher else KINDS[inside.record["kind"]]
    choice = options.launcher or (own if options.ranks in {None, 1} else None)
    if choice is None or not LAUNCHERS[choice].is_whole:
        option = f"--launcher {options.launcher}" if options.launcher else ""
        option = option or f"--ranks {options.ranks}"
        note = Finding(
            rule="launcher-in-each-rank",
            severity="warning",
            subject=f"{inside.name} behind {inside.behind[-1]}",
            message=f"with {option} each rank starts it, and each of them its own ranks",
            fix=f"leave out {option.split()[0]}: one per node is started then",
        )
        return options, [note]
    if options.launcher is not None:
        return options, []
    return options._replace(launcher=choice), [_once_per_node(inside, wrappers)]


def _containers() -> dict[str, dict[str, str]]:
    """Return the programs that enter containers, as wrappers of their command."""
    lines = {name: sections["line"] for name, sections in load_all().items()}
    fix = "give its image to --container"
    return {
        name: {"verb": " ".join(line.get("verbs", ())), "fix": fix}
        for name, line in lines.items()
        if "runtime" in line
    }


def _launchers(
    words: Sequence[str],
    wrappers: Mapping[str, Mapping[str, str]],
    behind: tuple[str, ...],
) -> Iterator[_NestedLauncher]:
    """Yield the launchers started by *words*, if they can be recognised."""
    from envcfg.job.plan.shell_text import SHELLS, commands_in, shell_text

    if not words:
        return
    name = words[0].rpartition("/")[2]
    if (match_found := launcher_of(words)) and match_found[
        1
    ]:  # a wrapper without a program starts nothing
        record, rest = match_found
        word = record["begins"][0] if name.startswith("python") else name
        yield _NestedLauncher(record, word, rest, behind)
    elif name in SHELLS:
        for command in commands_in(shell_text(words) or ""):
            yield from _launchers(command, wrappers, (*behind, f"{name} -c"))
    elif name in wrappers:
        verbs = wrappers[name].get("verb", "").split()
        if verbs and not any(verb in words[1:] for verb in verbs):
            return
        for index in range(1, len(words)):
            if words[index - 1] in _NAMING:
                continue
            inner = words[index].rpartition("/")[2]
            if inner in SHELLS or inner in wrappers or launcher_of(words[index:]):
                yield from _launchers(words[index:], wrappers, (*behind, name))
                return
            if inner.rstrip(".0123456789") == "python" or inner.endswith(_SCRIPTS):
                return  # the program: the following words belong to it


def _once_per_node(
    launcher: _NestedLauncher, wrappers: Mapping[str, Mapping[str, str]]
) -> Finding:
    """Return the finding for a launcher that starts unchanged, once per node."""
    subject = f"{launcher.name} behind {' and '.join(launcher.behind)}"
    record = launcher.record
    if not {"launcher", "options", "variables"} & record.keys():
        message = "takes all GPUs of its node itself: one task per node"
        if KINDS[record["kind"]] == ONCE:
            message = "runs once per job: on the first node"
        way = "otherwise: --ranks N, for so many per node"
        return Finding("launcher-recognised", "note", subject, message, way)
    own = [name.replace("_", "-") for name in record.get("options", ())]
    meets = record.get("meets", " ".join(own or record.get("variables", ()))).split()
    flags = {word.partition("=")[0].replace("_", "-") for word in launcher.words}
    tells = "starts the ranks itself, so it is started once per node, unchanged"
    # A server is complete on one node, which most jobs with one have.
    severity: Severity = "note" if "port" in record else "warning"
    if flags & set(meets):
        severity = "note"
        tells += "; its options about nodes must fit the job"
    elif meets:
        tells += f"; on several nodes each works alone, as it is not told {meets[0]}"
    else:
        tells += "; on several nodes each would reach for the others by itself"
    ways = [wrappers[name]["fix"] for name in launcher.behind if name in wrappers]
    if any(name not in wrappers for name in launcher.behind):
        ways.append("what comes before it goes into --setup")
    fix = (
        f"let it begin the command, then the job decides that: -- {launcher.name} ... "
        f"({'; '.join(ways)})"
    )
    return Finding("launcher-inside", severity, subject, tells, fix)
