"""Which system a script is for: two signs and no other system's, or none."""

from __future__ import annotations

import pytest

from envcfg.lint.script_source import Source
from envcfg.lint.system_recognition import recognise

SCRIPTS = {
    "azure-ndh100": (
        "export NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml\nexport UCX_NET_DEVICES=mlx5_ib0:1\n",
        ("topology", "adapters"),
    ),
    "google-a3-mega": (
        "#SBATCH --partition=a3mega\n. /var/lib/tcpxo/lib64/nccl-env-profile.sh\n",
        ("partition", "folder"),
    ),
    "oci-h100": (
        "export NCCL_IB_TC=41\nexport NCCL_IB_HCA==mlx5_9,mlx5_10,mlx5_12,mlx5_13\n",
        ("adapters", "traffic class"),
    ),
    "polaris": (
        "#PBS -l select=2:system=polaris\n#PBS -l filesystems=home:eagle\n#PBS -q prod\n",
        ("system", "queue", "file systems"),
    ),
    "aurora": (
        "#PBS -q debug-scaling\n#PBS -l filesystems=home:flare\nmodule load frameworks\n",
        ("file systems", "queue", "module"),
    ),
    "google-a4": (
        "#SBATCH -p a4high\nexport LD_LIBRARY_PATH=/usr/local/gib/lib64\n",
        ("partition", "folder"),
    ),
    "derecho": (
        "#PBS -q main\n#PBS -l select=1:ngpus=4\ncd /glade/work/me\n",
        ("folder", "queue"),
    ),
}
SCRIPTS |= {
    "jean-zay": (
        "#SBATCH -A abc@v100 --qos=qos_gpu-t3\ncd $six_ALL_CCFRSCRATCH\n",
        ("account", "qos", "folder"),
    ),
    "horeka": (
        "#SBATCH -p accelerated\ncd /hkfs/work/workspace/scratch/me\n",
        ("partition", "folder"),
    ),
    "capella": (
        "#SBATCH --partition=capella\ncd /data/horse/ws/me\n",
        ("partition", "folder"),
    ),
    "tuolumne": (
        "# flux: -q pbatch\ncd /p/lustre5/me\n",
        ("queue", "folder"),
    ),
    "frontier": (
        "#SBATCH -A abc123\nexport https_proxy=http://proxy.ccs.ornl.gov:3128\n",
        ("account", "host"),
    ),
}
NONE = {
    "Sophia, another system of ALCF": "#PBS -q by-gpu\n#PBS -l filesystems=home:eagle\n",
    "Casper, NCAR's other system": "#PBS -q casper\ncd /glade/work/me\n",
    "one sign": "export NCCL_IB_TC=41\n",
    "in comments": "# /var/lib/tcpxo/lib64\n# export NCCL_FASTRAK_NUM_FLOWS=2\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_shows_its_system(name: str) -> None:
    text, signs = SCRIPTS[name]
    found = recognise([Source("job.sh", f"#!/bin/bash\n{text}", 0)])
    assert found == (name, signs)


@pytest.mark.parametrize("case", NONE)
def test_a_script_of_elsewhere_shows_none(case: str) -> None:
    nothing = ("", ())
    assert recognise([Source("job.sh", f"#!/bin/bash\n{NONE[case]}", 0)]) == nothing
