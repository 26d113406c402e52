"""Which variables are known in a task only, and which of them nobody can set; pure data."""

from itertools import chain

from envcfg.starters import STARTERS

# What envcfg tells each rank of itself.
RANK = frozenset("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE".split())
# What it tells all of a node; where to meet, the job may choose.
NODE = frozenset("NODE_RANK MASTER_ADDR MASTER_PORT ENVCFG_CACHE".split())
# The starter's identity of a task: of a rank, unless that task starts several.
_TASK = frozenset(chain.from_iterable(each.names.task for each in STARTERS.values()))
_SHARED = frozenset(
    chain.from_iterable(each.names.shared for each in STARTERS.values())
)
TASK = _TASK | _SHARED
# What the starter says of the step and of the task's node.
STEP = frozenset(chain.from_iterable(each.names.step for each in STARTERS.values()))
_JOB = frozenset(chain.from_iterable(each.names.job for each in STARTERS.values()))
# By which the GPUs of a task are named.
MASKS = (
    *("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    *("GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
)
# What is set in a task by its cores and GPUs; a job may choose.
CHOICE = frozenset(chain(MASKS, *(each.names.choice for each in STARTERS.values())))
# Nobody can set these: the rank part follows them, and the number of the job. What is
# shared is fixed by the starter, as references.py says.
FIXED = RANK | _TASK | STEP | _JOB | {"NODE_RANK"}
INSIDE = RANK | NODE | TASK | STEP | CHOICE
