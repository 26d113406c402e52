"""Answers of NCCL's RAS, in the form of src/ras/client_support.cc."""

from __future__ import annotations

import json
from typing import Any

HEAD = """\
NCCL version 2.27.7 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
"""
OK = f"""{HEAD}\
    0         1         2         4         8         8   RUNNING      OK

Errors
======

Warnings
========

"""
BEHIND = f"""{HEAD}\
    0         1         2         4         8         8   RUNNING  MISMATCH
    1         4         2         1         2         8   RUNNING      OK

Errors
======

Warnings
========

#0-0 (6ddb3c7f1a2b4c5d) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 120
  Rank 5 has launched up to operation 119 -- GPU 1 managed by process 4711 on node 10.0.0.2

"""
DEAD = f"""{HEAD}\
    0         1         2         4         8         7   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 4712 on node 10.0.0.2 managing GPU 2

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 4711 on node 10.0.0.2 managing GPUs 1,2 (NVML 5,6)

#0-0 (6ddb3c7f1a2b4c5d) INCOMPLETE
  Missing communicator data from 2 ranks
  Rank 5 -- GPU 1 (NVML 5) managed by process 4711 on node 10.0.0.2
  Rank 6 -- [process information not found]

Warnings
========

TIMEOUT
  Encountered 1 communication timeout while gathering communicator data

"""
FAILED = f"""{HEAD}\
    0         1         2         4         8         8     ABORT  ERROR,MISMATCH

Errors
======

#0-0 (00003c7f1a2b4c5d) ERROR
  Asynchronous errors on 2 ranks
  2 ranks reported Remote process error
  Rank 2 -- GPU 2 managed by process 4003 on node 10.0.0.1
  Rank 3 -- GPU 3 managed by process 4004 on node 10.0.0.1

Warnings
========

#0-0 (00003c7f1a2b4c5d) MISMATCH
  Communicator ranks have different status
  6 ranks have status RUNNING
  2 ranks have status ABORT
  Rank 2 -- GPU 2 managed by process 4003 on node 10.0.0.1
  Rank 3 -- GPU 3 managed by process 4004 on node 10.0.0.1
  Communicator ranks have different Broadcast operation counts
  7 ranks have not launched any operations
  Rank 0 has launched up to operation 1 -- GPU 0 managed by process 4001 on node 10.0.0.1

"""
UNEVEN = OK.replace(
    """\
  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8
""",
    """\
  Nodes  Processes         GPUs
          per node  per process
      1          4            1
      1          3            1

  Nodes  Processes         GPUs
(total)    (total)      (total)
      2          7            7

The outlier node:
  Node 10.0.0.2 running processes 1,2,3
""",
)
NONE = (
    OK.partition("Group ")[0] + "No communicator data collected!\n\nErrors\n======\n\n"
)


def rank(
    number: int, *, pid: int = 4000, host: str = "10.0.0.1", **more: int | bool
) -> dict[str, Any]:
    """Return what JSON says of a rank; *more* are operations and parts of its status."""
    counts = {"Broadcast": 0, "AllReduce": 120, "AllGather": 0}
    status = {
        "init_state": 0,
        "async_error": 0,
        "finalize_called": False,
        "destroy_flag": False,
        "abort_flag": False,
    }
    for key, value in more.items():
        (status if key in status else counts)[key] = value
    return {
        "rank": number,
        "host": host,
        "pid": pid + number,
        "cuda_dev": number % 4,
        "nvml_dev": number % 4,
        "status": status,
        "collective_counts": counts,
    }


def missing(number: int, *, unresponsive: bool, dead: bool) -> dict[str, Any]:
    """Return what JSON says of a rank of which there is no data."""
    told = rank(number, host="10.0.0.2")
    del told["collective_counts"]
    told["status"] = {"unresponsive": unresponsive, "considered_dead": dead}
    return told


def answer(
    ranks: list[dict[str, Any]], absent: list[dict[str, Any]], **more: object
) -> str:
    """Return an answer in JSON with one communicator; *more* are keys of the whole."""
    comm = {
        "hash": "0x3c7f1a2b4c5d",
        "secondary_hash": "0x1:0x2",
        "size": len(ranks) + len(absent),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(absent),
        "ranks": ranks,
        "missing_ranks": absent,
    }
    whole = {
        "nccl_version": "2.28.7+cuda13.0",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-03-04 05:06:07",
        "communicators_count": 1,
        "communicators": [comm],
        "ras": {"collection_time_sec": 0.003, "timeouts_count": 0},
        **more,
    }
    return json.dumps(whole, indent=2)


EIGHT = [rank(each) for each in range(8)]
JSON_OK = answer(EIGHT, [])
JSON_BEHIND = answer(
    [*EIGHT[:5], rank(5, AllReduce=119, host="10.0.0.2"), *EIGHT[6:]], []
)
JSON_DEAD = answer(
    EIGHT[:5],
    [
        missing(5, unresponsive=True, dead=True),
        missing(6, unresponsive=True, dead=False),
        missing(7, unresponsive=False, dead=False),
    ],
)
JSON_FAILED = answer([*EIGHT[:7], rank(7, abort_flag=True, async_error=6)], [])
