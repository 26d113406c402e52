"""Show what Ray gives to a task on each node, then end by the code in the first argument.

With "wait" as second argument, wait for a signal on the head while an actor on the other node
works, and ask that actor once more before the end. With "idle", sleep.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from types import FrameType

import ray
from ray._private.accelerators.amd_gpu import AMDGPUAcceleratorManager as Amd
from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager as Nvidia


def node_name() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
class Seen:
    def show(self) -> dict[str, object]:
        manager = Nvidia if "CUDA_VISIBLE_DEVICES" in os.environ else Amd
        names = (
            "MASTER_ADDR",
            "RANK",
            "NCCL_SOCKET_IFNAME",
            "ROCR_VISIBLE_DEVICES",
            "VLLM_HOST_IP",
        )
        return {
            "node": node_name(),
            "address": ray.util.get_node_ip_address(),
            "gpus": manager.get_current_process_visible_accelerator_ids(),
            **{name: os.environ.get(name) for name in names},
        }


ray.init(logging_level=40)
nodes = [node for node in ray.nodes() if node["Alive"]]
gpus = int(nodes[0]["Resources"].get("GPU", 0))
actors = [Seen.options(num_gpus=gpus).remote() for _ in nodes]
for shown in ray.get([actor.show.remote() for actor in actors]):
    print(json.dumps(shown), flush=True)
print(
    json.dumps({"resources": ray.cluster_resources(), "head": node_name()}),
    flush=True,
)
if sys.argv[2:] == ["idle"]:
    print("ready", flush=True)
    time.sleep(600)
elif sys.argv[2:] == ["wait"]:
    got = []

    def receive(number: int, _frame: FrameType | None) -> None:
        got.append(number)

    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, receive)
    print("ready", flush=True)
    while not got:
        time.sleep(0.1)
    shown = ray.get([actor.show.remote() for actor in actors])
    print(
        f"{len(shown)} answer after {[signal.Signals(number).name for number in got]}",
        flush=True,
    )
sys.exit(int(sys.argv[1]))
