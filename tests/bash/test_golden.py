"""Generated scripts as files to read in a review; each is also checked and executed.

After a change: ``pytest --update-golden``, then read the diff.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.job.script.module_choice import render_lists
from envcfg.job.script.modules import render_module
from support import JOB, ROOT, Wrapped, bash, environment, lint_shell, zero_separated

GOLDEN = ROOT / "tests/golden"
# Data in quotes; what modules use, and what they set.
ACROSS = ["SC1003", "SC2016", "SC2034", "SC2154"]
DUMP = ROOT / "tests/cluster/programs/dump.py"
LUMI = ("--profile", "lumi-g", "--fact", "rocm=6.2.4")

# name -> options; the command is always dump.py, so that each script can be executed
CASES = {
    "workstation-local": ("--profile", "workstation", "--container", "none", "--ranks", "2"),
    "workstation-steps": ("--profile", "workstation", "--container", "none"),
    "lumi-srun": (*LUMI, "--container", "/images/pytorch.sif"),
    "lumi-steps": (*LUMI, "--container", "/images/pytorch.sif"),
    "lumi-torchrun": (*LUMI, "--container", "/images/pytorch.sif", "--launcher", "torchrun"),
    "lumi-rocm7": (
        *("--profile", "lumi-g", "--bind", "/data:/data:ro", "--runtime-arg=--cleanenv"),
        *("--container", "/images/lumi-multitorch-full-u24r70f21m50t210-20260513.sif"),
        *("--set", "NCCL_NET=AWS Libfabric", "--set", "QUOTE='\"$$HOME`id`\\"),
        *("--set", "SEED=${RANK}${SLURM_JOB_ID}", "--unset", "NCCL_DEBUG"),
    ),
    "lumi-charliecloud": (
        *(*LUMI, "--runtime", "charliecloud", "--container", "/images/pytorch.sqfs"),
        *("--bind", "/data"),
    ),
    "lumi-podman": (
        *(*LUMI, "--runtime", "podman", "--container", "docker.io/a/pytorch:2.9"),
        *("--bind", "/data::ro"),
    ),
    "perlmutter-podman-hpc": (
        *("--profile", "perlmutter", "--runtime", "podman-hpc", "--container", "docker.io/a/pytorch:2.9"),
        *("--bind", "/data::ro"),
    ),
    "perlmutter-shifter": (
        *("--profile", "perlmutter", "--runtime", "shifter", "--container", "docker:a/pytorch:2.9"),
        *("--bind", "/data::ro"),
    ),
    "aws-pyxis": (
        *("--profile", "aws-p5", "--runtime", "pyxis", "--container", "/images/pytorch.sqsh"),
        *("--bind", "/data:/mnt/data:ro"),
    ),
    "alps-ce": (
        *("--profile", "alps-clariden", "--runtime", "ce", "--container", "my-environment"),
        *("--fact", "cuda=13.0", "--bind", "/data:/mnt/data:ro"),
    ),
    "alps-extended": (
        *("--profile", "alps-clariden", "--runtime", "ce"),
        *("--container", "docker://ghcr.io/eth-cscs/alps-extended-images/ngc-pytorch:26.02-py3-alps6"),
    ),
    "alps-registry": ("--profile", "alps-clariden", "--runtime", "ce", "--container", "nvcr.io/nvidia/pytorch:24.01-py3"),
    "workstation-docker": (
        *("--profile", "workstation", "--runtime", "docker", "--ranks", "2"),
        *("--container", "localhost/pytorch", "--bind", "/data"),
    ),
    "lumi-preflight": (
        *(*LUMI, "--container", "/images/pytorch.sif", "--preflight"),
        *("--require", "fast", "--set", "A=it's $$5 ${RANK}"),
    ),
    "lumi-bare": (*LUMI, "--container", "none"),
    "tuolumne-flux": (
        *("--profile", "tuolumne", "--fact", "rocm=6.4.1", "--fact", "plugin=1.14.2"),
        *("--container", "/images/pytorch.sif", "--runtime-arg=--cleanenv"),
    ),
    "polaris-pbs": (
        *("--profile", "polaris", "--container", "/images/pytorch.sif"),
        "--runtime-arg=--cleanenv",
    ),
}  # fmt: skip


def arguments(name: str) -> list[str]:
    command = (
        [] if name.endswith("-steps") else ["--", "python3", "dump.py", "out", "a b"]
    )
    return [*CASES[name], *command]


@pytest.mark.parametrize("name", CASES)
def test_the_script_is_as_reviewed(
    name: str, wrap: Callable[..., Wrapped], request: pytest.FixtureRequest
) -> None:
    made = wrap("--print", "job", *arguments(name))
    assert made.code == 0, made.err
    golden = GOLDEN / f"{name}.sh"
    if request.config.getoption("--update-golden"):
        golden.write_bytes(made.out)
    assert made.text == golden.read_text()


@pytest.mark.parametrize("name", CASES)
def test_the_script_is_the_reviewed_part_among_whole_modules(
    name: str, wrap: Callable[..., Wrapped]
) -> None:
    text, part = wrap(*arguments(name)).text, (GOLDEN / f"{name}.sh").read_text()
    listed = part.partition("\n# modules: ")[2].partition("\n")[0].split(", ")
    lists = f"\n{render_lists(listed)}"
    assert text.count(lists) == 1
    text = text.replace(lists, "")
    for module in listed:
        assert text.count(f"\n{render_module(module)}") == 1
        text = text.replace(f"\n{render_module(module)}", "")
    _, mark, _, body = text.split("\n", 3)
    assert mark.startswith("# envcfg:script ")
    head, _, rest = part.partition("\n\n")
    job, _, last = rest.partition(f"\n# modules: {', '.join(listed)}\n")
    assert body == f"{head.replace('--print job ', '')}\n\n{job}{last}"


@pytest.mark.parametrize("name", CASES)
def test_the_job_part_is_clean_bash_around_clean_posix_parts(name: str) -> None:
    text = (GOLDEN / f"{name}.sh").read_bytes()
    assert lint_shell(text, "bash", exclude=ACROSS) == ""
    parts = re.findall(
        rb"^envcfg_(?:rank|task)_settings\(\) .*?^\}\n", text, re.S | re.M
    )
    assert parts
    for part in parts:
        assert lint_shell(part, "sh", exclude=ACROSS) == ""


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CASES
        if not name.endswith(("-torchrun", "-flux", "-pbs", "-preflight"))
    ],
)
def test_the_script_runs_and_each_rank_gets_what_the_plan_says(
    name: str,
    wrap: Callable[..., Wrapped],
    fakes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here with fakes for srun and runtime; in tests/cluster with the real ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.py").write_bytes(DUMP.read_bytes())
    text = wrap(*arguments(name)).text
    for path in ("/images", "/data"):  # to where this test may make them
        text = text.replace(f"'{path}", f"'{tmp_path}{path}")
        text = text.replace(f" {path}", f" {tmp_path}{path}")
        for sign in "=:":
            text = text.replace(f"{sign}{path}", f"{sign}{tmp_path}{path}")
    (tmp_path / "data").mkdir()
    (tmp_path / "images").mkdir()
    assert fakes.is_dir()
    for image in re.findall(r"^ENVCFG_IMAGE='(.*)'$", text, re.M):
        if image.startswith("/"):
            Path(image).touch()
    if name.endswith("-steps"):
        text += "\nenvcfg_run python3 dump.py out 'a b'\n"
    before = set(Path("/tmp").glob(f"envcfg-*-{JOB}-*"))
    done = bash(f"set -euo pipefail\n{text}", FAKE_NODES="2", FAKE_TASKS="2", USER="me")
    assert done.returncode == 0, done.stderr.decode()
    ranks = 1 if name == "workstation-steps" else 2 if name.startswith("work") else 4
    assert len(list((tmp_path / "out").glob("*.env"))) == ranks
    for rank in range(ranks):
        assert zero_separated(tmp_path / f"out/{rank}.args") == [b"a b"]
        seen = environment(tmp_path / f"out/{rank}.env")
        assert seen[b"WORLD_SIZE"] == str(ranks).encode()
        assert not [name for name in seen if name.startswith(b"ENVCFG_PRESET")]
        if name.startswith("lumi"):
            assert seen[b"NCCL_SOCKET_IFNAME"] == b"hsn0,hsn1,hsn2,hsn3"
            assert seen[b"MASTER_ADDR"] == b"node1"
            assert seen[b"MASTER_PORT"] == str(10000 + int(JOB) * 101 % 20000).encode()
            assert seen[b"NODE_RANK"] == str(rank // 2).encode()
            assert seen[b"LOCAL_WORLD_SIZE"] == b"2"
        if name == "lumi-rocm7":
            assert seen[b"NCCL_NET"] == b"AWS Libfabric"
            assert seen[b"QUOTE"] == b"'\"$HOME`id`\\"
            assert seen[b"SEED"] == f"{rank}{JOB}".encode()
            assert b"NCCL_NET_GDR_LEVEL" not in seen
    assert set(Path("/tmp").glob(f"envcfg-*-{JOB}-*")) <= before


AGENT = r"""#!/bin/bash
# Stands in for python: as torchrun it starts two ranks, as a rank's program it takes notes.
if [[ $1 != -m ]]; then
  printf '%s %s %s %s\n' "$MINE" "$NODE_RANK" "$2" "${MIOPEN_USER_DB_PATH##*/}" >>worker
  exit
fi
printf '%s\0' "$@" >agent
while [[ $1 != --no-python ]]; do shift; done
shift
for i in 0 1; do GROUP_RANK=0 RANK=$i LOCAL_RANK=$i "$@"; done
"""


@pytest.mark.usefixtures("fakes")
def test_torchrun_gets_its_options_and_starts_the_worker_part(
    wrap: Callable[..., Wrapped], tmp_path: Path
) -> None:
    agent = tmp_path / "python3"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    options = ("--container", "none", "--launcher", "torchrun", "--ranks", "2")
    setting = ("--set", "MINE=${LOCAL_RANK}")
    made = wrap(*LUMI, *options, *setting, "--", str(agent), "train.py", "a b")
    assert made.code == 0, made.err
    done = bash(f"set -eu\n{made.text}")
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(tmp_path / "agent")]
    assert noted[:9] == [
        "-m",
        "torch.distributed.run",
        "--nnodes=1",
        "--nproc-per-node=2",
        "--rdzv-backend=c10d",
        f"--rdzv-id={JOB}.0",
        f"--rdzv-endpoint=node1:{10000 + int(JOB) * 101 % 20000}",
        "--rdzv-conf=is_host=1",
        "--local-addr=node1",
    ]
    assert (tmp_path / "worker").read_text() == "0 0 a b miopen\n1 0 a b miopen\n"


def test_the_same_input_makes_the_same_text(wrap: Callable[..., Wrapped]) -> None:
    assert wrap(*arguments("lumi-srun")).out == wrap(*arguments("lumi-srun")).out
