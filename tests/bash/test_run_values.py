"""Arguments and values on their way through generated bash, on this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.job.script import quoting as script
from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.profile.words import Word
from fuzzing import part
from support import CACHED, LOCAL, Wrap, bash, zero_separated

ARGUMENTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
HOSTILE = [
    ":",
    "::",
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


@given(st.lists(ARGUMENTS, max_size=8))
@part(400)
def test_arguments_arrive_byte_for_byte(words: list[str]) -> None:
    done = bash(script_for(["printf", r"%s\0", *words]))
    assert done.stderr == b""
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in words or [""]]


@given(st.lists(ARGUMENTS, min_size=1, max_size=5))
@part(240)
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
        (tmp_path / "way.sh").write_bytes(way)  # it is too long for an argument
        done = bash("source ./way.sh")
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


LOCALS = sorted(
    {
        name
        for path in (Path(script.__file__).parent / "modules").glob("**/*.sh")
        for line in re.findall(r"^ *local (?:-a )?(.*)$", path.read_text(), re.M)
        for name in re.findall(r"(?:^| )([a-z]\w*)", line)
    }
    | {"rank", "ranks", "task", "tasks", "pid", "code", "status", "left", "name", "i"}
)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("launcher", ["local", "srun"])
def test_what_the_job_exports_or_protects_is_not_touched(
    wrap: Wrap, launcher: str
) -> None:
    made = wrap(*LOCAL, "--launcher", launcher, "--", "sh", "-c", "env; exit 3")
    names = [name for name in LOCALS if not name.startswith("envcfg_")]
    done = bash(made.out, **{name: f"my {name}" for name in names})
    assert done.returncode == 3
    lines = done.stdout.decode().splitlines()
    assert {f"{name}=my {name}" for name in names} <= set(lines)
    protect = "".join(f"readonly {name}=4\n" for name in names)
    done = bash(protect.encode() + made.out)
    said = b"srun: error: node1: task 0: Exited with exit code 3\n"
    assert (done.returncode, done.stderr) == (3, said if launcher == "srun" else b"")


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
    hint = "  hint: export GONE before the step, or give a value of your own: --set X=VALUE\n"
    said = (
        "envcfg: error: X (--set) refers to GONE, which is not set in this {}\n" + hint
    )
    assert done.stderr.decode() == said.format("job")
    made = wrap(*LOCAL, "--set", "X=${GONE}/${RANK}", "--", "echo", "started")
    done = bash(made.out)
    assert done.returncode != 0
    assert done.stdout == b""
    assert done.stderr.decode() == said.format("task").replace(" GONE b", " it b")


@pytest.mark.parametrize("options", ["", "set -euo pipefail\n", "set -u\n"])
def test_a_reference_of_a_profile_to_nothing_names_profile_variable_and_remedy(
    wrap: Wrap, tmp_path: Path, options: str
) -> None:
    """A project's folder by ${SLURM_JOB_ACCOUNT}, as on LUMI: a job may lack it."""
    (tmp_path / "p.yaml").write_text(
        "name: p\nenv:\n"
        "  HF_HOME: {value: '/scratch/${SLURM_JOB_ACCOUNT}/hf', why: w, source: s, date: 2026-01-01}\n"
        "  OTHER: {value: '${GONE}', why: w, source: s, date: 2026-01-01}\n"
    )
    made = wrap(
        *("--profile", "./p.yaml", "--container", "none", "--launcher", "local"),
        *("--", "printenv", "HF_HOME"),
    )
    done = bash(options.encode() + made.out, GONE="x")
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.decode() == (
        "envcfg: error: HF_HOME (./p.yaml:3) refers to SLURM_JOB_ACCOUNT, which is not "
        "set in this job\n"
        "  hint: export SLURM_JOB_ACCOUNT before the step, or give a value of your own: "
        "--set HF_HOME=VALUE\n"
    )
    done = bash(options.encode() + made.out, GONE="x", SLURM_JOB_ACCOUNT="p_1")
    assert (done.returncode, done.stdout) == (0, b"/scratch/p_1/hf\n")
