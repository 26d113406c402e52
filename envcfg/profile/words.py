"""Values with literal parts and references to variables.

The grammar is small on purpose: ``${NAME}`` and ``${NAME:-default}`` refer, ``$$`` is a
dollar, everything else is inert. There is no command substitution and no arithmetic, so
no value is ever evaluated.
"""

import re
from typing import NamedTuple

# The name of a profile appears in paths, messages and headers of scripts.
PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# The layers, lowest first: the possible prefixes of a name, as in builtin:lumi-g.
LAYERS = ("builtin", "site", "user", "project")
QUALIFIED_NAME = re.compile(rf"(?:({'|'.join(LAYERS)}):)?({PROFILE_NAME.pattern})")
# A kind of node has no dot, so that a.yaml/b and a/b.yaml are clear.
KIND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,99}")
_WITH_KIND = re.compile(
    rf"(?P<profile>.+\.ya?ml|{QUALIFIED_NAME.pattern})/(?P<kind>{KIND_NAME.pattern})"
)
_REFERENCE = re.compile(r"\$\{(?P<name>[^}:]*)(?P<default>:-(?P<text>[^}]*))?\}")
_LITERAL = re.compile(r"(?:[^$\0]|\$\$)+")
PLAIN_DEFAULT = re.compile(r"[A-Za-z0-9_./:@%+=,-]*")


class Ref(NamedTuple):
    """A reference to a variable; *default* applies if it is unset or empty."""

    name: str
    default: str | None = None


Word = tuple["str | Ref", ...]


def split_layer(name: str) -> tuple[str, str]:
    """Split the name of a profile into its layer, empty if none is named, and the rest.

    >>> split_layer("builtin:lumi-g")
    ('builtin', 'lumi-g')
    """
    layer, _, rest = name.partition(":")
    return (layer, rest) if layer in LAYERS else ("", name)


def split_kind(name: str) -> tuple[str, str]:
    """Split the name of a profile, or its file, and a kind of node, empty if none.

    >>> split_kind("site:snellius/gpu_a100"), split_kind("./a.yaml/b"), split_kind("./a")
    (('site:snellius', 'gpu_a100'), ('./a.yaml', 'b'), ('./a', ''))
    """
    match = _WITH_KIND.fullmatch(name)
    return (match["profile"], match["kind"]) if match else (name, "")


def with_kind(name: str, kind: str | None) -> str:
    """Return the name of a profile with the *kind* of node, if there is one.

    >>> with_kind("snellius/gpu_h100", "gpu_a100"), with_kind("lumi-g", None)
    ('snellius/gpu_a100', 'lumi-g')
    """
    kinded = f"{split_kind(name)[0]}/{kind}"
    # The file of a profile may lack the suffix, and a kind needs it.
    return kinded if kind and split_kind(kinded)[1] else name


def is_profile_path(name: str) -> bool:
    """Return whether *name* is the path of a profile's file.

    >>> is_profile_path("./a"), is_profile_path("a.yaml"), is_profile_path("builtin:a.yaml")
    (True, True, False)
    >>> is_profile_path("a/b"), is_profile_path("a/b.yaml"), is_profile_path("a.yaml/b")
    (False, True, True)
    """
    name, _ = split_kind(name)
    is_qualified = split_layer(name)[0] and "/" not in name
    return not is_qualified and ("/" in name or name.endswith((".yaml", ".yml")))


class WordError(ValueError):
    """A value that does not follow the grammar."""

    def __init__(self, message: str, offset: int, hint: str) -> None:
        """Store the message, its offset and the remedy."""
        super().__init__(message)
        self.offset = offset  # index of the offending character, counted from 0
        self.hint = hint  # what to write instead


def parse_word(text: str) -> Word:
    """Split *text* into literals and references.

    >>> parse_word("${TMPDIR:-/tmp}/cache of $$5")
    (Ref(name='TMPDIR', default='/tmp'), '/cache of $5')

    Raises:
        WordError: for any other use of ``$``, and for a NUL.
    """
    parts: list[str | Ref] = []
    position = 0
    while position < len(text):
        if literal := _LITERAL.match(text, position):
            parts.append(literal[0].replace("$$", "$"))
            position = literal.end()
        elif text[position] == "\0":
            msg = "a value cannot hold a NUL character"
            raise WordError(msg, position, "no environment variable can")
        else:
            reference, position = _parse_reference(text, position)
            parts.append(reference)
    return tuple(parts)


def format_word(word: Word) -> str:
    """Write *word* in the grammar that ``parse_word`` reads."""
    return "".join(
        part.replace("$", "$$")
        if isinstance(part, str)
        else f"${{{part.name}{'' if part.default is None else f':-{part.default}'}}}"
        for part in word
    )


def is_name(text: str) -> bool:
    """Return whether the text is a variable's name: letters, digits and _, no digit
    first."""
    return text.isascii() and text.isidentifier()


def references(word: Word) -> list[str]:
    """Return the names that *word* refers to, in order, each once."""
    return list(dict.fromkeys(part.name for part in word if isinstance(part, Ref)))


def is_plain(text: str) -> bool:
    """Return whether *text* is one word in a line of ``#SBATCH`` or ``#flux:``.

    Versions of the schedulers read quotes there in different ways, so nothing can be
    quoted.
    """
    return (
        text != ""
        and text.isprintable()
        and not set(text) & set(" #'\"\\`\u201c\u201d\u2018\u2019")
    )


def quote_comment(text: str) -> str:
    """Return *text* for a comment, on one line."""
    return "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)


def _parse_reference(text: str, offset: int) -> tuple[Ref, int]:
    match = _REFERENCE.match(text, offset)
    if not match:
        msg = "'$' stands alone"
        hint = "write ${NAME} to refer to a variable, $$ for a dollar"
        raise WordError(msg, offset, hint)
    name = match["name"]
    if not is_name(name):
        msg = f"{name!r} is not a variable name"
        hint = "a reference is ${NAME} or ${NAME:-default}; $$ is a dollar"
        raise WordError(msg, offset, hint)
    default = match["text"] if match["default"] else None
    if default is not None and not PLAIN_DEFAULT.fullmatch(default):
        msg = f"the default {default!r} holds other than letters, digits and _./:@%+=,-"
        raise WordError(msg, offset, "set the variable itself to such a value")
    return Ref(name, default), match.end()
