"""Answers of NCCL's RAS, in the form of src/ras/client_support.cc."""

from __future__ import annotations

from ras_answers import answer, missing, rank

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
