"""envcfg.api: the examples of its page, and the same as the commands say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs import Job, text

from envcfg import api
from envcfg.common.errors import UsageError
from envcfg.nodes.hang.hang_records import Evidence
from envcfg.nodes.preflight.preflight_judge import Answers
from envcfg.nodes.preflight.preflight_records import Requirements
from support import ROOT, Wrapped, bash, envcfg

PAGE = (ROOT / "docs/api.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
SCRIPT = (
    "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8\nexport RANK=$SLURM_PROCID\n"
    "srun python train.py\n"
)
LUMI = {"container": "my.sif", "profile": "lumi-g"}


@pytest.fixture
def here(wrap: Callable[..., Wrapped], tmp_path: Path) -> Path:
    """The current folder, with a log and a script in it."""
    assert callable(wrap)  # keeps other layers away
    (tmp_path / "slurm-123.out").write_text(text(Job(nodes=2, ranks_per_node=2)))
    (tmp_path / "job.sh").write_text(SCRIPT)
    return tmp_path


def test_the_page_names_every_function() -> None:
    named = {
        name
        for row in re.findall(r"^\| `(\w+)\(", PAGE, re.M)
        for name in (row, "EnvcfgError", "UsageError")
    }
    assert named == set(api.__all__)


def test_the_examples_run_and_print_nothing_by_themselves(here: Path) -> None:
    program = here / "example.py"
    program.write_text("\n".join(EXAMPLES))
    done = subprocess.run(
        [sys.executable, program], cwd=here, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "unknown profile 'lumi'" in done.stdout
    assert "EC101" not in done.stdout  # a place and a number, as the example says
    assert re.search(r"^[1-9]\d* \['.*job\.sh:3", done.stdout, re.M)


def test_the_examples_are_well_typed(here: Path) -> None:
    (here / "example.py").write_text("\n".join(EXAMPLES))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={ROOT}/.mypy_cache", "example.py"],
        cwd=here, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def said(*words: str) -> Any:  # noqa: ANN401  # JSON
    return json.loads(envcfg(*words).text)


@pytest.mark.usefixtures("here")
def test_each_record_is_that_of_the_command() -> None:
    command = ["python", "train.py"]
    plan = api.make_plan(command, **LUMI, facts={"rocm": "6.2.4"})
    words = ["--container", "my.sif", "--profile", "lumi-g", "--fact", "rocm=6.2.4"]
    by_command = said("wrap", *words, "--json", "--", *command)
    assert api.as_json(plan) == by_command
    report = api.check_log("slurm-123.out", profile="lumi-g")
    log = said("check-log", "--json", "--profile", "lumi-g", "slurm-123.out")
    assert api.as_json(report) == log
    assert api.as_json(api.lint("job.sh")) == said("lint", "--json", "job.sh")
    shown = said("profiles", "show", "lumi-g", "--json")
    assert api.as_json(api.load_profile("lumi-g")) == shown
    shown = said("profiles", "show", "lumi-g", "--json", "--fact", "rocm=6.2.4")
    assert api.as_json(api.load_profile("lumi-g", facts={"rocm": "6.2.4"})) == shown
    names = [each["name"] for each in said("profiles", "list", "--json")["profiles"]]
    assert api.profile_names() == sorted(names)


@pytest.mark.usefixtures("here")
def test_a_job_is_that_of_the_command() -> None:
    request = {"account": "project_1", "partition": "standard-g", "time": "1:00:00"}
    more = {
        "nodes": 2,
        "bind": ["/a", "/b:/c"],
        "nccl_debug": True,
        "request_arg": "--x=1",
    }
    job = api.make_job(
        ["python", "train.py"],
        **LUMI,
        settings={"B": None, "A": "1"},
        **request,
        **more,
    )
    words = [f"--{name}={value}" for name, value in (LUMI | request).items()]
    words += [
        "--nodes=2",
        "--bind=/a",
        "--bind=/b:/c",
        "--nccl-debug",
        "--request-arg=--x=1",
    ]
    done = said(
        "job", *words, "--unset=B", "--set=A=1", "--json", "--", "python", "train.py"
    )
    made = api.as_json(job)
    body = [line for line in made.pop("script").splitlines() if line[:1] != "#"]
    expected = [line for line in done.pop("script").splitlines() if line[:1] != "#"]
    assert made == done
    assert body == expected
    with pytest.raises(UsageError, match="no command"):
        api.make_job([], **LUMI)


@pytest.mark.usefixtures("here")
def test_profiles_are_those_of_the_commands(here: Path) -> None:
    compared = api.diff_profiles("lumi-g", "frontier", facts={"rocm": "6.2.4"})
    words = ["profiles", "diff", "lumi-g", "frontier", "--json", "--fact=rocm=6.2.4"]
    assert api.as_json(compared) == said(*words)
    assert compared.differences
    assert api.as_json(api.detect_profile()) == said("profiles", "detect", "--json")
    (here / "p.yaml").write_text("name: p\nx: 1\n")
    result = api.validate_profiles("p.yaml")
    assert api.as_json(result) == said("profiles", "validate", "p.yaml", "--json")
    with pytest.raises(api.EnvcfgError, match="absent: cannot be read"):
        api.validate_profiles("p.yaml", "absent")


@pytest.mark.usefixtures("here")
def test_images_and_explanations_are_those_of_the_commands() -> None:
    for words in ([], ["--profile=lumi-g"]):
        inspected = api.inspect(".", profile="lumi-g" if words else None)
        assert api.as_json(inspected) == said("inspect", ".", "--json", *words)
    names = ["socket-fallback", "EC101", "NCCL_NET"]
    assert api.as_json(api.explain(*names)) == said("explain", *names, "--json")
    assert api.as_json(api.explain()) == said("explain", "--json")


def test_a_judgement_needs_no_job() -> None:
    assert api.judge_hang(Evidence("12", ())).verdict == "unclear"
    report = api.judge_preflight(Requirements(("n1", "n2")), Answers({}, {}))
    assert set(report.nodes) == {"n1", "n2"}
    assert report.failed


def test_what_programs_call_needs_no_command_line() -> None:
    core = sorted(path.stem for path in (ROOT / "envcfg/core").glob("[a-z]*.py"))
    code = (
        "import importlib, sys, envcfg.api\n"
        f"for name in {core}: importlib.import_module('envcfg.core.' + name)\n"
        "print(*(n for n in sys.modules if 'argparse' in n or 'commands' in n))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"\n"


@pytest.mark.usefixtures("here")
def test_what_is_not_given_is_as_by_default() -> None:
    plan = api.make_plan(["true"], **LUMI)
    none = {"ranks": None, "smoke_test": False, "nccl_debug": None, "bind": []}
    assert api.make_plan(["true"], **LUMI, **none) == plan
    several = api.make_plan(["true"], **LUMI, smoke_test=True, srun_arg=["-v", "-l"])
    assert "smoke_test" in several.options.switches
    assert [each.word for each in several.starter_options][-2:] == ["-v", "-l"]


def test_what_is_rendered_runs(here: Path) -> None:
    plan = api.make_plan(
        ["sh", "-c", 'echo "$RANK $GREETING"'],
        container=None,
        profile="workstation",
        ranks=2,
        settings={"GREETING": "a $$ ${RANK}"},
    )
    (here / "run.sh").write_text(api.render(plan))
    done = bash("./run.sh || bash run.sh", cwd=here)
    assert sorted(done.stdout.splitlines()) == [b"0 a $ 0", b"1 a $ 1"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.make_plan(["true"], **LUMI, ranks=0), "--ranks"),
        (lambda: api.make_plan(["true"], **LUMI, bad=True), "no option bad"),
        (
            lambda: api.make_plan(["true"], **LUMI, launcher="pdsh"),
            "--launcher: unknown value 'pdsh'",
        ),
        (
            lambda: api.make_plan(["true"], **LUMI, profiler=True),
            "--profiler: unknown value 'True'",
        ),
        (lambda: api.make_job(["true"], **LUMI, time="soon"), "--time: 'soon'"),
        (
            lambda: api.make_job(["true"], **LUMI, nodes=2, ntasks=3),
            "3 tasks are not the same",
        ),
        (lambda: api.make_plan(["true"], **LUMI, settings={"A B": "c"}), "A B"),
        (api.check_log, "no log given"),
        (lambda: api.check_log("absent.out"), "absent.out"),
        (lambda: api.lint("job.sh", select=["EC999"]), "EC999"),
        (lambda: api.load_profile("absent"), "absent"),
    ],
)
def test_what_is_refused_is_an_error_with_a_hint(
    call: Callable[[], object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(api.EnvcfgError, match=re.escape(message)) as caught:
        call()
    assert caught.value.exit_code in {2, 4}
    assert capsys.readouterr() == ("", "")


def test_only_its_records_have_json() -> None:
    with pytest.raises(TypeError, match="str is not a record"):
        api.as_json("text")  # type: ignore[arg-type]
