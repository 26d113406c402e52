"""Every value and argument arrives in every rank's program as the plan says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cluster import Cluster
from support import environment, wrap_text, zero_separated

BASE = ("--profile", "lumi-g", "--fact", "rocm=6.2.4")
# Values that other mechanisms break: commas, spaces, quotes, references, newlines.
HOSTILE = [
    ":",
    "::",
    "", " ", "AWS Libfabric", "hsn0,hsn1", "^LL128", "==hsn0", "a=b=c", "a,b='c'", "$HOME",
    "${HOME}", "$(touch canary)", "`touch canary`", "; touch canary", "'", '"', "\\", "\\n",
    "\n", "two\nlines\n", "\t", "*", "~", "#", "--", "-u", "A=B", "ENVCFG_TEXT", "äö€𝄞", "%s",
    "\nENVCFG_TEXT\ntouch canary\n", "x" * 5000,
]  # fmt: skip


def expand(text: str, seen: dict[bytes, bytes]) -> bytes:
    """Expand a value as the plan writes it by what the program has seen: the model."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return seen[match[1].encode()].decode()

    return re.sub(r"\$\$|\$\{(\w+)(?::-[^}]*)?\}", value, text).encode()


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
@pytest.mark.parametrize(
    "clean", [(), ("--runtime-arg=--cleanenv",)], ids=["", "cleanenv"]
)
def test_every_setting_and_argument_is_exact_in_every_rank(
    cluster: Cluster,
    programs: Path,
    workdir: Path,
    runtime: str,
    clean: tuple[str, ...],
) -> None:
    options = [
        *BASE,
        "--container",
        str(cluster.pytorch_image),
        "--runtime",
        runtime,
        *clean,
    ]
    for at, value in enumerate(HOSTILE):
        options += ["--set", f"V{at}={value.replace('$', '$$')}"]
    options += [
        "--set",
        "WHO=${RANK} on ${SLURMD_NODENAME}",
        "--set",
        "MINE=${EXPORTED}",
    ]
    options += ["--set", "BOTH=${EXPORTED}/${LOCAL_RANK}", "--set", "PATH=/x:${PATH}"]
    options += ["--set", "NCCL_NET=AWS Libfabric", "--unset", "IMAGE_GONE"]
    made = wrap_text(
        *options, "--", "python3", str(programs / "dump.py"), "out", *HOSTILE
    )
    assert made.code == 0, made.err
    (workdir / "wrap.sh").write_bytes(made.out)
    plan = json.loads(wrap_text(*options, "--json").text)

    job = cluster.sbatch(
        "#!/bin/bash\nset -euo pipefail\nexport EXPORTED='from the job'\nsource ./wrap.sh\n",
        *("-N2", "--ntasks-per-node=2", "--gpus-per-node=8", "--partition=standard-g"),
    )

    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    for rank in range(4):
        assert zero_separated(workdir / f"out/{rank}.args") == [
            word.encode() for word in HOSTILE
        ]
        seen = environment(workdir / f"out/{rank}.env")
        for setting in plan["settings"]:
            name = setting["name"].encode()
            (branch,) = setting["branches"]
            if branch["value"] is None:
                assert name not in seen
            elif "SLURM_JOB_ACCOUNT" in branch["value"]:
                assert name not in seen  # optional: this cluster has no accounts
            elif name == b"PATH":
                assert seen[name].startswith(b"/x:/")
            elif name == b"MINE":
                assert seen[name] == b"from the job"
            elif name == b"BOTH":
                assert seen[name] == f"from the job/{rank % 2}".encode()
            else:
                assert seen[name] == expand(branch["value"], seen), setting["name"]
        assert (
            seen[b"NCCL_SOCKET_IFNAME"] == b"hsn0,hsn1,hsn2,hsn3"
        )  # the image: wrong0
        assert seen[b"NCCL_NET"] == b"AWS Libfabric"  # the image: Wrong
        assert seen[b"MIOPEN_USER_DB_PATH"].startswith(
            b"/tmp/envcfg-"
        )  # the image: /wrong
        assert seen[b"IMAGE_OWN"] == b"kept"
        assert seen[b"ROCR_VISIBLE_DEVICES"] == b"0,1,2,3,4,5,6,7"
        assert seen[b"HIP_VISIBLE_DEVICES"] == b"0,1,2,3,4,5,6,7"  # the image: 7
        assert b"CUDA_VISIBLE_DEVICES" not in seen
        assert seen[b"RANK"] == str(rank).encode()
        assert seen[b"WORLD_SIZE"] == b"4"
        assert not [
            name
            for name in seen
            if name.startswith(b"ENVCFG_") and name != b"ENVCFG_CACHE"
        ]
    assert not list(workdir.rglob("canary"))


@pytest.mark.parametrize("variable", ["APPTAINER_CLEANENV", "SINGULARITY_CLEANENV"])
def test_a_clean_environment_that_the_job_asks_for_is_noticed(
    cluster: Cluster, programs: Path, workdir: Path, variable: str
) -> None:
    made = wrap_text(
        *(*BASE, "--container", str(cluster.pytorch_image), "--runtime", "apptainer"),
        *("--", "python3", str(programs / "dump.py"), "out"),
    )
    (workdir / "wrap.sh").write_bytes(made.out)
    job = cluster.sbatch(
        f"#!/bin/bash\nexport {variable}=1\nsource ./wrap.sh\n",
        "-N2",
        "--ntasks-per-node=1",
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    assert environment(workdir / "out/1.env")[b"NODE_RANK"] == b"1"


def test_what_the_user_has_exported_wins_and_force_wins_over_it(
    cluster: Cluster, programs: Path, workdir: Path, tmp_path: Path
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "site.yaml").write_text(
        "name: site\nextends: lumi-g\nenv:\n"
        f"  GLOO_SOCKET_IFNAME: {{value: hsn1, force: true, {reason}}}\n"
        f"  TRITON_CACHE_DIR: {{value: '${{ENVCFG_CACHE}}/t', force: true, {reason}}}\n"
    )
    made = wrap_text(
        *("--profile", str(tmp_path / "site.yaml"), "--fact", "rocm=6.2.4"),
        *("--container", str(cluster.pytorch_image), "--runtime", "apptainer"),
        *("--", "python3", str(programs / "dump.py"), "out"),
    )
    assert made.code == 0, made.err
    (workdir / "wrap.sh").write_bytes(made.out)
    mine = {
        "NCCL_SOCKET_IFNAME": "mine0,mine1",
        "MIOPEN_USER_DB_PATH": str(workdir / "my db"),
        "GLOO_SOCKET_IFNAME": "mine",
        "TRITON_CACHE_DIR": "/mine",
        "MASTER_PORT": "12345",
    }
    job = cluster.sbatch(
        "#!/bin/bash\nset -u\nsource ./wrap.sh\n",
        "-N2",
        "--ntasks-per-node=1",
        env=mine,
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    seen = environment(workdir / "out/1.env")
    assert seen[b"NCCL_SOCKET_IFNAME"] == b"mine0,mine1"
    assert seen[b"MIOPEN_USER_DB_PATH"] == seen[b"MIOPEN_CUSTOM_CACHE_DIR"]
    assert seen[b"MIOPEN_USER_DB_PATH"] == str(workdir / "my db").encode()
    assert seen[b"GLOO_SOCKET_IFNAME"] == b"hsn1"
    assert seen[b"TRITON_CACHE_DIR"] == seen[b"ENVCFG_CACHE"] + b"/t"
    assert seen[b"MASTER_PORT"] == b"12345"
