"""The comments of a script on its ranks: identity, cores, mask, and settings left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import envcfg, wrap_text

COMMAND = ("--container", "none", "--", "python", "train.py")
LUMI = ("--profile", "lumi-g")
WAYS = {
    "srun": (LUMI, "RANK: SLURM_PROCID", "the first node of SLURM_STEP_NODELIST"),
    "torchrun": (
        (*LUMI, "--launcher", "torchrun"),
        "RANK: set by torchrun",
        "the first node of SLURM_STEP_NODELIST",
    ),
    "pbs": (
        ("--profile", "polaris"),
        "RANK: PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK",
        "the first node of PBS_NODEFILE",
    ),
    "flux": (
        ("--profile", "tuolumne"),
        "RANK: FLUX_TASK_RANK",
        'the first node of "flux hostlist instance"',
    ),
    "local": (
        ("--profile", "workstation", "--ranks", "2"),
        "RANK: the number of its process",
        "this machine",
    ),
    "interface": (
        ("--profile", "aurora"),
        "RANK: PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK",
        "the address of $ENVCFG_INTERFACE on the first node",
    ),
    "ray": (
        (*LUMI, "--launcher", "ray"),
        "RANK: unset",
        "unset: Ray starts its own ranks",
    ),
    "option": ((*LUMI, "--set", "MASTER_ADDR=n1"), "RANK: SLURM_PROCID", "set below"),
}


def _comments(text: str) -> str:
    """Return the comments on ranks, without the line ends of long ones."""
    block = text[text.index("# Each rank has:\n") :].partition("\n\n")[0]
    return re.sub(r"\n# (?!- |Settings )", " ", block)


@pytest.mark.parametrize("way", WAYS)
def test_a_script_shows_the_source_of_each_ranks_identity(way: str) -> None:
    options, rank, address = WAYS[way]
    comments = _comments(wrap_text(*options, *COMMAND).text)
    assert f"# - {rank}\n" in comments
    assert f"# - MASTER_ADDR: {address}\n" in comments
    assert "# - WORLD_SIZE: " in comments


def test_cores_and_mask_have_the_source_and_date_of_the_profile() -> None:
    comments = _comments(wrap_text(*LUMI, *COMMAND).text)
    for name in (
        "cores: those next to its GPU by ENVCFG_CPU_MASKS",
        "GPU mask: ROCR_VISIBLE",
    ):
        assert re.search(rf"# - {name}.*\(https://\S+.*, 20\d\d-\d\d-\d\d\)", comments)
    bound = _comments(wrap_text(*LUMI, "--srun-arg=--cpu-bind=none", *COMMAND).text)
    assert "# - cores: by an option of this job\n" in bound


def test_settings_that_are_left_out_have_their_reason() -> None:
    comments = _comments(wrap_text(*LUMI, *COMMAND).text)
    assert "# - NCCL_NET_GDR_LEVEL, HSA_NO_SCRATCH_RECLAIM: rocm=unknown\n" in comments
    assert "# - OMP_NUM_THREADS: launcher=srun" in comments
    stated = _comments(wrap_text(*LUMI, "--fact", "rocm=6.2.4", *COMMAND).text)
    assert "# - HSA_NO_SCRATCH_RECLAIM: rocm=6.2.4\n" in stated
    assert "NCCL_NET_GDR_LEVEL" not in stated
    none = _comments(wrap_text("--profile", "workstation", *COMMAND).text)
    assert "left out" not in none


def test_a_job_script_has_the_comments_once() -> None:
    words = ("--account", "project_465000001", "--time", "1:00:00", "-N", "2")
    made = envcfg("job", *LUMI, *words, *COMMAND)
    assert made.text.count("# Each rank has:\n") == 1
    assert "# - WORLD_SIZE: SLURM_STEP_NUM_TASKS\n" in _comments(made.text)


def test_text_of_a_profile_stays_in_its_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(
        'name: p\nvisibility: {variable: CUDA_VISIBLE_DEVICES, clear: [], why: "w", '
        'source: "a\\n$(touch pwned)\\r`touch pwned`", date: 2026-01-01}\n'
    )
    text = wrap_text("--profile", "./p.yaml", *COMMAND).text
    assert (
        "GPU mask: CUDA_VISIBLE_DEVICES (a\\n$(touch pwned)\\r`touch pwned`"
        in _comments(text)
    )
    assert not re.search(r"(?m)^[^#\n]*touch pwned", text)
