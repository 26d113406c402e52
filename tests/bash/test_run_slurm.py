"""What only the job can know, with fakes for srun and runtime."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from support import Wrap, bash, zero_separated


def test_every_fault_of_the_job_is_named_and_nothing_starts(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    made = wrap(
        *(
            "--profile",
            "lumi-g",
            "--container",
            "/no/image.sif",
            "--bind",
            "/no/data:/data",
        ),
        *("--fact", "nodes=4", "--runtime", "apptainer", "--", "echo", "started"),
    )
    assert "image-not-here" not in made.err
    for name in ("/no/image.sif", "/no/data:/data"):
        assert f"warning: {name}: does not exist on this machine" in made.err
    bare = f"PATH={tmp_path}\nunset SLURM_JOB_ID\n".encode()
    done = bash(bare + made.out)
    assert done.returncode == 4
    errors = done.stderr.decode()
    for part in (
        "SLURM_JOB_ID is not set",
        "made for 4 nodes, but the job has 1",
        "no container runtime on PATH: tried apptainer",
        "image /no/image.sif does not exist",
        "bind source /no/data does not exist",
        "hint:",
    ):
        assert part in errors
    assert done.stdout == b""
    assert not (fakes / "srun").exists()


def test_a_relative_image_is_looked_for_where_the_job_starts(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    made = wrap(
        "--profile",
        "lumi-g",
        "--runtime",
        "apptainer",
        "--container",
        "x.sif",
        "--",
        "true",
    )
    assert made.code == 0
    assert "in the folder where it starts" in made.err
    assert bash(made.out).returncode == 4
    (tmp_path / "x.sif").touch()
    assert bash(made.out).returncode == 0
    assert str(tmp_path / "x.sif").encode() in zero_separated(fakes / "runtime")
    here = wrap(
        "--profile",
        "lumi-g",
        "--runtime",
        "apptainer",
        "--container",
        "x.sif",
        "--",
        "true",
    )
    assert bash(b"cd /\n" + here.out).returncode == 0


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, []),
        ({"SLURM_NTASKS": "8"}, []),
        ({"SLURM_GPUS_ON_NODE": "8"}, ["--ntasks=16", "--ntasks-per-node=8"]),
        ({"SLURM_GPUS_PER_NODE": "a100:4"}, ["--ntasks=8", "--ntasks-per-node=4"]),
        ({"SLURM_GPUS_PER_NODE": "mi250x"}, ["--ntasks=2", "--ntasks-per-node=1"]),
        ({"SLURM_GPUS_PER_NODE": "a:2,b:1,c"}, ["--ntasks=8", "--ntasks-per-node=4"]),
        ({"SLURM_GPUS_ON_NODE": "0"}, []),
        ({"SLURM_CPUS_PER_TASK": "7"}, ["--cpus-per-task=7"]),
        ({"SLURM_CPU_BIND": "cores", "SLURM_CPUS_PER_TASK": "7"}, []),
    ],
)
def test_srun_is_told_what_the_job_leaves_open(
    wrap: Wrap, fakes: Path, env: dict[str, str], expected: list[str]
) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none", "--", "true")
    done = bash(made.out, SLURM_NNODES="2", **env)
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(fakes / "srun")]
    assert noted[: 2 + len(expected)] == [
        "--kill-on-bad-exit=1",
        "--export=ALL",
        *expected,
    ]
    assert "--ntasks=0" not in noted


@pytest.mark.parametrize(
    ("words", "env", "expected"),
    [
        # Tasks per node alone are not enough for srun where a tool has dropped the rest.
        ((), {"SLURM_NTASKS_PER_NODE": "4"}, ["--ntasks=8", "--ntasks-per-node=4"]),
        ((), {"SLURM_NTASKS_PER_NODE": "4", "SLURM_NTASKS": "8"}, []),
        ((), {"SLURM_NTASKS_PER_NODE": "4", "SLURM_NPROCS": "8"}, []),
        (("--srun-arg=--ntasks=2",), {"SLURM_NTASKS_PER_NODE": "4"}, ["--ntasks=2"]),
        (("--srun-arg=-n2",), {"SLURM_GPUS_ON_NODE": "8"}, ["-n2"]),
        (("--srun-arg=--ntasks-per-node=2",), {"SLURM_GPUS_ON_NODE": "8"}, ["--ntasks-per-node=2"]),
        (("--srun-arg=--nice=2",), {"SLURM_GPUS_ON_NODE": "8"}, ["--nice=2", "--ntasks=16", "--ntasks-per-node=8"]),
        (("--ranks", "2"), {"SLURM_NTASKS_PER_NODE": "4"}, ["--ntasks=4", "--ntasks-per-node=2"]),
    ],
)  # fmt: skip
def test_srun_is_told_how_many_tasks_unless_the_user_has(
    wrap: Wrap, fakes: Path, words: tuple[str, ...], env: dict[str, str], expected: list[str]
) -> None:  # fmt: skip
    made = wrap("--profile", "lumi-g", "--container", "none", *words, "--", "true")
    done = bash(b"set -euo pipefail\n" + made.out, SLURM_NNODES="2", **env)
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(fakes / "srun")]
    assert noted[2 : noted.index("--overlap")] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-c 4", ["--gpu-bind=none", "--cpus-per-task=4"]),
        ("--cpus-per-task=4", ["--gpu-bind=none", "--cpus-per-task=4"]),
        ("--cpu-bind=none", ["--gpu-bind=none", "--cpu-bind=none"]),
        ("--kill-on-bad-exit=0 -c 1", ["--gpu-bind=none", "--kill-on-bad-exit=0", "--cpus-per-task=1"]),
        ("--gpus-per-task=1 -c 1", ["--gpus-per-task=1", "--cpus-per-task=1"]),
        ("--gpu-bind=closest -c 1", ["--gpu-bind=closest", "--cpus-per-task=1"]),
        ("--ntasks-per-gpu=1 -c 1", ["--ntasks-per-gpu=1", "--cpus-per-task=1"]),
        ("--label", ["--gpu-bind=none", "--label", "--cpus-per-task=7"]),
    ],
)  # fmt: skip
def test_no_option_of_the_user_is_overridden(
    wrap: Wrap, fakes: Path, given: str, expected: list[str]
) -> None:
    line = ("srun", *given.split(), "true")
    made = wrap("--profile", "perlmutter", "--launch-line", "--", *line)
    done = bash(made.out, SLURM_NNODES="2", SLURM_CPUS_PER_TASK="7")
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(fakes / "srun")]
    assert noted[2 : 2 + len(expected)] == expected
    # Nothing after the user's options changes them.
    assert ("--cpus-per-task=7" in noted) == ("--cpus-per-task=7" in expected)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["--cpus-per-task=7", "nodes=2", "tasks=16", "list=node[4-5]"]),
        ({"SLURM_CPUS_PER_TASK": "3"}, ["--cpus-per-task=3", "nodes=2", "tasks=16", "list=node[4-5]"]),
        ({"SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "x[1-2]"}, ["--cpus-per-task=7", "nodes=2", "tasks=4", "list=x[1-2]"]),
        ({"SLURM_NTASKS_PER_NODE": "4"}, ["--ntasks=8", "--ntasks-per-node=4", "--cpus-per-task=7", "nodes=2", "tasks=", "list=node[4-5]"]),
    ],
)  # fmt: skip
def test_the_size_of_a_job_is_asked_for_where_its_environment_lacks_it(
    wrap: Wrap, fakes: Path, env: dict[str, str], expected: list[str]
) -> None:
    shows = 'printf "%s\n" "nodes=$SLURM_NNODES" "tasks=${SLURM_NTASKS-}" "list=$SLURM_JOB_NODELIST"'
    made = wrap("--profile", "lumi-g", "--container", "none", "--", "sh", "-c", shows)
    gone = b"set -euo pipefail\nunset SLURM_NNODES SLURM_JOB_NODELIST\n"
    gone += "".join(
        f"export {name}='{value}'\n" for name, value in env.items()
    ).encode()
    said = f"7 1 1 1 node1\n{os.environ['SLURM_JOB_ID']}   2   16   7   node[4-5]   \n8 1 1 1 node1"
    done = bash(gone + made.out, FAKE_SQUEUE=said)
    assert done.returncode == 0, done.stderr.decode()
    noted = [word.decode() for word in zero_separated(fakes / "srun")]
    options = noted[2 : noted.index("--overlap")]  # behind it, the caches are removed
    assert [*options, *done.stdout.decode().splitlines()] == expected
    assert b"squeue shows nodes: 2, tasks: 16, cores of each: 7" in done.stderr


def test_a_job_whose_size_nobody_knows_starts_nothing(wrap: Wrap, fakes: Path) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none", "--", "true")
    for said in ("", "7 1 1 1 node1"):
        done = bash(b"set -eu\nunset SLURM_NNODES\n" + made.out, FAKE_SQUEUE=said)
        assert done.returncode == 4
        assert b"squeue does not tell how many nodes the job has" in done.stderr
    assert not (fakes / "srun").exists()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("--nodes 1", "unknown option --nodes"),
        ("--ranks=1 -x", "unknown option -x"),
        ("--ranks=010", "is not a number of --ranks"),
        ("--nodes=08", "is not a number of --nodes"),
    ],
)
def test_a_size_that_cannot_be_read_starts_nothing(
    wrap: Wrap, fakes: Path, size: str, message: str
) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none")
    done = bash(f"{made.text}\nenvcfg_run {size} true", SLURM_NNODES="2")
    assert done.returncode in {2, 4}
    assert message in done.stderr.decode()
    assert b"--kill-on-bad-exit=1" not in zero_separated(fakes / "srun")


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    "options", [("--launcher", "torchrun"), ("--smoke-test",)], ids=lambda given: given[-1]
)  # fmt: skip
def test_a_job_without_gpus_is_told_so_where_they_are_counted(
    wrap: Wrap, options: tuple[str, ...]
) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none", *options, "--", "true")
    done = bash(made.out, SLURM_GPUS_ON_NODE="0")
    assert done.returncode in {2, 4}
    assert b"neither the job nor the profile" in done.stderr


@pytest.mark.parametrize(
    ("env", "cores"),
    [
        ({"SLURM_CPUS_PER_TASK": "56"}, "56"),
        ({"SLURM_CPUS_PER_TASK": "7", "SLURM_NTASKS_PER_NODE": "8"}, "56"),
        ({"SLURM_CPUS_PER_TASK": "7", "SLURM_NTASKS": "16"}, "56"),
    ],
)
def test_torchrun_s_task_gets_the_cores_of_all_its_ranks(
    wrap: Wrap, fakes: Path, env: dict[str, str], cores: str
) -> None:
    options = ("--container", "none", "--launcher", "torchrun", "--ranks", "8")
    made = wrap("--profile", "lumi-g", *options, "--", "true")
    bash(made.out, SLURM_NNODES="2", **env)
    assert f"--cpus-per-task={cores}".encode() in zero_separated(fakes / "srun")


PER_RANK = {
    "SLURM_GPUS_PER_TASK": "1",
    "SLURM_TRES_PER_TASK": "cpu:7,gres/gpu:1",
    "SLURM_NTASKS_PER_GPU": "1",
    "SLURM_GPU_BIND": "single:1",
}


@pytest.mark.usefixtures("fakes")
def test_an_agent_gets_all_gpus_of_its_node_where_the_job_gives_each_rank_one(
    wrap: Wrap, tmp_path: Path
) -> None:
    program = tmp_path / "torchrun"
    program.write_text("#!/bin/sh\nenv\n")
    program.chmod(0o755)
    options = ("--launcher", "torchrun", "--ranks", "2", "--", "true")
    made = wrap("--profile", "lumi-g", "--container", "none", *options)
    done = bash(made.out, PATH=f"{tmp_path}:{os.environ['PATH']}", **PER_RANK)
    assert b"SLURM_STEP_ID=0\n" in done.stdout
    assert not [name for name in PER_RANK if name.encode() in done.stdout]


@pytest.mark.usefixtures("fakes")
def test_the_smoke_test_sees_all_gpus_where_the_job_gives_each_rank_one(
    wrap: Wrap, tmp_path: Path
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nenv >&2\nexit 1\n")
    program.chmod(0o755)
    made = wrap("--profile", "lumi-g", "--container", "none", "--smoke-test", "--", "true")  # fmt: skip
    env = {"SLURM_NNODES": "2", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = bash(made.out, **env, **PER_RANK)
    assert b"SLURM_STEP_ID=0\n" in done.stderr
    assert not [name for name in PER_RANK if name.encode() in done.stderr]


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("size", "left"), [("--nodes=1", b"no\n"), ("", b"16\n")])
def test_a_smaller_step_does_not_ask_for_all_gpus_of_the_job(
    wrap: Wrap, size: str, left: bytes
) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none")
    step = f"envcfg_run {size} sh -c 'echo ${{SLURM_GPUS-no}}'"
    done = bash(f"{made.text}\n{step}", SLURM_NNODES="2", SLURM_GPUS="16")
    assert done.stdout == left


@pytest.mark.parametrize(
    ("argument", "handed_on"),
    [("--cleanenv", True), ("--cleanenv=true", True), ("-eC", True), ("--nv", False)],
)
def test_srun_s_variables_are_handed_on_only_where_they_must_be(
    wrap: Wrap, fakes: Path, tmp_path: Path, argument: str, handed_on: bool
) -> None:
    (tmp_path / "x.sif").touch()
    options = (
        "--container",
        "x.sif",
        "--runtime",
        "apptainer",
        f"--runtime-arg={argument}",
    )
    made = wrap("--profile", "lumi-g", *options, "--", "true")
    assert bash(made.out + b"\ndeclare -f envcfg_is_clean").returncode == 0
    script = made.text.replace("envcfg_run true", "") + (
        f"\nENVCFG_ENTER=(apptainer exec {argument} x.sif)\n"
        "if envcfg_is_clean; then echo yes; fi"
    )
    assert (bash(script).stdout == b"yes\n") is handed_on
    assert fakes.is_dir()


@pytest.mark.parametrize(
    ("allowed", "covered"),
    [
        ("fefefefe,fefefefe", True),
        ("ffffffff,ffffffff", True),
        ("00000000,00000000,ffffffff,ffffffff", True),
        ("fefefefe,fefefe00", False),
        ("fefefefe", False),
        ("3", False),
        ("", False),
    ],
)
def test_masks_are_used_only_where_the_job_has_all_their_cores(
    allowed: str, covered: bool
) -> None:
    script = (
        "set -eu\nENVCFG_CPU_MASKS_UNION=fefefefe,fefefefe\n"
        f"{module('masks').text}\nif envcfg_covers '{allowed}'; then echo yes; fi"
    )
    done = bash(script)
    assert done.stderr == b""
    assert (done.stdout == b"yes\n") is covered


def test_masks_reach_srun_on_a_whole_node(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    """With a profile whose masks are the cores that this test itself may use."""
    allowed = sum(1 << core for core in os.sched_getaffinity(0))
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nlaunch: {{cpu_masks: {{masks: [{allowed:#x}, {allowed:#x}], {reason}}}}}\n"
    )
    made = wrap("--profile", "./p.yaml", "--container", "none", "--", "true")
    assert bash(made.out).returncode == 0
    assert f"--cpu-bind=mask_cpu:{allowed:#x},{allowed:#x}".encode() in zero_separated(
        fakes / "srun"
    )


BARE = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
NEEDED = (
    "SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_STEP_ID SLURM_STEP_NODELIST "
    "SLURM_STEP_NUM_TASKS SLURM_STEP_TASKS_PER_NODE"
).split()


def task_with(folder: Path, change: str) -> str:
    """Return PATH with a runtime that changes what a task is told."""
    runtime = folder / "bin/singularity"
    runtime.parent.mkdir(exist_ok=True)
    runtime.write_text(f'#!/bin/bash\n{change}\nshift 2\nexec "$@"\n')
    runtime.chmod(0o755)
    return f"{runtime.parent}:{os.environ['PATH']}"


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("how", ["unset -v {}", "export {}="])
@pytest.mark.parametrize(
    ("missing", "options"),
    [
        *((name, ()) for name in (*NEEDED, "MASTER_ADDR", "MASTER_PORT")),
        *(
            ("SLURM_STEP_NUM_NODES", ("--launcher", name))
            for name in ("torchrun", "accelerate", "deepspeed", "horovod")
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[1:]),
)
def test_a_task_that_is_told_too_little_says_what_is_missing(
    wrap: Wrap, tmp_path: Path, missing: str, options: tuple[str, ...], how: str
) -> None:
    image = ("--container", "docker://x", "--runtime", "singularity", "--ranks", "1")
    made = wrap("--profile", "lumi-g", "--fact", "rocm=6.2.4", *image, *options, "--", "echo", "started")  # fmt: skip
    # What the job has set itself comes as an argument.
    before = f"{missing}=\n" if missing.startswith("MASTER") else ""
    change = ":" if before else how.format(missing)
    done = bash(f"{before}{made.text}", PATH=task_with(tmp_path, change))
    assert done.returncode == 4, done.stdout
    assert f"{missing} is not set in this task, or empty" in done.stderr.decode()
    assert b"started" not in done.stdout


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("nodes", ["n[1", "n]1", "n[1-2-3]"])
def test_a_broken_list_of_nodes_ends_the_step(
    wrap: Wrap, tmp_path: Path, nodes: str
) -> None:
    made = wrap(*BARE, "--ranks", "1", "--", "echo", "started")
    done = bash(made.out, FAKE_NODELIST=nodes)
    assert done.returncode == 4
    assert (
        f"SLURM_STEP_NODELIST is not a list of nodes: '{nodes}'" in done.stderr.decode()
    )
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        "name: p\nlaunch: {launchers: [srun]}\n"
        f"rendezvous: {{interface: hsn0, {reason}}}\n"
    )
    made = wrap("--profile", "./p.yaml", "--container", "none", "--", "echo", "started")
    for given in (nodes, ""):
        done = bash(made.out, SLURM_JOB_NODELIST=given)
        assert done.returncode == 4
        assert f"SLURM_JOB_NODELIST names no node: '{given}'" in done.stderr.decode()
        assert done.stdout == b""


@pytest.mark.parametrize(
    ("said", "tasks"),
    [
        ({"SLURM_GPUS_PER_NODE": "010"}, "10"),
        ({"SLURM_GPUS_PER_NODE": "08"}, "8"),
        ({"SLURM_GPUS_PER_NODE": "a100:010"}, "10"),
        ({"SLURM_GPUS_PER_NODE": ":010"}, "10"),
        ({"SLURM_GPUS_PER_NODE": "a100:01,h100:09"}, "10"),
        ({"SLURM_GPUS_ON_NODE": "08"}, "8"),
    ],
)
def test_zeros_in_front_change_no_number_of_gpus(
    wrap: Wrap, fakes: Path, said: dict[str, str], tasks: str
) -> None:
    done = bash(b"set -eu\n" + wrap(*BARE, "--", "true").out, **said)
    assert done.returncode == 0, done.stderr.decode()
    assert f"--ntasks-per-node={tasks}".encode() in zero_separated(fakes / "srun")


def test_zeros_in_front_change_no_number_of_the_job(wrap: Wrap, fakes: Path) -> None:
    said = {"SLURM_NNODES": "02", "SLURM_NTASKS": "016", "SLURM_CPUS_PER_TASK": "010"}
    made = wrap(*BARE, "--launcher", "torchrun", "--ranks", "8", "--", "true")
    done = bash(b"set -eu\n" + made.out, **said)
    noted = zero_separated(fakes / "srun")
    assert b"--ntasks=2" in noted, done.stderr.decode()
    assert b"--cpus-per-task=80" in noted
    steps = wrap(*BARE).text
    (fakes / "srun").unlink()
    bash(f"{steps}\nenvcfg_run --nodes=1 true", **said)
    noted = zero_separated(fakes / "srun")
    assert {b"--nodes=1", b"--ntasks=8", b"--ntasks-per-node=8"} <= set(noted)
    bash(f"{steps}\nenvcfg_run --nodes=1 true", **said, SLURM_NTASKS_PER_NODE="09")
    assert b"--ntasks-per-node=9" in zero_separated(fakes / "srun")
    done = bash(wrap(*BARE, "--", "true").out, SLURM_NNODES="two")
    assert done.returncode == 4
    assert b"SLURM_NNODES=two is not a number" in done.stderr


@pytest.mark.parametrize(
    "arguments", [[":"], ["::", "a:", ":b", ""], ["x", ":", "y"]], ids=" ".join
)
def test_a_colon_does_not_end_the_command_of_a_step(
    arguments: list[str], wrap: Wrap, fakes: Path
) -> None:
    """In a script of one command, and in one of several steps."""
    assert fakes
    words = ["printf", "<%s>", *arguments]
    whole = wrap(*BARE, "--", *words)
    steps = wrap(*BARE)
    said = "".join(f"<{each}>" for each in arguments).encode()
    for text in (whole.text, f"{steps.text}\nenvcfg_run {shlex.join(words)}\n"):
        done = bash(text, FAKE_TASKS="1")
        assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_a_plain_command_has_nothing_to_hide_from_srun(wrap: Wrap) -> None:
    assert "colons" not in wrap(*BARE, "--", "python", "a:b", "::c").text


@pytest.mark.parametrize("name", ["MASTER_ADDR", "MASTER_PORT"])
def test_where_ranks_meet_may_be_left_to_the_program(
    wrap: Wrap, fakes: Path, name: str
) -> None:
    options = ("--profile", "lumi-g", "--container", "none", "--unset", name)
    made = wrap(*options, "--", "sh", "-c", f"echo ${{{name}-none}}")
    done = bash(made.out, MASTER_PORT="12345", SLURM_NTASKS="1")
    assert (done.returncode, done.stdout) == (0, b"none\n"), done.stderr.decode()
    assert fakes.is_dir()


def test_the_user_s_own_binding_is_left_as_it_is(wrap: Wrap, fakes: Path) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none", "--", "true")
    job = {"SLURM_CPU_BIND": "none", "SLURM_CPUS_PER_TASK": "7", "SLURM_NTASKS": "1"}
    assert bash(made.out, **job).returncode == 0
    words = b" ".join(zero_separated(fakes / "srun"))
    assert b"cpus-per-task" not in words
    assert b"cpu-bind" not in words


def test_options_of_a_step_keep_their_colons(wrap: Wrap, fakes: Path) -> None:
    made = wrap("--profile", "lumi-g", "--container", "none")
    done = bash(made.out + b"\nenvcfg_run --on : true")
    assert done.returncode == 4
    assert b"--on : names no nodes" in done.stderr
    assert fakes.is_dir()
