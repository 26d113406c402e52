"""Steps on chosen nodes of a real job, one beside another."""

from __future__ import annotations

from pathlib import Path

from cluster import Cluster

NODES = ("-N2", "--gpus-per-node=2", "--partition=standard-g")

# Caches, and a setting that more than one node decides.
PARTS = """\
name: parts
extends: slingshot-rocm
scratch: {root: /tmp, why: w, source: s, date: 2026-11-22}
env:
  SEEN: {value: many, when: {nodes: ">1"}, otherwise: one, why: w, source: s, date: 2026-11-22}
"""


def test_steps_run_on_the_nodes_that_they_are_given(
    cluster: Cluster, tool: Path
) -> None:
    show = "sh -c 'echo \"step $1 $RANK/$WORLD_SIZE $SLURMD_NODENAME $MASTER_ADDR\"' x"
    wrap = f"envcfg wrap --container {cluster.busybox_image} --runtime apptainer --fact rocm=6.2.4"  # fmt: skip
    done = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\n"
        f"PATH={tool}:$PATH\n"
        f"source <({wrap})\n"
        f"envcfg_run --on first --ranks=1 -- {show} a\n"
        f"envcfg_run --on others -- {show} b\n"
        f"envcfg_run --on 1,0 --ranks=1 -- {show} c\n"
        # Both hold all of a node at the same time, and end only together.
        f"envcfg_run --on 0 --ranks=1 -- sh -c 'until [ -e two ]; do sleep 0.1; done' &\n"
        f"envcfg_run --on 0 --overlap --ranks=1 -- {show} d\n"
        "envcfg_run --on 1 --ranks=1 -- touch two\n"
        'wait "$!"\n',
        *NODES,
        "--ntasks-per-node=2",
    )
    assert done.state == "COMPLETED", done.stdout
    said = sorted(line[5:] for line in done.stdout.splitlines() if line[:5] == "step ")
    one, two = cluster.nodes
    assert said == [
        f"a 0/1 {one} {one}",
        f"b 0/2 {two} {two}",
        f"b 1/2 {two} {two}",
        f"c 0/2 {one} {one}",
        f"c 1/2 {two} {one}",
        f"d 0/1 {one} {one}",
    ]
    assert cluster.left_running() == []


def test_a_step_in_a_component_of_a_heterogeneous_job(
    cluster: Cluster, tool: Path
) -> None:
    show = (
        "sh -c 'echo \"step $RANK/$WORLD_SIZE $SLURMD_NODENAME $MASTER_ADDR $SEEN\"' x"
    )
    wrap = f"envcfg wrap --profile ./parts.yaml --container {cluster.busybox_image} --runtime apptainer"  # fmt: skip
    (cluster.workdir / "parts.yaml").write_text(PARTS)
    done = cluster.sbatch(
        "#!/bin/bash\n#SBATCH --nodes=1 --partition=gpusmall\n"
        "#SBATCH hetjob\n#SBATCH --nodes=2 --ntasks-per-node=1 --partition=small-g\n"
        f"set -euo pipefail\nPATH={tool}:$PATH\n"
        f"source <({wrap} --srun-arg=--het-group=1 -- {show} || echo exit $?)\n"
        'srun --het-group=1 sh -c "ls -d /tmp/envcfg-*-$SLURM_JOB_ID-* 2>&-" || echo "caches none"\n',
    )
    assert done.state == "COMPLETED", done.stdout
    said = sorted(line for line in done.stdout.splitlines() if line[:5] == "step ")
    one, two = cluster.nodes
    assert said == [f"step 0/2 {one} {one} many", f"step 1/2 {two} {one} many"]
    assert "caches none" in done.stdout
