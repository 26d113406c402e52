"""Logs of oneCCL, which Intel GPUs have in place of NCCL: its errors are told, a network never."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import envcfg

_START = "2026:03:05-12:22:01:"
LINES = {
    "settings": f"{_START}(4711) |CCL_WARN| value of CCL_ATL_TRANSPORT changed to be ofi (default:mpi)",
    "of a rank": f"{_START} 4711:[0] |CCL_INFO| CCL_KERNEL_DEBUG: 0",
    "behind a launcher's words": f"x4117c4s5b0n0 3: {_START}(  670) |CCL_WARN| no membind support for NUMA node 0",
    "fast words": f"{_START}(4711) |CCL_INFO| NET/AWS Libfabric : provider is cxi",
}


@pytest.mark.parametrize("line", sorted(LINES))
@pytest.mark.parametrize("more", ["", "--strict", "--expect-network=AWS Libfabric"])
def test_a_log_of_oneccl_is_at_most_inconclusive(
    tmp_path: Path, line: str, more: str
) -> None:
    path = tmp_path / "a.out"
    path.write_text(f"{LINES[line]}\nepoch 1 loss 0.3\nepoch 2 loss 0.2\ndone\n")
    done = envcfg("check-log", str(path), *filter(None, [more]))
    assert done.code == (1 if more == "--strict" else 3), done.text
    assert done.text.startswith("inconclusive: ")
    assert "oneccl-log" in done.text


def test_an_exception_of_oneccl_ends_the_job(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text(
        f"{LINES['settings']}\n"
        f"{_START}(4711) |CCL_ERROR| exec.cpp:134 start_workers: condition failed\n"
        "RuntimeError: oneCCL: exec.cpp:134 start_workers: EXCEPTION: failed to start worker # 0\n"
    )
    done = envcfg("check-log", str(path))
    assert done.code == 1
    assert done.text.startswith("broken: ")
    assert "oneccl-exception" in done.text


@pytest.mark.parametrize("line", sorted(LINES))
def test_what_to_do_next_is_said_in_variables_of_oneccl(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "a.out"
    path.write_text(f"{LINES[line]}\nepoch 1 loss 0.3\ndone\n")
    done = envcfg("check-log", str(path))
    assert "NCCL_DEBUG" not in done.text
    assert "CCL_LOG_LEVEL=info" in done.text.partition("to find out:")[2]
    path.write_text("RuntimeError: oneCCL: exec.cpp:134 start: EXCEPTION: failed\n")
    assert "NCCL_DEBUG" not in envcfg("check-log", str(path)).text
    path.write_text("epoch 1 loss 0.3\ndone\n")
    assert "NCCL_DEBUG=INFO" in envcfg("check-log", str(path)).text
