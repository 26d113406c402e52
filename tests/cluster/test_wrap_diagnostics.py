"""What a job tells of itself, in real steps on two nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cluster import Cluster

EIGHT = ("-N2", "--gpus-per-node=4", "--ntasks-per-node=4", "--partition=standard-g")
# As rocm-smi writes them; the second node has lost its last GPU.
SMI = r"""#!/bin/bash
read -r node </proc/sys/kernel/hostname
gpus=4
if [[ $node == nid001001 ]]; then gpus=3; fi
for ((gpu = 0; gpu < gpus; gpu++)); do
  printf 'GPU[%d]\t\t: Unique ID: 0x%d\n' $gpu $gpu
done
"""


def job(tool: Path, workdir: Path, options: str, command: str) -> str:
    return (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:{workdir}/bin:$PATH\n"
        f"source <(envcfg wrap --profile lumi-g --container none --fact rocm=6.2.4 {options} -- {command})\n"
    )


def test_the_affinity_report_of_eight_ranks_is_what_taskset_says(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    """There is no binding to cores here, so each rank binds itself before it reports."""
    bind = "--setup 'taskset -cp $((SLURM_LOCALID % 2)) $$ >/dev/null'"
    show = "bash -c 'echo \"taskset $RANK $(taskset -p $$)\"'"
    done = cluster.sbatch(job(tool, workdir, f"--report-affinity {bind}", show), *EIGHT)
    assert done.state == "COMPLETED", done.stdout
    reported = {
        int(rank): (host, int(mask.replace(",", ""), 16))
        for rank, host, mask in re.findall(
            r"^envcfg: rank (\d+) on (\S+): cpus ([0-9a-f,]+) ",
            done.stdout,
            re.MULTILINE,
        )
    }
    asked = {
        int(rank): int(mask, 16)
        for rank, mask in re.findall(
            r"^taskset (\d+) .*mask: ([0-9a-f]+)$", done.stdout, re.MULTILINE
        )
    }
    assert sorted(reported) == sorted(asked) == list(range(8))
    assert {rank: mask for rank, (_, mask) in reported.items()} == asked
    assert {
        rank: mask for rank, mask in asked.items() if mask == 1 << rank % 2
    } == asked
    assert [reported[rank][0] for rank in range(8)] == [
        cluster.nodes[rank // 4] for rank in range(8)
    ]


def test_a_node_that_has_lost_a_gpu_ends_the_job_before_any_rank_starts(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    (workdir / "bin").mkdir()
    (workdir / "bin/rocm-smi").write_text(SMI)
    (workdir / "bin/rocm-smi").chmod(0o755)
    done = cluster.sbatch(
        job(tool, workdir, "--smoke-test", "echo the rank runs"), *EIGHT
    )
    assert (done.state, done.exit_code) == ("FAILED", 4), done.stdout
    assert "nid001001: 3 of 4 GPUs answer (rocm-smi" in done.stdout
    assert "nid001000" not in done.stdout
    assert "the rank runs" not in done.stdout
    (workdir / "bin/rocm-smi").write_text(SMI.replace("gpus=3", "gpus=4"))
    done = cluster.sbatch(
        job(tool, workdir, "--smoke-test", "echo the rank runs"), *EIGHT
    )
    assert (done.state, done.stdout.count("the rank runs")) == ("COMPLETED", 8), (
        done.stdout
    )


def test_each_process_gets_a_file_for_the_log_of_nccl(
    cluster: Cluster, tool: Path, workdir: Path
) -> None:
    """gloo writes none, so each rank writes to the name that NCCL would make."""
    write = (
        "bash -c 'file=${NCCL_DEBUG_FILE/\\%h/$SLURMD_NODENAME}; "
        'echo "$RANK" >"${file/\\%p/$$}"\''
    )
    options = f"--nccl-debug={workdir}/logs"
    done = cluster.sbatch(job(tool, workdir, options, write), *EIGHT)
    assert done.state == "COMPLETED", done.stdout
    (folder,) = (workdir / "logs").iterdir()
    assert re.fullmatch(rf"nccl-{done.id}\.[0-9]+", folder.name)
    files = sorted(folder.iterdir())
    assert [re.sub(r"-[0-9]+\.log", "-N.log", path.name) for path in files] == [
        f"nccl-{node}-N.log" for node in cluster.nodes[:2] for _ in range(4)
    ]
    assert sorted(path.read_text().strip() for path in files) == [
        str(n) for n in range(8)
    ]


def test_a_rank_says_who_has_set_what(cluster: Cluster, tool: Path) -> None:
    """The image sets NCCL_NET and its own variable; the job a level of GPU RDMA."""
    script = (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\nexport NCCL_NET_GDR_LEVEL=SYS\n"
        f"source <(envcfg wrap --profile lumi-g --container {cluster.pytorch_image} "
        "--fact rocm=6.2.4 --report-environment 3 -- true)\n"
        "envcfg environment --json --all envcfg-environment-*/rank3\n"
    )
    size = ("-N2", "--gpus-per-node=2", "--ntasks-per-node=2", "--partition=small-g")
    done = cluster.sbatch(script, *size)
    assert done.state == "COMPLETED", done.stdout
    answer = json.loads(done.stdout[done.stdout.index("{") :])
    found = {
        each["name"]: (each["state"], each["value"], each["origin"])
        for each in answer["variables"]
    }
    assert (answer["rank"], answer["nodes"]) == (3, 2)
    assert found["NCCL_SOCKET_IFNAME"][0] == "as planned"
    assert found["NCCL_NET_GDR_LEVEL"] == ("changed", "SYS", "job")
    assert found["IMAGE_OWN"] == ("unplanned", "kept", "image or runtime")
    assert found["SLURM_PROCID"] == ("unplanned", "3", "starter")
    assert found["RANK"] == ("unplanned", "3", "envcfg or setup")


def test_a_rank_of_torchrun_says_it_too(cluster: Cluster, tool: Path) -> None:
    """In a folder with a blank, of a job that has not exported what it sets."""
    script = (
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\nNCCL_PROTO=LL\nmkdir 'a b'\ncd 'a b'\n"
        "printf 'name: site\\nsummary: a test\\ncontainer: {runtimes: [apptainer]}\\n' >site.yaml\n"
        f"source <(envcfg wrap --profile ./site.yaml --container {cluster.pytorch_image} "
        "--set 'A=${NCCL_PROTO}' --setup 'export B=$$' --report-environment 3 "
        "-- torchrun --nproc-per-node 2 --no-python /bin/true)\n"
        "envcfg environment --json --all envcfg-environment-*/rank3\n"
    )
    size = ("-N2", "--gpus-per-node=2", "--partition=small-g")
    done = cluster.sbatch(script, *size)
    assert done.state == "COMPLETED", done.stdout
    answer = json.loads(done.stdout[done.stdout.index("{\n") :])
    found = {each["name"]: each for each in answer["variables"]}
    assert (found["A"]["state"], found["A"]["value"]) == ("as planned", "LL")
    assert found["B"]["value"].isdigit()
    assert found["RANK"]["value"] == "3"
