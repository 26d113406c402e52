"""What is different in a PBS job: with a fake mpiexec, for want of that of PALS.

Those of MPICH and of Open MPI run for real in tests/cluster/test_pbs.py.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import (
    ROOT,
    Wrap,
    bash,
    environment,
    rank_part,
    require,
    whole,
    wrap_text,
    zero_separated,
)

GOLDEN = ROOT / "tests/golden/polaris-pbs.sh"
DUMP = ROOT / "tests/cluster/programs/dump.py"
BARE = ("--profile", "polaris", "--container", "none")
NUMBER = 7232069
JOB = f"{NUMBER}.polaris-pbs-01.hsn.cm.polaris.alcf.anl.gov"
HOST = os.uname().nodename
DIALECTS = ("pals", "hydra", "openmpi")


@pytest.fixture(autouse=True)
def in_pbs(fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PBS job of two nodes, and none of Slurm; returns the file with its nodes."""
    assert fakes.is_dir()
    nodes = tmp_path / "nodes"
    nodes.write_text("x1.hsn.cm\n\nx1.hsn.cm\nx2.hsn.cm\nx2.hsn.cm")
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name)
    for name in ("PALS_RANKID", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_CPU_BIND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PBS_JOBID", JOB)
    monkeypatch.setenv("PBS_NODEFILE", str(nodes))
    return nodes


def noted(fakes: Path) -> str:
    """Return the options of all calls of mpiexec, joined."""
    return " ".join(word.decode() for word in zero_separated(fakes / "mpiexec"))


def test_a_number_of_a_job_that_looks_octal_is_none(wrap: Wrap, tmp_path: Path) -> None:
    text = wrap(*BARE, "--", "sh", "-c", f"echo $MASTER_PORT >>{tmp_path}/ports").text
    done = bash(text, PBS_JOBID="0089.server")
    assert done.returncode == 0, done.stderr.decode()
    assert len({*(tmp_path / "ports").read_text().split()}) == 1


SIZED = {
    "pals": "--np 8 --ppn 4 --hosts x1.hsn.cm,x2.hsn.cm",
    "hydra": "-n 8 -ppn 4 -hosts x1.hsn.cm,x2.hsn.cm",
    "openmpi": "-n 8 --host x1.hsn.cm:4,x2.hsn.cm:4 --map-by ppr:4:node:oversubscribe",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_rank_gets_what_the_plan_says(
    dialect: str, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.py").write_bytes(DUMP.read_bytes())
    (tmp_path / "pytorch.sif").touch()
    text = whole(GOLDEN.read_text()).replace("'/images", f"'{tmp_path}")
    done = bash(f"set -euo pipefail\n{text}", FAKE_MPI=dialect)
    assert done.returncode == 0, done.stderr.decode()
    assert noted(fakes).startswith(SIZED[dialect])
    ports, caches = set(), set()
    for rank in range(8):
        seen = environment(tmp_path / f"out/{rank}.env")
        assert zero_separated(tmp_path / f"out/{rank}.args") == [b"a b"]
        assert {name: seen[name.encode()].decode() for name in _IDENTITY} == {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % 4),
            "WORLD_SIZE": "8",
            "LOCAL_WORLD_SIZE": "4",
            "NODE_RANK": str(rank // 4),
            "MASTER_ADDR": "x1.hsn.cm",
            "NCCL_SOCKET_IFNAME": "hsn0,hsn1",
            "NCCL_NET": "AWS Libfabric",
        }
        ours = {name for name in seen if name.startswith(b"ENVCFG_")}
        assert ours - {b"ENVCFG_SCHEDULER_SECONDS"} == {b"ENVCFG_CACHE"}
        ports.add(int(seen[b"MASTER_PORT"]))
        caches.add(seen[b"ENVCFG_CACHE"])
    assert len(ports) == 1
    assert 10000 <= ports.pop() < 30000
    (cache,) = caches
    assert f"-{NUMBER}-".encode() in cache
    assert not os.path.exists(cache)


_IDENTITY = (
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR "
    "NCCL_SOCKET_IFNAME NCCL_NET"
).split()


@pytest.mark.parametrize(
    ("before", "error"),
    [
        ("unset PBS_JOBID", "this is not a PBS job"),
        ("unset PBS_NODEFILE", "this is not a PBS job"),
        ("PBS_NODEFILE=/nowhere", "PBS_NODEFILE=/nowhere cannot be read here"),
        ('echo >"$PBS_NODEFILE"', "names no node"),
        ('echo "n1,n2" >"$PBS_NODEFILE"', "names no node by 'n1,n2'"),
        ('echo n1 >"$PBS_NODEFILE"', "made for 2 nodes, but the job has 1"),
        ("export PMI_RANK=0", "this is a task of mpiexec"),
        ("export PALS_RANKID=0", "this is a task of mpiexec"),
        ("PATH=/nowhere", "mpiexec is not on PATH"),
        ("export FAKE_MPI=", "mpiexec is not on PATH, or says nothing"),
        ("export FAKE_MPI='SGI MPT 2'", "none that is known: 'SGI MPT 2'"),
    ],
)
def test_what_is_no_such_job_is_told_so(
    wrap: Wrap, fakes: Path, before: str, error: str
) -> None:
    made = wrap(*BARE, "--fact", "nodes=2", "--", "echo", "started")
    done = bash(f"set -u\n{before}\n{made.text}")
    assert done.returncode == 4
    assert error in done.stderr.decode()
    assert "hint:" in done.stderr.decode()
    assert done.stdout == b""
    assert "--np 8" not in noted(fakes)  # caches are looked for, all the same


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("launcher", ["pbs", "torchrun"])
def test_tasks_may_use_more_than_one_core(
    wrap: Wrap, fakes: Path, tmp_path: Path, dialect: str, launcher: str
) -> None:
    """PALS and Open MPI would give each task one; the profile has no masks here."""
    _fake_torchrun(tmp_path)
    options = ("--profile", "derecho", "--container", "none", "--launcher", launcher)
    made = wrap(*options, "--", "python3", "x.py")
    assert bash(f"PATH={tmp_path}:$PATH\n{made.text}", FAKE_MPI=dialect).returncode == 0
    words = {"pals": "--cpu-bind none", "hydra": "", "openmpi": "--bind-to none"}
    assert words[dialect] in noted(fakes)
    assert ("bind" in noted(fakes)) is bool(words[dialect])


def _fake_torchrun(folder: Path) -> None:
    """Make a torchrun that shows its options but for the worker part."""
    program = folder / "python3"
    program.write_text('#!/bin/bash\nprintf "%s " "${@:1:9}" >>"$PWD/agents"\n')
    program.chmod(0o755)


ALLOWED = "Cpus_allowed:\tffffffff,ffffffff\n"


@pytest.mark.parametrize(
    ("options", "dialect", "allowed", "words", "note"),
    [
        ((), "pals", ALLOWED, "--cpu-bind list:24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39 -d 16", ""),
        (("--ranks", "2"), "pals", ALLOWED, "--cpu-bind list:24-31,56-63:16-23", ""),
        (("--ranks", "8"), "pals", ALLOWED, "--cpu-bind none", "8 per node, but the profile has masks for 4"),
        ((), "pals", "Cpus_allowed:\tffffffff\n", "--cpu-bind none", "does not own all of these cores"),
        ((), "openmpi", ALLOWED, "--bind-to none", "known of the mpiexec of PALS only"),
        ((), "hydra", ALLOWED, "", "known of the mpiexec of PALS only"),
        (("--mpiexec-arg=--cpu-bind=depth",), "pals", ALLOWED, "--cpu-bind=depth", ""),
    ],
)  # fmt: skip
def test_ranks_are_bound_to_the_cores_next_to_their_gpus(
    wrap: Wrap,
    fakes: Path,
    tmp_path: Path,
    options: Sequence[str],
    dialect: str,
    allowed: str,
    words: str,
    note: str,
) -> None:
    (tmp_path / "status").write_text(allowed)
    text = wrap(*BARE, *options, "--", "true").text
    text = text.replace("/proc/self/status", f"{tmp_path}/status")
    done = bash(text, FAKE_MPI=dialect)
    assert done.returncode == 0, done.stderr.decode()
    assert words in noted(fakes)
    assert noted(fakes).count("bind") == (1 if words else 0)
    assert note in done.stderr.decode()
    assert ("ranks are not bound" in done.stderr.decode()) is bool(note)


def test_ranks_of_torchrun_get_the_masks_of_the_profile(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    (tmp_path / "status").write_text(ALLOWED)
    (tmp_path / "python3").write_text('#!/bin/sh\necho "cores ${ENVCFG_CORES-}"\n')
    (tmp_path / "python3").chmod(0o755)
    options = (*BARE, "--launcher", "torchrun")
    for ranks, masks in (("4", "0xff000000ff000000,0x00ff000000ff0000,"), ("8", "\n")):
        made = wrap(*options, "--ranks", ranks, "--", "python3", "train.py").text
        made = made.replace("/proc/self/status", f"{tmp_path}/status")
        done = bash(f"set -eu\nPATH={tmp_path}:$PATH\n{made}")
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode().startswith(f"cores {masks}")
    assert "--cpu-bind none" in noted(fakes)  # torchrun itself has all cores
    assert b"8 per node, but the profile has masks for 4" in done.stderr


def test_a_binding_of_the_user_s_environment_stays(wrap: Wrap, fakes: Path) -> None:
    assert bash(wrap(*BARE, "--", "true").out, PALS_CPU_BIND="depth").returncode == 0
    assert "bind" not in noted(fakes)


def test_options_of_mpiexec_come_last(wrap: Wrap, fakes: Path, tmp_path: Path) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nlaunch: {{launchers: [pbs], mpiexec: {{--no-vni: {{{reason}}}}}}}\n"
    )
    options = ("--profile", "./p.yaml", "--container", "none", "--ranks", "1")
    made = wrap(*options, "--mpiexec-arg=--pmi=pmix", "--", "true")
    assert bash(made.out).returncode == 0
    assert noted(fakes).endswith("--cpu-bind none --no-vni --pmi=pmix")
    assert wrap(*BARE, "--srun-arg=--x", "--", "true").err.startswith(
        "envcfg: error: --srun-arg is given, but pbs starts the tasks, not srun"
    )
    lumi = ("--profile", "lumi-g", "--container", "none")
    assert "but srun starts the tasks, not mpiexec" in (
        wrap(*lumi, "--mpiexec-arg=--x", "--", "true").err
    )


def test_torchrun_gets_the_name_of_its_own_node(wrap: Wrap, tmp_path: Path) -> None:
    _fake_torchrun(tmp_path)
    made = wrap(*BARE, "--launcher", "torchrun", "--", "python3", "train.py")
    done = bash(f"set -eu\nPATH={tmp_path}:$PATH\n{made.text}")
    assert done.returncode == 0, done.stderr.decode()
    said = (tmp_path / "agents").read_text()
    assert said.count("--nnodes=2 --nproc-per-node=4") == 2
    assert set(re.findall(r"--local-addr=(\S+)", said)) == {"x1.hsn.cm", "x2.hsn.cm"}
    ids = re.findall(rf"--rdzv-id={NUMBER}\.\d+ --rdzv-endpoint=x1\.hsn\.cm:\d+", said)
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_a_step_may_be_smaller_than_its_job(wrap: Wrap, fakes: Path) -> None:
    show = b"\nenvcfg_run --nodes=1 --ranks=2 -- sh -c 'echo $RANK/$WORLD_SIZE'\n"
    done = bash(b"set -eu\n" + wrap(*BARE).out + show)
    assert sorted(done.stdout.split()) == [b"0/2", b"1/2"]
    assert "--np 2 --ppn 2 --hosts x1.hsn.cm " in noted(fakes)


def test_steps_of_a_job_have_their_own_ports(wrap: Wrap) -> None:
    show = b"\nenvcfg_run --ranks=1 sh -c 'echo $MASTER_PORT'\n"
    done = bash(b"set -eu\n" + wrap(*BARE).out + show * 2)
    assert len(set(done.stdout.split())) == 2
    made = wrap(
        *BARE, "--ranks", "1", "--", "sh", "-c", "echo $MASTER_ADDR:$MASTER_PORT"
    )
    done = bash(made.out, MASTER_ADDR="mine", MASTER_PORT="4711")
    assert done.stdout.split() == [b"mine:4711"] * 2


def test_caches_are_on_each_node_and_go_with_the_shell(
    wrap: Wrap, fakes: Path, in_pbs: Path
) -> None:
    in_pbs.write_text(f"{HOST}.hsn.cm\n")
    show = b'\nenvcfg_run sh -c \'stat -c "%a %n" "$ENVCFG_CACHE"\'\n'
    for nodes, calls in ((f"{HOST}.hsn.cm\n", 2), (f"{HOST}\nother\n", 3)):
        in_pbs.write_text(nodes)
        (fakes / "mpiexec").unlink(missing_ok=True)
        done = bash(b"set -eu\n" + wrap(*BARE).out + show * 2)
        assert done.returncode == 0, done.stderr.decode()
        (line,) = set(done.stdout.decode().splitlines())
        mode, folder = line.split()
        assert mode == "700"
        assert re.fullmatch(rf"/tmp/envcfg-\d+-{NUMBER}-\d+\.0-{HOST}", folder)
        assert not Path(folder).exists()
        assert noted(fakes).count("--np") == calls  # one node is cleaned from here


def test_files_of_a_step_carry_the_job_s_number(wrap: Wrap, tmp_path: Path) -> None:
    show = ("--", "sh", "-c", 'echo "$NCCL_DEBUG_FILE"')
    made = wrap(*BARE, "--ranks", "1", "--nccl-debug", "logs", *show)
    for job, name in ((JOB, str(NUMBER)), ("12[3].pbs", "12-3"), ("12", "12")):
        done = bash(made.out, PBS_JOBID=job)
        assert done.returncode == 0, done.stderr.decode()
        assert re.match(
            rf"{tmp_path}/logs/nccl-{name}\.\d+/nccl-%h-%p\.log\n", done.stdout.decode()
        )


@pytest.mark.parametrize(
    ("dialect", "missing"),
    [
        ("pals", "PALS_RANKID"),
        ("pals", "PALS_LOCAL_RANKID"),
        ("hydra", "PMI_RANK"),
        ("hydra", "MPI_LOCALRANKID"),
        ("openmpi", "OMPI_COMM_WORLD_RANK"),
        ("openmpi", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ],
)
@pytest.mark.parametrize("how", ["unset -v {}", "export {}="])
def test_a_task_that_is_told_too_little_says_what_is_missing(
    wrap: Wrap, tmp_path: Path, dialect: str, missing: str, how: str
) -> None:
    runtime = tmp_path / "apptainer"
    runtime.write_text(
        f"#!/bin/bash\n{how.format(missing)}\n"
        'while [[ $1 != docker://x ]]; do shift; done\nshift\nexec "$@"\n'
    )
    runtime.chmod(0o755)
    options = ("--profile", "polaris", "--container", "docker://x", "--ranks", "1")
    made = wrap(*options, "--", "true")
    done = bash(f"PATH={tmp_path}:$PATH\n{made.text}", FAKE_MPI=dialect)
    assert done.returncode == 4
    assert f"{missing} is not set in this task" in done.stderr.decode()


def test_a_suffix_or_an_interface_of_the_profile_makes_the_address(
    wrap: Wrap, tmp_path: Path, in_pbs: Path, fakes: Path
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    ip = tmp_path / "bin/ip"
    ip.parent.mkdir()
    ip.write_text('#!/bin/sh\necho "2: $6 inet 10.1.2.3/24 scope global $6"\n')
    ip.chmod(0o755)
    for asked, nodes, address, calls in (
        ("suffix: -h", "n1\nn2\n", "n1-h", 1),
        ("interface: hsn0", "n1\nn2\n", "10.1.2.3", 2),
        ("interface: hsn0", f"{HOST}\nn2\n", "10.1.2.3", 1),
    ):
        (tmp_path / "p.yaml").write_text(
            f"name: p\nlaunch: {{launchers: [pbs]}}\nrendezvous: {{{asked}, {reason}}}\n"
        )
        in_pbs.write_text(nodes)
        (fakes / "mpiexec").unlink(missing_ok=True)
        options = ("--profile", "./p.yaml", "--container", "none", "--ranks", "1")
        made = wrap(*options, "--", "sh", "-c", 'echo "$MASTER_ADDR"')
        done = bash(f"set -eu\nPATH={ip.parent}:$PATH\n{made.text}")
        assert done.stdout.decode() == f"{address}\n" * 2, done.stderr.decode()
        assert noted(fakes).count("--np") == calls


def test_without_gpus_in_the_profile_the_ranks_must_be_given(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("name: p\nlaunch: {launchers: [pbs, torchrun]}\n")
    options = ("--profile", "./p.yaml", "--container", "none")
    for launcher in ("pbs", "torchrun"):
        done = bash(wrap(*options, "--launcher", launcher, "--", "python3").out)
        assert done.returncode == 2
        assert b"give --ranks N" in done.stderr


words = st.one_of(
    st.sampled_from(["", ":", "::", "a:", ":a", " :"]), st.text(":ab ", max_size=4)
)


@settings(deadline=None, max_examples=25)
@given(arguments=st.lists(words, max_size=5))
def test_a_colon_does_not_end_the_command(arguments: list[str]) -> None:
    made = wrap_text(*BARE, "--ranks", "1", "--", "printf", "<%s>", "x", *arguments)
    done = bash(made.out, FAKE_ONLY="0")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "".join(f"<{each}>" for each in ("x", *arguments))


def test_tasks_that_are_not_numbered_node_by_node_are_refused(wrap: Wrap) -> None:
    done = bash(wrap(*BARE, "--", "true").out, FAKE_CYCLIC="1")
    assert done.returncode == 4
    assert b"not numbered node by node" in done.stderr


def test_what_the_rank_part_follows_cannot_be_set_here(wrap: Wrap) -> None:
    """Elsewhere it can: Tuolumne takes PMI_RANK from its ranks."""
    for way in ("--set=PMI_RANK=3", "--unset=PALS_RANKID"):
        made = wrap(*BARE, way, "--", "true")
        assert made.code == 2
        assert "is each rank's own under pbs and cannot be set" in made.err
        lumi = ("--profile", "lumi-g", "--container", "none")
        assert wrap(*lumi, way, "--", "true").code == 0


def test_mpi_programs_need_no_other_pmi(wrap: Wrap) -> None:
    made = wrap(*BARE, "--", "mpirun", "-np", "4", "sh", "-c", 'echo "$PMI_RANK"')
    assert made.code == 0, made.err
    done = bash(made.out)
    assert sorted(done.stdout.split()) == [str(n).encode() for n in range(8)]


def test_exit_code_and_signals_pass_through(wrap: Wrap, tmp_path: Path) -> None:
    for dialect in DIALECTS:
        fails = wrap(*BARE, "--", "sh", "-c", "exit $((RANK + 5))")
        done = bash(fails.out, FAKE_MPI=dialect)
        assert done.returncode == 12
        own = b"envcfg: note: exit code 12 is that of mpiexec, and may be of a rank"
        assert (own in done.stderr) == (dialect == "pals")
    program = 'trap "exit 7" USR1; : >"up$RANK"; while :; do sleep 0.1; done'
    script = tmp_path / "step.sh"
    script.write_bytes(wrap(*BARE, "--ranks", "1", "--", "sh", "-c", program).out)
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
        f"{rank_part('core', 'arguments', 'pbs', 'colons')}"
        'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK '
        '$MASTER_ADDR $MASTER_PORT $envcfg_address $*"'
    )
    told = {
        "ENVCFG_SUFFIX": "",
        "ENVCFG_DIALECT": "pals",
        "PALS_RANKID": "9",
        "PALS_LOCAL_RANKID": "1",
        "ENVCFG_TASKS": "4",
        "ENVCFG_STEP_NODES": "4",
        "ENVCFG_STEP": "1.2",
        "ENVCFG_HOSTS": "a,b,c,d,",
        "ENVCFG_PRESET": " ",
        "ENVCFG_MASTER_ADDR": "a",
        "ENVCFG_MASTER_PORT": "10007",
        "ENVCFG_COLONS": "yes",
    }
    done = subprocess.run(
        [*shell, "-euc", text, "x", "--", "::", "", "a:", ":::"],
        env=told,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == "9 1 16 4 2 a 10007 c :  a: ::\n"


def test_the_plan_is_shown_as_mpiexec_s(wrap: Wrap) -> None:
    line = wrap(*BARE, "--print", "exec-line", "--", "true").text
    assert line.startswith(
        'mpiexec "${ENVCFG_SIZED[@]}" --cpu-bind list:24-31,56-63:16-23,48-55:8-15,40-47:'
        '0-7,32-39 -d 16 "${ENVCFG_MPIEXEC[@]}" /bin/sh -c '
    )
    made = wrap(*BARE, "--set", "X=${HOSTNAME}", "--", "true")
    assert "use ${NODE_RANK}" in made.err


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_container_ranks_run_and_their_code_counts(
    wrap: Wrap, dialect: str
) -> None:
    made = wrap(*BARE, "--", "sh", "-c", "echo $RANK; exit 3")
    script = f"set -euo pipefail\n{made.text}"
    done = bash(script, FAKE_MPI=dialect, PBS_JOBID="77.server")
    assert done.returncode == 3, done.stderr.decode()
    assert b"unbound" not in done.stderr
    assert done.stdout != b""
