"""What is mounted into a container: source, target and options; its text; pure.

The text is ``SOURCE[:TARGET[:OPTIONS]]``, as on a command line, with a backslash before a
colon, a comma or a backslash of a path. How a runtime wants it is the runtime's.
"""

from collections.abc import Iterator
from typing import NamedTuple

# What stands for a source in the words of a runtime, where the job tells it.
STAND_IN = "/ENVCFG_BIND_SOURCE"


class Bind(NamedTuple):
    """A folder or file of the host in the container.

    Attributes:
        source: its path on the host.
        target: where it appears; empty: at the same place.
        options: such as ``ro``.
        refers: *source* is as profiles write values: variables of the job tell it.
    """

    source: str
    target: str = ""
    options: tuple[str, ...] = ()
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
    """Tell whether nobody may write there, for runtimes whose words are ``ro`` and ``rw``.

    Raises:
        ValueError: there are other options.
    """
    for option in bind.options:
        if option not in {"ro", "rw"}:
            msg = f"envcfg cannot write its option {option!r}"
            raise ValueError(msg)
    return "ro" in bind.options


def parse_bind(text: str, *, refers: bool = False) -> Bind:
    """Return the bind that *text* means.

    Args:
        refers: its source is as a profile writes values, ``${NAME:-/default}/folder``.

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
        options=tuple(_plain(each) for each in _split(options, ",") if each),
        refers=refers,
    )


def parse_binds(text: str) -> list[Bind]:
    """Return the binds of a list with commas, as runtimes take one.

    Behind a bind with options, a word without a slash is one more option.

    Raises:
        ValueError: as :func:`parse_bind` does.
    """
    texts: list[str] = []
    for part in _split(text, ","):
        has_options = bool(texts) and len(list(_split(texts[-1], ":"))) == 3
        if has_options and "/" not in part and ":" not in part:
            texts[-1] += f",{part}"
        else:
            texts.append(part)
    return [parse_bind(each) for each in texts]


def escape(text: str, signs: str = "\\:,") -> str:
    """Return *text* with a backslash before *signs* in it."""
    return "".join(f"\\{char}" if char in signs else char for char in text)


def _plain(text: str) -> str:
    """Return *text* without the backslashes that keep a sign in it."""
    plain, at = "", 0
    while at < len(text):
        at += text[at] == "\\" and text[at + 1 : at + 2] in ("\\", ":", ",")
        plain += text[at]
        at += 1
    return plain


def _split(text: str, sign: str, *, refers: bool = False) -> Iterator[str]:
    """Yield the parts between *sign*, still with their backslashes."""
    start = at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif refers and text.startswith("${", at):
            at = max(at, text.find("}", at))  # its default begins with a colon
        elif text[at] == sign:
            yield text[start:at]
            start = at + 1
        at += 1
    yield text[start:]
