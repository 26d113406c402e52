"""What a profile says of variables and words that only the job knows, run with fakes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import Wrap, bash, zero_separated

SAID = "why: w, source: s, date: 2026-05-19"
# bytes that a shell or a runtime would split, expand or take for the end of something
HOSTILE = " $(touch PWN);`touch PWN`'*?{a}é"


def script(wrap: Wrap, container: str, *options: str) -> bytes:
    """Return the bash of a job on a system with such a block ``container``."""
    Path("x.yaml").write_text(f"name: x\ncontainer: {{{container}}}\n")
    Path("image.sif").touch()
    made = wrap("--profile", "./x.yaml", "--container", "image.sif", *options)
    assert made.code == 0, made.err
    return made.out


def words(notes: Path) -> list[str]:
    """Return the words up to the image that the runtime got."""
    return [word.decode() for word in zero_separated(notes / "runtime")]


# Stands in for torchrun: starts one rank.
AGENT = """#!/bin/sh
while [ "$1" != --no-python ]; do shift; done
shift
RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 exec "$@"
"""
BINDS = {
    "alone": ("${SCRATCH}", "apptainer", "--bind {}"),
    "a folder in it": ("${SCRATCH}/d:/data:ro", "apptainer", "--bind {}/d:/data:ro"),
    "options alone": ("${SCRATCH}::ro", "apptainer", "--bind {0}:{0}:ro"),
    "given, with a default": ("${SCRATCH:-/tmp}:/data", "apptainer", "--bind {}:/data"),
    "a default": ("${NOWHERE:-/tmp}/.:/data", "apptainer", "--bind /tmp/.:/data"),
    "two of them": ("/${NOWHERE:-tmp}/..${SCRATCH}:/data", "apptainer", "--bind /tmp/..{}:/data"),
    "by a mount": ("${SCRATCH}:/data", "podman", "--mount type=bind,source={},target=/data"),
    "of Charliecloud": ("${SCRATCH}", "charliecloud", "--bind {0}:{0}"),
}  # fmt: skip


@pytest.mark.parametrize("name", BINDS)
def test_a_bind_is_of_what_the_job_s_variable_says(
    name: str, wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    text, runtime, expected = BINDS[name]
    folder = tmp_path / "scratch"
    (folder / "d").mkdir(parents=True)
    image = "./image.sif" if runtime == "apptainer" else "./folder"
    Path("image.sif").touch()
    (tmp_path / "folder/bin").mkdir(parents=True)
    bind = f"binds: {{'{text}': {{{SAID}}}}}, runtimes: [{runtime}]"
    Path("x.yaml").write_text(f"name: x\ncontainer: {{{bind}}}\n")
    made = wrap("--profile", "./x.yaml", "--container", image, "--", "true")
    assert made.code == 0, made.err
    done = bash(made.out, SCRATCH=str(folder), SLURM_NTASKS="1", USER="u")
    assert done.returncode == 0, done.stderr
    said = " ".join(words(fakes)).replace('"', "")
    assert expected.format(folder) in said


def test_a_source_with_any_other_bytes_is_whole(
    wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    text = script(wrap, f"binds: {{'${{SCRATCH}}:/d': {{{SAID}}}}}", "--", "true")
    done = bash(text, SCRATCH=str(folder), SLURM_NTASKS="1")
    assert done.returncode == 0, done.stderr
    assert f"{folder}:/d" in words(fakes)
    assert not (tmp_path / "PWN").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            None,
            "the bind '${SCRATCH}:/d' refers to SCRATCH, which is not set in this job",
        ),
        ("", "refers to SCRATCH, which is not set in this job"),
        ("tmp", "would be of 'tmp', which is no absolute path"),
        ("/tmp:/etc", "or has a colon"),
        ("/tmp,/etc", "or has a colon, comma"),
        ('/tmp"', "quote"),
        ("/tmp\\", "backslash"),
        ("/tmp\n/", "which is no absolute path"),
        ("/no/such/folder", "bind source /no/such/folder does not exist"),
    ],
)
def test_a_variable_that_leads_nowhere_is_an_error_of_envcfg(
    value: str | None, message: str, wrap: Wrap, fakes: Path
) -> None:
    text = script(wrap, f"binds: {{'${{SCRATCH}}:/d': {{{SAID}}}}}", "--", "true")
    given = {} if value is None else {"SCRATCH": value}
    for options in ("", "set -euo pipefail\n"):
        done = bash(
            f"unset SCRATCH_\n{options}".encode() + text, SLURM_NTASKS="1", **given
        )
        assert done.returncode == 4
        said = done.stderr.decode()
        assert said.startswith("envcfg: error: ")
        assert message in said
        assert "bash: line" not in said
    assert not words(fakes)


@pytest.mark.parametrize(
    ("if_exists", "value", "expected"),
    [
        ("true", None, False),
        ("true", "/no/such/folder", False),
        ("true", "/tmp", True),
        ("/no/such/folder", "/tmp", False),
        ("/tmp", "/tmp", True),
    ],
)
def test_a_bind_that_may_be_absent_is_left_out(
    if_exists: str, value: str | None, expected: bool, wrap: Wrap, fakes: Path
) -> None:
    entry = f"{{if_exists: {if_exists}, {SAID}}}"
    text = script(wrap, f"binds: {{'${{SCRATCH}}': {entry}}}", "--", "true")
    given = {} if value is None else {"SCRATCH": value}
    done = bash(text, SLURM_NTASKS="1", **given)
    assert done.returncode == 0, done.stderr
    assert ("--bind" in words(fakes)) == expected


def test_the_launch_line_shows_where_the_variable_stands(wrap: Wrap) -> None:
    text = script(
        wrap, f"binds: {{'${{SCRATCH}}/a b:/d': {{{SAID}}}}}", "--", "true"
    ).decode()
    line = " ".join(text.replace("\\\n#", "").split())
    assert """--bind "${SCRATCH:-}"'/a b':/d""" in line


CACHE = f"env: {{C: {{value: '${{ENVCFG_CACHE}}/c', directory: true, {SAID}}}}}"


@pytest.mark.usefixtures("fakes")
def test_a_scratch_of_a_variable_that_is_not_set_is_an_error_of_envcfg(
    wrap: Wrap, tmp_path: Path
) -> None:
    scratch = f"scratch: {{root: '${{LOCAL_DISK}}/x', {SAID}}}"
    Path("x.yaml").write_text(f"name: x\n{scratch}\n{CACHE}\n")
    made = wrap("--profile", "./x.yaml", "--container", "none", "--", "env")
    assert made.code == 0, made.err
    done = bash(b"set -eu\n" + made.out, SLURM_NTASKS="1")
    assert done.returncode == 4
    said = (
        "envcfg: error: scratch.root refers to LOCAL_DISK, which is not set in this job"
    )
    assert done.stderr.decode().startswith(said)
    (tmp_path / "x").mkdir()
    done = bash(made.out, SLURM_NTASKS="1", LOCAL_DISK=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"C={tmp_path}/x/envcfg-".encode() in done.stdout


@pytest.mark.parametrize("launcher", ["srun", "torchrun", "local"])
def test_words_of_the_system_come_before_each_rank_s_command(
    launcher: str, wrap: Wrap, fakes: Path, tmp_path: Path
) -> None:
    """They come whole, and once for each rank, not for what starts the ranks."""
    adapt = tmp_path / "adapt it.sh"
    adapt.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >"$OUT.$RANK"\n')
    adapt.chmod(0o755)
    (tmp_path / "torchrun").write_text(AGENT)
    (tmp_path / "torchrun").chmod(0o755)
    hostile = [HOSTILE, "", "-x", "a\nb", "A=1", "--"]
    prefix = json.dumps([str(adapt), *hostile])
    block = f"prefix: {{words: {prefix}, {SAID}}}"
    text = script(
        wrap, block, "--launcher", launcher, "--ranks", "1", "--", "prog", "a b"
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {"SLURM_NTASKS": "1", "OUT": str(tmp_path / "out"), "PATH": path}
    done = bash(text, **env)
    assert done.returncode == 0, done.stderr
    got = [word.decode() for word in zero_separated(tmp_path / "out.0")]
    assert got == [*hostile, "prog", "a b"]
    assert not (tmp_path / "PWN").exists()
    assert words(fakes)


def test_words_of_the_system_are_for_containers_alone(wrap: Wrap) -> None:
    script(wrap, f"prefix: {{words: [adapt], {SAID}}}", "--", "true")
    made = wrap("--profile", "./x.yaml", "--container", "none", "--", "true")
    assert "adapt" not in made.text
    other = f"prefix: {{words: [adapt], when: {{runtime: pyxis}}, {SAID}}}"
    assert b"adapt" not in script(wrap, other, "--", "true")


BUNDLE = """\
launch: {{launchers: [{launcher}]}}
node: {{gpus: 1, {said}}}
bundles:
  b: {{env: {{B: '1 $$x'}}, srun: [--srun=x], flux: ['--flux=$(touch${{IFS}}PWN)'], mpiexec: [--mpiexec=x], {said}}}
  c: {{env: {{C: 1}}, {others}, {said}}}
"""
BUNDLED = {
    "srun": ("srun", "--srun=x", "flux: [--c], mpiexec: [--c]"),
    "flux": ("flux run", "--flux=$(touch${IFS}PWN)", "srun: [--c], network: [c]"),
    "pbs": ("mpiexec", "--mpiexec=x", "srun: [--c], flux: [--c]"),
}  # fmt: skip


@pytest.mark.parametrize("launcher", BUNDLED)
def test_a_bundle_counts_where_it_has_options_for_who_starts_the_ranks(
    launcher: str,
    wrap: Wrap,
    fakes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if launcher != "srun":
        monkeypatch.delenv("SLURM_JOB_ID")
    _, expected, others = BUNDLED[launcher]
    text = BUNDLE.format(launcher=launcher, said=SAID, others=others)
    Path("x.yaml").write_text(f"name: x\n{text}")
    (tmp_path / "nodes").write_text("node1\n")
    made = wrap("--profile", "./x.yaml", "--container", "none", "--", "env")
    assert made.code == 0, made.err
    job = {"SLURM_NTASKS": "1", "FLUX_URI": "local:///x", "PBS_JOBID": "7.x"}
    job["PBS_NODEFILE"] = str(tmp_path / "nodes")
    done = bash(b"set -euo pipefail\n" + made.out, **job)
    assert done.returncode == 0, done.stderr
    assert b"\nB=1 $x\n" in done.stdout
    assert b"\nC=1\n" not in done.stdout
    noted = [w.decode() for note in fakes.iterdir() for w in zero_separated(note)]
    assert expected in noted
    assert "--c" not in noted
    assert not (tmp_path / "PWN").exists()
    done = bash(made.out, **job, B="2")
    assert b"b is left out as a whole: the job sets B=2" in done.stderr
    assert b"\nB=2\n" in done.stdout


@pytest.mark.usefixtures("fakes")
def test_caches_go_to_the_disk_of_a_job_that_has_it(wrap: Wrap, tmp_path: Path) -> None:
    disk = f"disk: '{tmp_path}/bb ${{WHO}}'"
    scratch = f"scratch: {{root: /tmp, {disk}, {SAID}}}"
    Path("x.yaml").write_text(f"name: x\n{scratch}\n{CACHE}\n")
    made = wrap("--profile", "./x.yaml", "--container", "none", "--", "env")
    assert made.code == 0, made.err
    (tmp_path / "bb me").mkdir()
    (tmp_path / "bb ").mkdir()
    for given, root in (
        ({"WHO": "me"}, f"{tmp_path}/bb me"),
        ({"WHO": "you"}, "/tmp"),
        ({}, "/tmp"),
    ):
        job = {"SLURM_NTASKS": "1", **given}
        done = bash(b"set -euo pipefail\n" + made.out, **job)
        assert done.returncode == 0, done.stderr
        assert f"\nC={root}/envcfg-".encode() in done.stdout
