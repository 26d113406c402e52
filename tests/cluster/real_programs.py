"""Programs of `knowledge/programs.yaml` that start over two nodes from their own wheels.

Each has a lock of its own; the rest of its packages is in the image. What its ranks would do
is replaced by `programs/in_ranks`, in which each rank says who it is.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from cluster import Cluster
from job import Job
from tool import ROOT, install_locked

NODES = ("-N2", "--ntasks-per-node=1", "--gpus-per-node=2", "--partition=standard-g", "--time=5")  # fmt: skip


class Program(NamedTuple):
    """A command that starts ranks.

    Attributes:
        row: its row in the table.
        package: whose version is shown.
        command: ``{script}`` is a program of its own ranks, ``{config}`` an empty file.
        lock: of `requirements/`, with the package; empty: it is in the image.
        runs: a part of the command line of each rank.
        variables: what the job sets, stand-ins included.
        standin: what is not the real thing, in words.
        ranks: of each node; 1: it takes all GPUs of its node, and its own parser reads its
            arguments in place of the program.
    """

    row: str
    package: str
    command: str
    lock: str = ""
    runs: str = "script.py"
    variables: str = ""
    standin: str = ""
    ranks: int = 2

    @property
    def version(self) -> str:
        """Return the locked version of its package."""
        folder = ROOT / "requirements"
        names = (self.lock,) if self.lock else ("images-cuda", "sources")
        for name in names:
            for line in (folder / f"{name}.txt").read_text().splitlines():
                if line.startswith(f"{self.package}=="):
                    return line.split("==")[1].split()[0]
        msg = f"no lock has {self.package}"
        raise LookupError(msg)


SERVER = {"ranks": 1, "standin": "all but the parser of its arguments"}
GPUS = {"variables": "STANDIN_GPUS=2", "standin": "number of GPUs"}
TRL = Program("trl", "trl", "trl sft --model_name_or_path m --use_cpu --multi_gpu --output_dir /tmp/x", "trl", "trl/scripts/sft.py")  # fmt: skip
PROGRAMS = (
    Program("torchrun", "torch", "torchrun {script}"),
    Program("torch-launch", "torch", "python3 -m torch.distributed.launch {script}"),
    Program("accelerate", "accelerate", "accelerate launch --multi_gpu {script}", variables="ACCELERATE_USE_CPU=1"),
    Program("deepspeed", "deepspeed", "deepspeed {script}"),
    Program("fabric", "lightning", "fabric run {script}"),
    TRL,
    Program("axolotl", "axolotl", "axolotl train {config} -- --multi_gpu", "axolotl", "axolotl.cli.train"),
    Program("axolotl-torchrun", "axolotl", "axolotl train {config} --launcher torchrun", "axolotl", "axolotl.cli.train"),
    Program("llamafactory", "llamafactory", "llamafactory-cli train {config}", "llamafactory", "llamafactory/launcher.py"),
    Program("ms-swift", "ms-swift", "swift sft --model m", "ms-swift", "swift/cli/sft.py"),
    Program("ms-swift", "ms-swift", "swift rlhf --model m", "ms-swift", "swift/cli/rlhf.py"),
    Program("composer", "mosaicml", "composer --stdout rank{{rank}}.out {script}", "composer", variables="STANDIN_PACKAGES=torchvision,mcli", standin="torchvision, mcli"),
    Program("oumi-distributed", "oumi", "oumi distributed torchrun -m oumi train -c {config}", "oumi", "-m oumi train", **GPUS),
    Program("oumi-distributed", "oumi", "oumi distributed accelerate launch --multi_gpu -m oumi train -c {config}", "oumi", "-m oumi train", **GPUS),
    Program("sglang", "sglang", "sglang serve --model-path m --tp 4", "sglang", "serve", **SERVER),
    Program("vllm", "vllm", "vllm serve m --tensor-parallel-size 4", "vllm", "serve", "VLLM_TARGET_DEVICE=cpu", **SERVER),
)  # fmt: skip


def install(cluster: Cluster, program: Program) -> Path:
    """Install what its lock names, once; return the folder.

    Raises:
        RuntimeError: pip cannot.
    """
    library = cluster.home / "real_programs" / (program.lock or "none")
    library.mkdir(parents=True, exist_ok=True)
    (library / "config.yaml").write_text("{}\n")
    (library / "script.py").touch()
    if program.lock and not (library / "installed").exists():
        shutil.rmtree(library / "packages", ignore_errors=True)
        install_locked(program.lock, library / "packages", "--no-deps")
        (library / "installed").touch()
    return library


def start(cluster: Cluster, tool: Path, library: Path, program: Program) -> Job:
    """Run the command in a job of two nodes by `envcfg wrap`, to its end."""
    packages = library / "packages"
    words = program.command.format(
        script=library / "script.py", config=library / "config.yaml"
    )
    in_ranks = tool.parent / "programs/in_ranks"
    ranks, path = f"--ranks {program.ranks}", f"{in_ranks}:{packages}"
    if program.ranks == 1:
        name = words.split()[0]
        text = (tool.parent / f"programs/{name}_arguments.py").read_text()
        (library / name).write_text(f"#!/usr/bin/env python3\n{text}")
        (library / name).chmod(0o755)
        words, ranks, path = f"{library}/{words}", "", str(packages)
    elif program.lock:
        words = f"{packages}/bin/{words}"
    given = " ".join(f"--set {pair}" for pair in program.variables.split())
    return cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {cluster.frameworks_image} --runtime apptainer "
        f"--fact rocm=6.2.4 --bind {library} --bind {in_ranks} {ranks} "
        f"--set PYTHONPATH={path} --set OMP_NUM_THREADS=1 "
        f"--set GLOO_SOCKET_IFNAME=hsn0 --set HF_HUB_OFFLINE=1 {given} -- {words} "
        "|| echo exit $?)\n",
        *NODES,
        timeout=120,
    )


def shown_ranks(job: Job) -> list[dict[str, Any]]:
    """Return what the ranks have said, in their order."""
    # Composer shows the output of one rank of each node, and keeps the others' in files.
    # Lines of ranks of one node may stand behind each other in one line.
    text = "\n".join(
        file.read_text() for file in (job.output, *job.output.parent.glob("rank*.out"))
    )
    read = json.JSONDecoder().raw_decode
    said = [read(text, each.start())[0] for each in re.finditer('{"rank": ', text)]
    return sorted(said, key=lambda rank: int(rank["rank"]))


def faults(cluster: Cluster, program: Program, job: Job) -> list[str]:
    """Return what is wrong with the ranks of a program; none: it is started correctly."""
    ranks = shown_ranks(job)
    places = [(rank["rank"], rank["local"], rank["node"]) for rank in ranks]
    wanted = [
        (program.ranks * number + local, local, node)
        for number, node in enumerate(cluster.nodes)
        for local in range(program.ranks)
    ]
    count = len(wanted)
    found = {
        "the end of the job": ((job.state, job.exit_code), ("COMPLETED", 0)),
        "rank, local rank and node": (places, wanted),
        "the number of ranks": ({rank["world"] for rank in ranks}, {count}),
        "the sum of all ranks": (
            {rank["sum"] for rank in ranks if "sum" in rank},
            {sum(range(count))} if program.ranks > 1 else set(),
        ),
        "the address": ({rank["address"] for rank in ranks}, {cluster.nodes[0]}),
    }
    wrong = [
        f"{what}: {seen}" for what, (seen, right) in found.items() if seen != right
    ]
    if not all(program.runs in " ".join(rank["program"]) for rank in ranks):
        wrong.append(f"the command of the ranks: {[rank['program'] for rank in ranks]}")
    if left := cluster.left_running():
        wrong.append(f"left running: {left}")
    return wrong
