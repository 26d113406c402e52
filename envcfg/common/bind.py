"""A mount into a container: source, target, options, and its text; pure.

The text is ``SOURCE[:TARGET[:OPTIONS]]``, as on a command line. A backslash precedes a
colon, comma or backslash in a path. Each runtime has its own form.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# The source in the text of a bind if the real one is known only in the job.
STAND_IN = "/ENVCFG_BIND_SOURCE"


class Bind(NamedTuple):
    """A folder or file of the host in the container."""

    source: str  # its path on the host
    target: str = ""  # its path in the container; empty: the same path
    options: tuple[str, ...] = ()  # such as `ro`
    # *source* is a value in the grammar of profiles, which depends on the job.
    refers: bool = False

    def __str__(self) -> str:
        """Return the text that :func:`parse_bind` reads."""
        fields = [self.source if self.refers else escape(self.source)]
        if self.target or self.options:
            fields.append(escape(self.target))
        if self.options:
            fields.append(",".join(map(escape, self.options)))
        return ":".join(fields)


def is_read_only(bind: Bind) -> bool:
    """Return whether the bind is read-only, for runtimes with the words ``ro`` and
    ``rw``.

    Raises:
        ValueError: there are other options.
    """
    for option in bind.options:
        # An option that cannot be written must not be dropped, because it may
        # protect data.
        if option not in {"ro", "rw"}:
            msg = f"envcfg cannot write its option {option!r}"
            raise ValueError(msg)
    return "ro" in bind.options


def parse_bind(text: str, *, refers: bool = False) -> Bind:
    """Return the bind in *text*.

    Args:
        refers: its source is a value of a profile, ``${NAME:-/default}/folder``.

    Raises:
        ValueError: it has no source, or more than three parts.
    """
    fields = list(_split(text, ":", refers=refers))
    if len(fields) > 3 or not fields[0]:
        msg = f"{text!r} is not a bind: SOURCE[:TARGET[:OPTIONS]]"
        raise ValueError(msg)
    source, target, options = (*fields, "", "")[:3]
    return Bind(
        source=source if refers else _plain(source),
        target=_plain(target),
        options=tuple(_plain(part) for part in _split(options, ",") if part),
        refers=refers,
    )


def parse_binds(text: str) -> list[Bind]:
    """Return the binds of a comma-separated list, in the form of the runtimes.

    After a bind with options, a word without a slash is another option.

    Raises:
        ValueError: as for :func:`parse_bind`.
    """
    texts: list[str] = []
    for part in _split(text, ","):
        has_options = bool(texts) and len(list(_split(texts[-1], ":"))) == 3
        # Options also have commas between them, so "ro,z" after a bind continues
        # it.
        if has_options and "/" not in part and ":" not in part:
            texts[-1] += f",{part}"
        else:
            texts.append(part)
    return [parse_bind(text) for text in texts]


def escape(text: str, signs: str = "\\:,") -> str:
    """Return *text* with a backslash before the characters *signs* in it."""
    return "".join(f"\\{char}" if char in signs else char for char in text)


def _plain(text: str) -> str:
    """Return *text* without the backslashes before special characters."""
    return re.sub(r"\\([\\:,])", r"\1", text)


def _split(text: str, sign: str, *, refers: bool = False) -> Iterator[str]:
    """Yield the parts between the characters *sign*, still with their backslashes."""
    start = offset = 0
    while offset < len(text):
        if text[offset] == "\\":
            offset += 1
        elif refers and text.startswith("${", offset):
            offset = max(
                offset, text.find("}", offset)
            )  # its default begins with a colon
        elif text[offset] == sign:
            yield text[start:offset]
            start = offset + 1
        offset += 1
    yield text[start:]
