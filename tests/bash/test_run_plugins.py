"""Runtimes that options of srun enter, with a fake srun; tests/cluster has a real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.job.script.modules import module
from support import Wrap, bash, zero_separated

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYXIS = ("--profile", "aws-p5", "--runtime", "pyxis", "--container", "a#b:c")
CE = ("--profile", "alps-clariden", "--runtime", "ce", "--container", "mine")
COMMAND = ("--", "sh", "-c", 'cat .envcfg*/environment.toml >edf; env -0 >"env.$RANK"')


@pytest.fixture(autouse=True)
def folder(
    tmp_path: Path, fakes: Path, wrap: Wrap, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return the folder of the job, apart from what fakes note."""
    assert fakes.is_dir()
    assert callable(wrap)
    made = tmp_path / "job"
    made.mkdir()
    monkeypatch.chdir(made)
    monkeypatch.delenv("SCRATCH", raising=False)
    return made


@pytest.mark.parametrize(
    ("options", "missing"),
    [(PYXIS, "--container-image: Pyxis"), (CE, "--environment: the Container Engine")],
)
def test_where_the_plug_in_is_not_installed_no_rank_starts(
    wrap: Wrap, options: tuple[str, ...], missing: str
) -> None:
    done = bash(wrap(*options, *COMMAND).out, FAKE_PLUGINS="--environments")
    assert done.returncode == 4
    assert f"srun has no option {missing} is not installed on " in done.stderr.decode()
    assert not list(Path().glob("env.*"))


def test_mounts_are_one_option_and_the_user_s_words_come_behind(
    wrap: Wrap, folder: Path, fakes: Path
) -> None:
    words = (
        "--bind",
        "/usr",
        "--bind",
        "/etc:/mnt:ro",
        "--runtime-arg=--container-x=y",
    )
    done = bash(wrap(*PYXIS, *words, *COMMAND).out)
    assert done.returncode == 0, done.stderr.decode()
    given = [word.decode() for word in zero_separated(fakes / "srun")]
    at = given.index("--container-image")
    assert given[at : at + 8] == [
        *("--container-image", "a#b:c", "--no-container-entrypoint"),
        *("--container-workdir", str(folder), "--container-x=y"),
        *("--container-mounts", f"{folder},/usr,/etc:/mnt:ro"),
    ]


@pytest.mark.parametrize("options", [PYXIS, CE])
def test_an_alias_of_the_shell_hides_no_plug_in(
    wrap: Wrap, options: tuple[str, ...]
) -> None:
    Path("step").write_bytes(wrap(*options, *COMMAND).out)
    before = "shopt -s expand_aliases\nalias srun='echo wrong'"
    done = bash(f"{before}\nsource ./step\nalias srun")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"alias srun='echo wrong'\n"


@pytest.mark.parametrize(
    ("own", "seen"), [({}, b"all"), ({"NVIDIA_VISIBLE_DEVICES": "0"}, b"0")]
)
def test_what_hooks_read_is_there_before_and_the_job_s_own_wins(
    wrap: Wrap, own: dict[str, str], seen: bytes
) -> None:
    done = bash(f"{wrap(*PYXIS, *COMMAND).text}\nenv -0 >after", **own)
    assert done.returncode == 0, done.stderr.decode()
    assert b"NVIDIA_VISIBLE_DEVICES=" + seen in zero_separated(Path("env.0"))
    after = [
        each for each in zero_separated(Path("after")) if each.startswith(b"NVIDIA_V")
    ]
    assert after == [
        b"NVIDIA_VISIBLE_DEVICES=" + each.encode() for each in own.values()
    ]


def test_the_file_says_what_the_profile_and_the_job_want_and_is_gone_afterwards(
    wrap: Wrap, folder: Path
) -> None:
    words = ("--bind", "/etc:/mnt:ro", "--fact", "cuda=13.0")
    words += ("--runtime-arg=--annotation=com.hooks.mine=a=$b'\\\"",)
    done = bash(wrap(*CE, *words, *COMMAND).out)
    assert done.returncode == 0, done.stderr.decode()
    said = tomllib.loads(Path("edf").read_text())
    hooks = said["annotations"]["com"]["hooks"]
    assert hooks["aws_ofi_nccl"] == {"enabled": "true", "variant": "cuda-dl"}
    assert hooks["mine"] == "a=$$b'\\\""  # a dollar of the text
    assert said["base_environment"] == "mine"
    assert said["mounts"] == [f"{folder}:{folder}", "/etc:/mnt:ro"]
    assert (said["workdir"], said["entrypoint"]) == (str(folder), False)
    assert not list(Path().glob(".envcfg*"))


def test_an_image_of_a_registry_that_brings_its_own_stack_begins_by_its_entrypoint(
    wrap: Wrap,
) -> None:
    image = "docker://ghcr.io/eth-cscs/alps-extended-images/ngc-pytorch:26.02-py3-alps6"
    done = bash(wrap(*CE[:-1], image, *COMMAND).out)
    assert done.returncode == 0, done.stderr.decode()
    said = tomllib.loads(Path("edf").read_text())
    assert said["image"] == image.removeprefix("docker://").replace("/", "#", 1)
    assert said["annotations"]["com"]["hooks"] == {"cxi": {"enabled": "false"}}
    assert (said["entrypoint"], "env" in said) == (True, False)


def test_the_file_goes_where_the_step_fails_before_and_is_no_one_else_s(
    wrap: Wrap, folder: Path
) -> None:
    text = wrap(*CE, "--bind", "/nowhere", *COMMAND).text
    (folder / "keep").touch()
    done = bash(text, ENVCFG_PLACED=str(folder / "keep"))
    assert done.returncode == 4
    assert sorted(each.name for each in folder.iterdir()) == ["keep"]
    assert bash(text, SCRATCH="/nowhere/at/all").returncode == 4


SLOW = """#!/bin/bash
if [[ $1 == --help ]]; then exec {srun} --help; fi
echo ready
exec sleep 2
"""


@pytest.mark.parametrize("form", ["source <(cat step)", "exec bash step"])
def test_the_file_goes_where_a_signal_ends_the_step_before_its_ranks(
    wrap: Wrap, folder: Path, tmp_path: Path, form: str
) -> None:
    (folder / "step").write_bytes(wrap(*CE, "--smoke-test", *COMMAND).out)
    slow = tmp_path / "slow/srun"
    slow.parent.mkdir()
    slow.write_text(SLOW.format(srun=which("srun")))
    slow.chmod(0o755)
    path = f"{slow.parent}:{os.environ['PATH']}"
    job = subprocess.Popen(
        ["bash", "-c", form],
        env={**os.environ, "PATH": path, "SLURM_GPUS_PER_NODE": "4"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert job.stdout
    assert job.stdout.readline() == b"ready\n"
    assert list(folder.glob(".envcfg*"))
    os.killpg(job.pid, signal.SIGTERM)  # as scancel does
    job.communicate()
    assert job.returncode != 0
    assert not list(folder.glob(".envcfg*"))


SCRIPT = f"""
{module("runtimes/ce").text}
envcfg_fault() {{ echo fault; exit; }}
envcfg_toml "$1"
printf 'a = %s' "$envcfg_text"
"""


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_every_text_is_one_string_in_the_file_or_a_fault(text: str) -> None:
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", text], capture_output=True, check=True
    )
    said = done.stdout.decode()
    if said.startswith("fault"):
        assert any(not each.isprintable() for each in text)
    else:
        assert tomllib.loads(said)["a"].replace("$$", "$") == text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*PYXIS, "--runtime-arg=--container-mounts=/a"), "srun uses only the last of two"),
        ((*PYXIS, "--srun-arg=--container-mounts=/a"), "give --bind SOURCE:TARGET"),
        ((*CE, "--srun-arg=--environment=b"), "envcfg writes a separate file for it"),
        ((*PYXIS, "--fact", "runtime=apptainer"), "--runtime apptainer chooses it"),
        ((*PYXIS, "--fact", "launcher=local"), "--launcher local chooses it"),
        ((*PYXIS, "--launcher", "local"), "pyxis enters its containers by options of srun"),
        ((*CE, "--runtime-arg=--environment=b"), "envcfg writes a separate file for it"),
        ((*CE, "--runtime-arg=--annotation=a b=c"), "it is not an annotation"),
    ],
)  # fmt: skip
def test_what_they_cannot_have_is_refused(
    wrap: Wrap, options: tuple[str, ...], said: str
) -> None:
    made = wrap(*options, *COMMAND)
    assert made.code == 2
    assert said in made.err
