"""What is different where Flux launches: with a fake flux, for want of a real one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support import (
    ROOT,
    Wrap,
    bash,
    environment,
    rank_part,
    require,
    whole,
    zero_separated,
)

GOLDEN = ROOT / "tests/golden/tuolumne-flux.sh"
DUMP = ROOT / "tests/cluster/programs/dump.py"
BARE = ("--profile", "tuolumne", "--container", "none", "--fact", "rocm=6.4.1")
STEP_ID = "\N{LATIN SMALL LETTER F WITH HOOK}4k"  # as the fake names a step
OPTIONS = "-o exit-on-error -o exit-timeout=none -o mpibind=off -o gpu-affinity=off"


@pytest.fixture(autouse=True)
def in_flux(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An allocation of Flux, and none of Slurm."""
    monkeypatch.delenv("SLURM_JOB_ID")
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    monkeypatch.delenv("FLUX_TASK_RANK", raising=False)
    monkeypatch.setenv("FLUX_URI", "local:///tmp/flux-AbCdEf/local-0")
    return fakes


@pytest.mark.parametrize("nodes", [1, 4])
def test_each_rank_gets_what_the_plan_says(
    nodes: int, in_flux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.py").write_bytes(DUMP.read_bytes())
    (tmp_path / "pytorch.sif").touch()
    text = whole(GOLDEN.read_text()).replace("'/images", f"'{tmp_path}")
    done = bash(f"set -euo pipefail\n{text}", FAKE_NODES=str(nodes))
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(in_flux / "flux-run")]
    assert " ".join(noted) == (
        f"--exclusive -N {nodes} -n {4 * nodes} {OPTIONS} -o cpu-affinity=per-task"
        + (" --setattr=rdzv_get_en=0" if nodes > 1 else "")
    )
    ports, caches = set(), set()
    for rank in range(4 * nodes):
        seen = environment(tmp_path / f"out/{rank}.env")
        assert zero_separated(tmp_path / f"out/{rank}.args") == [b"a b"]
        assert {name: seen[name.encode()].decode() for name in _IDENTITY} == {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % 4),
            "WORLD_SIZE": str(4 * nodes),
            "LOCAL_WORLD_SIZE": "4",
            "NODE_RANK": str(rank // 4),
            "MASTER_ADDR": "node1",
            "NCCL_SOCKET_IFNAME": "hsi0",
            "FLUX_JOB_ID": STEP_ID,
        }
        assert (b"NCCL_NET" in seen) is (nodes > 1)
        assert not [
            name for name in seen if re.match(b"PMI_|PALS_|CUDA_|ENVCFG_MAST", name)
        ]
        ports.add(int(seen[b"MASTER_PORT"]))
        caches.add(seen[b"ENVCFG_CACHE"])
    assert len(ports) == 1
    assert 10000 <= ports.pop() < 30000
    assert len(zero_separated(in_flux / "flux-exec")) == 2
    (cache,) = caches
    assert b"-3AbZ-" in cache
    assert not os.path.exists(cache)


_IDENTITY = (
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR "
    "NCCL_SOCKET_IFNAME FLUX_JOB_ID"
).split()


@pytest.mark.parametrize(
    ("before", "error"),
    [
        ("unset FLUX_URI", "FLUX_URI is not set"),
        ("export FLUX_TASK_RANK=0", "this is a task of flux run"),
        ("PATH=/nowhere", "flux is not on PATH"),
        ("export FAKE_NODES=0", "flux hostlist names no node"),
        ("export FAKE_NODES=3", "made for 2 nodes, but the job has 3"),
    ],
)
def test_a_job_that_is_no_allocation_is_told_so(
    wrap: Wrap, in_flux: Path, before: str, error: str
) -> None:
    made = wrap(*BARE, "--fact", "nodes=2", "--", "echo", "started")
    done = bash(f"set -u\n{before}\n{made.text}")
    assert done.returncode == 4
    assert error in done.stderr.decode()
    assert "hint:" in done.stderr.decode()
    assert done.stdout == b""
    assert not (in_flux / "flux-run").exists()


def test_caches_are_on_each_node_and_go_with_the_shell(wrap: Wrap) -> None:
    show = b'\nenvcfg_run sh -c \'stat -c "%a %n" "$ENVCFG_CACHE"\'\n'
    done = bash(b"set -eu\n" + wrap(*BARE).out + show * 2, FAKE_NODES="2")
    assert done.returncode == 0, done.stderr.decode()
    lines = set(done.stdout.decode().splitlines())
    assert len(lines) == 1
    mode, folder = lines.pop().split()
    assert mode == "700"
    assert folder.startswith(f"/tmp/envcfg-{os.getuid()}-3AbZ-")
    assert folder.endswith(f".0-{os.uname().nodename}")
    assert not Path(folder).exists()
    assert bash(b"set -eu\nPATH=/bin:/usr/bin\n" + wrap(*BARE).out).returncode == 0


def test_files_of_a_step_carry_the_job_s_number(wrap: Wrap, tmp_path: Path) -> None:
    """By which they differ from those of another job."""
    tool = tmp_path / "bin/nsys"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$2"\n')
    tool.chmod(0o755)
    options = ("--profile-rank", "0", "--profiler", "nsys", "--nccl-debug", "logs")
    made = wrap(*BARE, "--ranks", "1", *options, "--", "true")
    for job in ("3AbZ", "9xYz"):
        done = bash(
            f"set -eu\nPATH={tool.parent}:$PATH\n{made.text}",
            FAKE_JOB=f"\N{LATIN SMALL LETTER F WITH HOOK}{job}",
        )
        assert done.stdout.decode() == f"--output=envcfg-nsys-{job}-rank0\n"
    show = ("--", "sh", "-c", 'echo "$NCCL_DEBUG_FILE ${ENVCFG_JOB-}"')
    done = bash(wrap(*BARE, "--ranks", "1", "--nccl-debug", "logs", *show).out)
    assert re.fullmatch(
        rf"{tmp_path}/logs/nccl-3AbZ\.\d+/nccl-%h-%p\.log \n", done.stdout.decode()
    )


@pytest.mark.parametrize(
    "missing",
    [
        "FLUX_TASK_RANK",
        "FLUX_TASK_LOCAL_ID",
        "FLUX_JOB_SIZE",
        "FLUX_JOB_NNODES",
        "FLUX_JOB_ID",
    ],
)
@pytest.mark.parametrize("how", ["unset -v {}", "export {}="])
def test_a_task_that_is_told_too_little_says_what_is_missing(
    wrap: Wrap, tmp_path: Path, missing: str, how: str
) -> None:
    runtime = tmp_path / "singularity"
    runtime.write_text(f'#!/bin/bash\n{how.format(missing)}\nshift 2\nexec "$@"\n')
    runtime.chmod(0o755)
    options = (
        "--profile",
        "tuolumne",
        "--fact",
        "rocm=6.4.1",
        "--runtime",
        "singularity",
    )
    made = wrap(*options, "--container", "docker://x", "--ranks", "1", "--", "true")
    done = bash(f"PATH={tmp_path}:$PATH\n{made.text}")
    assert done.returncode == 4
    assert f"{missing} is not set in this task" in done.stderr.decode()


def test_the_job_s_own_address_and_port_stay(wrap: Wrap) -> None:
    show = 'echo "$MASTER_ADDR $MASTER_PORT"'
    made = wrap(*BARE, "--ranks", "1", "--", "sh", "-c", show)
    done = bash(made.out, MASTER_ADDR="mine", MASTER_PORT="4711")
    assert done.stdout == b"mine 4711\n"
    assert (
        bash(made.out, FAKE_STEP="4k").stdout != bash(made.out, FAKE_STEP="4m").stdout
    )


def test_a_suffix_or_an_interface_of_the_profile_makes_the_address(
    wrap: Wrap, tmp_path: Path
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    ip = tmp_path / "bin/ip"
    ip.parent.mkdir()
    ip.write_text('#!/bin/sh\necho "2: $6 inet 10.1.2.3/24 scope global $6"\n')
    ip.chmod(0o755)
    for asked, address in (("suffix: -h", "node1-h"), ("interface: hsi0", "10.1.2.3")):
        (tmp_path / "p.yaml").write_text(
            "name: p\nlaunch: {launchers: [flux]}\n"
            f"rendezvous: {{{asked}, {reason}}}\n"
        )
        options = ("--profile", "./p.yaml", "--container", "none", "--ranks", "2")
        made = wrap(*options, "--", "sh", "-c", 'echo "$MASTER_ADDR"')
        done = bash(f"set -eu\nPATH={ip.parent}:$PATH\n{made.text}")
        assert done.stdout.decode() == f"{address}\n" * 2, done.stderr.decode()


def test_without_gpus_in_the_profile_the_ranks_must_be_given(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("name: p\nlaunch: {launchers: [flux]}\n")
    made = wrap("--profile", "./p.yaml", "--container", "none", "--", "true")
    done = bash(made.out)
    assert done.returncode == 2
    assert b"give --ranks N" in done.stderr


def test_what_flux_would_rewrite_is_refused(wrap: Wrap, in_flux: Path) -> None:
    done = bash(wrap(*BARE, "--", "echo", "a {{id}} b").out)
    assert done.returncode == 2
    assert b"a {{id}} b" in done.stderr
    assert not (in_flux / "flux-run").exists()
    assert bash(wrap(*BARE, "--", "echo", "{{a} }").out).returncode == 0


def test_tasks_that_are_not_numbered_node_by_node_are_refused(wrap: Wrap) -> None:
    made = wrap(*BARE, "--", "true")
    done = bash(made.out, FAKE_NODES="2", FAKE_TASKMAP="cyclic")
    assert done.returncode == 4
    assert b"not numbered node by node" in done.stderr


def test_exit_code_and_signals_pass_through(wrap: Wrap, tmp_path: Path) -> None:
    done = bash(wrap(*BARE, "--", "sh", "-c", "exit $((RANK + 5))").out)
    assert done.returncode == 8
    assert (
        b"envcfg: note: exit code 8 is that of flux run, and may be of" in done.stderr
    )
    one = wrap(*BARE, "--ranks", "1", "--", "sh", "-c", "exit 5")
    assert b"is that of" not in bash(one.out).stderr
    program = 'trap "exit 7" USR1; : >"up$RANK"; while :; do sleep 0.1; done'
    script = tmp_path / "step.sh"
    script.write_bytes(wrap(*BARE, "--ranks", "2", "--", "sh", "-c", program).out)
    with subprocess.Popen(["bash", str(script)], cwd=tmp_path) as step:
        while len(list(tmp_path.glob("up*"))) < 2:
            time.sleep(0.05)
        step.send_signal(signal.SIGUSR1)
        assert step.wait(20) == 7


@pytest.mark.parametrize(
    "shell", [["dash"], ["busybox", "sh"], ["bash", "--posix"]], ids=" ".join
)
def test_the_rank_part_runs_in_any_posix_shell(shell: list[str]) -> None:
    require(shell[0])
    text = (
        f"{rank_part('core', 'arguments', 'flux').removesuffix('envcfg_inside' + chr(10))}"
        'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK '
        '$MASTER_ADDR $MASTER_PORT"'
    )
    flux = {
        "ENVCFG_SUFFIX": "",
        "FLUX_TASK_RANK": "9",
        "FLUX_TASK_LOCAL_ID": "1",
        "FLUX_JOB_SIZE": "16",
        "FLUX_JOB_NNODES": "4",
        "FLUX_JOB_ID": "f3AbZ",
        "ENVCFG_PRESET": " ",
        "ENVCFG_MASTER_ADDR": "node1",
    }
    done = subprocess.run(
        [*shell, "-euc", text, "envcfg-rank", "--"],
        env=flux,
        capture_output=True,
        check=False,
        text=True,
    )
    digits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
    number = 0
    for digit in "f3AbZ":
        number = number * 58 + digits.index(digit)
    assert done.stderr == ""
    assert done.stdout == f"9 1 16 4 2 node1 {10000 + number % 19997}\n"


def test_the_plan_is_shown_and_checked_as_flux_s(wrap: Wrap) -> None:
    line = wrap(*BARE, "--print", "exec-line", "--", "true").text
    assert line.startswith(
        'flux run --setattr=rdzv_get_en=0 "${ENVCFG_FLUX[@]}" /bin/sh -c '
    )
    made = wrap(*BARE, "--set", "X=${HOSTNAME}", "--", "true")
    assert "use ${NODE_RANK}" in made.err
    show = wrap(*BARE, "--ranks", "2", "--set", "X=${FLUX_TASK_RANK}", "--", "sh", "-c")
    assert show.code == 0
    assert (
        "lacks X --set FLUX_TASK_RANK "
        in show.text.partition("\nenvcfg_rank_settings() {")[2]
    )
