"""A script is ordered for who reads it: what is particular to the job stands first."""

from __future__ import annotations

import re

from support import Wrap

SECTIONS = (
    *("What this job needs", "How it is started"),
    "What each rank does first, inside the container",
    *("Machinery: the same in every script", "How signals reach what is spawned"),
    "Now do it",
)
PLAIN = (
    "--profile",
    "lumi-g",
    "--container",
    "pytorch.sif",
    "--",
    "python",
    "train.py",
)


def test_the_first_120_lines_say_all_that_is_particular_to_the_job(wrap: Wrap) -> None:
    lines = wrap(*PLAIN).text.splitlines()
    end = next(at for at, line in enumerate(lines) if "--- How it is started" in line)
    assert end <= 120
    later = "\n".join(lines[end:])
    call = "envcfg_run python train.py"
    assert later.endswith(call)
    for word in ("pytorch.sif", "lumi-g", "hsn", "MIOPEN", "/opt/cray", "[profiles/"):
        assert word not in later


def test_sections_stand_in_the_order_of_a_reader(wrap: Wrap) -> None:
    titles = re.findall(
        r"^# --- (.*?)(?:,? and how it ends)? -+$", wrap(*PLAIN).text, re.M
    )
    assert titles == list(SECTIONS)


def test_the_launch_line_of_the_header_is_the_one_that_is_printed(wrap: Wrap) -> None:
    made = wrap(*PLAIN).text.partition("# It starts the ranks by:\n")[2]
    shown = made.partition("\n\n")[0].replace("#   ", "").replace("\\\n", "").split()
    assert shown == wrap(*PLAIN[:4], "--print", "exec-line", *PLAIN[4:]).text.split()


def test_a_command_that_spans_lines_stays_in_the_comment(wrap: Wrap) -> None:
    made = wrap(*PLAIN[:4], "--", "echo", "a\nrm -rf x\r\n$(id)\u2028").text
    head = made.partition("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in head)


def test_ranks_of_an_agent_leave_its_masks_alone(wrap: Wrap) -> None:
    """The task has left one layer before; what the agent sets then is the rank's."""
    made = wrap(*PLAIN[:4], "--launcher", "torchrun", *PLAIN[4:]).text
    worker = made.partition("ENVCFG_WORKER <<")[2].partition("\nENVCFG_TEXT\n")[0]
    assert 'exec "$@"' in worker
    assert "_VISIBLE_DEVICES" not in worker
    assert made.count("unset -v HIP_VISIBLE_DEVICES") == 1
