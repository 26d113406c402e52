"""What bash makes of random profiles is what Python's model says, whatever the job has set."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Options, Plan
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.read.profile_loader import load_profile
from environment import NotSetError, environment, networks
from fuzzing import part
from support import bash, zero_separated

REASON = {"why": "w", "source": "s", "date": "2026-05-19"}
SETTINGS = ["A", "B", "C", "D", "E"]
BUNDLED = ["P", "Q", "R"]
OUTSIDE = ["OUT", "EMPTY", "GONE"]

LITERALS = st.sampled_from(["", "x", "a b", "'\"", "\\", "*", "`id`", "ä\n", "-u", "7"])
NODES = st.sampled_from(["1", ">1", "<3", ">=2,<4", "!=2", "4"])


def values(earlier: list[str], *, bold: bool) -> st.SearchStrategy[str | None]:
    """Return values of a setting; references lead to *earlier* ones, the rank, the job.

    A *bold* one refers to what may not be set, without a default.
    """
    names = st.sampled_from([*earlier, "RANK", "LOCAL_RANK", *OUTSIDE, *BUNDLED])
    sure = st.sampled_from(["RANK", "LOCAL_RANK", "OUT", "EMPTY"])
    part = st.one_of(
        LITERALS,
        names.map(lambda name: f"${{{name}:-d}}"),
        sure.map(lambda name: f"${{{name}}}"),
        st.just("$$"),
    )
    if bold:
        return names.map(lambda name: f"${{{name}}}")
    return st.none() | st.lists(part, max_size=3).map("".join)


def entries(earlier: list[str], *, bold: bool) -> st.SearchStrategy[dict[str, object]]:
    value = values(earlier, bold=bold)
    when = st.fixed_dictionaries({}, optional={"nodes": NODES})
    case = st.fixed_dictionaries(
        {"value": value, "when": when, **{k: st.just(v) for k, v in REASON.items()}}
    )
    return st.fixed_dictionaries(
        {"cases": st.lists(case, min_size=1, max_size=3)},
        optional={"otherwise": value, "force": st.booleans()},
    )


@st.composite
def profiles(draw: st.DrawFn) -> dict[str, object]:
    bold = draw(st.sampled_from([*SETTINGS, *"-" * 15]))  # one at most
    env = {
        name: draw(entries(SETTINGS[: at + draw(st.integers(0, 1))], bold=name == bold))
        for at, name in enumerate(SETTINGS)
    }
    bundles = {
        name: {"env": {each: each.lower() for each in held}, "network": network, **REASON}
        | ({"when": {"nodes": draw(NODES)}} if draw(st.booleans()) else {})
        for name, held, network in (
            ("first", BUNDLED[:2], ["one"]),
            ("second", BUNDLED[2:], ["two", "one"]),
        )
    }  # fmt: skip
    return {"name": "x", "env": env, "bundles": bundles}


JOBS = st.fixed_dictionaries(
    {"OUT": st.just("o o"), "EMPTY": st.just("")},
    optional={
        **dict.fromkeys(SETTINGS, LITERALS),
        **{name: st.sampled_from([name.lower(), "mine"]) for name in BUNDLED},
        "SLURM_NETWORK": st.sampled_from(["one", "other"]),
    },
)


def plan_of(profile: Mapping[str, object], launcher: str) -> Plan:
    problems: list[Finding] = []
    text = json.dumps(profile).encode()
    made = load_profile(text, path="x.yaml", stem="x", problems=problems)
    assert made, problems
    assert not problems, [problem.lines() for problem in problems]
    options = Options(command=("/usr/bin/env", "-0"), launcher=launcher, ranks=1)
    return resolve(made, "0", options)


def check(profile: Mapping[str, object], job: dict[str, str], nodes: int, launcher: str) -> None:  # fmt: skip
    plan = plan_of(profile, launcher)
    with tempfile.TemporaryDirectory() as notes:
        done = bash(
            render_script(plan, ["envcfg"]),
            **job,
            FAKE_NOTES=notes,
            SLURM_NNODES=str(nodes),
        )
        noted = [word.decode() for word in zero_separated(Path(notes) / "srun")]
    identity = {"RANK": "0", "LOCAL_RANK": "0"}
    expected: Mapping[str, str] | None = None
    with suppress(NotSetError):
        expected = environment(plan, job, identity, nodes)
    if expected is None:
        assert done.returncode != 0
        assert b", which is not set in this " in done.stderr
        assert done.stdout == b""
        return
    assert done.returncode == 0, done.stderr.decode()
    pairs = (entry.decode().partition("=") for entry in done.stdout.split(b"\0"))
    seen = {name: value for name, _, value in pairs}
    for name in (*SETTINGS, *BUNDLED, *OUTSIDE):
        assert seen.get(name) == expected.get(name), name
    if launcher == "srun":
        asked = [word for word in noted if word.startswith("--network=")]
        bundled = networks(plan, job, nodes)
        wanted = bundled if networks(plan, {**job, "SLURM_NETWORK": ""}, nodes) else []
        assert asked[-1:] == [f"--network={','.join(wanted)}"] * bool(wanted)


@pytest.mark.nightly
@pytest.mark.usefixtures("fakes")
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(profiles(), JOBS, st.integers(1, 4))
def test_bash_makes_of_a_profile_what_the_model_says(
    profile: dict[str, object], job: dict[str, str], nodes: int
) -> None:
    check(profile, job, nodes, "srun")


@part(120)
@given(profiles(), JOBS)
def test_bash_makes_of_a_profile_what_the_model_says_without_srun(
    profile: dict[str, object], job: dict[str, str]
) -> None:
    check(profile, job, 1, "local")
