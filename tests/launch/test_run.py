"""What generated bash does when it runs, on this machine; srun's part is in tests/cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcfg.launch.plan import Options
from envcfg.launch.render import render_script
from envcfg.launch.resolve import resolve
from envcfg.launch.script import template
from envcfg.profile.catalog import Catalog, built_in_folder
from envcfg.profile.words import Word
from support import Wrapped, bash, zero_separated

Wrap = Callable[..., Wrapped]
LOCAL = ("--profile", "workstation", "--container", "none")
CACHED = ("--profile", "lumi-g", "--launcher", "local", "--container", "none")
RANK = "printf '%s:%s\\n' \"$RANK\" "  # what many programs below begin with

ARGUMENTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
HOSTILE = [
    "", " ", "a b", "*", "~", "$HOME", "${HOME}", "$(touch canary)", "`touch canary`",
    "; touch canary", "| touch canary", "&", "\\", "\\\\n", "'", '"', "'\"'", "\n", "a\n\nb\n",
    "\t", "\r\n", "!!", "#", "--", "-u", "A=B", "ENVCFG_TEXT", "\nENVCFG_TEXT\ntouch canary\n",
    "envcfg_kill() {\n  touch canary\n}\n", "ä€𝄞", "\x01\x7f", "a,b", "%s%n",
    "x" * 20_000,
]  # fmt: skip


def script_for(command: list[str], env: dict[str, Word | None] | None = None) -> bytes:
    """Make a script in this process, as hundreds of them are needed."""
    profile = Catalog([built_in_folder()]).load("workstation")
    options = Options(command=tuple(command), settings=env or {}, ranks=1)
    text = render_script(resolve(profile, "0", options), ["envcfg"])
    return text.encode("utf-8", "surrogateescape")


# Arguments and values


@given(st.lists(ARGUMENTS, max_size=8))
@settings(max_examples=150, deadline=None)
def test_arguments_arrive_byte_for_byte(words: list[str]) -> None:
    done = bash(script_for(["printf", r"%s\0", *words]))
    assert done.stderr == b""
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in words or [""]]


@given(st.lists(ARGUMENTS, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_values_arrive_byte_for_byte(values: list[str]) -> None:
    env: dict[str, Word | None] = {
        f"V{at}": (value,) for at, value in enumerate(values)
    }
    done = bash(script_for(["/usr/bin/env", "-0"], env))
    entries = done.stdout.split(b"\0")
    for at, value in enumerate(values):
        assert f"V{at}={value}".encode() in entries


def test_hostile_arguments_and_values_arrive_and_nothing_runs(
    wrap: Wrap, tmp_path: Path
) -> None:
    sets = [f"V{at}={word.replace('$', '$$')}" for at, word in enumerate(HOSTILE)]
    made = wrap(
        *LOCAL,
        *(word for each in sets for word in ("--set", each)),
        *(
            "--",
            "bash",
            "-c",
            'printf "%s\\0" "$@" >args; env -0 >env',
            "bash",
            *HOSTILE,
        ),
    )
    assert made.code == 0, made.err
    for way in (made.out, b"set -eu\neval " + quoted(made.out)):
        done = bash(way)
        assert done.returncode == 0, done.stderr.decode()
        assert zero_separated(tmp_path / "args") == [word.encode() for word in HOSTILE]
        entries = zero_separated(tmp_path / "env")
        for at, word in enumerate(HOSTILE):
            assert f"V{at}={word}".encode() in entries
    assert not (tmp_path / "canary").exists()


def test_arguments_that_are_no_utf8_arrive(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--", "printf", "%s", b"\xff\xfe\x80")
    assert made.code == 0, made.err
    assert bash(made.out).stdout == b"\xff\xfe\x80"


def quoted(text: bytes) -> bytes:
    return b"'" + text.replace(b"'", b"'\\''") + b"'"


# Exit codes and signals


@pytest.mark.parametrize("code", [0, 1, 3, 127, 143, 255])
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_the_exit_code_is_the_program_s(wrap: Wrap, code: int, ranks: str) -> None:
    made = wrap(*LOCAL, "--ranks", ranks, "--", "sh", "-c", f"exit {code}")
    assert bash(made.out).returncode == code
    assert (
        bash(
            b"set -euo pipefail; source <(cat <<'E'\n" + made.out + b"E\n)\n"
        ).returncode
        == code
    )


def test_the_first_rank_that_fails_ends_the_others(wrap: Wrap) -> None:
    program = '[ "$RANK" = 1 ] && exit 3; exec sleep 60'
    made = wrap(*LOCAL, "--ranks", "3", "--", "sh", "-c", program)
    begin = time.monotonic()
    assert bash(made.out).returncode == 3
    assert time.monotonic() - begin < 9


def test_a_rank_that_does_not_want_to_end_is_killed(wrap: Wrap) -> None:
    program = '[ "$RANK" = 1 ] && { sleep 1; exit 3; }; trap "" TERM; while :; do sleep 1; done'
    made = wrap(*LOCAL, "--ranks", "2", "--", "sh", "-c", program)
    assert bash(made.out).returncode == 3


PROGRAM = """
trap 'echo "$RANK got TERM"; exit 5' TERM
trap 'echo "$RANK got USR1"; exit 6' USR1
echo ready
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize(
    ("sent", "code", "name"),
    [(signal.SIGTERM, 5, "TERM"), (signal.SIGUSR1, 6, "USR1")],
)
@pytest.mark.parametrize(
    "start",
    ["exec ./job.sh", "source <(cat steps.sh); envcfg_run bash program & wait -f $!"],
    ids=["run as a file", "a step in the background"],
)
def test_a_signal_reaches_every_rank(
    wrap: Wrap, tmp_path: Path, start: str, sent: signal.Signals, code: int, name: str
) -> None:
    (tmp_path / "program").write_text(PROGRAM)
    wrap(*LOCAL, "--ranks", "2", "-o", "job.sh", "--", "bash", "program")
    (tmp_path / "steps.sh").write_bytes(wrap(*LOCAL, "--ranks", "2").out)
    if "&" in start:  # what a user does who wants signals in the job's script
        pid = 'trap "kill -USR1 $!" USR1; trap "kill -TERM $!" TERM'
        start = start.replace("& wait -f $!", f"& {pid}; wait $!; wait $!")
    job = subprocess.Popen(
        ["bash", "-c", start], stdout=subprocess.PIPE, start_new_session=True
    )
    assert job.stdout
    assert [job.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
    time.sleep(0.1)
    job.send_signal(sent)
    out, _ = job.communicate(timeout=20)
    assert sorted(out.decode().splitlines()) == [f"0 got {name}", f"1 got {name}"]
    assert job.returncode == code


# What sourcing leaves alone

STATE = """
state() {
  set +o; shopt -p; trap -p; pwd; printf '%s\\n' "$@" "$#"
  declare -p | grep -vE '^declare -[^ ]* (BASH|FUNCNAME|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH|PIPESTATUS|_|ENVCFG_|PPID)'
  declare -F | grep -v ' envcfg_'
}
"""  # fmt: skip


@pytest.mark.parametrize("options", ["set +e", "set -euo pipefail", "set -fu; IFS=,"])
@pytest.mark.parametrize("command", [[], ["--", "true"]], ids=["steps", "command"])
def test_sourcing_touches_nothing_but_its_own_names(
    wrap: Wrap, tmp_path: Path, options: str, command: list[str]
) -> None:
    (tmp_path / "w.sh").write_bytes(wrap(*LOCAL, "--set", "MINE=1", *command).out)
    done = bash(
        f"{STATE}{options}\nset -- a 'b c'\n"
        'state "$@" >before\nsource ./w.sh\nsource ./w.sh\nstate "$@" >after'
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_steps_follow_each_other_and_leave_nothing_behind(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--set", "MINE=1", "--ranks", "2")
    step = 'envcfg_run sh -c "echo step \\$RANK \\$MINE"'
    done = bash(b"set -euo pipefail\n" + made.out + f"\n{step}\n{step}\n".encode())
    assert sorted(done.stdout.decode().split("\n")) == [
        "",
        *sorted(["step 0 1", "step 1 1"] * 2),
    ]
    done = bash(made.out + b'\nenvcfg_run true; echo "${MINE-unset} ${RANK-unset}"')
    assert done.stdout == b"unset unset\n"


def test_a_step_without_command_is_an_error(wrap: Wrap, tmp_path: Path) -> None:
    done = bash(wrap(*LOCAL).out + b"\nenvcfg_run")
    assert done.returncode == 2
    assert b"no command" in done.stderr
    assert wrap(*LOCAL, "-o", "steps.sh").code == 0
    done = bash("./steps.sh")
    assert done.returncode == 2
    assert b"no command" in done.stderr
    text = (tmp_path / "steps.sh").read_text()
    (tmp_path / "job.sh").write_text(text.replace("\n", "\n#SBATCH --nodes=2\n", 1))
    assert bash("bash job.sh echo hello").stdout == b"hello\n"


def test_steps_side_by_side_have_their_own_ports(wrap: Wrap) -> None:
    step = b"envcfg_run sh -c 'echo $MASTER_PORT; sleep 1' &\n"
    done = bash(wrap(*LOCAL).out + b"\n" + step * 3 + b"wait")
    assert len(set(done.stdout.split())) == 3


def test_what_comes_after_a_step_in_a_subshell_keeps_its_input(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--ranks", "2")
    done = bash(made.out + b"\n(envcfg_run true </dev/null; cat) <<<left")
    assert done.stdout == b"left\n"


def test_a_script_of_steps_that_is_run_takes_its_arguments_as_command(
    wrap: Wrap, tmp_path: Path
) -> None:
    assert wrap(*LOCAL, "-o", "w.sh").code == 0
    done = subprocess.run(
        ["./w.sh", "printf", "%s|", "a b", "*"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"a b|*|"


def test_input_goes_to_rank_0_alone(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--ranks", "2", "--", "sh", "-c", 'echo "$RANK $(cat)"')
    done = bash(made.out, stdin=b"typed")
    assert sorted(done.stdout.splitlines()) == [b"0 typed", b"1 "]


# What the job has set


@pytest.mark.parametrize(
    ("options", "preset", "expected"),
    [
        ([], {}, "hsn0"),
        ([], {"GLOO_SOCKET_IFNAME": "mine"}, "mine"),
        ([], {"GLOO_SOCKET_IFNAME": ""}, ""),
        (["--set", "GLOO_SOCKET_IFNAME=ib0"], {"GLOO_SOCKET_IFNAME": "mine"}, "ib0"),
        (["--unset", "GLOO_SOCKET_IFNAME"], {"GLOO_SOCKET_IFNAME": "mine"}, "unset"),
        (["--set", "GLOO_SOCKET_IFNAME=${OTHER}x"], {"OTHER": "a b"}, "a bx"),
        (["--set", "GLOO_SOCKET_IFNAME=${OTHER:-d}"], {}, "d"),
        (["--set", "GLOO_SOCKET_IFNAME=${LOCAL_RANK}"], {"LOCAL_RANK": "9"}, "0"),
        (["--set", "X=1", "--set", "GLOO_SOCKET_IFNAME=${X}2"], {"X": "9"}, "12"),
    ],
)
def test_the_job_s_own_value_wins_unless_told_otherwise(
    wrap: Wrap, options: list[str], preset: dict[str, str], expected: str
) -> None:
    show = 'printf %s "${GLOO_SOCKET_IFNAME-unset}"'
    made = wrap(*CACHED, *options, "--", "sh", "-c", show)
    assert made.code == 0, made.err
    assert bash(made.out, **preset).stdout.decode() == expected


def test_a_forced_setting_wins_over_the_job(wrap: Wrap, tmp_path: Path) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nlaunch: {{launchers: [local]}}\nenv:\n"
        f"  A: {{value: site, force: true, {reason}}}\n"
        f"  B: {{value: site, {reason}}}\n"
        f"  C: {{value: null, {reason}}}\n"
        f"  D: {{value: null, force: true, {reason}}}\n"
        f"  E: {{value: 'site ${{RANK}}', {reason}}}\n"
    )
    show = 'echo "$A|$B|${C-unset}|${D-unset}|$E"'
    made = wrap("--profile", "./p.yaml", "--container", "none", "--", "sh", "-c", show)
    assert made.code == 0, made.err
    mine = dict.fromkeys("ABCDE", "mine")
    assert bash(made.out, **mine).stdout == b"site|mine|mine|unset|mine\n"
    assert bash(made.out).stdout == b"site|site|unset|unset|site 0\n"


def test_path_is_extended_inside_and_never_on_the_host(wrap: Wrap) -> None:
    options = ("--set", "PATH=/opt/x:${PATH}", "--set", "LD_PRELOAD=/none.so")
    made = wrap(*LOCAL, *options, "--", "/bin/sh", "-c", "echo $PATH")
    done = bash(
        made.out + b"\ncommand -v env >/dev/null && echo $PATH | grep -c /opt/x || :"
    )
    path, _, count = done.stdout.partition(b"\n")
    assert path.startswith(b"/opt/x:")
    assert count == b"0\n"


def test_names_of_envcfg_s_own_code_are_free(wrap: Wrap) -> None:
    names = ("code", "status", "name", "rank", "pid", "port", "line", "signal", "image")
    sets = [word for name in names for word in ("--set", f"MY_{name}=${{{name}}}")]
    ranked = [
        "--set",
        "R=${name}-${RANK}",
        "--set",
        "A=${code}",
        "--set",
        "code=${OTHER}",
    ]
    made = wrap(*LOCAL, *sets, *ranked, "--", "env")
    mine = {name: f"my {name}" for name in names} | {"OTHER": "5"}
    lines = bash(made.out, **mine).stdout.decode().splitlines()
    assert set(lines) >= {f"MY_{name}=my {name}" for name in names if name != "code"}
    assert {"R=my name-0", "A=5", "MY_code=5", "code=5"} <= set(lines)


def test_what_a_value_refers_to_does_not_reach_the_program_by_itself(
    wrap: Wrap,
) -> None:
    made = wrap(*LOCAL, "--set", "A=${OUT}/${RANK}", "--", "env")
    lines = bash(made.out, OUT="a b").stdout.decode().splitlines()
    assert "A=a b/0" in lines
    assert not [line for line in lines if line.startswith(("OUT_", "ENVCFG_REF_"))]
    golden = wrap(*LOCAL, "--set", "A=${HOME}/${RANK}", "--unset", "HOME", "--", "env")
    assert golden.code == 0


def test_rendezvous_can_be_set(wrap: Wrap, fakes: Path) -> None:
    assert fakes
    show = ("--", "sh", "-c", "echo $MASTER_ADDR $MASTER_PORT")
    sets = ("--set", "MASTER_ADDR=node7", "--set", "MASTER_PORT=29500")
    for launcher in ("local", "srun"):
        made = wrap(*LOCAL, "--launcher", launcher, *sets, *show)
        assert bash(made.out).stdout == b"node7 29500\n"
        assert bash(made.out, MASTER_PORT="1").stdout == b"node7 29500\n"


def test_an_interface_without_address_stops_the_step(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(
        "name: p\nrendezvous: {interface: none9, why: w, source: s, date: 2026-01-01}\n"
    )
    made = wrap(
        "--profile", "./p.yaml", "--container", "none", "--", "printenv", "MASTER_ADDR"
    )
    done = bash(made.out, SLURMD_NODENAME="node1")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"node node1 has no address on none9" in done.stderr
    done = bash(made.out, SLURMD_NODENAME="node1", MASTER_ADDR="mine")
    assert (done.returncode, done.stdout) == (0, b"mine\n")
    assert fakes.is_dir()


def test_a_reference_to_nothing_ends_the_step_and_says_why(wrap: Wrap) -> None:
    made = wrap(*LOCAL, "--set", "X=${GONE}", "--", "echo", "started")
    done = bash(made.out + b"\necho goes on")
    assert done.stdout == b"goes on\n"
    assert b"GONE: is not set, and X refers to it" in done.stderr
    made = wrap(*LOCAL, "--set", "X=${GONE}/${RANK}", "--", "echo", "started")
    done = bash(made.out)
    assert done.returncode != 0
    assert done.stdout == b""


# Node-local caches

LIST = 'for d in "$ENVCFG_CACHE" "$MIOPEN_USER_DB_PATH" "$AITER_JIT_DIR"; do stat -c "%a %F %n" "$d"; done'


def test_caches_are_private_there_in_time_and_gone_afterwards(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--ranks", "4", "--fact", "rocm=6.2", "--", "sh", "-c", LIST)
    done = bash(b"umask 022\n" + made.out)
    assert done.returncode == 0, done.stderr.decode()
    lines = [line.split(" ", 2) for line in done.stdout.decode().splitlines()]
    assert len(lines) == 12
    assert {line[0] for line in lines} == {"700"}
    folders = {line[2].removeprefix("directory ") for line in lines}
    assert len(folders) == 3
    assert all(f"/envcfg-{os.getuid()}-local-" in folder for folder in folders)
    assert not any(Path(folder).exists() for folder in folders)


def test_caches_stay_between_steps_and_go_with_the_shell(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--fact", "rocm=6.2")
    steps = b"""
envcfg_run sh -c 'echo warm >"$ENVCFG_CACHE/x"; echo "$ENVCFG_CACHE"'
(envcfg_run sh -c 'cat "$ENVCFG_CACHE/x"') &
wait
"""
    done = bash(made.out + steps)
    folder, warm = done.stdout.decode().splitlines()
    assert warm == "warm"
    assert not Path(folder).exists()
    done = bash(b"trap 'echo mine' EXIT\n" + made.out + steps + b"envcfg_end\n")
    assert b"call envcfg_end" in done.stderr
    folder, _, mine = done.stdout.decode().splitlines()
    assert mine == "mine"
    assert not Path(folder).exists()


def test_sourcing_again_leaves_the_caches_of_a_running_step_alone(wrap: Wrap) -> None:
    steps, other = wrap(*CACHED, "--fact", "rocm=6.2"), wrap(*CACHED, "--", "true")
    hold = b"envcfg_run sh -c 'sleep 2; ls -d $ENVCFG_CACHE' & pid=$!\n"
    done = bash(steps.out + hold + b"sleep 1\n" + other.out + b"\nwait $pid")
    assert done.returncode == 0, done.stderr.decode()
    folder = done.stdout.decode().strip()
    assert folder.startswith("/tmp/envcfg-")
    assert not Path(folder).exists()


def test_a_subshell_removes_its_own_caches_only(wrap: Wrap) -> None:
    steps = wrap(*CACHED, "--fact", "rocm=6.2").out
    show = b"envcfg_run sh -c 'echo $ENVCFG_CACHE'\n"
    done = bash(steps + show + b"(" + steps + show + b"\n)\n" + show)
    mine, inner, again = done.stdout.decode().split()
    assert mine == again != inner
    assert not Path(mine).exists()
    assert not Path(inner).exists()


def test_a_cache_that_is_set_otherwise_is_made_too(wrap: Wrap) -> None:
    sets = ("--set", "TRITON_CACHE_DIR=${ENVCFG_CACHE}/mine")
    made = wrap(*CACHED, *sets, "--", "sh", "-c", 'ls -d "$TRITON_CACHE_DIR"')
    assert bash(made.out).returncode == 0


def test_a_folder_outside_the_cache_is_made_too(wrap: Wrap, tmp_path: Path) -> None:
    reason = "why: w, source: s, date: 2026-01-01"
    (tmp_path / "p.yaml").write_text(
        f"name: p\nlaunch: {{launchers: [local]}}\n"
        f"env: {{T: {{value: {tmp_path}/a/b, directory: true, {reason}}}}}\n"
    )
    made = wrap(
        "--profile", "./p.yaml", "--container", "none", "--", "sh", "-c", 'ls -d "$T"'
    )
    assert bash(made.out).returncode == 0


def test_jobs_side_by_side_share_neither_cache_nor_port(wrap: Wrap) -> None:
    made = wrap(*CACHED, "--", "sh", "-c", 'echo "$ENVCFG_CACHE $MASTER_PORT"; sleep 1')
    job = b"(" + made.out + b"\n) &\n"
    done = bash(job * 3 + b"wait")
    caches, ports = zip(
        *(line.split() for line in done.stdout.splitlines()), strict=True
    )
    assert len(set(caches)) == 3
    assert all(10000 <= int(port) < 32768 for port in ports)


@pytest.mark.parametrize(
    "make",
    [
        'ln -s "$PWD" "$cache"',
        'ln -s /nowhere "$cache"',
        'touch "$cache"',
        pytest.param(
            'mkdir "$cache" && chown 12345 "$cache"',
            marks=pytest.mark.skipif(
                os.getuid() != 0, reason="only root gives away folders"
            ),
        ),
    ],
    ids=["link", "dangling link", "file", "foreign folder"],
)
def test_what_stands_in_a_cache_s_place_is_refused(wrap: Wrap, make: str) -> None:
    made = wrap(*CACHED, "--", "echo", "started")
    script = f"""
        cache=/tmp/envcfg-$UID-local-$$.0-local
        {make} || exit 99
        trap 'rm -rf -- "$cache"' EXIT
    """.encode()
    done = bash(script + made.out)
    assert done.returncode == 4
    assert b"started" not in done.stdout
    assert b"envcfg: error:" in done.stderr


# What only the job can know


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
    script = made.text.replace("envcfg_main true", "") + (
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
        "set -eu\nENVCFG_MASKS_UNION=fefefefe,fefefefe\n"
        f"{template('pin')}\nif envcfg_covers '{allowed}'; then echo yes; fi"
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
