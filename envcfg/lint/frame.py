"""Where the follower of a script is: in which text, scope and shell, below what."""

from __future__ import annotations

from typing import NamedTuple

from envcfg.lint.model import Context
from envcfg.lint.state import State
from envcfg.lint.text import Flat, Scope, Text


class Frame(NamedTuple):
    """Where the follower is.

    Attributes:
        parent: number of the command that started this, or None.
        unit: number of the text, 0 that of the file.
        variant: see ``Command``.
    """

    flat: Flat
    scope: Scope
    state: State
    context: Context = Context()
    parent: int | None = None
    unit: int = 0
    variant: int = 0
    depth: int = 0
    folder: str = "."
    substitution: bool = False

    def inside(self, **changes: object) -> Frame:
        """Return a frame within this one, in which *changes* of the context hold."""
        context = self.context._replace(**changes)  # type: ignore[arg-type]
        return self._replace(context=context, depth=self.depth + 1)

    def under(self, condition: str, state: State) -> Frame:
        """Return the frame of a branch."""
        conditions = (*self.context.conditions, condition)[-8:]
        return self.inside(conditions=conditions)._replace(state=state)


class Redirects(NamedTuple):
    """Where a command reads and writes.

    Attributes:
        document: what a here-document or here-string gives it, or None.
        output: the file that it writes, if any.
    """

    document: Text | None = None
    output: Text = ()
