"""PBS jobs, by the real mpiexec of MPICH and of Open MPI over both nodes.

PBS itself cannot be had: a job of Slurm stands for its job, with its variables instead of
Slurm's, and srun for the ssh by which mpiexec reaches the other node. That of PALS is one of
MPICH behind a wrapper that has its options, its version and its variables.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from cluster import Cluster
from job import Job
from support import environment, wrap_text, zero_separated
from test_wrap_env import HOSTILE
from test_wrap_jobs import caches

BASE = ("--profile", "derecho", "--ranks", "2")
MPIEXEC = ("hydra", "openmpi", "pals")

# rsh [OPTION...] HOST COMMAND...: as ssh, a shell takes the words there.
RSH = r"""#!/bin/bash
while [[ $1 == -* ]]; do
  if [[ $1 == -l ]]; then shift; fi
  shift
done
read -r job <"${0%/*}/../slurm"
exec srun --jobid="$job" --overlap --mem=0 -N1 -n1 -w "$1" sh -c "${*:2}"
"""
PALS = r"""#!/bin/bash
if [[ $1 == --version ]]; then
  echo 'mpiexec version 1.2.12 revision 34a6f0c built by a test'
  exit
fi
words=()
while [[ $1 == -* ]]; do
  case $1 in
    --np) words+=(-n "$2") ;;
    --ppn | --hosts) words+=("${1#-}" "$2") ;;
    --cpu-bind | -d) ;;
    *) exit 2 ;;
  esac
  shift 2
done
exec mpiexec.hydra "${words[@]}" "${0%/*}/pals-task" "$@"
"""
# PALS ends all when one fails; the task of envcfg must not do it here.
TASK = r"""#!/bin/bash
fd=$PMI_FD
export PALS_RANKID=$PMI_RANK PALS_LOCAL_RANKID=$MPI_LOCALRANKID PALS_NODEID=$((PMI_RANK / MPI_LOCALNRANKS))
unset -v PMI_FD PMI_RANK MPI_LOCALRANKID MPI_LOCALNRANKS
trap : TERM USR1
code=0
"$@" || code=$?
if ((code > 0)); then echo "cmd=abort exitcode=$code" >&"$fd"; fi
exit "$code"
"""
# The job: two nodes, as many slots on each, and nothing of Slurm.
HEAD = r"""#!/bin/bash
set -euo pipefail
echo "$SLURM_JOB_ID" >slurm
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed p >nodes
export PBS_JOBID=$SLURM_JOB_ID.pbs PBS_NODEFILE=$PWD/nodes PBS_O_WORKDIR=$PWD PATH=$PWD/bin:$PATH
export HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC=$PWD/bin/rsh OMPI_MCA_plm_rsh_agent=$PWD/bin/rsh
unset -v "${!SLURM@}"
"""
SIZE = ("-N2", "--partition=standard-g")


@pytest.fixture(params=MPIEXEC)
def mpiexec(request: pytest.FixtureRequest, workdir: Path) -> str:
    """Put one mpiexec and the job's tools into a folder of the job; returns whose."""
    name: str = request.param
    tools = workdir / "bin"
    tools.mkdir()
    own = PALS if name == "pals" else f'#!/bin/sh\nexec mpiexec.{name} "$@"\n'
    for tool, text in {"rsh": RSH, "pals-task": TASK, "mpiexec": own}.items():
        (tools / tool).write_text(text)
        (tools / tool).chmod(0o755)
    return name


def submit(
    cluster: Cluster,
    workdir: Path,
    *options: str,
    start: str = "",
    base: tuple[str, ...] = BASE,
) -> Job:
    """Submit a job with the script of wrap, and with what *start* adds before it."""
    made = wrap_text(*base, *options)
    assert made.code == 0, made.err
    (workdir / "wrap.sh").write_bytes(made.out)
    return cluster.submit(f"{HEAD}{start}\nsource ./wrap.sh\n", *SIZE)


def left_running(cluster: Cluster) -> list[tuple[str, ...]]:
    """Return the user's processes; Open MPI does not wait for what stands for ssh here."""
    for _ in range(10):
        if not (left := cluster.left_running()):
            break
        time.sleep(0.5)
    return left


def image(cluster: Cluster) -> tuple[str, ...]:
    return ("--runtime", "apptainer", "--container", str(cluster.pytorch_image))


@pytest.mark.nightly
@pytest.mark.parametrize("launcher", ["pbs", "torchrun"])
def test_training_over_two_nodes_is_right(
    cluster: Cluster, programs: Path, workdir: Path, mpiexec: str, launcher: str
) -> None:
    options = ("--launcher", launcher, "--", "python3", str(programs / "ddp.py"))
    job = submit(cluster, workdir, *image(cluster), *options).wait(timeout=240)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), job.stdout
    found = [json.loads(x) for x in job.stdout.splitlines() if x.startswith("{")]
    ranks = sorted(found, key=lambda rank: int(rank["RANK"]))
    assert [rank["RANK"] for rank in ranks] == ["0", "1", "2", "3"], mpiexec
    assert [rank["LOCAL_RANK"] for rank in ranks] == ["0", "1", "0", "1"]
    assert [rank["NODE_RANK"] for rank in ranks] == ["0", "0", "1", "1"]
    assert len({rank["loss"] for rank in ranks}) == 1
    assert len({rank["weights"] for rank in ranks}) == 1
    assert len({(rank["MASTER_ADDR"], rank["MASTER_PORT"]) for rank in ranks}) == 1
    for rank in ranks:
        assert rank.items() >= {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}.items()
    if launcher == "pbs":
        assert ranks[0]["MASTER_ADDR"] == cluster.nodes[0]
        assert 10000 <= int(ranks[0]["MASTER_PORT"]) < 30000
    assert left_running(cluster) == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    "clean", [(), ("--runtime-arg=--cleanenv",)], ids=["", "cleanenv"]
)
def test_every_setting_and_argument_is_exact_in_every_rank(
    cluster: Cluster,
    programs: Path,
    workdir: Path,
    mpiexec: str,
    clean: tuple[str, ...],
) -> None:
    words = [*HOSTILE, ":", "::", "a:b", "-n", "-host", "{{id}}"]
    options = [*image(cluster), *clean]
    for at, value in enumerate(HOSTILE):
        options += ["--set", f"V{at}={value.replace('$', '$$')}"]
    options += ["--set", "WHO=${RANK}", "--unset", "IMAGE_GONE"]
    program = ("--", "python3", str(programs / "dump.py"), "out")
    mine = "export MINE=$'a;b,c =\\n\"d\" \\\\ $x'"
    job = submit(cluster, workdir, *options, *program, *words, start=mine)
    job.wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), (mpiexec, job.stdout)
    for rank in range(4):
        seen = environment(workdir / f"out/{rank}.env")
        assert zero_separated(workdir / f"out/{rank}.args") == [
            w.encode() for w in words
        ]
        for at, value in enumerate(HOSTILE):
            assert seen[f"V{at}".encode()] == value.encode()
        assert seen[b"WHO"] == str(rank).encode()
        assert seen[b"NCCL_SOCKET_IFNAME"] == b"hsn"  # the image: wrong0
        assert seen[b"IMAGE_OWN"] == b"kept"
        assert seen[b"WORLD_SIZE"] == b"4"
        if not clean:  # what the user has exported comes to all nodes
            assert seen[b"MINE"] == b'a;b,c =\n"d" \\ $x'
        assert [each for each in seen if each.startswith(b"ENVCFG_")] == [
            b"ENVCFG_CACHE"
        ]
    assert not list(workdir.rglob("canary"))
    assert caches(cluster, job) == []


@pytest.mark.parametrize(
    ("fails", "code"),
    [
        ("exit 7", 7),
        pytest.param("exit 255", 255, marks=pytest.mark.nightly),
        pytest.param("kill -SEGV $$", 139, marks=pytest.mark.nightly),
        ("kill -KILL $$", 137),
    ],
)
def test_the_first_rank_that_fails_ends_the_step(
    cluster: Cluster, workdir: Path, mpiexec: str, fails: str, code: int
) -> None:
    program = f'if [ "$RANK" = 3 ]; then {fails}; fi; exec sleep 50'
    for container in (("--container", "none"), image(cluster)):
        job = submit(cluster, workdir, *container, "--", "sh", "-c", program)
        job.wait(timeout=35)
        assert (job.state, job.exit_code) == ("FAILED", code), (mpiexec, job.stdout)
        assert left_running(cluster) == []
        assert caches(cluster, job) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["TERM", "USR1"])
def test_a_signal_to_the_job_reaches_the_program(
    cluster: Cluster, programs: Path, workdir: Path, mpiexec: str, name: str
) -> None:
    program = ("--", "python3", str(programs / "wait.py"))
    job = submit(cluster, workdir, *image(cluster), *program)
    job.wait_output("ready\n", count=4)
    job.cancel(f"--signal={name}", "--batch")
    job.wait(timeout=40)
    got = re.findall(r"rank \d got SIG(\w+)", job.stdout)
    # The rank that ends first by USR1 ends the others; under PALS by TERM too. With Open MPI
    # a node's daemon may be gone before its last rank has reported the signal.
    least = {"hydra TERM": 4, "hydra USR1": 1, "pals TERM": 1, "pals USR1": 1}.get(
        f"{mpiexec} {name}", 2
    )
    assert got.count(name) >= least, job.stdout
    assert job.state in {"FAILED", "CANCELLED"}
    assert left_running(cluster) == []
    assert caches(cluster, job) == []


@pytest.mark.nightly
def test_steps_of_a_job_share_caches_and_differ_in_size_and_port(
    cluster: Cluster, workdir: Path, mpiexec: str
) -> None:
    made = wrap_text(*BASE, *image(cluster))
    (workdir / "wrap.sh").write_bytes(made.out)
    job = cluster.sbatch(
        f"{HEAD}source ./wrap.sh\nshow='echo step $RANK/$WORLD_SIZE $MASTER_PORT $ENVCFG_CACHE'\n"
        'envcfg_run --nodes=1 --ranks=1 -- sh -c "$show"\nenvcfg_run sh -c "$show"\n',
        *SIZE,
    )
    assert (job.state, job.exit_code) == ("COMPLETED", 0), (mpiexec, job.stdout)
    said = re.findall(r"^step (\S+) (\d+) (\S+)$", job.stdout, re.M)
    assert sorted(size for size, *_ in said) == ["0/1", "0/4", "1/4", "2/4", "3/4"]
    assert len({port for _, port, _ in said}) == 2
    assert len({cache for *_, cache in said}) == 2  # one on each node
    assert caches(cluster, job) == []


@pytest.mark.nightly
@pytest.mark.parametrize("mpiexec", ["hydra"], indirect=True)
@pytest.mark.parametrize("launcher", ["pbs", "torchrun"])
@pytest.mark.parametrize(
    ("rendezvous", "address"),
    [("suffix: -hsn0", "nid001000-hsn0"), ("interface: hsn1", "10.253.1.")],
)
def test_ranks_meet_by_the_name_or_address_that_the_profile_says(
    cluster: Cluster,
    programs: Path,
    workdir: Path,
    tmp_path: Path,
    mpiexec: str,
    launcher: str,
    rendezvous: str,
    address: str,
) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    profile = tmp_path / "p.yaml"
    profile.write_text(
        "name: p\nlaunch: {launchers: [pbs, torchrun]}\n"
        f"rendezvous: {{{rendezvous}, {reason}}}\n"
        f"env: {{GLOO_SOCKET_IFNAME: {{value: hsn1, {reason}}}}}\n"
    )
    options = ("--profile", str(profile), *image(cluster), "--launcher", launcher)
    job = submit(cluster, workdir, *options, "--", "python3", str(programs / "ddp.py"))
    job.wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), (mpiexec, job.stdout)
    found = [json.loads(x) for x in job.stdout.splitlines() if x.startswith("{")]
    assert len({rank["loss"] for rank in found}) == 1
    assert len(found) == 4
    if launcher == "pbs":  # torchrun tells its ranks an address of its own
        (where,) = {rank["MASTER_ADDR"] for rank in found}
        assert where.startswith(address)


@pytest.mark.parametrize("mpiexec", ["pals"], indirect=True)
def test_the_profile_of_polaris_runs_as_it_is(
    cluster: Cluster, programs: Path, workdir: Path, mpiexec: str
) -> None:
    """With its masks, for which the nodes lack the cores, and its option for Apptainer.

    By that the user's home folder, where the program is, has another place.
    """
    options = ("--profile", "polaris", *image(cluster), "--bind", str(programs))
    job = submit(cluster, workdir, *options, "--", "python3", str(programs / "ddp.py"))
    job.wait(timeout=120)
    assert (job.state, job.exit_code) == ("COMPLETED", 0), (mpiexec, job.stdout)
    assert "this job does not own all of these cores" in job.stdout
    assert len([x for x in job.stdout.splitlines() if x.startswith("{")]) == 4


@pytest.mark.nightly
@pytest.mark.parametrize("program", ["7", "5 wait"])
def test_ray_makes_one_cluster_of_both_nodes(
    cluster: Cluster,
    programs: Path,
    workdir: Path,
    ray_library: Path,
    mpiexec: str,
    program: str,
) -> None:
    words = ("python3", str(programs / "with_ray.py"), *program.split())
    options = ("--launcher", "ray", "--set", f"PYTHONPATH={ray_library}")
    options += ("--unset", "HIP_VISIBLE_DEVICES")  # 7 in the image
    binds = ("--bind", str(ray_library))
    options = (*image(cluster), *options, *binds, "--", *words)
    job = submit(cluster, workdir, *options, base=BASE[:2])
    if program == "5 wait":
        job.wait_output("ready\n", timeout=120)
        job.cancel("--signal=USR1", "--batch")
    job.wait(timeout=120)
    assert (job.state, job.exit_code) == ("FAILED", int(program[0])), job.stdout
    assert "Ray runs on 2 nodes" in job.stdout
    lines = [json.loads(x) for x in job.stdout.splitlines() if x.startswith("{")]
    nodes = {line["node"]: line["address"] for line in lines if "node" in line}
    assert sorted(nodes) == list(cluster.nodes), mpiexec
    assert all(address.startswith("10.253.") for address in nodes.values()), nodes
    assert left_running(cluster) == []
    for node in cluster.nodes:
        assert "ray-" not in cluster.node(node, ["ls", "/tmp"]).stdout, node
