"""What a job tells of itself, with fakes for srun and for the tools of a node."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.log.read.rulebook import load_rules
from support import JOB, Wrap, bash, require_root, zero_separated

LUMI = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
FOUR = {"FAKE_NODES": "2", "FAKE_TASKS": "2"}
# As nvidia-smi 550 and rocm-smi of ROCm 6 write them.
NVIDIA = (
    "GPU {}: NVIDIA A100-SXM4-40GB (UUID: GPU-5df1d2f5-1f5e-4d1a-8a0b-d90c1a2b3c4{})"
)
AMD = "GPU[{}]\t\t: Unique ID: 0x5ac2bd1f0ed04{}"


def run(wrap: Wrap, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    made = wrap(*LUMI, *arguments)
    assert made.code == 0, made.err
    return bash(f"set -euo pipefail\n{made.text}", **{**FOUR, **env})


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("fakes")
def test_each_rank_says_which_cpus_it_may_use(wrap: Wrap) -> None:
    done = run(wrap, "--report-affinity", "--", "true")
    lines = re.findall(
        r"^envcfg: rank (\d+) on (\S+): cpus ([0-9a-f,]+) \(([0-9,-]+)\), local rank (\d+)",
        done.stderr.decode(),
        re.MULTILINE,
    )
    allowed = os.sched_getaffinity(0)
    assert [(line[0], line[4]) for line in lines] == [("0", "0"), ("1", "1"), ("2", "0"), ("3", "1")]  # fmt: skip
    for _, host, mask, _, _ in lines:
        assert host == os.uname().nodename
        bits = int(mask.replace(",", ""), 16)
        assert {at for at in range(bits.bit_length()) if bits >> at & 1} == allowed


@pytest.mark.usefixtures("fakes")
def test_the_affinity_report_names_the_tiles_of_intel_gpus(wrap: Wrap) -> None:
    done = run(wrap, "--report-affinity", "--", "true", ZE_AFFINITY_MASK="0.1,1.0")
    assert b", ZE_AFFINITY_MASK=0.1,1.0\n" in done.stderr


@pytest.mark.usefixtures("fakes")
def test_check_log_reads_the_report(wrap: Wrap) -> None:
    done = run(wrap, "--report-affinity", "--", "true", ROCR_VISIBLE_DEVICES="0,1")
    line = done.stderr.decode().splitlines()[-1]
    assert line.endswith(
        "local rank 1, ROCR_VISIBLE_DEVICES=0,1, HIP_VISIBLE_DEVICES=0,1"
    )
    (rule,) = (each for each in load_rules() if each.id == "affinity-envcfg")
    match = re.search(rule.pattern, line)
    assert match
    assert match["rank"] == "3"


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("tool", ["nvidia-smi", "rocm-smi"])
@pytest.mark.parametrize(("there", "code"), [(2, 0), (3, 0), (1, 4), (0, 4)])
def test_the_smoke_test_counts_the_gpus_that_answer(
    wrap: Wrap, tmp_path: Path, tool: str, there: int, code: int
) -> None:
    line = NVIDIA if tool == "nvidia-smi" else AMD
    said = "\n".join(line.format(at, at) for at in range(there))
    head = "===== ROCm System Management Interface =====" if tool == "rocm-smi" else ""
    program(tmp_path / "bin" / tool, f"cat <<'END'\n{head}\n{said}\nEND")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    done = run(wrap, "--smoke-test", "--", "echo", "ran", PATH=path, SLURM_GPUS_PER_NODE="2", SLURM_NTASKS_PER_NODE="2")  # fmt: skip
    assert done.returncode == code
    assert (b"ran" in done.stdout) == (code == 0)
    if code:
        errors = done.stderr.decode()
        assert f"{os.uname().nodename}: {there} of 2 GPUs answer ({tool}" in errors
        assert "sbatch --exclude=NODE" in errors


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo 'Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost'; exit 15", "0 of 2 GPUs answer (nvidia-smi, exit code 15)\n  Unable to determine"),
        (f"echo '{NVIDIA.format(0, 0)}'; echo '{NVIDIA.format(1, 1)}'; exit 3", "2 of 2 GPUs answer (nvidia-smi, exit code 3)"),
        ("echo 'No devices were found'; exit 6", "0 of 2 GPUs answer"),
    ],
)  # fmt: skip
def test_a_tool_that_fails_is_a_node_that_fails(
    wrap: Wrap, fakes: Path, tmp_path: Path, body: str, message: str
) -> None:
    program(tmp_path / "bin/nvidia-smi", body)
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    done = run(
        wrap, "--smoke-test", "--", "true", PATH=path, SLURM_GPUS_PER_NODE="a100:2"
    )
    assert done.returncode == 4
    assert message in done.stderr.decode()
    assert zero_separated(fakes / "srun")[0] == b"--overlap"


@pytest.mark.usefixtures("fakes")
def test_without_a_tool_to_count_by_the_smoke_test_fails(wrap: Wrap) -> None:
    done = run(wrap, "--smoke-test", "--", "true", SLURM_GPUS_PER_NODE="2")
    assert done.returncode == 4
    assert "neither nvidia-smi nor rocm-smi is there" in done.stderr.decode()


def test_nccl_tells_what_the_checker_reads(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    show = (
        "--",
        "sh",
        "-c",
        'echo "$NCCL_DEBUG $NCCL_DEBUG_SUBSYS ${NCCL_DEBUG_FILE-no}"',
    )
    done = run(wrap, "--nccl-debug", *show)
    assert set(done.stdout.split(b"\n")[:-1]) == {b"INFO INIT,BOOTSTRAP,ENV,NET no"}
    assert zero_separated(fakes / "srun").count(b"--unbuffered") == 1
    done = run(wrap, "--nccl-debug", "logs", "--set", "NCCL_DEBUG=TRACE", *show)
    file = rf"{tmp_path}/logs/nccl-{JOB}\.\d+/nccl-%h-%p\.log"
    assert re.fullmatch(
        f"TRACE INIT,BOOTSTRAP,ENV,NET {file}", done.stdout.splitlines()[0].decode()
    )
    assert (tmp_path / "logs").is_dir()
    assert zero_separated(fakes / "srun").count(b"--unbuffered") == 1


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("code", "kept"), [(0, False), (3, True)])
def test_logs_go_when_the_step_has_succeeded_if_asked(
    wrap: Wrap, tmp_path: Path, code: int, kept: bool
) -> None:
    write = f'echo x >"${{NCCL_DEBUG_FILE%%\\%*}}host-$RANK.log"; exit {code}'
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/nccl-99").mkdir()
    options = ("--nccl-debug=${HERE}/logs", "--nccl-debug-remove")
    done = run(wrap, *options, "--", "sh", "-c", write, HERE=str(tmp_path))
    assert done.returncode == code
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.glob("logs/*/*")]
    ours = [f"logs/nccl-{JOB}/nccl-host-{rank}.log" for rank in range(4) if kept]
    assert sorted(re.sub(r"\.\d+/", "/", name) for name in left) == ours
    folders = list((tmp_path / "logs").iterdir())
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in folders}
    assert [mode for name, mode in modes.items() if name != "nccl-99"] == [0o700] * kept
    assert len(folders) == 1 + kept


@pytest.mark.usefixtures("fakes")
def test_a_step_that_succeeds_leaves_the_logs_of_one_that_failed(
    wrap: Wrap, tmp_path: Path
) -> None:
    made = wrap(*LUMI, "--nccl-debug", "the logs", "--nccl-debug-remove")
    write = 'echo x >"${NCCL_DEBUG_FILE%%\\%*}$1.log"; exit $1'
    steps = "\n".join(f"envcfg_run sh -c '{write}' a {code} || :" for code in (3, 0))
    done = bash(f"set -euo pipefail\n{made.text}\n{steps}")
    assert done.returncode == 0, done.stderr.decode()
    (left,) = (tmp_path / "the logs").glob("*/*")
    assert left.name == "nccl-3.log"


FLIGHT = (
    *("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
    *("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"),
)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (("--flight-recorder",), "."),
        (("--flight-recorder", "my $$(id) dumps"), "my $(id) dumps"),
        (("--flight-recorder=${HERE}/x",), "x"),
    ],
)
def test_flight_recorder_has_a_folder_for_each_job(
    wrap: Wrap, tmp_path: Path, options: tuple[str, ...], folder: str
) -> None:
    show = "".join(f"${name}|" for name in FLIGHT)
    done = run(wrap, *options, "--", "sh", "-c", f'echo "{show}"', HERE=str(tmp_path))
    assert done.returncode == 0, done.stderr.decode()
    ours = tmp_path / folder / f"flight-{JOB}"
    assert ours.is_dir()
    assert {*done.stdout.decode().splitlines()} == {
        f"2000|1|{ours}/rank_|{ours}/rank_|"
    }


@pytest.mark.usefixtures("fakes")
def test_what_the_job_sets_of_flight_recorder_wins(wrap: Wrap) -> None:
    given = ("--flight-recorder", "--set", "TORCH_NCCL_DUMP_ON_TIMEOUT=0")
    show = "echo $TORCH_NCCL_TRACE_BUFFER_SIZE $TORCH_NCCL_DUMP_ON_TIMEOUT"
    size = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "7"}
    done = run(wrap, *given, "--", "sh", "-c", show, **size)
    assert {*done.stdout.decode().splitlines()} == {"7 0"}


@pytest.mark.usefixtures("fakes")
def test_a_folder_that_cannot_be_made_ends_the_step_before_it(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = run(wrap, "--flight-recorder", "file", "--", "echo", "started")
    assert done.returncode != 0
    assert b"started" not in done.stdout
    said = f"cannot make the folder file/flight-{JOB} for Flight Recorder"
    assert said in done.stderr.decode()


def _nobody_s(path: Path, owner: Path) -> None:
    path.mkdir()
    os.chown(path, 65534, owner.stat().st_gid)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("make", [Path.symlink_to, _nobody_s])
def test_a_folder_that_somebody_else_has_made_is_refused(
    wrap: Wrap, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    require_root()
    (tmp_path / "victim").mkdir()
    (tmp_path / "shared").mkdir()
    make(tmp_path / f"shared/flight-{JOB}", tmp_path / "victim")
    done = run(wrap, "--flight-recorder", "shared", "--", "echo", "started")
    assert (done.returncode, done.stdout) == (4, b"")
    assert f"cannot make the folder shared/flight-{JOB}" in done.stderr.decode()


@pytest.mark.parametrize(
    ("profiler", "words"),
    [
        ("rocprof", "--hip-trace -o envcfg-rocprof-JOB-rank2.csv"),
        ("rocprofv3", "--runtime-trace -o envcfg-rocprofv3-JOB-rank2 -x --"),
        ("nsys", "profile --output=envcfg-nsys-JOB-rank2 -x"),
        ("py-spy", "record --subprocesses --format=speedscope --output=envcfg-py-spy-JOB-rank2.json -x --"),
    ],
)  # fmt: skip
def test_only_the_chosen_ranks_run_under_the_profiler(
    wrap: Wrap, fakes: Path, tmp_path: Path, profiler: str, words: str
) -> None:
    program(
        tmp_path / "bin" / profiler,
        'printf "%s|" "$@" >>"$FAKE_NOTES/profiler"\n'
        'while [[ $1 != sh ]]; do shift; done\nexec "$@"',
    )
    more = () if profiler == "rocprof" else ("--profiler-arg=-x",)
    options = ("--profile-rank", "2", "--profiler", profiler, *more)
    done = run(
        wrap,
        *(*options, "--", "sh", "-c", 'echo "$RANK $1"', "a", "b  c"),
        PATH=f"{tmp_path}/bin:{os.environ['PATH']}",
    )
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.splitlines()) == [
        b"0 b  c",
        b"1 b  c",
        b"2 b  c",
        b"3 b  c",
    ]
    noted = (fakes / "profiler").read_text()
    assert noted == "|".join([*words.replace("JOB", JOB).split(), "sh", "-c", 'echo "$RANK $1"', "a", "b  c", ""])  # fmt: skip


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("ranks", "said"), [("0,4", b"no rank 4"), ("9,5", b"no rank 9"), ("0", b"")])  # fmt: skip
def test_a_rank_to_profile_that_is_not_there_is_said_once(
    wrap: Wrap, tmp_path: Path, ranks: str, said: bytes
) -> None:
    program(tmp_path / "bin/nsys", 'shift 2\nexec "$@"')
    options = ("--profile-rank", ranks, "--profiler", "nsys", "--", "true")
    done = run(wrap, *options, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert done.returncode == 0
    assert done.stderr.count(b"to run under nsys") == (1 if said else 0)
    assert said in done.stderr


@pytest.mark.usefixtures("fakes")
def test_a_profiler_that_is_not_there_ends_the_rank_that_wants_it(wrap: Wrap) -> None:
    done = run(wrap, "--profile-rank", "1,3", "--profiler", "nsys", "--", "true")
    assert done.returncode == 4
    assert done.stderr.count(b"nsys is not on PATH here") == 2


@pytest.mark.usefixtures("fakes")
def test_setup_sources_a_file_or_runs_commands_before_the_settings(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "env.sh").write_text(
        '[[ $# == 0 ]] || exit 9\nexport FROM=file NCCL_SOCKET_IFNAME=wrong\nPATH="/opt/x:$PATH"\n'
    )
    show = (
        "--",
        "sh",
        "-c",
        'echo "$FROM $NCCL_SOCKET_IFNAME ${PATH%%:*} $1"',
        "a",
        "b",
    )
    done = run(wrap, "--setup", "env.sh", *show)
    assert set(done.stdout.splitlines()) == {b"file hsn0,hsn1,hsn2,hsn3 /opt/x b"}
    code = "source env.sh; FROM='it''s'\"$((40 + 2))\""
    done = run(wrap, "--setup", code, *show)
    assert set(done.stdout.splitlines()) == {b"its42 hsn0,hsn1,hsn2,hsn3 /opt/x b"}


@pytest.mark.usefixtures("fakes")
def test_a_file_of_setup_is_sourced_as_in_a_shell(wrap: Wrap, tmp_path: Path) -> None:
    dump = "declare -x DUMPED='as export -p writes it'\nset -- x y\nset -eu\nIFS=,\n"
    (tmp_path / "env.sh").write_text(dump)
    options = ("--setup", "env.sh", "--report-affinity", "--launcher", "jax")
    done = run(wrap, *options, "--", "sh", "-c", 'echo "$DUMPED $1"', "a", "b  c")
    assert set(done.stdout.splitlines()) == {b"as export -p writes it b  c"}
    assert b"cpus ?" not in done.stderr


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ("/no/such/file", "/no/such/file cannot be read, which --setup names"),
        ("false || return 7", "what --setup gives has failed"),
    ],
)
def test_a_setup_that_fails_ends_the_rank(wrap: Wrap, setup: str, message: str) -> None:
    done = run(wrap, "--setup", setup, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (4, b"")
    assert message in done.stderr.decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--profile-rank", "2"), "--profile-rank and --profiler go together"),
        (("--profiler", "nsys"), "--profile-rank and --profiler go together"),
        (("--profiler-arg=-x",), "without a --profiler"),
        (("--profile-rank", "two", "--profiler", "nsys"), "'two' are not ranks"),
        (("--nccl-debug-remove",), "goes with --nccl-debug DIR"),
        (("--nccl-debug=",), "is the variable set that it comes from?"),
        (("--nccl-debug=logs/${RANK}",), "--nccl-debug refers to RANK"),
        (("--nccl-debug=${A}/x", "--set", "A=1"), "--nccl-debug refers to A"),
        (("--nccl-debug=logs-%h",), "NCCL reads % as a sign"),
        (("--flight-recorder=",), "is the variable set that it comes from?"),
        (("--flight-recorder=x/${RANK}",), "--flight-recorder refers to RANK"),
        (("--setup", "echo 'open"), "bash cannot read it"),
        (("--setup", "} ; { echo"), "bash cannot read it"),
    ],
)
def test_options_that_cannot_be_meant_are_errors(
    wrap: Wrap, options: tuple[str, ...], message: str
) -> None:
    made = wrap(*LUMI, *options, "--", "true")
    assert made.code == 2
    assert message in made.err


@pytest.mark.parametrize(
    ("gpus", "tasks", "ranks", "said"),
    [
        ("8", "8", "", ""),
        ("8", "4", "", "4 ranks per node, but 8 GPUs"),
        ("4", "8", "", "8 tasks per node, but 4 GPUs"),
        ("4", "8", "8", ""),
        ("", "8", "", ""),
    ],
)
@pytest.mark.usefixtures("fakes")
def test_ranks_are_held_against_the_gpus_of_a_node(
    wrap: Wrap, gpus: str, tasks: str, ranks: str, said: str
) -> None:
    given = ("--ranks", ranks) if ranks else ()
    done = run(wrap, *given, "--", "true", SLURM_GPUS_PER_NODE=gpus, SLURM_NTASKS_PER_NODE=tasks, SLURM_NTASKS="16", SLURM_NNODES="2")  # fmt: skip
    assert done.returncode == (2 if "tasks per node" in said else 0)
    assert said in done.stderr.decode()
    if not said:
        assert b"per node" not in done.stderr


@pytest.mark.parametrize("launcher", ["local", "torchrun"])
def test_without_a_scheduler_files_carry_the_run(
    wrap: Wrap, tmp_path: Path, launcher: str
) -> None:
    """By which they differ from those of the run before."""
    program(tmp_path / "bin/nsys", 'echo "$2"')
    program(tmp_path / "bin/torchrun", 'while [[ $1 != /bin/sh ]]; do shift; done\nRANK=0 LOCAL_RANK=0 WORLD_SIZE=1 GROUP_RANK=0 "$@"')  # fmt: skip
    where = ("--profile", "workstation", "--container", "none", "--launcher", launcher)
    options = ("--profile-rank", "0", "--profiler", "nsys", "--nccl-debug", "logs")
    made = wrap(*where, *options, "--", "true")
    script = f"set -eu\nPATH={tmp_path}/bin:$PATH\n{made.text}"
    said = {bash(script).stdout.decode().strip() for _ in range(3)}
    assert len(said) == 3
    form = r"--output=envcfg-nsys-local-\d{8}T\d{6}-\d+-rank0"
    assert all(re.fullmatch(form, each) for each in said), said


@pytest.mark.parametrize(("sent", "code"), [("USR1", 138), ("TERM", -15)])
def test_a_signal_in_the_smoke_test_is_no_fault_of_a_node(
    wrap: Wrap, fakes: Path, tmp_path: Path, sent: str, code: int
) -> None:
    tool = tmp_path / "bin/rocm-smi"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\n: >looks; until [ -e hit ]; do sleep 0.05; done; exit 1\n"
    )
    tool.chmod(0o755)
    made = wrap("--profile", "lumi-g", "--container", "none", "--smoke-test", "--", "true")  # fmt: skip
    hit = f"(while [ ! -e looks ]; do sleep 0.1; done; kill -{sent} $$; : >hit) &\n"
    path = f"{tool.parent}:{os.environ['PATH']}"
    done = bash(
        f"{hit}{made.text}", PATH=path, SLURM_GPUS_PER_NODE="1", SLURMD_NODENAME="node1"
    )
    assert done.returncode == code, done.stderr.decode()
    assert b"smoke test has failed" not in done.stderr
    assert not (fakes / "srun").exists()
