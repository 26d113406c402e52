"""A launcher that stands inside the command: in a shell's text, or behind another program.

``bash -c 'torchrun train.py'`` is torchrun's command where the text is one plain command.
Any other text, and what is behind ``env`` or ``nsys``, is left as it is: the command starts
once per node, as its launcher starts the ranks itself, and what it lacks is said. Which
programs start others is data: ``knowledge/wrappers.yaml``, read only where a launcher may
follow. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envcfg.findings import Finding, Severity
from envcfg.launch.plan import Options
from envcfg.launch.recognise import first_words, launcher_of
from envcfg.launchers import LAUNCHERS

# Of a wrapper's options those whose value could be called like a program.
_NAMING = frozenset(("-n", "--name", "-o", "--output", "--python"))
_SCRIPTS = (".py", ".sh")
_WHOLE = next(name for name, each in LAUNCHERS.items() if each.is_whole)


class _Inside(NamedTuple):
    """A launcher inside a command.

    Attributes:
        known: what is known of it.
        name: how it is called there.
        words: its own, behind its name.
        behind: the programs before it, the nearest last.
    """

    known: Mapping[str, Any]
    name: str
    words: Sequence[str]
    behind: tuple[str, ...]


def look_inside(options: Options) -> tuple[Options, list[Finding]]:
    """Return the options as a launcher inside the command means them, and what to say."""
    command = options.command
    if not any(name in word for word in command[1:] for name in first_words()):
        return options, []  # no other file is read for it
    from envcfg.datafile import load_knowledge_file
    from envcfg.launch.shell_text import plain_command

    wrappers = load_knowledge_file("wrappers.yaml")["wrappers"]
    found = next(_launchers(command, wrappers, ()), None)
    if found is None or not found.behind:
        return options, []
    launcher = found.known["launcher"]
    plain = plain_command(command)
    if plain and options.launcher in {None, launcher}:
        name = command[0].rpartition("/")[2]
        what = f"is left out: its text is one plain command, of {found.name}"
        note = Finding("shell-left-out", "note", f"{name} -c", what)
        # It may be another shell's, or behind a wrapper.
        inner, said = look_inside(options._replace(command=plain))
        return inner, [note, *said]
    chosen = options.launcher or (_WHOLE if options.ranks in {None, 1} else None)
    if chosen is None or not LAUNCHERS[chosen].is_whole:
        asked = f"--launcher {options.launcher}" if options.launcher else ""
        asked = asked or f"--ranks {options.ranks}"
        note = Finding(
            rule="launcher-in-each-rank",
            severity="warning",
            subject=f"{found.name} behind {found.behind[-1]}",
            message=f"with {asked} each rank starts it, and each of them its own ranks",
            fix=f"leave out {asked.split()[0]}: one per node is started then",
        )
        return options, [note]
    if options.launcher is not None:
        return options, []
    return options._replace(launcher=chosen), [_once_per_node(found, wrappers)]


def _launchers(
    words: Sequence[str],
    wrappers: Mapping[str, Mapping[str, str]],
    behind: tuple[str, ...],
) -> Iterator[_Inside]:
    """Yield the launchers that *words* start, as far as can be told."""
    from envcfg.launch.shell_text import SHELLS, commands_in, shell_text

    if not words:
        return
    name = words[0].rpartition("/")[2]
    if (found := launcher_of(words)) and found[1]:  # without a word it starts nothing
        known, rest = found
        given = known["begins"][0] if name.startswith("python") else name
        yield _Inside(known, given, rest, behind)
    elif name in SHELLS:
        for each in commands_in(shell_text(words) or ""):
            yield from _launchers(each, wrappers, (*behind, f"{name} -c"))
    elif name in wrappers:
        verbs = wrappers[name].get("verb", "").split()
        if verbs and not any(verb in words[1:] for verb in verbs):
            return
        for at in range(1, len(words)):
            if words[at - 1] in _NAMING:
                continue
            inner = words[at].rpartition("/")[2]
            if inner in SHELLS or inner in wrappers or launcher_of(words[at:]):
                yield from _launchers(words[at:], wrappers, (*behind, name))
                return
            if inner.rstrip(".0123456789") == "python" or inner.endswith(_SCRIPTS):
                return  # the program: what follows are words of its own


def _once_per_node(
    found: _Inside, wrappers: Mapping[str, Mapping[str, str]]
) -> Finding:
    """Return what is said of a launcher that is started as it is, once on each node."""
    subject = f"{found.name} behind {' and '.join(found.behind)}"
    if LAUNCHERS[found.known["launcher"]].is_whole:
        said = "takes all GPUs of its node itself: one task per node"
        way = "otherwise: --ranks N, for so many per node"
        return Finding("launcher-recognised", "note", subject, said, way)
    meets = found.known.get("meets", "").split()
    given = {word.partition("=")[0].replace("_", "-") for word in found.words}
    tells = "starts the ranks itself, so it is started once per node, unchanged"
    severity: Severity = "warning"
    if given & set(meets):
        severity = "note"
        tells += "; its options about nodes must fit the job"
    elif meets:
        tells += f"; on several nodes each works alone, as it is not told {meets[0]}"
    else:
        tells += "; on several nodes each would reach for the others by itself"
    ways = [wrappers[name]["fix"] for name in found.behind if name in wrappers]
    if any(name not in wrappers for name in found.behind):
        ways.append("what comes before it goes into --setup")
    fix = (
        f"let it begin the command, then the job decides that: -- {found.name} ... "
        f"({'; '.join(ways)})"
    )
    return Finding("launcher-inside", severity, subject, tells, fix)
