"""Modules that a step loads, by a real Lmod and by a function that stands for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import Wrap, bash, envcfg, wrap_text

LMOD = Path("/usr/share/lmod/lmod")
PROFILE = """\
name: here
launch: {{launchers: [srun, local]}}
modules:
  {folder}: {{action: use, why: holds them, source: s, date: 2026-01-01}}
  base: {{why: makes the other known, source: s, date: 2026-01-01}}
  tool/1.0: {{why: brings the tool, source: s, date: 2026-01-01}}
  many: {{when: {{nodes: ">1"}}, why: of several nodes, source: s, date: 2026-01-01}}
"""
# It refers to what may not be set and does what errexit ends, as such functions do.
STANDIN = """\
module() {
  echo "$NOT_SET_ANYWHERE" >/dev/null; false; read -r eaten
  echo "module $*"
  if [[ $2 == *broken* ]]; then return 1; fi
  if [[ $1 == load ]]; then
    export "LOADEDMODULES=$LOADEDMODULES:$2" "MARK_OF_${2%%/*}=yes"
  fi
}
"""
SHOW = ("bash", "-c", "env | grep ^MARK | sort; cat")


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A profile whose modules are there, as files of Lmod."""
    folder = tmp_path / "modulefiles"
    for name in ("base/1", "tool/1.0", "many/1", "own/2", "own/3"):
        file = folder / f"{name}.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        word = name.partition("/")[0]
        file.write_text(f'setenv("MARK_OF_{word}", "yes")\n')
    path = tmp_path / "here.yaml"
    path.write_text(PROFILE.format(folder=folder))
    return str(path)


def asked(profile: str, *more: str) -> bytes:
    made = wrap_text(
        *("--profile", profile, "--container", "none", "--launcher", "local", *more),
        *(() if "--" in more else ("--", *SHOW)),
    )
    assert made.code == 0, made.err
    return made.out


@pytest.mark.skipif(not LMOD.exists(), reason="Lmod is not installed")
def test_lmod_loads_what_the_profile_has_and_what_the_user_wants(
    profile: str, tmp_path: Path
) -> None:
    out = asked(profile, "--module", "own/2")
    (tmp_path / "step.sh").write_bytes(out)
    script = (
        f"set -euo pipefail; source {LMOD}/init/bash; source {tmp_path}/step.sh;"
        ' echo "after: ${MARK_OF_base-none} ${LOADEDMODULES-none}"'
    )
    done = bash(script, stdin=b"typed\n", LOADEDMODULES="", MODULEPATH="/none")
    assert done.stderr == b""
    assert done.stdout == (
        b"MARK_OF_base=yes\nMARK_OF_own=yes\nMARK_OF_tool=yes\ntyped\nafter: none \n"
    )


@pytest.mark.skipif(not LMOD.exists(), reason="Lmod is not installed")
def test_lmod_is_found_by_its_own_variable_and_says_what_it_lacks(
    profile: str,
) -> None:
    text = Path(profile).read_text().replace("tool/1.0", "tool/7.0")
    Path(profile).write_text(text)
    done = bash(asked(profile), LMOD_PKG=str(LMOD), MODULEPATH="/none")
    assert done.stdout == b"MARK_OF_base=yes\n"
    assert b"envcfg: note: module load tool/7.0, which the profile wants" in done.stderr
    done = bash(asked(profile, "--module", "own/9"), LMOD_PKG=str(LMOD))
    assert done.returncode == 4
    assert done.stdout == b""
    assert b"envcfg: error: module load own/9 failed" in done.stderr


def test_modules_are_loaded_once_in_order_and_in_the_shell_of_the_step(
    profile: str,
) -> None:
    script = f"set -euo pipefail\n{STANDIN}".encode() + asked(
        profile, "--module", "own/2", "--module", "own/2"
    )
    script += b'echo "after: ${MARK_OF_base-none}"\n'
    done = bash(script, stdin=b"typed\n", LOADEDMODULES="base/2:else/1")
    assert done.stdout == (b"MARK_OF_own=yes\nMARK_OF_tool=yes\ntyped\nafter: none\n")
    said = done.stderr.decode().splitlines()
    assert said[1:] == ["module load tool/1.0", "module load own/2"]
    assert said[0].startswith("module use /")


def test_what_a_module_makes_of_bash_does_not_count_in_the_step(profile: str) -> None:
    made = asked(profile, "--module", "own/2", "--", "echo", "a  b", "1x2")
    script = """module() {
  printf() { echo "MINE"; }; local() { echo "MINE"; }; IFS=x1; shopt -s nocasematch
}
"""
    done = bash(script.encode() + made, timeout=30)
    assert (done.stdout, done.stderr) == (b"a  b 1x2\n", b"")


def test_a_module_that_depends_on_nodes_is_the_jobs_to_decide(
    profile: str, wrap: Wrap, fakes: Path
) -> None:
    made = wrap("--profile", profile, "--container", "none", "--", "true")
    assert fakes.exists()
    for nodes, loaded in (("1", False), ("2", True)):
        done = bash(STANDIN.encode() + made.out, SLURM_NNODES=nodes)
        assert done.returncode == 0, done.stderr
        assert (b"module load many" in done.stderr) is loaded


def test_without_a_module_command_a_note_names_the_modules(profile: str) -> None:
    done = bash(asked(profile), PATH=os.environ["PATH"])
    folder = Path(profile).parent / "modulefiles"
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "envcfg: note: no module command here, so this is left out: module use "
        f"{folder}, module load base, module load tool/1.0\n"
    )
    done = bash(asked(profile, "--module", "own/2"))
    assert done.returncode == 4
    assert b"so --module own/2 is not loaded" in done.stderr


def test_no_modules_leaves_out_those_of_the_profile_alone(profile: str) -> None:
    out = asked(profile, "--no-modules", "--module", "own/2")
    done = bash(STANDIN.encode() + out)
    assert done.stderr == b"module load own/2\n"
    assert b"envcfg_module" not in asked(profile, "--no-modules")


def test_where_the_runtime_is_missing_the_modules_are_named(
    wrap: Wrap, tmp_path: Path
) -> None:
    image = tmp_path / "x.sif"
    image.touch()
    made = wrap("--profile", "dardel", "--container", str(image), "--", "true")
    done = bash(f"PATH={tmp_path}\n".encode() + made.out, SLURM_JOB_ID="1")
    assert b"no container runtime on PATH: tried singularity" in done.stderr
    assert b"hint: load its module before: module load PDC" in (done.stderr)


def test_modules_stand_in_the_plan(profile: str) -> None:
    made = wrap_text(
        *("--profile", profile, "--container", "none", "--module", "own/2"),
        *("--print", "plan"),
    )
    lines = [line for line in made.text.splitlines() if line.startswith("module")]
    assert [line.split()[1:] for line in lines[1:]] == [
        ["load", "base"],
        ["load", "tool/1.0"],
        ["load", "many", "if", "nodes", ">", "1"],
        ["load", "own/2"],
    ]
    made = wrap_text("--profile", profile, "--container", "none", "--json")
    assert [each["name"] for each in json.loads(made.out)["modules"]][1] == "base"


@pytest.mark.parametrize("name", ["", "-x", "a b", "$(x)", "a;b", "a\nb"])
def test_what_is_no_module_is_refused(profile: str, name: str) -> None:
    made = wrap_text("--profile", profile, "--container", "none", f"--module={name}")
    assert made.code == 2
    assert "is not a module, as in pytorch/2.7" in made.err


def test_a_job_script_hands_modules_to_its_step() -> None:
    options = (
        "--module",
        "own/2",
        "--no-modules",
        "--time",
        "5",
        "--container",
        "none",
    )
    account = ("--account", "project_465000001", "--partition", "standard-g")
    made = envcfg("sbatch", "--profile", "lumi-g", *account, *options, "--", "true")
    assert made.code == 0, made.err
    assert "--module own/2 --no-modules" in made.text.replace("=", " ")
