"""A script knows where it may run, and looks when it runs: not only when it is made."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from envcfg.knowledge.variables import load_variables
from suites import mark_sample
from support import Wrap, bash, wrap_text, zero_separated

pytestmark = pytest.mark.usefixtures("fakes")
SRUN = ("--profile", "lumi-g", "--container", "none")
LOCAL = (*SRUN, "--launcher", "local", "--ranks", "2")
TWO = {"SLURM_NNODES": "2"}
STEP = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "16"}

# What is wrong -> options, environment, the word that allows it, words of the message.
FAULTS: dict[str, tuple[tuple[str, ...], dict[str, str], str, str]] = {
    "a task of srun": (LOCAL, {"SLURM_PROCID": "5", **STEP}, "tasks", "one of 16 tasks"),
    "the first task of srun": (SRUN, {"SLURM_PROCID": "0", **STEP}, "tasks", "one of 16 tasks"),
    "a task that knows its number only": (SRUN, {"SLURM_PROCID": "1"}, "tasks", "one of several tasks"),
    "a task of MPICH": (LOCAL, {"PMI_RANK": "0", "PMI_SIZE": "4"}, "tasks", "PMI_RANK=0"),
    "a task of Open MPI": (
        LOCAL, {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, "tasks", "one of 2 tasks",
    ),
    "a task of PALS": (LOCAL, {"PALS_RANKID": "3"}, "tasks", "PALS_RANKID=3"),
    "a task of Flux": (LOCAL, {"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "8"}, "tasks", "one of 8 tasks"),
    "two nodes, one used": (LOCAL, TWO, "nodes", "2 nodes"),
    "another cluster": (SRUN, {"SLURM_CLUSTER_NAME": "frontier"}, "cluster", "frontier"),
    "another cluster, local": (LOCAL, {"SLURM_CLUSTER_NAME": "frontier"}, "cluster", "lumi"),
    "the loopback's address": (SRUN, {**TWO, "MASTER_ADDR": "localhost"}, "loopback", "MASTER_ADDR=localhost"),
    "its number": (SRUN, {**TWO, "MASTER_ADDR": "127.0.0.1"}, "loopback", "MASTER_ADDR=127.0.0.1"),
    "another of its names": (SRUN, {**TWO, "MASTER_ADDR": "ip6-loopback"}, "loopback", "ip6-loopback"),
    "RHEL's name of it": (SRUN, {**TWO, "MASTER_ADDR": "localhost4"}, "loopback", "localhost4"),
    "where one listens, not connects": (SRUN, {**TWO, "MASTER_ADDR": "0.0.0.0"}, "loopback", "0.0.0.0"),  # noqa: S104
    "its number as IPv6 has it": (SRUN, {**TWO, "MASTER_ADDR": "::ffff:127.0.0.1"}, "loopback", "127.0.0.1"),
    "its shortest number": (SRUN, {**TWO, "MASTER_ADDR": "0"}, "loopback", "MASTER_ADDR=0"),
    "its number in IPv6, in full": (SRUN, {**TWO, "MASTER_ADDR": "0:0:0:0:0:0:0:1"}, "loopback", "MASTER_ADDR=0:0"),
    "its number in IPv6": (SRUN, {**TWO, "MASTER_ADDR": "::1"}, "loopback", "MASTER_ADDR=::1"),
    "the loopback": (SRUN, {**TWO, "NCCL_SOCKET_IFNAME": "lo"}, "loopback", "NCCL_SOCKET_IFNAME=lo"),
    "the loopback, exactly": (SRUN, {**TWO, "NCCL_SOCKET_IFNAME": "=lo"}, "loopback", "NCCL_SOCKET_IFNAME==lo"),
    "one of several": (SRUN, {**TWO, "GLOO_SOCKET_IFNAME": "hsn0,lo"}, "loopback", "GLOO_SOCKET_IFNAME"),
    "what no profile sets": (SRUN, {**TWO, "TP_SOCKET_IFNAME": "lo"}, "loopback", "TP_SOCKET_IFNAME=lo"),
    "an address with a port": (SRUN, {**TWO, "NCCL_COMM_ID": "127.0.0.1:9"}, "loopback", "NCCL_COMM_ID"),
    "no address": (SRUN, {**TWO, "MASTER_ADDR": ""}, "loopback", "MASTER_ADDR is empty"),
    "no interface": (SRUN, {**TWO, "GLOO_SOCKET_IFNAME": ""}, "loopback", "GLOO_SOCKET_IFNAME is empty"),
    "an option's": ((*SRUN, "--set", "NCCL_SOCKET_IFNAME=lo"), TWO, "loopback", "NCCL_SOCKET_IFNAME=lo"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_script_in_a_wrong_place_starts_nothing_and_says_what_allows_it(
    wrap: Wrap, fakes: Path, fault: str
) -> None:
    options, env, word, message = FAULTS[fault]
    done = bash(wrap(*options, "--", "touch", "ran").out, **env)
    said = done.stderr.decode()
    assert done.returncode == 4, said
    assert message in said
    assert f"--allow {word}" in said
    assert f"ENVCFG_ALLOW={word}" in said
    assert not Path("ran").exists()
    assert not (fakes / "srun").exists()


@pytest.mark.parametrize("way", ["option", "variable", "several"])
@pytest.mark.parametrize(
    "fault", mark_sample((name for name in FAULTS if name != "no address"), every=2)
)
def test_what_is_allowed_starts(wrap: Wrap, fault: str, way: str) -> None:
    options, env, word, _ = FAULTS[fault]
    allow = ("--allow", word) if way == "option" else ()
    if way != "option":
        given = word if way == "variable" else f"other,{word} and more"
        env = {**env, "ENVCFG_ALLOW": given}
    done = bash(wrap(*options, *allow, "--", "touch", "ran").out, **env)
    assert done.returncode == 0, done.stderr.decode()
    assert Path("ran").exists()


@pytest.mark.parametrize(
    ("options", "env"),
    [
        (SRUN, {}),
        (SRUN, {"SLURM_PROCID": "0"}),  # the batch script itself
        (SRUN, {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}),
        (LOCAL, {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}),
        # srun's own of a shell that salloc started, whatever they say of tasks
        (SRUN, {"SLURM_PROCID": "0", **STEP, "SLURM_STEP_ID": "4294967290"}),
        (SRUN, {"SLURM_PROCID": "0", **STEP, "SLURM_STEP_ID": "4294967291"}),
        (SRUN, {"SLURM_PROCID": "0", **STEP, "SLURM_STEP_ID": "4294967292"}),
        (SRUN, STEP),  # no task: its number is missing
        (SRUN, {"SLURM_NTASKS": "16", "SLURM_PROCID": "0"}),
        (SRUN, {"PMI_RANK": "0", "PMI_SIZE": "1"}),
        (SRUN, {"PMI_RANK": "x[$(touch evil)]", "PMI_SIZE": "y[$(touch evil)]"}),
        (SRUN, {"SLURM_CLUSTER_NAME": "lumi"}),
        (SRUN, {"SLURM_CLUSTER_NAME": ""}),
        (("--profile", "workstation", "--container", "none"), {"SLURM_CLUSTER_NAME": "any"}),
        (("--profile", "jean-zay", "--container", "none"), {"SLURM_CLUSTER_NAME": "jeanzay2"}),
        (SRUN, {"MASTER_ADDR": "localhost", "NCCL_SOCKET_IFNAME": "lo"}),  # one node
        (SRUN, {**TWO, "NCCL_SOCKET_IFNAME": "^lo,docker"}),
        (SRUN, {**TWO, "NCCL_SOCKET_IFNAME": "lo1", "MASTER_ADDR": "localhost-1"}),
        (LOCAL, {"SLURM_NNODES": "x[$(touch evil)]"}),
        (LOCAL, {"SLURM_NNODES": "1", "SLURM_JOB_NUM_NODES": "4"}),  # a step on one of them
    ],
)  # fmt: skip
def test_an_ordinary_place_is_fine(
    wrap: Wrap, options: tuple[str, ...], env: dict[str, str]
) -> None:
    script = wrap(*options, "--", "touch", "ran").out
    done = bash(b"set -euo pipefail\n" + script, **env)
    assert done.returncode == 0, done.stderr.decode()
    assert Path("ran").exists()
    assert not Path("evil").exists()


# From above to below: processes by these names, each the parent of the next.
@pytest.mark.parametrize(
    ("above", "starts"),
    [
        (("slurmstepd: [7.0]",), False),
        (("slurmstepd: [7.batch]",), True),
        (("slurmstepd: [7.interactive]",), True),
        (("slurmstepd: [6.0]", "salloc"), True),  # salloc inside a step
        (("salloc", "slurmstepd: [7.0]"), False),
        (("pbs_mom",), True),
        (("pbs_mom", "mpiexec"), False),
        (("slurmstepd: [7.batch]", "hydra_pmi_proxy"), False),
        (("mpirun", "flux-broker-0"), True),
        (("flux-broker-0", "flux-shell"), False),
    ],
)
def test_what_another_job_has_left_in_the_environment_does_not_count(
    wrap: Wrap, tmp_path: Path, above: tuple[str, ...], starts: bool
) -> None:
    # Real processes with real names: a copy of bash by each, which forks the next.
    Path("job.sh").write_bytes(wrap(*LOCAL, "--", "touch", "ran").out)
    words = ["bash", "job.sh"]
    for title in reversed(above):
        program = tmp_path / title.split(":")[0]
        if not program.exists():
            shutil.copy(shutil.which("bash") or "", program)
        call = f'"$@"; exit $? # {title}'
        words = [
            "bash",
            "-c",
            f"exec -a '{title}' '{program}' -c '{call}' x \"$@\"",
            "x",
            *words,
        ]
    env = {"SLURM_PROCID": "0", **STEP, "PMI_RANK": "0", "PMI_SIZE": "4"}
    done = subprocess.run(
        words, capture_output=True, check=False, env={**os.environ, **env}
    )
    assert done.returncode == (0 if starts else 4), done.stderr.decode()
    assert Path("ran").exists() is starts


def test_pbs_tells_how_many_nodes_stay_idle(wrap: Wrap, tmp_path: Path) -> None:
    made = wrap("--profile", "workstation", "--container", "none", "--", "true").out
    script = b"unset SLURM_JOB_ID\n" + made
    (tmp_path / "nodes").write_text("a\na\nb\n")
    nodes = {"PBS_JOBID": "1.x", "PBS_NODEFILE": str(tmp_path / "nodes")}
    done = bash(script, **nodes)
    assert done.returncode == 4
    assert b"2 nodes" in done.stderr
    (tmp_path / "nodes").write_text("a\na\n")
    assert bash(script, **nodes).returncode == 0


def test_flux_tells_how_many_nodes_stay_idle(wrap: Wrap) -> None:
    script = wrap("--profile", "workstation", "--container", "none", "--", "true").out
    inside = b"unset SLURM_JOB_ID\n" + script
    for size, code in (("3", 4), ("1", 0)):
        done = bash(inside, FLUX_URI="local:///x", FAKE_NODES=size)
        assert done.returncode == code, done.stderr.decode()


def test_a_step_of_one_node_may_meet_anywhere(wrap: Wrap) -> None:
    script = wrap(*SRUN).out
    call = b"\nenvcfg_run --nodes=1 --ranks=1 -- touch ran || exit $?"
    done = bash(script + call, SLURM_NNODES="2", MASTER_ADDR="localhost")
    assert done.returncode == 0, done.stderr.decode()


def test_caches_go_though_it_was_allowed_for_that_step_alone(wrap: Wrap) -> None:
    script = wrap(*LOCAL).out
    call = b"\nENVCFG_ALLOW=nodes envcfg_run sh -c 'echo \"$ENVCFG_CACHE\" >where'"
    done = bash(script + call, SLURM_NNODES="2")
    assert done.returncode == 0, done.stderr.decode()
    assert not Path(Path("where").read_text().strip()).exists()


def test_all_variables_that_name_interfaces_are_looked_at() -> None:
    meeting = re.search(r"ENVCFG_MEETING='(.*?)'", module("where").text, re.S)
    assert meeting
    ends = (
        "SOCKET_IFNAME",
        "NET_IFNAME",
        "GLOO_IFACE",
        "NET_DEVICES",
        "MASTER_ADDR",
        "COMM_ID",
    )
    known = {name for name in load_variables() if name.endswith(ends)}
    # Google's are of its own cards, which a profile names for its plugin
    assert known - {"NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"} <= {*meeting[1].split()}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"SLURM_GPUS": "16"}, 8),
        ({"SLURM_GPUS": "mi250x:16"}, 8),
        ({"SLURM_GPUS": "a:6,b:2"}, 4),
        ({"SLURM_GPUS": "17"}, 8),
        ({"SLURM_JOB_GPUS": "0,1,2,3"}, 4),
        ({"SLURM_JOB_GPUS": "0-3,6"}, 5),
        ({"SLURM_GPUS": "16", "SLURM_GPUS_ON_NODE": "4"}, 4),
        ({"SLURM_GPUS": "16", "SLURM_GPUS_PER_NODE": "2"}, 2),
        ({"SLURM_GPUS": "x[$(touch evil)]", "SLURM_JOB_GPUS": "y[$(touch evil)]"}, 1),
    ],
)  # fmt: skip
def test_ranks_are_as_many_as_the_gpus_that_any_variable_tells(
    wrap: Wrap, fakes: Path, env: dict[str, str], expected: int
) -> None:
    done = bash(wrap(*SRUN, "--", "true").out, **TWO, **env)
    assert done.returncode == 0, done.stderr.decode()
    words = [word.decode() for word in zero_separated(fakes / "srun")]
    if "evil" not in str(env):
        assert f"--ntasks-per-node={expected}" in words
    assert not Path("evil").exists()


@pytest.mark.parametrize(
    "env",
    [
        {"SLURM_GPUS": "16"}, {"SLURM_GPUS_PER_NODE": "8"}, {"SLURM_JOB_GPUS": "0-7"},
        {"SLURM_GPUS_ON_NODE": "8"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["ranks", "tasks"])
def test_gpus_that_no_rank_uses_are_said(
    wrap: Wrap, env: dict[str, str], how: str
) -> None:
    ranks = ("--ranks", "2") if how == "ranks" else ()
    tasks = {"SLURM_NTASKS": "4"} if how == "tasks" else {}
    done = bash(wrap(*SRUN, *ranks, "--", "true").out, **TWO, **env, **tasks)
    assert done.returncode == 0
    assert b"2 ranks per node, but 8 GPUs" in done.stderr


def test_an_unknown_word_is_refused_when_the_script_is_made() -> None:
    made = wrap_text("--container", "none", "--allow", "all", "--", "true")
    assert made.code == 2
    assert "tasks" in made.err
