"""What is particular to a container runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from envcfg.bind import Bind


class Runtime(NamedTuple):
    """What is particular to a container runtime.

    Attributes:
        name: also that of its module.
        program: its name on PATH.
        template: of ``bash/templates/runtimes``, which enters a container. Those that share
            one can be tried one after another in the job.
        is_reference: whether an image's text is to be fetched, not opened as a path.
        is_pulled: whether each rank that begins would fetch what the text names.
        misspelt: how a text that looks like a reference, and is none, is written; or None.
        format_bind: the text of a bind as this runtime takes it; ValueError: it cannot.
        pull: a command that makes a file of a reference, for hints.
        unpacked: names of which an image that is a folder has one at least.
    """

    name: str
    program: str
    template: str
    is_reference: Callable[[str], bool]
    is_pulled: Callable[[str], bool]
    misspelt: Callable[[str], str | None]
    format_bind: Callable[[Bind], str]
    pull: str
    unpacked: tuple[str, ...] = ()
