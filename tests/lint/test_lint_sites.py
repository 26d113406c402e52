"""By what scripts, as users write them, a system is recognised."""

from __future__ import annotations

import pytest

from envcfg.lint.script_source import Source
from envcfg.lint.system_recognition import recognise

SCRIPTS = {
    "jupiter": "#SBATCH --partition=booster --gres=gpu:4 --cpus-per-task=72\ncd /e/project1/m3",
    "juwels-booster": "#SBATCH --partition=booster --gres=gpu:4\njutil env activate -p hai",
    "olivia": "#SBATCH --partition=accel --account=nn9999k\nmodule load NRIS/GPU",
    "delta": "#SBATCH -p gpuA100x4-interactive -A bbka-delta-gpu",
    "deltaai": "#SBATCH --partition=ghx4\n#SBATCH --account=abcd-dtai-gh",
    "jean-zay": "#SBATCH -C h100\n#SBATCH -A abc@h100\nmodule load arch/h100",
    "vista": "#SBATCH -p gh\n#SBATCH -N 2 -n 2\nmodule load tacc-apptainer",
    "meluxina": "#SBATCH -A p200482 -p gpu -q default\ncd /project/home/p200482",
    "kestrel": "#SBATCH -p gpu-h100s --gres=gpu:4\ncd /kfs2/projects/wind",
    "lonestar6": "#SBATCH -p gpu-a100\n#SBATCH -N 2 -n 2\nmodule load tacc-apptainer",
    "snellius": "#SBATCH -p gpu_h100\nexport NCCL_SOCKET_IFNAME=eno2np0",
    "karolina": "#SBATCH -A OPEN-12-34\n#SBATCH -p qgpu --gpus-per-node=8",
    "abci3": "#PBS -q rt_HF\n#PBS -l select=2\n#PBS -P gaa50000",
    "": "#SBATCH --partition=booster --gres=gpu:4",
}


@pytest.mark.parametrize("system", SCRIPTS)
def test_a_system_is_recognised_by_what_its_users_write(system: str) -> None:
    text = f"#!/bin/bash\n{SCRIPTS[system]}\nsrun python3 train.py\n"
    assert recognise([Source("job.sh", text, 0)])[0] == system
