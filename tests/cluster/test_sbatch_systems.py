"""Scripts of ``envcfg sbatch`` before a Slurm that has the nodes of every system."""

from __future__ import annotations

import re

import pytest

from asking import asking
from cluster import Cluster
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from job import Job
from suites import NIGHTLY, mark_systems
from support import envcfg
from test_sbatch import job_script, started
from test_systems import NO_PARTITION, RIGHT

STEP = ("--container", "none", "--", "true")
DOMAINS = ("aws-p6e-gb200", "coreweave-gb200", "google-a4x", "google-a4x-max")
OTHER_PARTITION = {
    "crusher": "batch",  # its partitions had Frontier's names
    "kestrel": "gpu-h100",  # a plugin of the site's finds the one that fits
}
CATALOG = Catalog([built_in_folder()])
# The first kind is that of the test above.
KINDS = [
    (system, kind)
    for system in sorted(RIGHT)
    for kind in [*CATALOG.load(system).nodes][1:]
]


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("system", mark_systems(RIGHT))
def test_slurm_takes_the_script_of_every_system(
    cluster: Cluster, system: str, nodes: int
) -> None:
    done = envcfg("sbatch", *asking(system, nodes), *STEP)
    assert done.code == 0, done.err
    text, newer = re.subn(r"^#SBATCH --segment=2$", "", done.text, flags=re.M)
    # This cluster has one name.
    text = re.sub(r"^#SBATCH --clusters=.*$", "", text, flags=re.M)
    # Slurm here is 22.05, and this option of 24.05.
    assert newer == (nodes == 2 and system in DOMAINS)
    partition = system if system.startswith(NO_PARTITION) else None
    answer = cluster.test_only(text, partition=OTHER_PARTITION.get(system, partition))
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"to start at \S+ using \d+ processors", answer.stderr)


@NIGHTLY
@pytest.mark.parametrize(("system", "kind"), KINDS)
def test_slurm_takes_the_script_of_every_other_kind_of_node(
    cluster: Cluster, system: str, kind: str
) -> None:
    done = envcfg("job", *asking(f"{system}/{kind}"), *STEP)
    assert done.code == 0, done.err
    assert f"# kind of node: {kind} " in done.text
    is_free = system.startswith(NO_PARTITION) and "--partition=" not in done.text
    text = re.sub(r"^#SBATCH --clusters=.*$", "", done.text, flags=re.M)
    answer = cluster.test_only(text, partition=system if is_free else None)
    assert answer.returncode == 0, answer.stderr
    # The nodes in etc/slurm/systems.conf have the name of the kind.
    assert f" on nodes {system}-{kind}-1 " in answer.stderr


def test_the_mahti_script_runs_on_two_nodes(cluster: Cluster) -> None:
    show = 'echo "rank $RANK/$WORLD_SIZE on $NODE_RANK, $CUDA_VISIBLE_DEVICES, '
    show += '$SLURM_CPUS_PER_TASK cores"'
    options = (*asking("mahti", 2), "--allow", "cluster")
    text = job_script(cluster, *options, command=show)
    job = Job(cluster, started(cluster, text)).wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert sorted(re.findall(r"^rank .*$", job.stdout, re.M)) == [
        f"rank {rank}/8 on {rank // 4}, 0,1,2,3, 32 cores" for rank in range(8)
    ]
