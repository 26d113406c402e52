"""The examples that need no cluster: a workflow of GitHub, and tasks of VS Code.

Those that do are in tests/cluster/test_recipes_of_tools.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import ROOT

BIN = Path(sys.executable).parent
WORKFLOW = ROOT / "examples/github-actions/envcfg.yml"
TASKS = ROOT / "examples/vscode/.vscode/tasks.json"
WHY = "why: a test, source: a test, date: 2026-11-22"
GOOD_JOB = """\
#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=8 --time=1:00:00
source <(envcfg wrap --container pytorch.sif -- python train.py || echo exit $?)
"""
BAD_JOB = "#!/bin/bash\nexport NCCL_DEBUGG=INFO\nsrun python train.py\n"
GOOD_PROFILE = f"name: mine\nextends: lumi-g\nenv:\n  MINE: {{value: '1', {WHY}}}\n"
BAD_PROFILE = "name: mine\nextends: lumi-g\nenvv: {}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder as a repository of scripts and profiles."""
    folder = tmp_path / "repository"
    (folder / "jobs").mkdir(parents=True)
    (folder / ".envcfg/profiles").mkdir(parents=True)
    (folder / "jobs/train.sh").write_text(GOOD_JOB)
    (folder / ".envcfg/profiles/mine.yaml").write_text(GOOD_PROFILE)
    return folder


def run(
    argv: list[str | Path], folder: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", [".github/workflows/*.yml"]),
        ("vendor.github-actions", ["action.yml"]),
        ("vendor.github-issue-forms", [".github/ISSUE_TEMPLATE/[!c]*.yml"]),
        ("vendor.github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"]),
    ],
)
def test_files_for_github_fit_its_schemas(schema: str, files: list[str]) -> None:
    paths = [path for pattern in files for path in ROOT.glob(pattern)]
    assert paths
    done = run([BIN / "check-jsonschema", "--builtin-schema", schema, *paths], ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def action(repository: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of action.yml as GitHub does, by bash."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    variables = dict.fromkeys(steps[-1]["env"], "") | inputs
    shell: list[str | Path] = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
    return run([*shell, "-c", steps[-1]["run"]], repository, **variables)


def test_the_action_lints_the_paths_and_runs_no_text_of_them(repository: Path) -> None:
    (repository / "jobs/bad.sh").write_text(BAD_JOB)
    (repository / "jobs/-x $(touch run).sh").write_text(GOOD_JOB)
    good = action(repository, ENVCFG_PATHS="jobs/train.sh\n\njobs/-x $(touch run).sh\n")
    assert good.returncode == 0, good.stdout + good.stderr
    bad = action(repository, ENVCFG_PATHS="jobs")
    assert bad.returncode == 1
    assert "::warning file=" in bad.stdout or "::error file=" in bad.stdout
    assert not (repository / "run").exists()
    unknown = action(
        repository, ENVCFG_PATHS="jobs/train.sh", ENVCFG_LINT_PROFILE="--fix"
    )
    assert unknown.returncode == 2


def test_every_input_of_the_action_is_a_variable() -> None:
    """Text that GitHub writes into a script is run; text of a variable is not."""
    for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_workflow_is_one_for_github(tmp_path: Path) -> None:
    argv = [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = run([*argv, WORKFLOW], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def fresh(tmp_path: Path) -> str:
    """A new virtual environment, as the workflow has one; return PATH with it."""
    done = run([sys.executable, "-m", "venv", tmp_path / "venv"], tmp_path)
    assert done.returncode == 0, done.stderr
    return f"{tmp_path}/venv/bin:{os.environ['PATH']}"


@pytest.mark.nightly
def test_the_workflow_passes_what_is_right_and_shows_what_is_not(
    repository: Path, fresh: str
) -> None:
    steps = steps_of_workflow()
    assert all(code == 0 for code, _ in ran(steps, repository, fresh).values())
    del steps["Install envcfg"]
    (repository / "jobs/bad.sh").write_text(BAD_JOB)
    (repository / ".envcfg/profiles/mine.yaml").write_text(BAD_PROFILE)
    said = ran(steps, repository, fresh)
    assert said["Lint job scripts"][0] == 1
    assert "::warning file=jobs/bad.sh,line=2" in said["Lint job scripts"][1]
    assert said["Validate profiles"][0] == 1
    assert (
        "::error file=.envcfg/profiles/mine.yaml,line=3" in said["Validate profiles"][1]
    )


def test_what_sbatch_refuses_is_said_alike_before_a_commit_and_on_github(
    repository: Path,
) -> None:
    """By lint for a pull request, in the Security tab, by pre-commit's hook and by wrap."""
    job = repository / "jobs/bad.sh"
    job.write_text("#!/bin/bash\n#SBATCH --time=24h\nsrun python train.py\n")
    steps = steps_of_workflow()
    names = ("Lint job scripts", "Write what lint found for the Security tab")
    path = f"{BIN}:{os.environ['PATH']}"
    linted = ran({name: steps[name] for name in names}, repository, path)
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    refused = "Invalid --time specification"
    said = re.findall(rf".*{refused}.*", linted[names[0]][1])
    assert (len(said), said[0][:31]) == (1, "::error file=jobs/bad.sh,line=2")
    sarif = json.loads((repository / "envcfg.sarif").read_text())
    found = [each["message"]["text"] for each in sarif["runs"][0]["results"]]
    for texts in (
        found,
        run([*hook["entry"].split(), job], repository).stdout.splitlines(),
        run(["envcfg", "wrap", "--from", job], repository).stderr.splitlines(),
    ):
        assert len([text for text in texts if refused in text]) == 1, texts


def steps_of_workflow() -> dict[str, str]:
    """Return what each step of the workflow runs, by its name."""
    document = yaml.safe_load(WORKFLOW.read_text())
    steps = document["jobs"]["scripts"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def ran(steps: dict[str, str], folder: Path, path: str) -> dict[str, tuple[int, str]]:
    """Run steps as GitHub does; return exit code and output of each."""
    said = {}
    for name, text in steps.items():
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
        done = run([*shell], folder, PATH=path, ENVCFG=str(ROOT))
        said[name] = (done.returncode, done.stdout + done.stderr)
    return said


def tasks() -> list[dict[str, Any]]:
    """Return VS Code's tasks; its JSON may have comments."""
    text = re.sub(r"^\s*//.*$", "", TASKS.read_text(), flags=re.M)
    return json.loads(text)["tasks"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task["label"])
def test_every_finding_of_a_task_is_shown_at_its_line(
    repository: Path, task: dict[str, Any]
) -> None:
    script = repository / "jobs/bad.sh"
    script.write_text(BAD_JOB)
    (repository / ".envcfg/profiles/mine.yaml").write_text(BAD_PROFILE)
    words = [word.replace("${file}", str(script)) for word in task["args"]]
    assert task["type"] == "process"  # so that no shell reads the words
    done = run([task["command"], *words], repository)
    pattern = task["problemMatcher"]["pattern"]
    shown = [
        found for line in done.stdout.splitlines() if (found := match(pattern, line))
    ]
    count = re.search(r"(\d+) errors?, (\d+) warnings?(;.*)?$", done.stdout.strip())
    assert count is not None, done.stdout + done.stderr
    assert len(shown) == int(count[1]) + int(count[2]) > 0
    for found in shown:
        file = repository / found[pattern["file"]]
        line = file.read_text().splitlines()[int(found[pattern["line"]]) - 1]
        assert int(found[pattern["column"]]) <= len(line)


def match(pattern: dict[str, Any], line: str) -> re.Match[str] | None:
    return re.search(pattern["regexp"], line)


@pytest.mark.parametrize(
    "name", ["submitit", "hydra", "snakemake", "nextflow", "reframe", "jupyter"]
)
def test_a_page_shows_the_lines_of_its_files(name: str) -> None:
    page = (ROOT / f"docs/how-to/{name}.md").read_text()
    there = {
        line.strip()
        for file in (ROOT / "examples" / name).rglob("*")
        if file.is_file()
        for line in file.read_text().splitlines()
    }
    shown = {
        line.partition("  # ")[0].strip()
        for block in re.findall(
            r"^```(?:python|yaml|groovy)\n(.*?)^```", page, re.M | re.S
        )
        for line in block.splitlines()
    }
    assert shown - there <= {"...", ""}
