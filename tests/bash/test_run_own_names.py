"""What the job's shell has under names that envcfg uses: variables, functions."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest

from suites import mark_sample
from support import ROOT, Wrap, bash

BARE = ("--container", "none", "--no-modules")
FORMS = {
    "torchrun": ("--profile", "lumi-g", *BARE, "--launcher", "torchrun", "--ranks", "2"),
    "local": ("--profile", "workstation", *BARE, "--ranks", "1"),
    "caches": ("--profile", "lumi-g", *BARE),
    "suffix": ("--profile", "juwels-booster", *BARE),
    "bundle": ("--profile", "frontier", *BARE),
    "container": ("--profile", "lumi-g", "--no-modules", "--runtime", "apptainer", "--container", "x.sif"),
    "flux": ("--profile", "tuolumne", *BARE),
    "pbs": ("--profile", "polaris", *BARE),
}  # fmt: skip
# Interfaces of envcfg's own.
MEANT = {"ENVCFG_ALLOW"}
# Writes down what a rank gets, without names of envcfg's and what differs by process.
SHOW = r"""#!/usr/bin/env python3
import os, re, sys
gone = re.compile(r"(?i)envcfg_|(_|PWD|SHLVL|OLDPWD|MASTER_PORT)$")
shown = [f"{k}={v}" for k, v in os.environ.items() if not gone.match(k)]
text = "\n".join([*map(repr, sys.argv[1:]), *sorted(shown)])
with open("seen-" + os.environ["RANK"], "w") as file:
    file.write(re.sub(r"-\d+\.\d+-", "-N-", text))
sys.exit(3)
"""
TORCHRUN = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
export RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1
exec "$@"
"""


@cache
def own_names() -> frozenset[str]:
    """All names of envcfg's in any module or template."""
    texts = ROOT.glob("envcfg/job/script/*/**/*.sh")
    found = (re.findall(r"\b(?:envcfg|ENVCFG)_\w+", each.read_text()) for each in texts)
    return frozenset(name for each in found for name in each) - MEANT


def ran(script: bytes, **env: str) -> list[str]:
    """Return the exit code, what is said, and what each rank gets."""
    for path in Path().glob("seen-*"):
        path.unlink()
    done = bash(script, **env)
    seen = [each.read_text().splitlines() for each in sorted(Path().glob("seen-*"))]
    assert seen, done.stderr.decode()
    said = done.stderr.decode().splitlines()
    return [str(done.returncode), *said, *(line for each in seen for line in each)]


@pytest.mark.parametrize("junk", ["junk", "7", "a[$(touch evil)]"])
@pytest.mark.parametrize("form", mark_sample(FORMS, every=4))
@pytest.mark.parametrize("way", ["command", "steps"])
@pytest.mark.usefixtures("fakes")
def test_variables_of_envcfg_s_names_in_the_job_change_nothing(
    wrap: Wrap, tmp_path: Path, form: str, way: str, junk: str
) -> None:
    for name, text in {"x.sif": "", "show": SHOW, "torchrun": TORCHRUN}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "nodes").write_text(f"{os.uname().nodename}\n")
    command = ("show", "a b", "::", "", ":")
    made = wrap(*FORMS[form], *(("--", *command) if way == "command" else ()))
    assert made.code == 0, made.err
    script = made.out
    if way == "steps":
        script += f"\nenvcfg_run {shlex.join(command)}".encode()
    env = {"SLURM_NNODES": "1", "SLURMD_NODENAME": "node1", "FLUX_URI": "local:///x"}
    env |= {"PBS_JOBID": "1.x", "PBS_NODEFILE": str(tmp_path / "nodes")}
    env |= {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    if form in {"flux", "pbs"}:
        script = b"unset SLURM_JOB_ID SLURM_NNODES\n" + script
    clean = ran(script, **env)
    assert clean[0] == "3"
    assert ran(script, **env, **dict.fromkeys(own_names(), junk)) == clean
    assert not Path("evil").exists()


BUILTINS = sorted(
    {*subprocess.run(["bash", "-c", "compgen -b"], capture_output=True, text=True, check=True).stdout.split()}
    # by these the job's own text sources it, and bash itself reaches its builtins
    - {"source", "builtin", "unset", "exit"}
)  # fmt: skip


@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("name", mark_sample(BUILTINS, every=3))
def test_a_function_by_the_name_of_a_builtin_hides_no_failure(
    wrap: Wrap, tmp_path: Path, name: str, exported: bool
) -> None:
    script = tmp_path / "w.sh"
    script.write_bytes(_steps(wrap))
    for body in ("[[ 1 ]]", "[[ '' ]]"):
        lines = [f"function {name} {{ {body}; }}"]
        if exported:
            lines.append(f"builtin export -f {name}")
        done = bash(
            "\n".join(
                [*lines, f"source {script}", "envcfg_run sh -c 'exit 3'", "exit $?"]
            )
        )
        assert done.returncode == 3, (body, done.stderr.decode())


@cache
def _steps(wrap: Wrap) -> bytes:
    return wrap("--profile", "workstation", "--container", "none").out


STEPS = ("--profile", "lumi-g", *BARE, "--launcher", "local", "--ranks", "1")


@pytest.mark.parametrize("options", ["-e", "-u", "-eu", "-eua", ""])
@pytest.mark.parametrize(
    "given",
    [
        "",
        "export ENVCFG_OWNER=$$ ENVCFG_TRAPPED=$$ ENVCFG_CACHES=$PWD/mine",
        "ENVCFG_OWNER=$$; ENVCFG_CACHES=($PWD/mine)",
    ],
)
def test_only_caches_of_ones_own_are_removed_and_all_of_them(
    wrap: Wrap, tmp_path: Path, options: str, given: str
) -> None:
    (tmp_path / "mine-local").mkdir()
    made = wrap(*STEPS).text.replace(
        "ENVCFG_SCRATCH=/tmp", f"ENVCFG_SCRATCH={tmp_path}"
    )
    (tmp_path / "steps.sh").write_text(made)
    run = f"set {options or '-o pipefail'}; . ./steps.sh; envcfg_run sh -c 'ls -d envcfg-*'"
    done = bash(f"{given}\nexec bash -c {shlex.quote(run)}")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"envcfg-")
    assert [each.name for each in tmp_path.glob("*-local")] == ["mine-local"]


@pytest.mark.parametrize("value", ["${BAR:-def}", "${BAR}"])
def test_a_reference_is_to_the_job_s_variable_alone(wrap: Wrap, value: str) -> None:
    made = wrap(*FORMS["local"], "--set", f"FOO={value}${{LOCAL_RANK}}", "--", "env")
    done = bash(made.text, ENVCFG_REF_BAR="poison")
    assert b"poison" not in done.stdout
    assert done.returncode == (0 if ":" in value else 4)
