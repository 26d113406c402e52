"""What each launcher gives to its ranks, with fakes for srun and the agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import JOB, Wrap, bash, environment, zero_separated

LUMI = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
WORKSTATION = ("--profile", "workstation", "--container", "none")
DUMP = Path(__file__).parent.parent / "cluster/programs/dump.py"
PORT = 10000 + int(JOB) * 101 % 20000


def run(wrap: Wrap, *arguments: str, before: str = "", **env: str) -> None:
    """Run the script that *arguments* make, on two fake nodes with two tasks each."""
    made = wrap(*arguments)
    assert made.code == 0, made.err
    done = bash(f"set -euo pipefail\n{before}\n{made.text}", **{"FAKE_NODES": "2", "FAKE_TASKS": "2", **env})  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


def seen(folder: Path, rank: int) -> dict[str, str]:
    pairs = environment(folder / f"out/{rank}.env").items()
    return {name.decode(): value.decode() for name, value in pairs}


def agent(path: Path) -> Path:
    """Write a Python that notes how an agent is called, and runs its program twice."""
    path.write_text(
        f"""#!/bin/bash
if [[ $1 != -m ]]; then exec {sys.executable} "$@"; fi
printf '%s\\0' "$@" >>"$FAKE_NOTES/agent"
while [[ $1 != --no?python ]]; do shift; done
shift
export RANK LOCAL_RANK GROUP_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2
for LOCAL_RANK in 0 1; do
  RANK=$LOCAL_RANK
  "$@"
done
"""
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("runtime", "launcher"),
    [
        (("docker",), "local"),
        (("docker",), "torchrun"),
        (("apptainer",), "local"),
    ],
)
def test_processes_of_this_machine_see_the_gpus_that_its_shell_allows(
    wrap: Wrap, tmp_path: Path, fakes: Path, runtime: tuple[str, ...], launcher: str
) -> None:
    assert fakes.is_dir()
    told = "export RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1"
    begun = 'while [[ $1 != --no?python ]]; do shift; done\nexec "${@:2}"'
    (tmp_path / "torchrun").write_text(f"#!/bin/bash\n{told}\n{begun}\n")
    (tmp_path / "torchrun").chmod(0o755)
    (tmp_path / "image").touch()
    image = "a:b" if runtime == ("docker",) else str(tmp_path / "image")
    words = ("--profile", "workstation", "--container", image, "--runtime", *runtime)
    words += ("--launcher", launcher, "--set", "ROCR_VISIBLE_DEVICES=1")
    made = wrap(*words, "--", "sh", "-c", f"env -0 >{tmp_path}/seen")
    allowed = {"CUDA_VISIBLE_DEVICES": "2,3", "ROCR_VISIBLE_DEVICES": "0"}
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = bash(made.out, PATH=path, **allowed)
    assert done.returncode == 0, done.stderr.decode()
    seen = environment(tmp_path / "seen")
    assert seen[b"CUDA_VISIBLE_DEVICES"] == b"2,3"
    assert seen[b"ROCR_VISIBLE_DEVICES"] == b"1"  # settings win


EVERY_RANK: dict[str, Callable[[int], dict[str, str]]] = {
    "deepspeed": lambda rank: {
        "LOCAL_SIZE": "2",
        "CROSS_RANK": str(rank // 2),
        "CROSS_SIZE": "2",
    },
    "jax": lambda rank: {
        "JAX_COORDINATOR_ADDRESS": f"node1:{PORT}",
        "JAX_LOCAL_DEVICE_IDS": str(rank % 2),
    },
    "lightning": lambda _: {"SLURM_NTASKS_PER_NODE": "2"},
    "horovod": lambda rank: {
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": "4",
        "HOROVOD_LOCAL_RANK": str(rank % 2),
        "HOROVOD_LOCAL_SIZE": "2",
        "HOROVOD_CROSS_RANK": str(rank // 2),
        "HOROVOD_CROSS_SIZE": "2",
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_GLOO_IFACE": "hsn0",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "node1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(PORT),
    },
    "transformers": lambda _: {},
}


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("launcher", EVERY_RANK)
def test_each_rank_gets_what_its_library_reads(
    wrap: Wrap, tmp_path: Path, launcher: str
) -> None:
    run(wrap, *LUMI, "--launcher", launcher, "--", "python3", str(DUMP), "out", "a b")
    for rank in range(4):
        found = seen(tmp_path, rank)
        wanted = {"RANK": str(rank), "WORLD_SIZE": "4", "MASTER_ADDR": "node1", **EVERY_RANK[launcher](rank)}  # fmt: skip
        assert wanted.items() <= found.items()
        assert not [name for name in found if name.startswith(("envcfg", "ENVCFG_PRESET"))]  # fmt: skip


@pytest.mark.usefixtures("fakes")
def test_what_the_job_or_the_user_sets_wins_over_a_launcher(
    wrap: Wrap, tmp_path: Path
) -> None:
    sets = ("--set", "JAX_LOCAL_DEVICE_IDS=${RANK}7")
    run(
        wrap,
        *(*LUMI, *sets, "--launcher", "jax", "--", "python3", str(DUMP), "out"),
        before="export JAX_COORDINATOR_ADDRESS=here:1",
    )
    found = seen(tmp_path, 3)
    assert found["JAX_LOCAL_DEVICE_IDS"] == "37"
    assert found["JAX_COORDINATOR_ADDRESS"] == "here:1"


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("own", "starts"), [(True, False), (False, True)])
def test_horovod_s_server_is_started_unless_the_job_has_its_own(
    wrap: Wrap, tmp_path: Path, own: bool, starts: bool
) -> None:
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" != -c ] || : >"$FAKE_NOTES/server"\n')
    python.chmod(0o755)
    before = "export HOROVOD_GLOO_RENDEZVOUS_ADDR=here" if own else ""
    command = ("--launcher", "horovod", "--", str(python), "t.py")
    run(wrap, *LUMI, *command, before=f"{before}\ntrap 'sleep 0.5' EXIT")
    assert (tmp_path / "notes/server").exists() == starts


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("sets", "number"),
    [((), "2"), (("--set", "SLURM_NTASKS_PER_NODE=5"), "5"), (("--set", "SLURM_NTASKS_PER_NODE=${RANK}6"), "06")],
)  # fmt: skip
@pytest.mark.parametrize("job", ["8", "4(x2)"])
def test_lightning_hears_of_the_step_not_of_the_job(
    wrap: Wrap, tmp_path: Path, job: str, sets: tuple[str, ...], number: str
) -> None:
    options = (*sets, "--ranks", "2", "--launcher", "lightning")
    command = ("--", "python3", str(DUMP), "out")
    run(wrap, *LUMI, *options, *command, SLURM_NTASKS_PER_NODE=job)
    assert seen(tmp_path, 0)["SLURM_NTASKS_PER_NODE"] == number


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("visible", "tasks", "ids"),
    [
        ("ROCR_VISIBLE_DEVICES=0,1,2,3", "1", ["0,1,2,3"]),
        ("ROCR_VISIBLE_DEVICES=0,1,2,3", "2", ["0", "1"]),
        ("ROCR_VISIBLE_DEVICES=3", "2", ["0", "0"]),
        ("ROCR_VISIBLE_DEVICES=0,1 --set ROCR_VISIBLE_DEVICES=${LOCAL_RANK}", "2", ["0", "0"]),
        ("NONE=1", "2", ["0", "1"]),
        ("NONE=1", "1", ["0"]),
        ("ROCR_VISIBLE_DEVICES=4,5 SLURM_GPUS_PER_TASK=a100:2", "2", ["0,1", "0,1"]),
        ("ROCR_VISIBLE_DEVICES=4,5 SLURM_GPUS_PER_TASK=1", "2", ["0", "1"]),
        ("ROCR_VISIBLE_DEVICES=4,5 SLURM_TRES_PER_TASK=cpu=7,gres/gpu:a100=2", "2", ["0,1", "0,1"]),
        ("ROCR_VISIBLE_DEVICES=4,5 SLURM_TRES_PER_TASK=gres/gpu:2,cpu:7", "2", ["0,1", "0,1"]),
        ("ROCR_VISIBLE_DEVICES=4,5 SLURM_TRES_PER_TASK=cpu=2", "2", ["0", "1"]),
    ],
)  # fmt: skip
def test_jax_takes_the_devices_that_masking_leaves_to_a_task(
    wrap: Wrap, tmp_path: Path, visible: str, tasks: str, ids: list[str]
) -> None:
    first, *rest = visible.split()
    given = " ".join([first, *(word for word in rest if word.startswith("SLURM"))])
    sets = [word for word in rest if not word.startswith("SLURM")]
    command = ("--launcher", "jax", "--", "python3", str(DUMP), "out")
    before = f"unset CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES\nexport {given}"
    run(wrap, *LUMI, *sets, *command, before=before, FAKE_NODES="1", FAKE_TASKS=tasks)
    found = [seen(tmp_path, rank)["JAX_LOCAL_DEVICE_IDS"] for rank in range(int(tasks))]
    assert found == ids


def test_accelerate_is_told_how_many_machines_and_which_this_is(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    python = agent(tmp_path / "python3")
    options = ("--launcher", "accelerate", "--ranks", "2", "--set", "MINE=${RANK}")
    run(
        wrap,
        *(*LUMI, *options, "--", str(python), "-c", "print()", "a b"),
        FAKE_NODES="1",
        FAKE_TASKS="1",
    )
    noted = [word.decode() for word in zero_separated(fakes / "agent")]
    assert noted[:14] == [
        *("-m", "accelerate.commands.launch", "--num_machines=1", "--num_processes=2"),
        *("--machine_rank=0", "--main_process_ip=node1", f"--main_process_port={PORT}"),
        *("--rdzv_backend=static", "--same_network", "--deepspeed_multinode_launcher=standard"),
        *("--gpu_ids=all", "--multi_gpu", "--no_python", "/bin/sh"),
    ]  # fmt: skip
    assert noted[-4:] == [str(python), "-c", "print()", "a b"]


@pytest.mark.parametrize(
    ("kind", "is_added"),
    [("DEEPSPEED", False), ("FSDP", False), ("'FSDP'", False), ("MULTI_GPU", True), ("'NO'", True)],
)  # fmt: skip
def test_accelerate_starts_what_the_user_s_own_configuration_names(
    wrap: Wrap, fakes: Path, tmp_path: Path, kind: str, is_added: bool
) -> None:
    python = agent(tmp_path / "python3")
    config = tmp_path / "hf home/accelerate/default_config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"compute_environment: X\ndistributed_type: {kind}")
    options = ("--launcher", "accelerate", "--ranks", "2", "--", str(python), "-c", "0")
    env = {"HF_HOME": str(tmp_path / "hf home"), "FAKE_NODES": "1", "FAKE_TASKS": "1"}
    run(wrap, *LUMI, *options, **env)
    assert (b"--multi_gpu" in zero_separated(fakes / "agent")) == is_added


def plain_agent(path: Path) -> Path:
    """Write a Python that runs its program once, and tells it nothing."""
    path.write_text(
        f"""#!/bin/bash
if [[ $1 != -m ]]; then exec {sys.executable} "$@"; fi
while [[ $1 != --no?python ]]; do shift; done
shift
exec "$@"
"""
    )
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("fakes")
def test_one_rank_of_accelerate_knows_that_it_is_alone(
    wrap: Wrap, tmp_path: Path
) -> None:
    python = plain_agent(tmp_path / "python3")
    options = (
        "--launcher",
        "accelerate",
        "--ranks",
        "1",
        "--set",
        "MINE=${LOCAL_RANK}",
    )
    command = ("--", str(python), str(DUMP), "out")
    run(wrap, *LUMI, *options, *command, FAKE_NODES="1", FAKE_TASKS="1")
    wanted = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "NODE_RANK": "0", "MINE": "0"}  # fmt: skip
    assert wanted.items() <= seen(tmp_path, 0).items()


@pytest.mark.usefixtures("fakes")
def test_a_process_that_an_agent_has_not_made_a_rank_is_an_error(
    wrap: Wrap, tmp_path: Path
) -> None:
    python = plain_agent(tmp_path / "python3")
    made = wrap(*LUMI, "--launcher", "accelerate", "--ranks", "2", "--", str(python), "-c", "0")  # fmt: skip
    done = bash(made.text, FAKE_NODES="1", FAKE_TASKS="1")
    assert done.returncode == 4
    assert b"not started as a rank" in done.stderr


def test_options_of_a_recognised_command_reach_the_agent_last(
    wrap: Wrap, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(tmp_path / "python3")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    line = "accelerate launch --num_processes 99 --use_fsdp --fsdp_version 2"
    words = ("--ranks", "2", "--", *line.split(), str(DUMP), "out", "a b")
    run(wrap, *LUMI, *words, FAKE_NODES="1", FAKE_TASKS="1")
    noted = [word.decode() for word in zero_separated(fakes / "agent")]
    at = noted.index("--use_fsdp")
    assert noted[at : at + 3] == ["--use_fsdp", "--fsdp_version", "2"]
    assert "--multi_gpu" not in noted
    assert "99" not in noted
    assert zero_separated(tmp_path / "out/1.args") == [b"a b"]


def test_torchrun_stands_alone_where_there_is_no_scheduler(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    python = agent(tmp_path / "python3")
    options = ("--launcher", "torchrun", "--ranks", "2")
    run(wrap, *WORKSTATION, *options, "--", str(python), "-c", "0", before="unset SLURM_JOB_ID")  # fmt: skip
    noted = [word.decode() for word in zero_separated(fakes / "agent")]
    words = noted[: noted.index("--no-python")]
    (port,) = [word.rpartition(":")[2] for word in words if "rdzv-endpoint" in word]
    assert words == [
        *("-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=2"),
        *("--rdzv-backend=c10d", f"--rdzv-id=local-{port}"),
        *(f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-conf=is_host=1"),
        "--local-addr=127.0.0.1",
    ]


@pytest.mark.parametrize("at", ["t.py", "t.py a", "--module pkg 'b  c'"])
def test_deepspeed_programs_get_their_local_rank_behind_their_name(
    wrap: Wrap, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    program = tmp_path / "python3"
    program.write_text('#!/bin/bash\nprintf "%s|" "$@" >>"$FAKE_NOTES/words"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    words = at.replace("'", "").split(" ")
    if "'" in at:
        words = ["--module", "pkg", "b  c"]
    run(wrap, *LUMI, "--", "deepspeed", *words, FAKE_NODES="1", FAKE_TASKS="2")
    shown = [word for word in words if word != "--module"]
    module = ["-m"] if "--module" in words else []
    wanted = [
        "|".join(["-u", *module, shown[0], f"--local_rank={rank}", *shown[1:], ""])
        for rank in (0, 1)
    ]
    assert (fakes / "words").read_text() == "".join(wanted)


@pytest.mark.usefixtures("fakes")
def test_the_older_name_of_torchrun_gives_the_local_rank_too(
    wrap: Wrap, tmp_path: Path
) -> None:
    python = agent(tmp_path / "python3")
    line = f"{python} -m torch.distributed.launch --nproc_per_node 2"
    run(wrap, *LUMI, "--", *line.split(), str(DUMP), "out", "a b", FAKE_NODES="1", FAKE_TASKS="1")  # fmt: skip
    # dump.py takes its first argument for the folder.
    assert zero_separated(tmp_path / "--local-rank=1/1.args") == [b"out", b"a b"]


@pytest.mark.usefixtures("fakes")
def test_the_local_rank_of_deepspeed_is_the_program_s_also_under_a_profiler(
    wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nsys", "python3"):
        program = tmp_path / name
        program.write_text('#!/bin/bash\nprintf "%s|" "$@" >"$FAKE_NOTES/words"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    options = ("--profile-rank", "0", "--profiler", "nsys", "--", "deepspeed", "t.py")
    run(wrap, *LUMI, *options, FAKE_NODES="1", FAKE_TASKS="1")
    noted = (tmp_path / "notes/words").read_text()
    assert noted.endswith("|python3|-u|t.py|--local_rank=0|")


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ((*LUMI, "--launcher", "mpi"), "which PMI", "--srun-arg=--mpi=pmix"),
        ((*WORKSTATION, "--launcher", "jax"), "jax works by srun", "local, srun"),
        ((*WORKSTATION, "--srun-arg=--mpi=pmix"), "local starts the tasks", "--launcher"),
        (("--profile", "tuolumne", "--container", "none", "--launcher", "torchrun"), "does not allow", "flux"),
    ],
)  # fmt: skip
def test_launchers_that_cannot_work_are_errors(
    wrap: Wrap, options: tuple[str, ...], message: str, remedy: str
) -> None:
    made = wrap(*options, "--", "true")
    assert made.code == 2
    assert message in made.err
    assert remedy in made.err.partition("hint:")[2]


def test_mpi_goes_by_the_pmi_that_is_named_and_horovod_leaves_gloo_then(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    for launcher in ("mpi", "horovod"):
        options = ("--srun-arg=--mpi=pmix", "--launcher", launcher)
        run(wrap, *LUMI, *options, "--", "python3", str(DUMP), "out")
        assert b"--mpi=pmix" in zero_separated(fakes / "srun")
        assert "HOROVOD_RANK" not in seen(tmp_path, 0)


def test_a_program_that_takes_a_whole_node_is_one_task_with_all_gpus_and_cores(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    program = tmp_path / "vllm"
    program.write_text(
        '#!/bin/sh\necho "$NODE_RANK/$WORLD_SIZE ${SLURM_GPUS_PER_TASK-all}"\n'
    )
    program.chmod(0o755)
    made = wrap(*LUMI, "--", str(program), "serve", "m")
    job = {"SLURM_NTASKS_PER_NODE": "8", "SLURM_CPUS_PER_TASK": "7", "FAKE_NODES": "2"}
    own = {"SLURM_NNODES": "2", "SLURM_GPUS_PER_TASK": "1", "SLURM_GPUS_PER_NODE": "8"}
    done = bash(f"set -euo pipefail\n{made.text}", **job, **own, FAKE_TASKS="1")
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.split(b"\n")) == [b"", b"0/2 all", b"1/2 all"]
    words = [word.decode() for word in zero_separated(fakes / "srun")]
    for each in ("--ntasks=2", "--ntasks-per-node=1", "--cpus-per-task=56"):
        assert each in words
    assert not [word for word in words if word.startswith("--cpu-bind")]
    assert b"GPUs: the others idle" not in done.stderr


def test_a_variable_of_the_job_is_no_number_of_ranks_yet(wrap: Wrap) -> None:
    made = wrap(*LUMI, "--ranks", "${SLURM_GPUS_PER_NODE}", "--", "true")
    assert made.code == 2
    assert "} is not known before the job runs: give the number of proc" in made.err


def test_several_ranks_per_node_are_refused_where_one_task_has_it(wrap: Wrap) -> None:
    made = wrap(*LUMI, "--launcher", "whole-node", "--ranks", "2", "--", "true")
    assert made.code == 2
    assert "--ranks 2, but --launcher whole-node is one task per node" in made.err
