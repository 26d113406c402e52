"""The text that runs Ray in a task; tests/cluster/test_ray.py runs it with Ray."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from envcfg.job.script import ray_cluster
from envcfg.job.script.modules import render_module

MASKS = (
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)
# masks of the task, the mask that Ray reads, and the number of GPUs
TRANSLATED = [
    ({}, {}, None),
    ({"ROCR_VISIBLE_DEVICES": "0,1,2"}, {"HIP_VISIBLE_DEVICES": "0,1,2"}, 3),
    ({"ROCR_VISIBLE_DEVICES": ""}, {"HIP_VISIBLE_DEVICES": ""}, 0),
    ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "2,3"}, {"HIP_VISIBLE_DEVICES": "2,3"}, 2),
    ({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "0,1"}, {"HIP_VISIBLE_DEVICES": "4,5"}, 2),
    ({"ROCR_VISIBLE_DEVICES": "4,GPU-x", "HIP_VISIBLE_DEVICES": "1"}, {"HIP_VISIBLE_DEVICES": "GPU-x"}, 1),
    ({"CUDA_VISIBLE_DEVICES": "GPU-1a,GPU-2b"}, {"CUDA_VISIBLE_DEVICES": "GPU-1a,GPU-2b"}, 2),
    ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, {"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, None),
    ({"ZE_AFFINITY_MASK": "0,1,2,3"}, {"ZE_AFFINITY_MASK": "0,1,2,3"}, 4),
]  # fmt: skip


@pytest.fixture(autouse=True)
def no_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*MASKS, "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        monkeypatch.setenv(name, "")  # so that what a test leaves is removed after it
        monkeypatch.delenv(name)


@pytest.mark.parametrize(("given", "left", "count"), TRANSLATED)
def test_one_mask_is_left_that_ray_reads(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    left: dict[str, str],
    count: int | None,
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert ray_cluster.translate_masks() == count
    assert {name: os.environ[name] for name in MASKS if name in os.environ} == left


@pytest.mark.parametrize(
    ("reads", "left"),
    [("ROCR_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"), ("HIP_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")],
)  # fmt: skip
def test_the_mask_is_in_the_variable_that_the_ray_of_the_image_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reads: str, left: str
) -> None:
    folder = tmp_path / "ray/_private/accelerators"
    folder.mkdir(parents=True)
    (folder / "amd_gpu.py").write_text(
        "class AMDGPUAcceleratorManager:\n    @staticmethod\n"
        f"    def get_visible_accelerator_ids_env_var(): return {reads!r}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "4,5,6")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "0,2")
    assert ray_cluster.translate_masks() == 2
    found = {name: os.environ[name] for name in MASKS if name in os.environ}
    assert found == {left: "4,6"}


@pytest.mark.parametrize("inner", ["4", "0,2", "-1", "GPU-x", "0,"])
def test_masks_that_contradict_each_other_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], inner: str
) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "4,5")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", inner)
    with pytest.raises(SystemExit) as caught:
        ray_cluster.translate_masks()
    assert caught.value.code == 4
    assert (
        f"ROCR_VISIBLE_DEVICES=4,5 and HIP_VISIBLE_DEVICES={inner}"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("value", ["lo", "=lo", "none0,lo"])
def test_a_node_has_the_address_of_its_interface(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", value)
    assert ray_cluster.node_address("192.0.2.1") == "127.0.0.1"


@pytest.mark.parametrize("value", ["", "^lo", "none0"])
def test_without_an_interface_it_has_the_address_towards_the_first_node(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", value)
    assert ray_cluster.node_address("127.0.0.1") == "127.0.0.1"


def test_memory_is_at_most_that_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_MEM_PER_NODE", raising=False)
    whole = ray_cluster.job_memory()
    assert 0 < whole <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "64")
    assert ray_cluster.job_memory() == 64 << 20


def test_a_closed_port_is_not_a_silent_node() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ray_cluster.is_listening("127.0.0.1", port) is True
    assert ray_cluster.is_listening("127.0.0.1", port) is False


def test_the_module_contains_the_text() -> None:
    assert Path(ray_cluster.__file__).read_text().rstrip() in render_module("ray")
    assert "@ray_cluster.py@" not in render_module("ray")


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a task of a job with one node, without Ray."""
    argv = [sys.executable, "-S", "-c", Path(ray_cluster.__file__).read_text(), *words]
    return subprocess.run(
        argv, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip


def test_an_image_without_ray_is_an_error_that_says_so() -> None:
    name = f"{os.getpid()}"
    done = run("1", "0", "127.0.0.1", "23456", name, "true")
    assert done.returncode == 4
    assert "No module named" in done.stderr
    assert "envcfg: error: Ray has ended on" in done.stderr
    assert not Path(f"/tmp/ray-{name}").exists()


def test_a_head_that_never_answers_is_an_error_after_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    name = f"{os.getpid()}-1"
    done = run("2", "1", "127.0.0.1", port, name, "true", ENVCFG_RAY_SECONDS="1")
    assert done.returncode == 4
    assert (
        f"the head of Ray at 127.0.0.1:{port} does not answer after 1 s" in done.stderr
    )
    assert not Path(f"/tmp/ray-{name}").exists()


def test_a_port_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = run("1", "0", "127.0.0.1", port, f"{os.getpid()}-2", "true")
    assert done.returncode == 4
    assert f"port {port} of" in done.stderr
    assert "export MASTER_PORT=N" in done.stderr


def test_a_folder_of_another_user_or_a_link_is_refused(tmp_path: Path) -> None:
    folder = Path(f"/tmp/ray-{os.getpid()}-3")
    folder.symlink_to(tmp_path)
    try:
        done = run("1", "0", "127.0.0.1", "23456", folder.name[4:], "true")
    finally:
        folder.unlink()
    assert done.returncode == 4
    assert "cannot be made: File exists" in done.stderr


def test_a_signal_during_the_wait_ends_the_task() -> None:
    text = Path(ray_cluster.__file__).read_text()
    name = f"{os.getpid()}-4"
    argv = [sys.executable, "-S", "-c", text, "2", "1", "127.0.0.1", "1", name, "true"]
    task = subprocess.Popen(argv)
    while not Path(f"/tmp/ray-{name}").exists():
        assert task.poll() is None
    task.send_signal(signal.SIGTERM)
    assert task.wait(timeout=30) == 143
    assert not Path(f"/tmp/ray-{name}").exists()


# answers of a node, turn by turn: the turn at which the task ends
ANSWERS = {
    (None,) * 6: 6,
    (None,) * 5 + (True,) + (None,) * 5: None,
    (None,) * 5 + (False,) + (None,) * 6: 12,
    (True,) * 20: None,
}


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_node_that_does_not_answer_for_six_turns_ends_the_task(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: tuple[bool | None, ...],
) -> None:
    node = ray_cluster.Node(["2", "0", "n1", "1", "name", "true"])
    node.name = "n1"
    ended = None
    for turn, answer in enumerate(answers, start=1):
        monkeypatch.setattr(ray_cluster, "is_listening", lambda *_, a=answer: a)
        try:
            node.check_node("n2", {}, "10.0.0.2", 7)
        except SystemExit:
            ended = turn
            break
    assert ended == ANSWERS[answers]
    words = "n1 does not reach Ray on n2 any more"
    assert (words in capsys.readouterr().err) == (ended is not None)
