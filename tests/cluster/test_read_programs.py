"""Programs that no table knows: each is started by the statement in its file, over two nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import Cluster

pytestmark = pytest.mark.nightly

NODES = ("-N2", "--gpus-per-node=2", "--partition=standard-g")
TELL = "import os\nprint('here', os.environ['RANK'], os.environ['WORLD_SIZE'], flush=True)\n"
SPAWN = """\
import os
import torch.multiprocessing as mp

def work(rank):
    print("here", os.environ["NODE_RANK"], rank, flush=True)

if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""
JOBS = """\
try:
    import submitit
    submitit.AutoExecutor("log")
except ImportError:
    print("here", flush=True)
"""
SCRIPT = """\
#!/bin/bash
torchrun --nnodes=$COUNT --nproc-per-node=$EACH --node-rank=$NODE_RANK --rdzv-backend=static \\
  --master-addr=$HEAD --master-port=$DOOR tell.py
"""
# file, its text, the command, options of sbatch: the lines
KINDS = {
    "a script with torchrun": ("t.sh", SCRIPT, "bash t.sh", (), [f"here {n} 4" for n in range(4)]),
    "spawn": ("s.py", SPAWN, "python3 s.py", (), [f"here {n} {r}" for n in "01" for r in "01"]),
    "ranks": ("tell.py", TELL, "python3 tell.py", ("--ntasks-per-node=2",), [f"here {n} 4" for n in range(4)]),
    "jobs of its own": ("j.py", JOBS, "python3 j.py", (), ["here"]),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_program_is_started_by_the_statement_in_its_file(
    cluster: Cluster, tool: Path, workdir: Path, name: str
) -> None:
    file, text, command, options, lines = KINDS[name]
    (workdir / "tell.py").write_text(TELL)
    (workdir / file).write_text(text)
    done = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <(envcfg wrap --container {cluster.frameworks_image} "
        "--runtime apptainer --fact rocm=6.2.4 --set OMP_NUM_THREADS=1 "
        f"--set GLOO_SOCKET_IFNAME=hsn0 -- {command})\n",
        *NODES,
        *options,
        timeout=300,
    )
    assert done.exit_code == 0, done.stdout
    found = [line for line in done.stdout.splitlines() if line.startswith("here")]
    assert sorted(found) == sorted(lines), done.stdout
