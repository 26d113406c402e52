"""What each profile that comes with envcfg makes of a job that runs, with fakes.

One golden file per archetype, and a digest of each other profile. After a change: ``pytest --update-golden``, then read the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from images import Stack, stacks
from outcomes import GPUS, Case, Outcome, launchers, outcomes, plan
from reviews import review

from envcfg.job.plan.plan import Plan
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from environment import environment
from golden_text import compare_digest, compare_text, read_digests
from suites import DAILY, mark_systems
from support import ROOT

GOLDEN = ROOT / "tests/golden/profiles"
DIGESTS = GOLDEN / "digests.txt"
CATALOG = Catalog([built_in_folder()])
HEADER = """\
# {name}
# What its bash gives to a job that owns whole nodes, has said how many GPUs they have and
# nothing else, and finds all optional paths. By tests/profile/test_outcomes.py, with fakes
# of launcher and container runtime; pytest --update-golden writes it anew.
"""


@pytest.mark.parametrize("name", mark_systems(CATALOG.names()))
def test_what_a_profile_gives_to_a_job_is_as_reviewed_and_as_the_model_says(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    profile = CATALOG.load(name)
    found = list(outcomes(profile, tmp_path))
    assert {case.launcher for case, _, _ in found} == set(launchers(profile))
    known = {stack.label: stack for stack in stacks(profile)}
    for case, made, outcome in found:
        facts = {**known[case.stack].facts, "nodes": str(case.nodes)}
        stack = known[case.stack]._replace(facts=facts)
        assert_as_modelled(made, case, outcome)
        assert_as_modelled(plan(profile, case.launcher, stack, tmp_path), case, outcome)
    text = HEADER.format(name=name) + review(
        [(case, outcome) for case, _, outcome in found], tmp_path
    )
    if name in DAILY:
        compare_text(text, GOLDEN / f"{name}.txt", request)
    else:
        compare_digest(name, text, DIGESTS, request)


def assert_as_modelled(made: Plan, case: Case, outcome: Outcome) -> None:
    """Hold each rank's environment against the model's, for all that the plan sets."""
    each = 2 if case.launcher in {"torchrun", "local"} else made.profile.gpus or GPUS
    last = each * case.nodes - 1
    ranks = {0, 1, last - 1, last} if case.launcher == "torchrun" else {0, last}
    assert outcome.ranks.keys() == ranks
    for rank, seen in outcome.ranks.items():
        identity = {"RANK": str(rank), "LOCAL_RANK": str(rank % each)}
        assert identity.items() <= seen.items()
        if "ENVCFG_CACHE" in seen:
            identity["ENVCFG_CACHE"] = seen["ENVCFG_CACHE"]
            assert not Path(seen["ENVCFG_CACHE"]).exists(), "left behind"
        expected = environment(made, outcome.job, identity, case.nodes)
        for name in (
            *(setting.name for setting in made.settings),
            *(name for bundle in made.bundles for name in bundle.env),
        ):
            assert seen.get(name) == expected.get(name), (case, rank, name)


def test_no_golden_file_is_left_of_a_profile_that_is_gone() -> None:
    files = {each.stem for each in GOLDEN.iterdir()} - {DIGESTS.stem}
    assert files == DAILY
    assert {*read_digests(DIGESTS)} == {*CATALOG.names()} - DAILY


def test_a_stack_that_matters_to_a_profile_is_tried() -> None:
    assert [stack.label for stack in stacks(CATALOG.load("workstation"))] == [
        Stack().label
    ]
    assert [stack.label for stack in stacks(CATALOG.load("slingshot"))] == [
        Stack().label,
        "plugin=1.4",
        "plugin=1.14.2",
        "plugin=1.18.0",
    ]
