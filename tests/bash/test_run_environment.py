"""A rank writes down its environment; ``envcfg environment`` reads it."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from string import Template

import pytest

from envcfg.common.errors import OutputError
from envcfg.job.plan import rank_environment
from envcfg.job.script.modules import module
from support import Wrap, bash, envcfg

LOCAL = ("--launcher", "local", "--ranks", "1", "--report-environment")
LUMI = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")


def reports(wrap: Wrap, folder: Path, *options: str, **env: str) -> list[Path]:
    made = wrap(*LUMI, "--launcher", "local", "--ranks", "3", *options, "--", "true")
    assert made.code == 0, made.err
    done = bash(f"cd {folder}\nset -euo pipefail\n{made.text}", **env)
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("envcfg-environment-*/rank*"))


def answer(path: Path, *options: str) -> dict[str, dict[str, str]]:
    done = envcfg("environment", "--json", *options, str(path))
    assert done.code == 0, done.err
    return {each["name"]: each for each in json.loads(done.text)["variables"]}


def test_the_ranks_that_are_asked_write_a_file_each(wrap: Wrap, tmp_path: Path) -> None:
    found = reports(wrap, tmp_path, "--report-environment", "0,2")
    assert [path.name for path in found] == ["rank0", "rank2"]
    for path in found:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_rank_0_does_where_none_is_named(wrap: Wrap, tmp_path: Path) -> None:
    (path,) = reports(wrap, tmp_path, "--report-environment")
    assert path.name == "rank0"


def test_who_has_set_what(wrap: Wrap, tmp_path: Path) -> None:
    (path,) = reports(
        wrap,
        tmp_path,
        "--report-environment",
        "--setup",
        "export NCCL_PROTO=LL",
        NCCL_NET_GDR_LEVEL="SYS",
        FI_PROVIDER="a\nenvcfg:rank\nb",
    )
    found = answer(path)
    assert found["NCCL_SOCKET_IFNAME"]["state"] == "as planned"
    assert (
        found["MIOPEN_USER_DB_PATH"]["state"] == "as planned"
    )  # refers to the job's cache
    gdr = found["NCCL_NET_GDR_LEVEL"]
    assert (gdr["state"], gdr["planned"], gdr["value"], gdr["origin"]) == (
        "changed", "PHB", "SYS", "job",
    )  # fmt: skip
    assert found["FI_PROVIDER"]["value"] == "a\nenvcfg:rank\nb"
    assert (found["NCCL_PROTO"]["state"], found["NCCL_PROTO"]["origin"]) == (
        "unplanned", "envcfg or setup",
    )  # fmt: skip
    assert "ENVCFG_REPORT" not in answer(path, "--all")


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "aws_secret_access_key", "MY_PASSWORD", "WANDB_API_KEY"]
)
def test_what_looks_secret_is_not_written(
    wrap: Wrap, tmp_path: Path, name: str
) -> None:
    (path,) = reports(
        wrap,
        tmp_path,
        "--report-environment",
        **{name: "line\nhunter2", "OPEN": "seen"},
    )
    data = path.read_bytes()
    assert b"hunter2" not in data
    assert data.count(b"OPEN=seen") == 3


def test_a_folder_that_cannot_be_written_ends_the_job_before_its_ranks(
    wrap: Wrap,
) -> None:
    made = wrap(
        *LUMI, "--launcher", "local", "--report-environment", "--", "echo", "ran"
    )
    done = bash(f"cd /proc\n{made.text}")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"cannot write /proc/envcfg-environment-" in done.stderr


def test_a_changed_value_is_a_warning_and_fails_only_if_that_is_asked(
    wrap: Wrap, tmp_path: Path
) -> None:
    (path,) = reports(wrap, tmp_path, "--report-environment", NCCL_NET_GDR_LEVEL="SYS")
    assert envcfg("environment", str(path)).code == 0
    strict = envcfg("environment", "--strict", str(path))
    assert strict.code == 1
    assert "NCCL_NET_GDR_LEVEL=SYS" in strict.text


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    done = envcfg("environment", str(tmp_path / "x"))
    assert done.code == 4
    assert "not a report of a rank's environment" in done.err


def test_a_plan_that_is_made_up_does_not_fill_the_memory(tmp_path: Path) -> None:
    path, value = tmp_path / "x", "y" * (1 << 20)
    words = ["envcfg:environment", "rank=0", "envcfg:plan"]
    for number in range(5):
        words += [f"NCCL_{number}", "=" + "${A}" * 200, ""]
    words += ["envcfg:job", "envcfg:start", "envcfg:rank", "RANK=0", f"A={value}"]
    path.write_text("\0".join([*words, "envcfg:end", ""]))
    done = envcfg("environment", "--json", str(path))
    assert done.code == 1
    assert len(done.text) < 2 * len(value)


def test_a_variable_that_the_job_has_not_exported_is_the_job_s(
    wrap: Wrap, tmp_path: Path
) -> None:
    made = wrap(*LUMI, *LOCAL, "--set", "A=${NAMED}", "--", "true")
    mine = "NCCL_SOCKET_IFNAME=nmn0\nNAMED='a b'\n"
    done = bash(f"cd {tmp_path}\nset -euo pipefail\n{mine}{made.text}")
    assert done.returncode == 0, done.stderr
    found = answer(*tmp_path.glob("envcfg-environment-*/rank*"))
    name = found["NCCL_SOCKET_IFNAME"]
    assert (name["state"], name["origin"]) == ("changed", "job")
    assert (found["A"]["state"], found["A"]["value"]) == ("as planned", "a b")


def test_no_secret_is_written_be_it_planned_or_in_an_address(
    wrap: Wrap, tmp_path: Path
) -> None:
    (path,) = reports(
        wrap,
        tmp_path,
        *("--report-environment", "--set", "MY_TOKEN=hush1", "--set", "my_Pass=hush2"),
        *("--set", "MY_PROXY=http://me:hush3@proxy"),
        HTTPS_PROXY="http://me:hush4@proxy:80",
        SOME_KEY="a\nhush5\n",
    )
    assert b"hush" not in path.read_bytes()
    assert not {"MY_TOKEN", "my_Pass", "MY_PROXY"} & set(answer(path, "--all"))


@pytest.mark.parametrize("exported", ["", "export -f grep tr cat\n"])
def test_functions_of_the_job_s_shell_are_not_called(
    wrap: Wrap, tmp_path: Path, exported: str
) -> None:
    made = wrap(*LUMI, *LOCAL, "--", "true")
    mine = "grep() { echo mine; }; tr() { echo mine; }; cat() { echo mine; }\n"
    done = bash(f"cd {tmp_path}\nset -euo pipefail\n{mine}{exported}{made.text}")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert answer(*tmp_path.glob("envcfg-environment-*/rank*"))["RANK"]["value"] == "0"


def test_where_a_tool_is_missing_in_the_rank_nothing_is_said_of_variables(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("cat", "tr", "mkdir"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    made = wrap(*LUMI, *LOCAL, "--set", f"PATH={tmp_path}/bin", "--", "/bin/true")
    done = bash(f"cd {tmp_path}\nset -euo pipefail\n{made.text}")
    assert done.returncode == 0
    (path,) = tmp_path.glob("envcfg-environment-*/rank*")
    told = envcfg("environment", str(path))
    assert (told.code, "cat, grep and tr must be in the image" in told.err) == (4, True)


def test_a_file_that_is_cut_anywhere_is_refused(wrap: Wrap, tmp_path: Path) -> None:
    (path,) = reports(wrap, tmp_path, "--report-environment")
    data = path.read_bytes()
    answer(path)
    for size in (0, 1, len(data) // 2, *range(len(data) - 40, len(data) - 1)):
        with pytest.raises(OutputError):
            rank_environment.parse_report(data[:size], "cut")


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_the_agent_of_torch_leaves_the_rank_s_text_as_it_was(
    wrap: Wrap, launcher: str
) -> None:
    """It puts the rank for ${local_rank} in its arguments, by string.Template."""
    more = ("--launcher", launcher, "--report-environment", "--set", "A=x$$$$y${RANK}")
    made = wrap(*LUMI, *more, "--", "train.py")
    assert made.code == 0, made.err
    modules = made.text.rpartition("envcfg_run train.py")[0]
    text = bash(f"{modules}printf '%s' \"$ENVCFG_WORKER\"").stdout.decode()
    seen = Template(text).safe_substitute(local_rank="0")
    assert "'x$$y'" in seen
    assert "</proc/self/environ" in seen


@pytest.mark.parametrize("what", ["mkfifo", "ln -s /dev/stderr", "ln -s .", "touch"])
def test_what_a_stranger_has_made_in_its_place_gets_nothing(
    tmp_path: Path, what: str
) -> None:
    """A pipe would get the job's environment, or hold up the job for ever."""
    names = ("place", "share", "report")
    lines = (
        "ENVCFG_RANK=",
        *(module(name).text for name in names),
        "envcfg_fault() { printf '%s' \"$1\"; }",
        f"cd {tmp_path}; name=envcfg-environment-7.$$",
        f"{what} $name; {what} $name-rank0",
        "ENVCFG_JOB=7 ENVCFG_REPORTED=0 ENVCFG_PROFILE=x ENVCFG_NODES=1 HELD=told",
        "export HELD; ENVCFG_ARGS=(); envcfg_plan() { :; }; envcfg_report",
    )
    done = bash("\n".join(lines))
    assert done.stdout.startswith(b"cannot write ")
    assert b"HELD" not in done.stderr


def test_the_folder_of_the_ranks_is_read_as_a_whole(wrap: Wrap, tmp_path: Path) -> None:
    paths = reports(wrap, tmp_path, "--ranks=12", "--report-environment=0,2,11")
    folder = str(paths[0].parent)
    done = envcfg("environment", folder)
    assert done.code == 0, done.err
    heads = [
        line for line in done.text.splitlines() if line.startswith("environment of")
    ]
    assert [re.findall(r"rank (\d+)", line) for line in heads] == [["0"], ["2"], ["11"]]
    result = json.loads(envcfg("environment", "--format=json", folder).text)
    names = [Path(file["name"]).name for file in result["checked"]]
    assert names == ["rank0", "rank2", "rank11"]
    several = envcfg("environment", "--json", folder)
    assert several.code == 2
    assert f"envcfg environment {folder}/rank0" in several.err
    for path in paths[1:]:
        path.unlink()
    one = envcfg("environment", "--json", f"{folder}/")
    assert one.code == 0
    assert json.loads(one.text)["variables"]


@pytest.mark.parametrize("names", [[], ["ranks"], ["rank"], ["rank-1", "rank\u00b2"]])
def test_a_folder_without_ranks_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()
    done = envcfg("environment", str(tmp_path))
    assert (done.code, "holds no file of a rank" in done.err) == (4, True)
