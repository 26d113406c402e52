"""Where a setting is made: once on the host, once per node, or in every rank.

A value that refers to something only a task knows is made inside the container. So is
one that refers to another setting, which stands there, or to itself
(``PATH=/opt/bin:${PATH}``): what it extends is the program's own. All others are made in
the host part, which sets none of them for itself: a library path for the program must
not reach srun.

Inside, *node* and *rank* differ only where one task starts several ranks (torchrun).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

from envcfg.errors import UsageError
from envcfg.profile.words import Word, references
from envcfg.starters import STARTERS

Scope = Literal["host", "node", "rank"]
# What envcfg tells each rank of itself.
RANK = frozenset("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE".split())
# What it tells all of a node; where to meet, the job may choose.
NODE = frozenset("NODE_RANK MASTER_ADDR MASTER_PORT ENVCFG_CACHE".split())
# The starter's identity of a task: of a rank, unless that task starts several.
_NAMES = [each.names for each in STARTERS.values()]
_TASK = frozenset(chain.from_iterable(each.task for each in _NAMES))
TASK = _TASK.union(*(each.shared for each in _NAMES))
# What the starter says of the step and of the task's node.
STEP = frozenset(chain.from_iterable(each.step for each in _NAMES))
_JOB = frozenset(chain.from_iterable(each.job for each in _NAMES))
# By which the GPUs of a task are named.
MASKS = (
    *("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    *("GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
)
# What is set in a task by its cores and GPUs; a job may choose.
CHOICE = frozenset(chain(MASKS, *(each.choice for each in _NAMES)))
# Nobody can set these: the rank part follows them, and the number of the job. What is
# shared is fixed by the starter, as references.py says.
FIXED = RANK | _TASK | STEP | _JOB | {"NODE_RANK"}
INSIDE = RANK | NODE | TASK | STEP | CHOICE


class CircleError(UsageError):
    """Settings that refer to each other in a circle: *names*, the first one again last."""

    remedy = "give one of them another value"

    def __init__(self, names: Sequence[str]) -> None:
        """Keep the *names*."""
        msg = f"settings refer to each other in a circle: {' -> '.join(names)}"
        super().__init__(msg, hint=self.remedy)
        self.names = tuple(names)


def scopes(words: Mapping[str, Sequence[Word]]) -> dict[str, Scope]:
    """Return for each name where its value is made.

    Args:
        words: each name with the values it can take.
    """
    refs = {
        name: {ref for word in values for ref in references(word)}
        for name, values in words.items()
    }
    inside = INSIDE | words.keys()
    found: dict[str, Scope] = {
        name: "node" if refs[name] & inside else "host" for name in refs
    }
    ranked = set(RANK | TASK)
    while more := {name for name in refs if name not in ranked and refs[name] & ranked}:
        ranked |= more
        found |= dict.fromkeys(more, "rank")
    return found


def in_order(words: Mapping[str, Sequence[Word]]) -> list[str]:
    """Return the names so that each comes after those it refers to, else as given.

    Raises:
        CircleError: if settings refer to each other in a circle.
    """
    done: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name not in words:
            return
        if name in path:
            raise CircleError((*path[path.index(name) :], name))
        for word in words[name]:
            for ref in references(word):
                if ref != name:
                    visit(ref, (*path, name))
        done[name] = None

    for name in words:
        visit(name, ())
    return list(done)
