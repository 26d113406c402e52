"""A script is ordered for who reads it: what is particular to the job stands first."""

from __future__ import annotations

import re

from envcfg.job.script.modules import render_module
from support import Wrap

PLAIN = (
    "--profile",
    "lumi-g",
    "--container",
    "pytorch.sif",
    "--",
    "python",
    "train.py",
)


MODULE = re.compile(r"^# --- (\S+) \d+ \(sha256 \w{16}\): ", re.M)


def test_the_first_170_lines_say_all_that_is_particular_to_the_job(wrap: Wrap) -> None:
    text = wrap(*PLAIN).text
    job, guard, later = text.partition("# --- guard ")
    assert guard
    assert len(job.splitlines()) <= 170
    assert later.endswith("\nenvcfg_run python train.py\n")
    for word in ("pytorch.sif", "lumi-g", "hsn", "MIOPEN", "/opt/cray", "[profiles/"):
        assert word in job
        assert word not in later


def test_each_module_stands_whole_and_unchanged(wrap: Wrap) -> None:
    text = wrap(*PLAIN).text
    names = MODULE.findall(text)
    assert names[:3] == ["guard", "begin", "core"]
    assert names[-1] == "end"
    assert all(render_module(name) in text for name in names)


def test_the_job_s_part_is_shown_alone(wrap: Wrap) -> None:
    shown = wrap(*PLAIN[:4], "--print", "job", *PLAIN[4:]).text
    listed = re.search(r"^# modules: (.*)$", shown, re.M)
    assert listed is not None
    text = wrap(*PLAIN).text
    assert listed[1].split(", ") == MODULE.findall(text)
    job = shown.partition("# modules: ")[0].partition("# --- ")[2]
    assert job.strip() in text


def test_the_launch_line_of_the_header_is_the_one_that_is_printed(wrap: Wrap) -> None:
    made = wrap(*PLAIN).text.partition("# It starts the ranks by:\n")[2]
    shown = (
        made.partition("# Each rank has:")[0]
        .replace("#   ", "")
        .replace("\\\n", "")
        .split()
    )
    assert shown == wrap(*PLAIN[:4], "--print", "exec-line", *PLAIN[4:]).text.split()


def test_a_command_that_spans_lines_stays_in_the_comment(wrap: Wrap) -> None:
    made = wrap(*PLAIN[:4], "--", "echo", "a\nrm -rf x\r\n$(id)\u2028").text
    head = made.partition("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in head)


def test_ranks_of_an_agent_leave_its_masks_alone(wrap: Wrap) -> None:
    """The task has left one layer before; what the agent sets then is the rank's."""
    made = wrap(*PLAIN[:4], "--launcher", "torchrun", *PLAIN[4:]).text
    worker = made.partition("\nenvcfg_rank_settings() {")[2].partition("\n}\n")[0]
    assert worker
    assert "_VISIBLE_DEVICES" not in worker
    assert made.count("  envcfg_number_gpus ROCR_VISIBLE_DEVICES ") == 1
