"""What a shell is told to run by ``-c``: its text, the commands in it, whether it is one.

Plain reading, no grammar: what cannot be told apart is not a command. Pure.
"""

from collections.abc import Iterator, Sequence

SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
# Options of a shell without which a plain command does the same, and their values.
_PLAIN_OPTIONS = frozenset(
    "-c -e -u -eu -ec -uc -euc -o -eo -uo -euo pipefail -- --norc --noprofile".split()
)
_WITH_VALUE = frozenset(("--init-file", "--rcfile"))
# Whatever means more to a shell than to stand there, quoted or not: better once too often.
_SPECIAL = frozenset("$`\\*?[]~{}!#()<>|&;\n")
_PUNCTUATION = ";<>|&()\n"
# Behind these words of a shell's a command begins.
_BEFORE = frozenset(
    ("!", "{", "command", "do", "elif", "else", "exec", "if", "then", "time", "while")
)
_HERE = r"(?<!<)<<-?[ \t]*(['\"\\]?)(\w+)\1([^\n]*)\n(?:.*\n)??[ \t]*\2$"
_COMMENT = r"^[ \t]*#.*$"


def shell_text(words: Sequence[str]) -> str | None:
    """Return the text that a shell is given to run by ``-c``; None, if none is."""
    at = _text_at(words)
    return words[at] if at else None


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the simple commands of a shell's text, as far as plain reading goes."""
    command: list[str] = []
    is_comment = is_target = False
    for token in (*_tokens(_without_texts(text)), "\n"):
        if token and set(token) <= set(_PUNCTUATION):
            if "\n" in token:
                is_comment = False
            is_target = token.endswith(("<", ">", ">&", "<&", ">|"))
            if is_target:
                continue
            if command:
                yield command
            command = []
        elif is_target:
            is_target = False
        elif is_comment or token.startswith("#"):
            is_comment = True
        elif command or not (token in _BEFORE or _is_assignment(token)):
            command.append(token)


def plain_command(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the one command that a shell's text is, if the shell adds nothing to it."""
    if words[0].rpartition("/")[2] not in SHELLS:
        return None
    at = _text_at(words)
    if at is None or not _PLAIN_OPTIONS.issuperset(words[1:at]):
        return None
    if _SPECIAL & set(words[at]):
        return None
    command = _tokens(words[at])
    command = command[1:] if command[:1] == ["exec"] else command
    if not command or _is_assignment(command[0]) or command[0] in _BEFORE:
        return None
    return tuple(command)


def script_file(words: Sequence[str]) -> str | None:
    """Return the file that a shell is given to run; None, if none is."""
    at, letters = _operand(words)
    return words[at] if at < len(words) and not {*letters} & {"c", "s"} else None


def _text_at(words: Sequence[str]) -> int | None:
    """Return where the text stands: behind all options, one of which is ``-c``."""
    at, letters = _operand(words)
    return at if "c" in letters and at < len(words) else None


def _operand(words: Sequence[str]) -> tuple[int, str]:
    """Return where the first word behind a shell's options stands, and their letters."""
    at, letters = 1, ""
    while at < len(words) and words[at].startswith(("-", "+")):
        word = words[at]
        at += 1
        if word in {"-", "--"}:
            break
        if word.startswith("--"):
            at += word in _WITH_VALUE
        else:
            letters += word[1:] if word[0] == "-" else ""
            at += word.count("o") + word.count("O")
    return at, letters


def _without_texts(text: str) -> str:
    """Return *text* without here-documents and lines of comment, which may hold quotes."""
    import re

    text = re.sub(_HERE, r"\3", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(_COMMENT, "", text, flags=re.MULTILINE)


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
