"""What each rank of the `with_*` programs says in the end, as one line of JSON.

`sum` is that of (rank + 1) over all ranks, added up by the framework itself: with n
ranks it is n (n + 1) / 2, and 1 where each rank believes to be alone.
"""

import json
import os
from typing import SupportsFloat


def say(framework: str, rank: int, size: int, total: SupportsFloat) -> None:
    """Print the line in one write, so that those of other ranks do not mix with it."""
    line = {"framework": framework, "rank": rank, "size": size}
    line |= {"sum": float(total), "host": os.uname().nodename}
    os.write(1, (json.dumps(line) + "\n").encode())


def leave() -> None:
    """End this process at once: all is said, and the framework has ended its group.

    On a busy machine threads of PyTorch and the end of the interpreter race, and the rank
    would abort: "terminate called without an active exception".
    """
    os._exit(0)
