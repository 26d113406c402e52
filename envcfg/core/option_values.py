"""Values of options: each is read and checked alone, and written again.

A reader raises ``ValueError`` with the problem.
"""

from __future__ import annotations

import re

from envcfg.common.bind import Bind, parse_binds
from envcfg.profile.read.entry_readers import name_problem
from envcfg.profile.words import Word, WordError, format_word, parse_word

# A variable and its new value; None: it is unset.
Change = tuple[str, "Word | None"]
_DIGITS = 9  # the most digits of a rank
_TIME = r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds
_LEAST, _LONGEST = 5, 7 * 86400  # seconds


def read_binds(text: str) -> tuple[Bind, ...]:
    """Read SOURCE[:TARGET[:OPTIONS]], or several with commas between them."""
    # An empty value usually comes from a shell variable that is not set.
    if not text:
        msg = "is empty; is the variable set that it comes from?"
        raise ValueError(msg)
    return tuple(parse_binds(text))


def read_pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, separator, value = text.partition("=")
    if name.endswith(" ") and name.strip():
        msg = f"{text!r} has a space before the =: write {name.strip()}={value.strip()}"
        raise ValueError(msg)
    if not separator or not name:
        msg = f"{text!r} is not NAME=VALUE"
        raise ValueError(msg)
    return name, value


def read_stage(text: str) -> str:
    """Read the parts to copy to the nodes: ``image``, ``env`` or ``env=PATH``."""
    if text in {"image", "env"} or (
        text.startswith("env=") and len(text) > len("env=")
    ):
        return text
    msg = f"{text!r} cannot be staged: image, env or env=PATH"
    raise ValueError(msg)


def read_setting(text: str) -> Change:
    """Read NAME=VALUE, the value in the grammar of profiles."""
    name, value = read_pair(text)
    try:
        return _checked(name), parse_word(value)
    except WordError as err:
        msg = f"{name}: {err}; {err.hint}"
        raise ValueError(msg) from err


def write_setting(change: Change) -> str | None:
    """Write the text for ``read_setting``; None: the change is a removal."""
    name, value = change
    return None if value is None else f"{name}={format_word(value)}"


def read_removal(name: str) -> Change:
    """Read the name of a variable that is to be unset."""
    return _checked(name), None


def write_removal(change: Change) -> str | None:
    """Write the text for ``read_removal``; None: the change is a setting."""
    name, value = change
    return name if value is None else None


def read_module(name: str) -> str:
    """Read the name of a module, as in ``pytorch/2.7``."""
    from envcfg.profile.read.scheduling import is_module

    if not is_module(name):
        msg = f"{name!r} is not a module, as in pytorch/2.7"
        raise ValueError(msg)
    return name


def read_ranks(text: str) -> tuple[int, ...]:
    """Read ranks: ``2`` or ``0,8``."""
    parts = text.split(",")
    if not all(
        part.isascii() and part.isdigit() and len(part) <= _DIGITS for part in parts
    ):
        msg = f"{text!r} are not ranks: expected 2 or 0,8"
        raise ValueError(msg)
    # A repeated rank would be reported twice.
    return tuple(dict.fromkeys(int(part) for part in parts))


def write_ranks(ranks: tuple[int, ...]) -> str:
    """Write the text for ``read_ranks``."""
    return ",".join(map(str, ranks))


def read_silence(text: str) -> tuple[int, str]:
    """Read seconds and the action after them, as in ``15m`` and ``90s=stop``."""
    time, separator, action = text.partition("=")
    is_action = action in ("report", "stop") if separator else True
    return _read_time(time if is_action else "", text, ", 15m=stop"), action or "report"


def read_after(text: str) -> int:
    """Read seconds, as in ``5m``; 0 for ``never``."""
    return 0 if text == "never" else _read_time(text, text, ", never")


def write_after(seconds: int) -> str:
    """Write the text for ``read_after``."""
    return f"{seconds}s" if seconds else "never"


def _read_time(time: str, text: str, more: str) -> int:
    match = re.fullmatch(_TIME, time)
    seconds = int(match["number"]) * _UNITS[match["unit"]] if match else 0
    if not _LEAST <= seconds <= _LONGEST:
        msg = f"{text!r} is not a time from {_LEAST}s to 7d, as in 90s, 15m, 2h{more}"
        raise ValueError(msg)
    return seconds


def read_word(text: str) -> Word:
    """Read a value that may refer to variables: ``${SCRATCH}/logs``.

    ``format_word`` writes it.
    """
    if not text:
        msg = "it is empty; is the variable set that it comes from?"
        raise ValueError(msg)
    return parse_word(text)


def _checked(name: str) -> str:
    if problem := name_problem(name):
        raise ValueError(problem[0])
    return name
