"""What Slurm says of requests to the systems that exist here in name only."""

from __future__ import annotations

import re
import time

import pytest
import yaml

from cluster import Cluster
from suites import mark_systems
from tool import ROOT

SCRIPT = "#!/bin/bash\nsrun hostname\n"
# Who the request is for, what it names, and where it would start.
RIGHT = {
    "adastra-mi250x": ("--constraint=MI250 --gpus-per-node=8 -c8", "adastra[1-2]"),
    "adastra-mi300a": (
        "--constraint=MI300 --gpus-per-node=4 -c24",
        "adastra[1001-1002]",
    ),
    "alps-clariden": (
        "--partition=normal --gpus-per-node=4 -c72 -walps[1-2]",
        "alps[1-2]",
    ),
    "arrhenius": (
        "--partition=gpu --gpus-per-node=4 -warrhenius[1-2]",
        "arrhenius[1-2]",
    ),
    "aws-p4d": ("--exclusive --gpus-per-node=8", "awsa[1-2]"),
    "aws-p5": ("--exclusive --gpus-per-node=8", "awsh[1-2]"),
    "aws-p5en": ("--exclusive --gpus-per-node=8", "awsn[1-2]"),
    "aws-p6-b200": ("--exclusive --gpus-per-node=8", "awsb[1-2]"),
    "aws-p6e-gb200": ("--exclusive --gpus-per-node=4", "awsgb[1-2]"),
    "azure-ndgb200": ("--gpus-per-node=4", "azuregb[1-2]"),
    "azure-ndh100": ("--exclusive --gpus-per-node=8 -c12", "azureh[1-2]"),
    "berzelius": ("--gres=gpu:8 -c16", "berzelius[1-2]"),
    "bristen": (
        "--partition=normal --gpus-per-node=4 -c16 -wbristen[1-2]",
        "bristen[1-2]",
    ),
    "capella": ("--partition=capella --gres=gpu:4 -c14", "capella[1-2]"),
    "coreweave": ("--exclusive --gpus-per-node=8 -c8", "coreweave[1-2]"),
    "coreweave-gb200": ("--exclusive --gpus-per-node=4 -c8", "coreweavegb[1-2]"),
    "crusher": (
        "--partition=batch --gpus-per-node=8 -c7 -wcrusher[1-2]",
        "crusher[1-2]",
    ),
    "daint": ("--partition=normal --gpus-per-node=4 -c72 -wdaint[1-2]", "daint[1-2]"),
    "dardel": ("--partition=gpu --gpus-per-node=8 -c8 --mem=456G", "dardel[1-2]"),
    "delta": ("--partition=gpuA100x4 --gpus-per-node=4 -c16 --mem=232G", "delta[1-2]"),
    "deltaai": ("--partition=ghx4 --gpus-per-node=4 -c72 --mem=440G", "deltaai[1-2]"),
    "fir": ("--gpus-per-node=h100:4 -c12 --mem=1120G", "fir[1-2]"),
    "frontier": (
        "--partition=extended --gpus-per-node=8 -c7 --network=disable_rdzv_get",
        "frontier[1-2]",
    ),
    "google-a3-mega": ("--gpus-per-node=8", "googlem[1-2]"),
    "google-a3-ultra": ("--gpus-per-node=8 -c28", "googleu[1-2]"),
    "google-a4": ("--gpus-per-node=8 -c28", "googleb[1-2]"),
    "google-a4x": ("--exclusive --gpus-per-node=4 -c35", "googlegb[1-2]"),
    "google-a4x-max": ("--exclusive --gpus-per-node=4 -c36", "googlemax[1-2]"),
    "grete": ("--partition=grete --gpus-per-node=4", "grete[1-2]"),
    "horeka": ("--partition=accelerated --gres=gpu:4 -c38", "horeka[1-2]"),
    "horizon": ("--partition=gb --ntasks-per-node=2 -c36", "horizon[1-2]"),
    "ibm-h100": ("--gres=gpu:8 -c20", "ibmh[1-2]"),
    "iris": ("--partition=gpu --gres=gpu:4 -c7 -wiris[1-2]", "iris[1-2]"),
    "isambard-ai": (
        "--partition=workq --gpus-per-node=4 -c72 -t1:00:00",
        "isambard[1-2]",
    ),
    "jean-zay": (
        "--constraint=h100 --gres=gpu:4 -c24 --ntasks-per-node=4 --hint=nomultithread",
        "jeanzay[1-2]",
    ),
    "jupiter": (
        "--partition=booster --gres=gpu:4 --ntasks-per-node=4 -c72",
        "jupiter[1-2]",
    ),
    "juwels-booster": (
        "--partition=booster --gres=gpu:4 -c12 -wjuwels[1-2]",
        "juwels[1-2]",
    ),
    "karolina": ("--partition=qgpu --gpus-per-node=8 -c16", "karolina[1-2]"),
    "kempner": ("--partition=kempner_h100 --gres=gpu:4 -c24", "kempner[1-2]"),
    "kestrel": ("--partition=gpu-h100 --gres=gpu:4 -c32 --mem=348G", "kestrel[1-2]"),
    "killarney": ("--gpus-per-node=h100:8 -c6", "killarney[1-2]"),
    "leonardo": (
        "--partition=boost_usr_prod --gres=gpu:4 -c8 --mem=494000M",
        "leonardo[1-2]",
    ),
    "lise": ("--partition=gpu-a100 --gres=gpu:4 -wlise[1-2]", "lise[1-2]"),
    "lonestar6": ("--partition=gpu-a100 -c42", "ls[1-2]"),
    "lucia": ("--partition=gpu --gres=gpu:4 -c8 -wlucia[1-2]", "lucia[1-2]"),
    "lumi-g": ("--partition=dev-g --gpus-per-node=8 -c7", "lumi[1-2]"),
    "mahti": ("--partition=gpumedium --gres=gpu:a100:4 -c32", "g[1101-1102]"),
    "mahuika": ("--gpus-per-node=a100:4 -c16", "mahuika[1-2]"),
    "marenostrum5-acc": ("--qos=acc_debug --gres=gpu:4 -c20", "marenostrum[1-2]"),
    "meluxina": (
        (
            "--partition=gpu --qos=default --gres=gpu:4 -c16 --hint=nomultithread "
            "-wmeluxina[1-2]"
        ),
        "meluxina[1-2]",
    ),
    "merlin7": ("--partition=a100-daily --gres=gpu:4 -c32", "merlin[1-2]"),
    "narval": ("--gpus-per-node=a100:4 -c12 --mem=496G", "narval[1-2]"),
    "nibi": ("--gpus-per-node=h100:8 -c14 --mem=2000G", "nibi[1-2]"),
    "nebius": ("--gpus-per-node=8 -c14", "nebius[1-2]"),
    "oci-b200": ("--exclusive --gpus-per-node=8", "ocib[1-2]"),
    "oci-b300": ("--exclusive --gpus-per-node=8", "ocic[1-2]"),
    "oci-gb200": ("--exclusive --gpus-per-node=4", "ocigb[1-2]"),
    "oci-mi300x": ("--exclusive --gpus-per-node=8", "ocimi[1-2]"),
    "olivia": ("--partition=accel --gpus-per-node=4 -c70 --mem=440G", "olivia[1-2]"),
    "oci-h100": ("--exclusive --gpus-per-node=8", "ocih[1-2]"),
    "oci-h200": ("--exclusive --gpus-per-node=8", "ocit[1-2]"),
    "perlmutter": (
        (
            "--qos=regular --constraint=gpu --gpus-per-node=4 -c32 --account=m1_g "
            "-wperlmutter[1-2]"
        ),
        "perlmutter[1-2]",
    ),
    "puhti": ("--partition=gpu --gres=gpu:v100:4 -c10", "puhti[1-2]"),
    "roihu": ("--partition=gpularge --gres=gpu:gh200:4 -c72", "roihu[1-2]"),
    "rorqual": ("--gpus-per-node=h100:4 -c16 --mem=496G", "rorqual[1-2]"),
    "santis": (
        "--partition=normal --gpus-per-node=4 -c71 -wsantis[1-2]",
        "santis[1-2]",
    ),
    "setonix": ("--partition=gpu-dev --gpus-per-node=8", "setonix[1-2]"),
    "snellius": (
        "--partition=gpu_h100 --gpus-per-node=4 -c16 --mem=720G",
        "snellius[1-2]",
    ),
    "stampede3": ("--partition=h100 --ntasks-per-node=4 -c24", "stampede[1-2]"),
    "tamia": ("--gpus-per-node=h100:4 -c12", "tamia[1-2]"),
    "trillium": ("--gpus-per-node=4 -c24", "trillium[1-2]"),
    "triton": ("--gpus-per-node=h200:8 -c8", "triton[1-2]"),
    "vega": ("--gres=gpu:4 -c64", "vega[1-2]"),
    "vista": ("--partition=gh --ntasks-per-node=1 -c72", "vista[1-2]"),
    "vulcan": ("--gpus-per-node=l40s:4 -c16", "vulcan[1-2]"),
}
#: Those on which a job names no partition.
NO_PARTITION = (
    *("adastra-", "aws-", "azure-", "coreweave", "google-", "ibm-", "oci-"),
    *("fir", "jean-zay", "marenostrum5-acc", "nibi", "perlmutter", "rorqual"),
    *("killarney", "narval", "nebius", "tamia", "trillium", "vulcan"),
    *("berzelius", "mahuika", "triton", "vega"),
)
# Two nodes each, beyond what the system has or allows, and what Slurm says to it.
UNAVAILABLE = "Requested node configuration is not available"
WRONG = {
    "a type that is nowhere": ("--partition=gpumedium --gres=gpu:a1000:4", UNAVAILABLE),
    "a type of elsewhere": ("--partition=gpumedium --gres=gpu:v100:4", UNAVAILABLE),
    "five A100": ("--partition=gpumedium --gres=gpu:a100:5", UNAVAILABLE),
    "five GH200": ("--partition=gpularge --gres=gpu:gh200:5", UNAVAILABLE),
    "nine GCDs": ("--partition=dev-g --gpus-per-node=9", UNAVAILABLE),
    "too many cores": (
        "--partition=develbooster --gres=gpu:4 --mincpus=49",
        UNAVAILABLE,
    ),
    "too much memory": ("--partition=workq --gpus-per-node=4 --mem=900G", UNAVAILABLE),
    "another system's feature": ("--partition=workq --constraint=MI300", UNAVAILABLE),
    "a feature that is nowhere": (
        "--partition=workq --constraint=MI999",
        "Invalid feature specification",
    ),
    "too long": (
        "--partition=dev-g --time=03:00:01",
        "Requested time limit is invalid",
    ),
    "too many nodes": ("--partition=gpusmall --nodes=2", "Node count specification"),
    "more cores than threads make": (
        (
            "--constraint=h100 --partition=jean-zay --gres=gpu:4 --ntasks-per-node=4 -c25 "
            "--hint=nomultithread"
        ),
        UNAVAILABLE,
    ),
    "no such partition": ("--partition=gpuhuge", "Invalid partition name"),
}
MAHTI_JOB = """#!/bin/bash
#SBATCH --partition=gpumedium --account=project_2000000 --time=00:15:00
#SBATCH --nodes=2 --ntasks-per-node=4 --cpus-per-task=32 --gres=gpu:a100:4
srun --cpus-per-task=32 bash -c 'echo "$SLURM_PROCID $(hostname) $CUDA_VISIBLE_DEVICES"'
"""


@pytest.mark.parametrize("system", mark_systems(RIGHT))
def test_a_right_request_gets_a_start_time(cluster: Cluster, system: str) -> None:
    options, nodes = RIGHT[system]
    partition = system if system.startswith(NO_PARTITION) else None
    wanted = rf"to start at \S+ using .* on nodes {re.escape(nodes)} "
    for _ in range(20):  # a job of the test before may still be ending there
        done = cluster.test_only(
            SCRIPT, "--nodes=2", *options.split(), partition=partition
        )
        if re.search(wanted, done.stderr):
            break
        time.sleep(0.5)
    assert done.returncode == 0, done.stderr
    assert re.search(wanted, done.stderr), done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_request_is_refused(cluster: Cluster, fault: str) -> None:
    options, reason = WRONG[fault]
    done = cluster.test_only(SCRIPT, "--nodes=2", *options.split())
    assert done.returncode == 1
    assert reason in done.stderr


def test_every_system_under_slurm_is_here() -> None:
    systems = set()
    for path in (ROOT / "profiles").glob("*.yaml"):
        profile = yaml.safe_load(path.read_text())
        scheduler = profile.get("request", {}).get("scheduler", "slurm")
        kinds = [profile, *profile.get("nodes", {}).values()]
        if scheduler == "slurm" and any("gpus" in k.get("node", {}) for k in kinds):
            systems.add(profile["name"])
    assert systems == set(RIGHT)


def test_a_job_of_mahti_runs(cluster: Cluster) -> None:
    assert cluster.test_only(MAHTI_JOB).returncode == 0
    job = cluster.sbatch(MAHTI_JOB)
    assert job.state == "COMPLETED", job.stdout
    assert sorted(job.stdout.splitlines()) == [
        f"{rank} {cluster.mahti_nodes[rank // 4]} 0,1,2,3" for rank in range(8)
    ]


def test_the_nodes_of_mahti_have_a_network_of_their_own(cluster: Cluster) -> None:
    first, second = cluster.mahti_nodes
    before = cluster.counters()[second]
    connect = f": </dev/tcp/{second}-ib0/6818"  # where slurmd listens
    done = cluster.node(first, ["bash", "-c", connect])
    assert done.returncode == 0, done.stderr
    after = cluster.counters()[second]
    assert sorted(after) == ["ib0", "lo", "nmn0"]
    assert after["ib0"] > before["ib0"]
