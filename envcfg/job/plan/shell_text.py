"""The words of a shell's command line: its options, its file, and its text; pure."""

from collections.abc import Sequence

SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
# Options of a shell that do not change a plain command, with their values.
_PLAIN_OPTIONS = frozenset(
    "-c -e -u -eu -ec -uc -euc -o -eo -uo -euo pipefail -- --norc --noprofile".split()
)
_WITH_VALUE = frozenset(("--init-file", "--rcfile"))
# Every character with a meaning for a shell, quoted or not: a false alarm is harmless.
_SPECIAL = frozenset("$`\\*?[]~{}!#()<>|&;\n")
# A command begins after each of these words.
_BEFORE = frozenset(
    ("!", "{", "command", "do", "elif", "else", "exec", "if", "then", "time", "while")
)


def plain_command(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command if a shell's text is one plain command."""
    if words[0].rpartition("/")[2] not in SHELLS:
        return None
    index = find_text(words)
    if index is None or not _PLAIN_OPTIONS.issuperset(words[1:index]):
        return None
    if _SPECIAL & set(words[index]):
        return None
    command = _tokens(words[index])
    command = command[1:] if command[:1] == ["exec"] else command
    if not command or _is_assignment(command[0]) or command[0] in _BEFORE:
        return None
    return tuple(command)


def script_file(words: Sequence[str]) -> str | None:
    """Return the file that a shell runs; None without one."""
    index, letters = find_operand(words)
    return words[index] if index < len(words) and not {*letters} & {"c", "s"} else None


def find_text(words: Sequence[str]) -> int | None:
    """Return the index of the text: after all options, including ``-c``."""
    index, letters = find_operand(words)
    return index if "c" in letters and index < len(words) else None


def find_operand(words: Sequence[str]) -> tuple[int, str]:
    """Return the position of the first word after a shell's options, and their letters."""
    index, letters = 1, ""
    while index < len(words) and words[index].startswith(("-", "+")):
        word = words[index]
        index += 1
        if word in {"-", "--"}:
            break
        if word.startswith("--"):
            index += word in _WITH_VALUE
        else:
            letters += word[1:] if word[0] == "-" else ""
            index += word.count("o") + word.count("O")
    return index, letters


def _tokens(text: str) -> list[str]:
    from shlex import shlex

    reader = shlex(text, posix=True)
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t", True, ""
    try:
        return list(reader)
    except ValueError:  # an open quote, which bash reports
        return []


def _is_assignment(token: str) -> bool:
    name, equals, _ = token.partition("=")
    return bool(equals) and name.isidentifier()
