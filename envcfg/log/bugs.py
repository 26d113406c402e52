"""A bug of envcfg in one part of a check: it is reported, and the other parts go on."""

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from envcfg.common.characters import one_line
from envcfg.common.errors import EnvcfgError
from envcfg.log.verdict import Bug

T = TypeVar("T")
D = TypeVar("D")
_MOST = 16  # bugs to keep
_FRAMES = 4  # functions that a bug names, the innermost first
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
REMEDY = "report the lines that envcfg has written to stderr to its developers"


class Bugs:
    """Runs parts of a check, and keeps the bugs that stop them."""

    def __init__(self, bugs: Sequence[Bug] = ()) -> None:
        """Begin with *bugs* of earlier parts."""
        self.found = list(bugs)  # the bugs, each once

    def attempt(self, part: str, function: Callable[[], T], default: D) -> T | D:
        """Return the result of *function*; *default* if a bug stops it.

        Errors that a user can mend are no bugs and are raised.

        Args:
            part: the subject of *function*, as a noun phrase for users.
            function: the part of the check.
            default: an empty result, with which the other parts can go on.
        """
        try:
            return function()
        # An error of the user is an answer, and stops the command with its hint.
        except EnvcfgError:
            raise
        except Exception as err:  # noqa: BLE001  # any bug; it is reported
            self.add(part, err)
            return default

    def add(self, part: str, err: Exception) -> None:
        """Store the bug *err* of *part*, unless the same bug has stopped another part."""
        bug = Bug(part, one_line(repr(err)), _place(err.__traceback__))
        # One bug often stops several parts, and needs one report.
        if len(self.found) < _MOST and bug[1:] not in [bug[1:] for bug in self.found]:
            self.found.append(bug)


def _place(trace: TracebackType | None) -> str:
    """Return the innermost functions of envcfg in *trace*, with file and line."""
    places = []
    while trace:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(_PACKAGE):
            function = trace.tb_frame.f_code.co_name
            places.append(f"{name[len(_PACKAGE) :]}:{trace.tb_lineno} {function}")
        trace = trace.tb_next
    return ", ".join(places[: -_FRAMES - 1 : -1])
