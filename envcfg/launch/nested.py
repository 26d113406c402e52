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
from envcfg.launch.recognise import launcher_of
from envcfg.launchers import LAUNCHERS

_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
# Options of a shell without which a plain command does the same.
_PLAIN_OPTIONS = frozenset(("-c", "-e", "-u", "-ec", "-uc", "-euc", "-eu"))
# Whatever means more to a shell than to stand there, quoted or not: better once too often.
_SPECIAL = frozenset("$`\\*?[]~{}!#()<>|&;\n")
_PUNCTUATION = ";<>|&()\n"
# Behind these words of a shell's a command begins.
_BEFORE = frozenset(
    ("!", "{", "command", "do", "elif", "else", "exec", "if", "then", "time", "while")
)
# Of a wrapper's options those whose value could be called like a program.
_NAMING = frozenset(("-n", "--name", "-o", "--output"))
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
    if not _may_hold_launcher(command):
        return options, []
    wrappers = _wrappers()
    found = next(_launchers(command, wrappers, ()), None)
    if found is None or not found.behind:
        return options, []
    launcher = found.known["launcher"]
    plain = _plain_command(command)
    if plain and options.launcher in {None, launcher}:
        name = command[0].rpartition("/")[2]
        note = Finding(
            rule="shell-left-out",
            severity="note",
            subject=f"{name} -c",
            message=f"is left out: its text is one plain command, of {found.name}",
        )
        return options._replace(command=plain), [note]
    chosen = options.launcher or (_WHOLE if options.ranks in {None, 1} else None)
    if chosen is None or not LAUNCHERS[chosen].is_whole:
        return options, [_too_many(found, options)]
    if options.launcher is not None:
        return options, []
    return options._replace(launcher=chosen), [_once_per_node(found, wrappers)]


def _may_hold_launcher(command: Sequence[str]) -> bool:
    """Tell whether it is worth a look; no data is read for it."""
    names = [n for each in LAUNCHERS.values() for n in (*each.programs, *each.modules)]
    return any(name in word for word in command[1:] for name in names)


def _wrappers() -> Mapping[str, Mapping[str, str]]:
    from envcfg.datafile import load_knowledge_file

    wrappers: Mapping[str, Mapping[str, str]] = load_knowledge_file("wrappers.yaml")[
        "wrappers"
    ]
    return wrappers


def _launchers(
    words: Sequence[str],
    wrappers: Mapping[str, Mapping[str, str]],
    behind: tuple[str, ...],
) -> Iterator[_Inside]:
    """Yield the launchers that *words* start, as far as can be told."""
    if not words:
        return
    name = words[0].rpartition("/")[2]
    if found := launcher_of(words):
        known, rest = found
        given = known["begins"][0] if name.startswith("python") else name
        yield _Inside(known, given, rest, behind)
    elif name in _SHELLS:
        text = _text_of(words)
        for each in _commands_in(text or ""):
            yield from _launchers(each, wrappers, (*behind, f"{name} -c"))
    elif name in wrappers and _has_verb(words, wrappers[name]):
        for at in range(1, len(words)):
            if words[at - 1] in _NAMING:
                continue
            inner = words[at].rpartition("/")[2]
            if inner in _SHELLS or inner in wrappers or launcher_of(words[at:]):
                yield from _launchers(words[at:], wrappers, (*behind, name))
                return


def _has_verb(words: Sequence[str], known: Mapping[str, str]) -> bool:
    verbs = known.get("verb", "").split()
    return not verbs or any(verb in words[1:] for verb in verbs)


def _text_of(words: Sequence[str]) -> str | None:
    """Return the text that a shell is given to run, if it is."""
    for at, word in enumerate(words[1:], 1):
        if not word.startswith("-") or word.startswith("--"):
            return None
        if "c" in word[1:]:
            return words[at + 1] if at + 1 < len(words) else None
    return None


def _commands_in(text: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell's text, as far as plain reading goes."""
    tokens = _tokens(text)
    command: list[str] = []
    is_comment = False
    for token in (*tokens, "\n"):
        if set(token) <= set(_PUNCTUATION):
            if "\n" in token:
                is_comment = False
            if command:
                yield command
            command = []
        elif is_comment or token.startswith("#"):
            is_comment = True
        elif command or not (token in _BEFORE or _is_assignment(token)):
            command.append(token)


def _tokens(text: str) -> list[str]:
    from shlex import shlex

    reader = shlex(
        text.replace("\\\n", " "), posix=True, punctuation_chars=_PUNCTUATION
    )
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t", True, ""
    try:
        return list(reader)
    except ValueError:  # an open quote: bash will say it
        return []


def _is_assignment(token: str) -> bool:
    name, equals, _ = token.partition("=")
    return bool(equals) and name.isidentifier()


def _plain_command(command: Sequence[str]) -> tuple[str, ...] | None:
    """Return the one command that a shell's text is, if the shell adds nothing to it."""
    if command[0].rpartition("/")[2] not in _SHELLS:
        return None
    text = _text_of(command)
    options = command[1 : command.index(text)] if text in command else ()
    if text is None or not _PLAIN_OPTIONS.issuperset(options) or _SPECIAL & set(text):
        return None
    words = _tokens(text)
    words = words[1:] if words[:1] == ["exec"] else words
    if not words or _is_assignment(words[0]) or words[0] in _BEFORE:
        return None
    return tuple(words)


def _too_many(found: _Inside, options: Options) -> Finding:
    asked = f"--launcher {options.launcher}" if options.launcher else ""
    asked = asked or f"--ranks {options.ranks}"
    return Finding(
        rule="launcher-in-each-rank",
        severity="warning",
        subject=f"{found.name} behind {found.behind[-1]}",
        message=f"with {asked} each rank starts it, and each of them its own ranks",
        fix=f"leave out {asked.split()[0]}: one per node is started then",
    )


def _once_per_node(
    found: _Inside, wrappers: Mapping[str, Mapping[str, str]]
) -> Finding:
    """Return what is said of a launcher that is started as it is, once on each node."""
    subject = f"{found.name} behind {' and '.join(found.behind)}"
    if LAUNCHERS[found.known["launcher"]].is_whole:
        return Finding(
            rule="launcher-recognised",
            severity="note",
            subject=subject,
            message="takes all GPUs of its node itself: one task per node",
            fix="otherwise: --ranks N, for so many per node",
        )
    meets = found.known.get("meets", "").split()
    given = {word.partition("=")[0].replace("_", "-") for word in found.words}
    tells = "starts the ranks itself, so it is started once per node, as it stands"
    severity: Severity = "warning"
    if given & set(meets):
        severity = "note"
        tells += "; what it is told of other nodes must fit the job"
    elif meets:
        tells += f"; on several nodes each works alone, as it is not told {meets[0]}"
    else:
        tells += "; on several nodes each would reach for the others by itself"
    ways = [wrappers[name]["fix"] for name in found.behind if name in wrappers]
    if any(name not in wrappers for name in found.behind):
        ways.append("what comes before it goes into --setup")
    return Finding(
        rule="launcher-inside",
        severity=severity,
        subject=subject,
        message=tells,
        fix=f"let it begin the command, then the job decides that: -- {found.name} ... "
        f"({'; '.join(ways)})",
    )
