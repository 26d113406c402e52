"""What only a rank knows cannot be set, by whatever way."""

from __future__ import annotations

import pytest

from envcfg.common.findings import Finding
from envcfg.profile.read.profile_loader import load_profile
from envcfg.profile.setting_scope import CHOICE, FIXED, INSIDE, NODE
from support import LOCAL, Wrap

REASON = "why: w, source: s, date: 2026-01-01"
NAMES = sorted(FIXED)


def problems(text: str) -> list[Finding]:
    found: list[Finding] = []
    load_profile(f"name: p\n{text}".encode(), path="p", stem="p", problems=found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_cannot_set_what_is_each_rank_s_own(name: str) -> None:
    for text in (
        f"env: {{{name}: {{value: '3', {REASON}}}}}",
        f"bundles: {{b: {{env: {{{name}: '3'}}, network: [x], {REASON}}}}}",
    ):
        (found,) = problems(text)
        assert f"{name} is each rank's own and cannot be set" in found.message


@pytest.mark.parametrize("starter", ["srun", "flux", "local"])
def test_the_command_line_cannot_either_under_any_starter(
    wrap: Wrap, starter: str
) -> None:
    options = {
        "srun": ("--profile", "lumi-g"),
        "flux": ("--profile", "tuolumne"),
        "local": LOCAL[:2],
    }[starter]
    for name in (
        "SLURM_PROCID",
        "FLUX_TASK_RANK",
        "FLUX_JOB_SIZE",
        "SLURM_GTIDS",
        "RANK",
    ):
        for way in (f"--set={name}=3", f"--unset={name}"):
            made = wrap(*options, "--container", "none", way, "--", "true")
            assert made.code == 2
            assert f"{name} is each rank's own and cannot be set" in made.err


def test_what_a_job_may_choose_can_be_set() -> None:
    for name in (*CHOICE, *NODE - {"NODE_RANK", "ENVCFG_CACHE"}):
        assert problems(f"env: {{{name}: {{value: '3', {REASON}}}}}") == []


def test_whatever_a_rank_knows_is_known_to_be_inside() -> None:
    assert FIXED - {"SLURM_JOB_ID"} <= INSIDE
    assert not FIXED & CHOICE
