"""Answers of NCCL's RAS in JSON, in the form of src/ras/client_support.cc of 2.28.7."""

from __future__ import annotations

import json
from typing import Any


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
