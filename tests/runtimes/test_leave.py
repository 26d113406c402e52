"""Containers that run on after their step are stopped, and the step has not ended well."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from support import bash

# Stands in for Podman on a node: what "ps" lists stands in a file for each kind of list.
PODMAN = """\
#!/bin/sh
echo "$*" >>said
case $* in
  'ps --quiet --filter label=envcfg=step') cat running ;;
  'ps --all --quiet --filter label=envcfg=step') cat all ;;
  stop*) shift && printf '%s\\n' "$@" ;;
  rm*) ;;
  *) exit 2 ;;
esac
"""
SCRIPT = f"""
set -euo pipefail
ENVCFG_WORDS=() ENVCFG_AFTER=() ENVCFG_IS_FILE='' ENVCFG_AS_SAID=''
{module("runtimes/podman").text}
envcfg_note() {{ echo "$1" >&2; }}
envcfg_host() {{ "$@"; }}
ENVCFG_ENTER=(./podman) ENVCFG_LABEL=envcfg=step
envcfg_leave
echo "$ENVCFG_CODE"
"""


@pytest.mark.parametrize(
    ("running", "every", "code", "ends", "said"),
    [
        ("", "", 0, 0, []),
        ("", "", 3, 3, []),
        ("", "c", 0, 0, ["rm --force c"]),  # never started, or about to go
        ("a\nb", "a\nb", 0, 143, ["stop a b", "rm --force a b"]),
        ("a", "", 37, 37, ["stop a"]),
    ],
)
def test_what_runs_on_is_stopped_and_what_is_left_removed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    running: str,
    every: str,
    code: int,
    ends: int,
    said: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "podman").write_text(PODMAN)
    (tmp_path / "podman").chmod(0o755)
    (tmp_path / "running").write_text(running)
    (tmp_path / "all").write_text(every)
    done = bash(SCRIPT, ENVCFG_CODE=str(code))
    assert (done.returncode, done.stdout.decode().split()) == (0, [str(ends)])
    calls = (tmp_path / "said").read_text().splitlines()
    assert [each for each in calls if not each.startswith("ps ")] == said
    assert (b"ran on after the step" in done.stderr) == bool(running)


def test_a_node_that_cannot_be_asked_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = bash(SCRIPT.replace('"$@"; }', "return 1; }"), ENVCFG_CODE="5")
    assert (done.returncode, done.stdout) == (0, b"5\n")
    assert done.stderr == b"could not look for containers that are left\n"


def test_steps_of_two_jobs_with_the_login_node_s_name_have_two_labels() -> None:
    labels = set()
    for job in ("1", "2"):
        script = (
            "ENVCFG_IS_FILE=''\n"
            + module("runtimes/podman").text
            + (
                "envcfg_find_image() { :; }\n"
                "envcfg_find() { envcfg_name=podman; }; envcfg_mounts() { :; }\n"
                f"envcfg_name_job() {{ ENVCFG_JOB={job}; }}; ENVCFG_IMAGE=a\n"
                'envcfg_name_job; envcfg_enter && echo "${ENVCFG_LABEL%.*}"'
            )
        )
        done = bash(script, HOSTNAME="login1")
        assert done.returncode == 0, done.stderr.decode()
        labels.add(done.stdout)
    assert labels == {b"envcfg=1.login1\n", b"envcfg=2.login1\n"}
