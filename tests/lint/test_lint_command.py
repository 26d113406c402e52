"""``envcfg lint`` as users run it: forms, choice of rules, exit codes, what is read together."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from envcfg.lint.lint_rule import load_rules
from support import ROOT, Wrapped, envcfg

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
export RANK=$SLURM_PROCID
export MASTER_PORT=29500
srun python train.py
"""
SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(BAD)
    return tmp_path


def lint(*arguments: str) -> Wrapped:
    return envcfg("lint", *arguments)


def given(text: str | bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    data = text.encode() if isinstance(text, str) else text
    done = envcfg("lint", *arguments, "-", stdin=data)
    return subprocess.CompletedProcess("", done.code, done.out, done.err.encode())


def test_a_finding_shows_its_line_with_a_caret(job: Path) -> None:
    done = lint("job.sh")
    assert done.code == 1
    lines = done.text.splitlines()
    assert lines[0].startswith("job.sh:4:13: error: SLURM_PROCID is expanded")
    assert lines[1] == "    export RANK=$SLURM_PROCID"
    assert lines[2] == f"    {' ' * 12}^ EC101"
    assert lines[-1] == "1 file: 1 error, 0 warnings"
    assert job.exists()


def test_summary_counts_rules_that_unknown_words_of_a_launch_line_silence() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4\n"
    run = "torchrun --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$N:1 a.py\n"
    unknown = given(f"{head}srun $OPTIONS {run}", "--select", "EC633,EC734")
    assert unknown.stdout.decode().splitlines()[1:] == [
        "1 file: 0 errors, 0 warnings",
        "not decided, because words of a launch line are unknown: 1 rule (EC633)",
    ]
    known = given(f"{head}srun --label {run}", "--select", "EC633,EC734")
    assert "not decided" not in known.stdout.decode()


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/tcsh\nsetenv A b\n",
        "#!/usr/bin/env python3\nprint()\n",
        "\x7fELF\0\0\0",
        "",
        " \n\n",
        "step 1 (loss 2)\nnid001:12:12 [0] NCCL INFO Bootstrap : Using hsn0\n",
        "epoch 1\nTraceback (most recent call last):\nKeyError: 'x'\n",
        "[2026-11-29 10:00:00] INFO epoch 1\nslurmstepd: error: *** JOB 1 CANCELLED\n",
    ],
    ids=["tcsh", "python", "binary", "empty", "blank", "nccl", "traceback", "times"],
)
def test_what_is_not_read_is_not_called_ok(text: str, job: Path) -> None:
    (job / "other").write_text(text)
    done = lint("other")
    assert (done.code, ": ok" in done.text) == (4, False)
    assert lint("other", str(job)).code == lint(str(job)).code
    assert "other: note: not checked" in done.text
    found = json.loads(lint("--format", "json", "other").text)
    jsonschema.validate(found, SCHEMA)
    (checked,) = found["checked"]
    assert [each["rule"] for each in checked["findings"]] == ["not-a-script"]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("\nsrun echo " + '"${a:-' * 400 + '}"' * 400, 3, "nested more than 40 deep"),
        ("\n\nif a; then" + " if a; then" * 90 + " b" + "; fi" * 91, 4, "nested more"),
        ("\n" * 100 + "a; " * 41_000, 102, "more than 40,000 commands"),
        ("\n" + "#\n" * 140_000, 131_068, "more than 256 KiB"),
    ],
    ids=["braces", "branches", "commands", "bytes"],
)
def test_what_is_too_much_is_not_called_ok(
    text: str, line: int, why: str, job: Path
) -> None:
    (job / "other.sh").write_text(f"#!/bin/bash\n{text}\n")
    (checked,) = json.loads(lint("--format", "json", "other.sh").text)["checked"]
    (found,) = (x for x in checked["findings"] if x["rule"] == "part-not-read")
    assert why in found["message"]
    assert found["place"]["line"] == line


def test_rules_are_chosen_by_id_beginning_and_name(job: Path) -> None:
    assert "EC419" not in lint("--ignore", "EC419", "job.sh").text
    assert "EC101" not in lint("--select", "EC4", "job.sh").text
    assert lint("--ignore", "rank-var-in-batch-shell", "job.sh").code == 0
    assert lint("--ignore", "EC101,EC419", "job.sh").text.startswith("job.sh: ok")
    done = lint("--select", "EC999", "job.sh")
    assert done.code == 2
    assert "there is no rule 'EC999'" in done.err
    assert job.exists()


@pytest.mark.parametrize(
    ("before", "behind", "is_found"),
    [
        ("", "  # envcfg: ignore EC101", False),
        ("# envcfg: ignore EC101 EC419\n", "", False),
        ("", "  # envcfg: ignore EC419", True),
        ("echo # envcfg: ignore EC101\n", "", True),
    ],
)
def test_a_comment_leaves_a_finding_out(
    before: str, behind: str, is_found: bool
) -> None:
    line = "export RANK=$SLURM_PROCID"
    done = given(BAD.replace(line, f"{before}{line}{behind}"))
    assert (b"EC101" in done.stdout) is is_found


def test_json_is_the_one_document_of_all_checks(job: Path) -> None:
    done = lint("--json", "job.sh")
    document = json.loads(done.text)
    jsonschema.validate(document, SCHEMA)
    (checked,) = document["checked"]
    found = {each["rule"]: each for each in checked["findings"]}
    assert found["EC101"]["place"] == {"path": "job.sh", "line": 4, "column": 13}
    assert found["EC101"]["source"]
    assert job.exists()


@pytest.mark.parametrize("form", ["github", "sarif", "junit"])
def test_every_form_names_rule_and_line(form: str, job: Path) -> None:
    done = lint("--format", form, "job.sh")
    assert done.code == 1
    assert "EC101" in done.text or "SLURM_PROCID" in done.text
    assert job.exists()


JOB_IDS = {
    "#SBATCH --nodes=2": "$(( 10000 + SLURM_JOB_ID % 20000 ))",
    "#PBS -l select=2": "$(( 10000 + ${PBS_JOBID%%[!0-9]*} % 20000 ))",
    "#flux: -N2": "$(( 10000 + $(flux job id --to=dec $(flux getattr jobid)) % 20000 ))",
}


@pytest.mark.parametrize("line", JOB_IDS)
def test_a_hint_has_the_names_of_the_scripts_own_scheduler(
    line: str, job: Path
) -> None:
    script = f"#!/bin/bash\n{line}\nexport MASTER_PORT=29500\npython train.py\n"
    (job / "job.sh").write_text(script)
    said = lint("job.sh").text
    assert JOB_IDS[line] in said
    assert ("SLURM" in said) == ("SBATCH" in line)


def test_an_environment_is_recognised(job: Path) -> None:
    dump = "PATH=/bin\nHOME=/root\nMIOPEN_USER_DB=/tmp/x\n"
    done = given(dump)
    assert (done.returncode, b"-:3:1: warning" in done.stdout) == (1, True)
    done = given(dump.replace("\n", "\0"))
    assert b"MIOPEN_USER_DB" in done.stdout
    assert job.exists()


def test_files_given_together_are_read_together(job: Path) -> None:
    (job / "sub").mkdir()
    (job / "sub/inside.sh").write_text("#!/bin/bash\nscontrol show hostnames\n")
    script = BAD.replace("python train.py", "singularity exec a.sif /mnt/inside.sh")
    (job / "job.sh").write_text(script)
    assert "EC417" not in lint("--select", "EC417", "job.sh").text
    done = lint("--select", "EC417", "job.sh", "sub")
    assert "sub/inside.sh:2:1: error" in done.text


def test_a_system_is_recognised_by_two_signs_and_said(job: Path) -> None:
    signs = "#SBATCH --partition=standard-g\n#SBATCH --account=project_465000001\n"
    script = BAD.replace("export RANK=$SLURM_PROCID", "export MASTER_ADDR=$(hostname)")
    (job / "job.sh").write_text(
        script.replace("#SBATCH --nodes", f"{signs}#SBATCH --nodes")
    )
    done = lint("job.sh")
    assert "job.sh seems to be for lumi-g (partition, account" in done.err
    assert "EC521" in done.text
    (job / "job.sh").write_text(script)
    assert "EC521" not in lint("job.sh").text
    assert "EC521" in lint("--profile", "lumi-g", "job.sh").text


def test_one_note_reports_that_no_system_is_recognised(job: Path) -> None:
    for name in ("job.sh", "other.sh"):
        (job / name).write_text(BAD)
    assert lint("job.sh", "other.sh").err == (
        "envcfg: note: job.sh: no system is recognised, so nothing was compared with its "
        "limits and GPUs; name it by --profile NAME (envcfg profiles list; "
        "envcfg profiles show here reads this cluster)\n"
    )
    assert lint("job.sh", "--fix").err.count("recognised") == 1
    # A wrapper has no system of its own, and the user has named the other one.
    (job / "wrapper.sh").write_text('#!/bin/bash\nexec python "$@"\n')
    assert lint("wrapper.sh").err == ""
    assert lint("--profile", "lumi-g", "job.sh").err == ""


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("", "it is empty", "give the scripts of bash"),
        (
            "srun: error: nid1: task 3: Killed\n",
            "the log",
            "envcfg check-log 'a b.out'",
        ),
    ],
)
def test_the_reason_why_a_file_is_not_read_is_its_content(
    text: str, message: str, fix: str, job: Path
) -> None:
    (job / "a b.out").write_text(text)
    done = lint("a b.out")
    assert done.code == 4
    assert message in done.text
    assert f"hint: {fix}" in done.text


def test_a_program_next_to_the_script_shows_its_ranks(job: Path) -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8\n"
    (job / "job.sh").write_text(f"{head}srun --ntasks-per-node=1 python train.py\n")
    assert lint("--select", "EC650", "job.sh").code == 0
    program = "import torch.distributed as d\n# rank=0\nd.init_process_group('nccl', rank=0)\n"
    (job / "train.py").write_text(program)
    done = lint("job.sh")
    assert "job.sh:3:1: warning: requests 16 GPUs" in done.text
    assert "train.py:3: rank=0 is the same for all tasks" in done.text
    (job / "train.py").write_text(program.replace("rank=0)", "rank=0 + n)"))
    assert lint("--select", "EC461", "job.sh").code == 0


def test_what_cannot_be_read_is_an_error_of_its_own(job: Path) -> None:
    done = lint("none.sh")
    assert done.code == 4
    assert "none.sh: cannot be read" in done.err
    assert lint("job.sh", "--", "x").code == 2
    assert job.exists()


def test_text_of_a_script_does_not_reach_the_terminal_as_it_is() -> None:
    done = given(BAD.replace("$SLURM_PROCID", "$SLURM_PROCID'\x1b[31m'"))
    assert b"\x1b" not in done.stdout


def test_a_rule_is_explained_by_id_and_name() -> None:
    done = envcfg("explain", "EC101")
    assert done.code == 0
    assert done.text.startswith("EC101 rank-var-in-batch-shell (error)\n")
    assert "not reported: single quotes; a backslash" in done.text
    (told,) = json.loads(
        envcfg("explain", "--json", "escaped-dollar-in-single-quotes").text
    )
    assert (told["kind"], told["id"]) == ("lint rule", "EC102")
    assert envcfg("explain", "EC999").code == 2


def test_no_other_command_imports_the_grammar() -> None:
    code = "import sys, envcfg.cli; envcfg.cli.main(['profiles', 'list']); print(sorted(m for m in sys.modules if 'tree_sitter' in m or 'envcfg.lint' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


def test_the_page_has_every_rule() -> None:
    page = (ROOT / "docs/lint.md").read_text()
    told = re.findall(
        r"^\| \[`([ES]C\d+)`\]\(lint/[ES]C\d+\.md\) \| (\S+) \| (\w+) \| ([^|]+) \|$",
        page,
        re.M,
    )
    rules = load_rules().values()
    assert told == [(r.id, r.name, r.severity, r.group) for r in rules]


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun python t.py\0\n",
        "#!/bin/bash\n\0srun python t.py\n",
        "\0",
        "srun python t.py\0\n",
        "#!/bin/bash\n# \u00e9\0\n",
    ],
)
@pytest.mark.parametrize("options", [(), ("--fix",), ("--format", "github")])
def test_a_script_with_a_nul_is_an_error(
    text: str, options: tuple[str, ...], job: Path
) -> None:
    (job / "job.sh").write_text(text)
    done = lint(*options, "job.sh")
    assert done.code == 1
    assert "holds a NUL byte, so it was not checked" in done.text
    assert (job / "job.sh").read_text() == text
    assert envcfg("explain", "nul-in-script").code == 0


def test_a_script_with_a_nul_in_a_folder_is_an_error_too(job: Path) -> None:
    (job / "folder").mkdir()
    (job / "folder/a.sh").write_text("srun python t.py\0\n")
    (job / "folder/b.bin").write_bytes(b"\0\1\2")
    done = lint("folder")
    assert (
        done.code,
        "folder/a.sh: it holds a NUL" in done.text.replace("error: ", ""),
    ) == (1, True)
    assert "b.bin" not in done.text


@pytest.mark.parametrize("command", ["lint", "submit"])
def test_lint_and_submit_know_the_same_system(
    command: str, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job / "sbatch").write_text("#!/bin/sh\nexit 1\n")
    (job / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{job}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    text = "#!/bin/bash\n#SBATCH -N 1\n#SBATCH --gpus-per-node=16\nsrun hostname\n"
    (job / "job.sh").write_text(text)
    done = envcfg(command, "job.sh")
    assert "16 GPUs on a node, but a node has 8" in done.text + done.err


def test_a_script_with_signs_of_another_system_is_for_that_one(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    text = "#!/bin/bash\n#PBS -q debug-scaling\n#PBS -l filesystems=home:flare\n"
    (job / "job.sh").write_text(f"{text}mpiexec hostname\n")
    assert "seems to be for aurora" in lint("job.sh").err
    (job / "job.sh").write_text("#!/bin/bash\n#SBATCH -N1\nsrun hostname\n")
    assert "checked for lumi-g, as on this machine" in lint("job.sh").err


@pytest.mark.parametrize(
    ("lines", "hint"),
    [
        (
            "export RANK=$SLURM_PROCID\nsrun --label python t.py",
            "srun --label bash -c 'export RANK=$SLURM_PROCID; exec python t.py'",
        ),
        (
            "srun singularity exec x.sif python t.py --rank $SLURM_PROCID",
            "srun bash -c 'exec singularity exec x.sif python t.py --rank $SLURM_PROCID'",
        ),
        (
            'srun bash -c "RANK=$SLURM_PROCID python t.py"',
            r"write \$SLURM_PROCID in these",
        ),
        (
            'export RANK=$SLURM_PROCID\nsrun python t.py --name "a b"',
            "let each task expand",
        ),
        ("export RANK=$SLURM_PROCID\nsrun python $FILE", "let each task expand"),
    ],
)
def test_the_hint_on_a_rank_of_the_batch_shell_is_a_line_to_copy(
    lines: str, hint: str, job: Path
) -> None:
    (job / "job.sh").write_text(f"#!/bin/bash\n#SBATCH -N 2 -n 8\n{lines}\n")
    assert f"hint: {hint}" in lint("--select", "EC101", "job.sh").text


def test_an_interpreter_within_a_word_has_the_place_of_its_launcher(job: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=1\ntorchrun --x=1 'python t.py'\n"
    (job / "job.sh").write_text(script)
    assert "job.sh:3:1: error" in lint("--select", "EC633", "job.sh").text
