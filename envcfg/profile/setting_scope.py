"""The place where a setting is made: once on the host, once per node, or in every rank.

A value with a reference to a task's variable is made inside the container. So is a
value with a reference to such a setting, or to itself (``PATH=/opt/bin:${PATH}``),
because it extends the program's own value. All others are made in the host part, which
does not set them for itself: a library path for the program must not affect srun.

Inside, *node* and *rank* differ only if one task starts several ranks (torchrun).
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

from envcfg.backends.starters import STARTERS
from envcfg.common.errors import UsageError
from envcfg.profile.words import Word, references

Scope = Literal["host", "node", "rank"]
# envcfg's variables for each rank.
RANK = frozenset("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE".split())
# envcfg's variables for a node; the job may choose the meeting point.
NODE = frozenset("NODE_RANK MASTER_ADDR MASTER_PORT ENVCFG_CACHE".split())
# The starter's identity of a task, which is a rank unless the task starts several.
_NAMES = [starter.names for starter in STARTERS.values()]
_TASK = frozenset(chain.from_iterable(name.task for name in _NAMES))
TASK = _TASK.union(*(name.shared for name in _NAMES))
# The starter's variables of the step and of the task's node.
STEP = frozenset(chain.from_iterable(name.step for name in _NAMES))
_JOB = frozenset(chain.from_iterable(name.job for name in _NAMES))
# Variables that name the GPUs of a task.
MASKS = (
    *("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    *("GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
)
# Variables that depend on a task's cores and GPUs; the job may choose them.
CHOICE = frozenset(chain(MASKS, *(name.choice for name in _NAMES)))
# These cannot be set: the rank part and the number of the job depend on them. The
# starter fixes shared ones, see references.py.
FIXED = RANK | _TASK | STEP | _JOB | {"NODE_RANK"}
INSIDE = RANK | NODE | TASK | STEP | CHOICE


class CircleError(UsageError):
    """Settings that refer to each other in a circle: *names*, with the first one
    repeated."""

    remedy = "give one of them another value"

    def __init__(self, names: Sequence[str]) -> None:
        """Store the *names*."""
        msg = f"settings refer to each other in a circle: {' -> '.join(names)}"
        super().__init__(msg, hint=self.remedy)
        self.names = tuple(names)


def scopes(words: Mapping[str, Sequence[Word]]) -> dict[str, Scope]:
    """Return the scope of each name's value.

    Args:
        words: the possible values of each name.
    """
    refs = {
        name: {ref for word in values for ref in references(word)}
        for name, values in words.items()
    }
    inside = INSIDE | words.keys()
    scopes_found: dict[str, Scope] = {
        name: "node" if refs[name] & inside else "host" for name in refs
    }
    ranked = set(RANK | TASK)
    while more := {name for name in refs if name not in ranked and refs[name] & ranked}:
        ranked |= more
        scopes_found |= dict.fromkeys(more, "rank")
    return scopes_found


def in_order(words: Mapping[str, Sequence[Word]]) -> list[str]:
    """Return the names, each after those it refers to, otherwise in the given order.

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
