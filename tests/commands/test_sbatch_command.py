"""``envcfg sbatch`` as users run it: exit codes, streams, files, JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from asking import asking
from support import ROOT, Wrapped, envcfg

SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())

Wrap = Callable[..., Wrapped]
BARE = ("--container", "none")
LUMI = (*asking("lumi-g"), *BARE)
COMMAND = ("--", "python", "train.py")


@pytest.fixture(autouse=True)
def alone(wrap: Wrap, tmp_path: Path) -> None:
    """Each test is in a folder of its own, with no layers but the built-in."""
    assert callable(wrap)
    (tmp_path / "train.py").touch()


FAILURES = {
    "no command": ([*LUMI], 2, "no command, and a job needs one"),
    "nothing behind --": ([*LUMI, "--"], 2, "no command after --"),
    "no container": ([*asking("lumi-g"), *COMMAND], 2, "--container"),
    "no scheduler": (["--profile", "workstation", *BARE, *COMMAND], 2, "no scheduler"),
    "no account": (["--profile", "lumi-g", *BARE, *COMMAND], 2, "--account is missing"),
    "no time": ([*LUMI, "--time", "soon", *COMMAND], 2, "'soon' is not a time"),
    "no size": ([*LUMI, "--mem-per-gpu", "much", *COMMAND], 2, "'much' is not a size"),
    "no array": ([*LUMI, "--array", "9-0", *COMMAND], 2, "'9-0' is not an array"),
    "no signal": ([*LUMI, "--signal", "KILL@9", *COMMAND], 2, "'KILL@9' is not a warning"),
    "a space": ([*LUMI, "--account", "a b", *COMMAND], 2, "'a b' holds what a line"),
    "a line of its own": ([*LUMI, "--qos", "a\n#SBATCH --x", *COMMAND], 2, "holds what a line"),
    "no option": ([*LUMI, "--request-arg", "x", *COMMAND], 2, "--request-arg: 'x' is not an option"),
    "no launcher": ([*LUMI, "--launcher", "flux", *COMMAND], 2, "does not allow the launcher"),
    "two outputs": ([*LUMI, "--json", "-o", "x", *COMMAND], 2, "excludes --json"),
    "findings and a file": ([*LUMI, "--format", "json", "-o", "x", *COMMAND], 2, "excludes --format"),
    "two answers": ([*LUMI, "--format", "json", "--json", *COMMAND], 2, "both write to stdout"),
    "strict script": ([*LUMI, "--strict", *COMMAND], 2, "--strict belongs to --format"),
    "verified or not": ([*LUMI, "--verify", "--no-verify", *COMMAND], 2, "exclude each other"),
    "no such folder": ([*LUMI, "-o", "no/job.sh", *COMMAND], 4, "cannot write"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_and_how_to_mend_it(name: str) -> None:
    arguments, code, message = FAILURES[name]
    done = envcfg("sbatch", *arguments)
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
    assert "Traceback" not in done.err
    assert "\n  hint: " in done.err


def test_help_has_examples() -> None:
    done = envcfg("sbatch", "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:" in done.text
    assert "%x-%j.out" in done.text


def test_the_cost_stands_on_stderr_and_the_script_on_stdout() -> None:
    done = envcfg("sbatch", *LUMI, *COMMAND)
    assert done.code == 0
    assert "cost: 4 GPU-hours per hour, 1 for 00:15:00" in done.err
    assert done.text.startswith("#!/bin/bash\n# envcfg:job ")
    assert "#SBATCH --account=project_465000001\n" in done.text
    assert envcfg("sbatch", *LUMI, *COMMAND).out == done.out


def watcher_of(*options: str) -> str:
    """Return the words that watch the step of a job script."""
    done = envcfg("sbatch", *LUMI, *options, *COMMAND)
    assert done.code == 0, done.err
    lines = done.text.splitlines()
    if "envcfg_run_watcher() {" not in lines:
        return ""
    return lines[lines.index("envcfg_run_watcher() {") + 1]


def test_a_job_watches_itself_unless_it_is_told_not_to() -> None:
    words = "  exec envcfg check-log --no-default all --watch-step "
    assert watcher_of().startswith(f"{words}warn ")
    assert watcher_of("--verify=stop").startswith(f"{words}stop ")
    silent = watcher_of("--on-silence=15m")
    assert silent.startswith(f"{words}warn --on-silence=900s=report ")
    later = watcher_of("--verify-after=10m")
    assert later.startswith(f"{words}warn --verify-after=600s ")
    assert " --verify-after=never " in watcher_of("--verify-after=never")
    assert watcher_of("--no-verify") == ""


def test_a_job_whose_profile_forbids_it_says_why_it_does_not_watch_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\nextends: lumi-g\n"
        "bundles:\n  quiet:\n    env: {NCCL_DEBUG: WARN}\n    srun: [--no-kill]\n"
        "    why: a\n    source: b\n    date: 2026-01-01\n"
    )
    own = [each.replace("lumi-g", "./own.yaml") for each in LUMI]
    done = envcfg("sbatch", *own, *COMMAND)
    assert done.code == 0, done.err
    assert "--verify" not in done.text.splitlines()[-1]
    assert "note: --verify: the job does not check its own network: bundle" in done.err


def test_the_json_has_request_cost_and_script() -> None:
    text = envcfg("sbatch", *LUMI, *COMMAND).text
    done = envcfg("sbatch", *LUMI, "--json", *COMMAND)
    assert done.code == 0
    found = json.loads(done.out)
    assert found["schema_version"] == 1
    assert found["request"]["gpus_per_node"] == 8
    assert found["request"]["memory_per_node"] == 480 * 1024
    (account,) = (
        each for each in found["request"]["options"] if each["option"] == "--account"
    )
    assert account["why"].startswith("time is granted")
    assert account["source"].endswith("2026-05-19")
    assert found["cost"]["per_hour"] == "4"
    assert found["cost"]["decides"] == "whole nodes"
    # but for the line that tells how it was made
    assert found["script"].splitlines()[7:] == text.splitlines()[7:]
    nothing = envcfg("sbatch", *asking("dardel"), *BARE, "--json", *COMMAND)
    assert json.loads(nothing.out)["cost"] is None


def test_what_the_system_would_refuse_can_be_read_by_programs() -> None:
    asked = ["--profile", "lumi-g", *BARE, "--gpus-per-node", "99", *COMMAND]
    done = envcfg("sbatch", "--format", "json", *asked)
    assert (done.code, done.err) == (1, "")
    document = json.loads(done.text)
    jsonschema.validate(document, SCHEMA)
    (checked,) = document["checked"]
    errors = [each for each in checked["findings"] if each["severity"] == "error"]
    assert {each["rule"] for each in errors} == {"request-refused"}
    assert len(errors) == 2
    github = envcfg("sbatch", "--format", "github", *asked).text.splitlines()
    assert github[-1].startswith("::error title=envcfg request-refused::--account is")
    said = envcfg("sbatch", *asked)
    assert (said.code, said.out) == (2, b"")
    for each in errors:
        assert f"envcfg: error: {each['message']}\n  hint: {each['fix']}\n" in said.err


def test_a_request_that_is_right_has_notes_and_no_script() -> None:
    done = envcfg("sbatch", "--format", "text", *LUMI, *COMMAND)
    assert (done.code, done.err) == (0, "")
    assert "lumi-g: note: cost: 4 GPU-hours per hour" in done.text
    assert done.text.endswith("\n1 profile: 0 errors, 0 warnings\n")
    warned = [*LUMI, "--exclusive", "--signal", "USR1@60", "--launcher", "torchrun"]
    assert envcfg("sbatch", "--format", "text", *warned, *COMMAND).code == 0
    assert envcfg("sbatch", "--format", "text", "--strict", *warned, *COMMAND).code == 1


def test_a_file_is_executable_and_only_our_own_is_replaced(tmp_path: Path) -> None:
    job = tmp_path / "job.sh"
    assert envcfg("sbatch", *LUMI, "-o", "job.sh", *COMMAND).code == 0
    assert os.access(job, os.X_OK)
    assert envcfg("sbatch", *LUMI, "--split", "-o", "job.sh", *COMMAND).code == 0
    job.write_text(job.read_text() + "# mine\n")
    done = envcfg("sbatch", *LUMI, "-o", "job.sh", *COMMAND)
    assert done.code == 4
    assert "has been changed since envcfg wrote it" in done.err
    assert job.read_text().endswith("# mine\n")
    assert envcfg("sbatch", *LUMI, "-o", "job.sh", "--force", *COMMAND).code == 0
    job.write_text("mine\n")
    assert (
        "was not written by envcfg"
        in envcfg("sbatch", *LUMI, "-o", "job.sh", *COMMAND).err
    )


def test_the_job_wraps_as_it_was_told(tmp_path: Path) -> None:
    """The step is that of ``wrap`` with the same options."""
    (tmp_path / "x.sif").touch()
    (tmp_path / "p.yaml").write_text("name: p\nextends: mahti\n")
    asked = ("--account", "project_1", "--partition", "gpumedium")
    options = (
        *("--profile", "./p.yaml"),
        *("--container", "x.sif", "--runtime", "apptainer", "--runtime-arg=--nv"),
        *("--bind", "/a:/b,/c", "--launcher", "torchrun", "--ranks", "4"),
        *("--set", "A=$$x ${HOME:-a,b}", "--unset", "B", "--fact", "cuda=12.4"),
    )
    command = ("--", "python", "a b", "$HOME", "'")
    done = envcfg("sbatch", *asked, *options, *command)
    assert done.code == 0, done.err
    step = envcfg("wrap", "--print", "job", *options, "--verify", *command)
    assert step.code == 0, step.err
    job, _, last = step.text.partition("# --- What")[2].partition("\n# modules: ")
    assert f"# --- What{job}" in done.text
    assert done.text.endswith(last.partition("\n")[2])


def test_nothing_of_a_command_gets_out_of_its_comment() -> None:
    done = envcfg("sbatch", *LUMI, "--", "sh", "-c", "\n#SBATCH --nodes=99\nid")
    assert done.code == 0
    head = done.text.partition("# --- What this job needs")[0]
    assert "\n#SBATCH --nodes=99" not in head
    # Slurm reads its lines up to the first command
    commands = [line for line in head.splitlines() if line and line[0] != "#"]
    assert commands
    directives = head.partition(commands[0])[0]
    assert len(re.findall(r"^#SBATCH --nodes", directives, re.M)) == 1
