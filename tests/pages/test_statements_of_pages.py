"""Statements of pages that are no commands, executed as a reader would check them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages.test_commands_of_pages import LOG
from support import LOCAL, ROOT, envcfg


def section(page: str, begin: str) -> str:
    """Return the part of a page from the text *begin* to the next heading."""
    rest = (ROOT / "docs" / page).read_text().partition(begin)[2]
    assert rest, f"{page}: {begin}"
    return rest.partition("\n## ")[0]


SWITCHES = re.findall(
    r"`(NCCL_\w+=\w+)`", section("my-job/slow.md", "## A variable switches")
)


@pytest.mark.parametrize("setting", SWITCHES)
def test_lint_finds_each_variable_that_switches_the_network_off(setting: str) -> None:
    job = f"#!/bin/bash\n#SBATCH --nodes=2\nexport {setting}\nsrun python train.py\n"
    assert "EC523" in section("my-job/slow.md", "## A variable switches")
    done = envcfg("lint", "--json", "-", stdin=job.encode())
    assert '"EC523"' in done.text, done.text


def test_the_plan_says_whether_the_plugin_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = section("my-job/slow.md", "## The job uses TCP sockets")
    (command,) = re.findall(r"^\$ envcfg (.*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("pytorch.sif").touch()
    done = envcfg(*command.split())
    assert done.code == 0, done.err
    assert "it is unknown whether NCCL gets a plug-in" in done.err


def test_logs_with_numbers_of_jobs_are_judged_job_by_job(tmp_path: Path) -> None:
    text = section("how-to/read-a-log.md", "**Many jobs.**")
    names = re.findall(r"`(\S+\.out)`", text)
    assert len(names) == 2
    for name in names:
        (tmp_path / name).write_text(LOG)
    lines = envcfg("check-log", str(tmp_path)).text.splitlines()
    numbers = [re.sub(r"\D", "", name) for name in names]
    assert [line.split()[:2] for line in lines[1:3]] == [["job", n] for n in numbers]


SHELLS = {"dash": ["dash"], "bash in POSIX mode": ["bash", "--posix"]}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("made", ["-o", "<(...)"])
def test_another_shell_ends_as_the_page_says(
    shell: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    if made == "-o":
        assert envcfg("wrap", *LOCAL, "-o", "job.sh", "--", "touch", "ran").code == 0
    else:
        wrap = " ".join(("envcfg wrap", *LOCAL, "-- touch ran"))
        Path("job.sh").write_text(f"source <({wrap} || echo exit $?)\ntouch ran\n")
    done = subprocess.run(
        [*SHELLS[shell], "job.sh"], capture_output=True, text=True, check=False
    )
    error = done.stderr.splitlines()[-1:]
    is_syntax = (shell, made) == ("dash", "<(...)")
    assert done.returncode == (2 if is_syntax else 4)
    assert ("yntax error" if is_syntax else "needs bash 4.4") in error[0]
    assert len(done.stderr.splitlines()) == 1
    assert not Path("ran").exists()
