"""Flight Recorder dumps of hangs with known culprits: the first line names these ranks.

The forms are those of public reports; the source of each stands beside it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcfg.cli import main

Dumps = dict[int, list[dict[str, Any]]]
Groups = dict[str, list[int]]


def call(
    group: str,
    seq: int,
    name: str = "all_reduce",
    state: str = "scheduled",
    **more: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Return one operation of a dump; *seq* is also the number of a transfer."""
    is_p2p = "->" in name or "<-" in name
    return {
        "process_group": [group, group.rstrip("0123456789")],
        "collective_seq_id": 26 if is_p2p else seq,
        "p2p_seq_id": seq if is_p2p else 0,
        "record_id": seq,
        "profiling_name": f"nccl:{name}",
        "input_sizes": [[16]],
        "input_dtypes": ["Float"],
        "state": state,
        "retired": state == "completed",
        "is_p2p": is_p2p,
        **more,
    }


def calls(group: str, first: int, last: int, *, ended: int = 0) -> list[dict[str, Any]]:
    """Return the calls *first* to *last*, of which those up to *ended* have ended."""
    return [
        call(group, seq, state="completed" if seq <= ended else "scheduled")
        for seq in range(first, last + 1)
    ]


def parallel() -> Groups:
    """Return the groups of 16 ranks in Megatron: pipelines, tensor and expert groups."""
    groups = {f"PIPELINE{rank}": [*range(rank, 16, 4)] for rank in range(4)}
    groups |= {f"TENSOR{rank}": [rank, rank + 1] for rank in range(0, 16, 2)}
    return groups | {
        f"EXPERT{rank}": [*range(rank, rank + 4)] for rank in range(0, 16, 4)
    }


def gpu_error() -> tuple[Groups, Dumps]:
    """Return dumps of open operations: the GPUs of ranks 12 and 14 stand still."""
    dumps: Dumps = {}
    for rank in range(12):
        stage, pipeline = rank // 4, f"PIPELINE{rank % 4}"
        dumps[rank] = [
            call(pipeline, 11984, f"recv {stage}<-3"),
            *calls(f"TENSOR{rank & ~1}", 39407, 39416),
            *calls(f"EXPERT{rank & ~3}", 20542, 20544),
        ]
    for rank, first in ((12, 42806), (13, 42818), (14, 42806), (15, 42818)):
        expert = 20530 if rank in (12, 14) else 20537
        last = 20536 if rank == 12 else 20538
        dumps[rank] = [
            *calls(f"TENSOR{rank & ~1}", first, 42817 if rank == 12 else 42826),
            *calls("EXPERT12", expert, last),
        ]
    return parallel(), dumps


def frozen_process() -> tuple[Groups, Dumps]:
    """Return dumps of open operations: the processes of ranks 10 and 15 record none."""
    groups, dumps = gpu_error()
    for rank in range(8, 16):
        dumps[rank] = [
            *calls(f"EXPERT{rank & ~3}", 20947, 20952),
            *calls(f"TENSOR{rank & ~1}", 31443, 31451),
        ]
    dumps[10] = dumps[15] = []
    return groups, dumps


def pipeline() -> tuple[Groups, Dumps]:
    """Return three stages: stage 0 computes for ever, and the others wait in turn."""
    return {"dp": [1, 2], "pp": [0, 1]}, {
        0: calls("pp", 1, 3, ended=3),
        1: [*calls("dp", 1, 3, ended=3), call("pp", 9, "recv 1<-0")],
        2: calls("dp", 1, 4, ended=3),
    }


def of_all(
    size: int, dumps: Callable[[int], list[dict[str, Any]]]
) -> tuple[Groups, Dumps]:
    return {"default_pg": [*range(size)]}, {rank: dumps(rank) for rank in range(size)}


# Name: (groups and dumps, start of the first line).
CASES: dict[str, tuple[tuple[Groups, Dumps], str]] = {
    # NVIDIA/nvidia-resiliency-ext, tests/attribution/unit/fr_traces/gpu_error_1st
    "gpu error": (gpu_error(), "broken: ranks 12,14: are still in number 42806 of TENSOR"),
    # ... and lock_gil_2nd
    "frozen process": (frozen_process(), "broken: ranks 10,15: did not call number 20947 of EXPERT"),
    # pytorch/tutorials, flight_recorder_tutorial.rst
    "one of two": (
        of_all(2, lambda rank: calls("default_pg", 1, 5 - rank, ended=4)),
        "broken: rank 1: did not call number 5 of default_pg",
    ),
    # pytorch/pytorch#140969: most ranks are missing, and the buffers are full
    "most ranks": (
        of_all(8, lambda rank: calls("default_pg", 31000, 31117 if rank < 3 else 31116, ended=31116)),
        "broken: ranks 3-7: did not call number 31117 of default_pg",
    ),
    # pytorch/pytorch#196968: the rank with the exception writes no dump
    "no dump": (
        ({"default_pg": [*range(4)]}, {rank: calls("default_pg", 1, 2, ended=1) for rank in (0, 1, 3)}),
        "broken: rank 2: has no dump, and ranks 0-1,3 wait in number 2 of default_pg",
    ),
    # pytorch/pytorch#137256: ranks 0 and 1 are in another group than the rest
    "another group": (
        (
            {"tp": [0, 1], "default_pg": [*range(8)]},
            {
                rank: [*calls("default_pg", 1, 1, ended=1), *(calls("tp", 7, 7) if rank == 0 else [])]
                if rank < 2
                else calls("default_pg", 1, 2, ended=1)
                for rank in range(8)
            },
        ),
        "broken: rank 1: did not call number 2 of default_pg",
    ),
    # sgl-project/sglang#33289: two ranks wait for each other in two groups
    "each other": (
        (
            {"tp": [0, 1], "cpu": [0, 1]},
            {
                0: [*calls("cpu", 1, 1, ended=1), *calls("tp", 1, 2, ended=1)],
                1: [*calls("tp", 1, 1, ended=1), *calls("cpu", 1, 2, ended=1)],
            },
        ),
        "broken: ranks 0-1: did not call number 2 of ",
    ),
    # Megatron's pipelines: the culprit is in no collective at all
    "pipeline": (pipeline(), "broken: rank 0: "),
    # The root of a broadcast ends early, and one rank never comes.
    "broadcast": (
        of_all(
            4,
            lambda rank: [
                *calls("default_pg", 1, 1, ended=1),
                *([] if rank == 2 else [call("default_pg", 2, "broadcast", "scheduled" if rank else "completed")]),
            ],
        ),
        "broken: rank 2: did not call number 2 of default_pg, broadcast",
    ),
    # MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#117: numbers of a long run
    "long run": (
        of_all(2, lambda rank: calls("default_pg", 288000, 288685 + rank, ended=288685)),
        "broken: rank 0: did not call number 288686 of default_pg",
    ),
    # pytorch test_fr_analysis.py: two ranks call something else under one number
    "mismatch": (
        of_all(4, lambda rank: [call("default_pg", 3, "all_reduce" if rank else "broadcast")]),
        "broken: rank 0: called broadcast of 16 Float as number 3 of default_pg",
    ),
    # Everyone is in one collective: the network or a GPU, and no rank to blame.
    "everyone": (
        of_all(4, lambda _: calls("default_pg", 1, 2, ended=1)),
        "inconclusive: whether the job hangs in number 2 of default_pg",
    ),
    # A job that ran to its end leaves dumps without an open operation.
    "ended": (of_all(2, lambda _: calls("default_pg", 1, 5, ended=5)), "inconclusive: "),
}  # fmt: skip


def write(folder: Path, groups: Groups, dumps: Dumps) -> None:
    for rank, entries in dumps.items():
        config = {
            name: {"name": name, "desc": name, "ranks": str(ranks)}
            for name, ranks in groups.items()
            if rank in ranks
        }
        dump = {"version": "2.9", "pg_config": config, "entries": entries}
        # The name of the node may stand before the rank (pytorch/pytorch#140879).
        name = f"nccl_trace_rank_container-node{rank // 8:02}_{rank}"
        (folder / name).write_text(json.dumps(dump))


@pytest.mark.parametrize("case", CASES)
def test_the_first_line_names_the_culprits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, case: str
) -> None:
    (groups, dumps), line = CASES[case]
    write(tmp_path, groups, dumps)
    code = main(["check-log", str(tmp_path)])
    first = capsys.readouterr().out.partition("\n")[0]
    assert first.startswith(line)
    assert code == (1 if line.startswith("broken") else 3)


def test_an_empty_dump_is_not_said_to_have_called_a_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(tmp_path, *frozen_process())
    main(["check-log", str(tmp_path)])
    assert "the last was 0" not in capsys.readouterr().out


@pytest.mark.parametrize(("ago", "code"), [(0.5, 3), (30.0, 1)])
def test_ranks_that_are_apart_for_a_moment_are_no_hang(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ago: float, code: int
) -> None:
    """As in a dump of a job that runs, which its debug server writes on request."""
    groups, dumps = CASES["broadcast"][0]
    created = int((time.time() - ago) * 1e9)
    stamped = {
        rank: [{**entry, "time_created_ns": created} for entry in entries]
        for rank, entries in dumps.items()
    }
    write(tmp_path, groups, stamped)
    assert main(["check-log", str(tmp_path)]) == code
    assert "rank 2" in capsys.readouterr().out.partition("\n")[0]
