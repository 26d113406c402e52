"""What is too long for Linux to start, found when the script is made; pure.

The job finds the rest (``envcfg_lengths`` in the module core): values that refer to
its variables are known there only.
"""

from __future__ import annotations

import os

from envcfg.errors import UsageError

# MAX_ARG_STRLEN of execve(2), 32 pages of 4096 bytes, less the zero at the end.
MOST_BYTES = 32 * 4096 - 1


def checked_part(text: str, name: str = "", more: str = "") -> str:
    """Return the text of a rank part: with *more* one argument, maybe a *name*'s value.

    Raises:
        UsageError: if it is longer than an argument can be.
    """
    size = len(os.fsencode(more + (f"{name}={text}" if name else text)))
    if size > MOST_BYTES:
        msg = (
            "what each rank does first, with the settings that are made there, has "
            f"{size} bytes, and an argument can have {MOST_BYTES}"
        )
        raise UsageError(msg, hint="put long texts into a file that the program reads")
    return text
