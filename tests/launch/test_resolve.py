"""From a profile and facts to a plan: what is decided when, and what stays for the job."""

from __future__ import annotations

from typing import Any

import pytest

from envcfg.backends import runtimes
from envcfg.backends.runtimes import runtime
from envcfg.common.bind import Bind
from envcfg.common.errors import UsageError, suggest
from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Container, Options, Plan
from envcfg.job.plan.plan_facts import check_facts
from envcfg.job.plan.plan_notes import image_notes
from envcfg.job.plan.resolve import resolve
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import FACTS, Truth, parse_tests
from envcfg.profile.job_facts import Facts
from envcfg.profile.read.profile_loader import load_profile
from envcfg.profile.words import Word, format_word

REASON = "why: w, source: s, date: 2026-01-01"


NOTHING = Options()


def plan(
    text: str,
    *,
    settings: dict[str, Word | None] | None = None,
    launcher: str | None = None,
    options: Options = NOTHING,
    **facts: str,
) -> Plan:
    problems: list[Finding] = []
    profile = load_profile(
        f"name: p\n{text}".encode(), path="p", stem="p", problems=problems
    )
    assert profile, problems
    assert not problems
    return resolve(
        profile,
        "0",
        options._replace(facts=facts, settings=settings or {}, launcher=launcher),
    )


def cases(made: Plan, name: str) -> list[tuple[str, str | None]]:
    """Return what is left to test and the value, of each case."""
    (setting,) = [each for each in made.settings if each.name == name] or [None]
    return [
        (
            " ".join(f"{t.fact}{t.operator}{t.operand}" for t in case.when),
            None if case.value is None else format_word(case.value),
        )
        for case in (setting.cases if setting else ())
    ]


CASES = f"""
env:
  A:
    cases:
      - {{value: socket, when: {{nodes: 1}}, {REASON}}}
      - {{value: new, when: {{plugin: ">=1.12"}}, {REASON}}}
      - {{value: old, when: {{plugin: "<1.12", nodes: ">1"}}, {REASON}}}
    otherwise: none
"""


@pytest.mark.parametrize(
    ("facts", "expected", "unknown"),
    [
        ({}, [("nodes==1", "socket"), ("", "none")], True),
        ({"nodes": "1"}, [("", "socket")], False),
        ({"nodes": "2"}, [("", "none")], True),
        ({"plugin": "1.19"}, [("nodes==1", "socket"), ("", "new")], False),
        (
            {"plugin": "1.4"},
            [("nodes==1", "socket"), ("nodes>1", "old"), ("", "none")],
            False,
        ),
        ({"plugin": "1.4", "nodes": "2"}, [("", "old")], False),
    ],
)
def test_cases_are_decided_as_far_as_facts_reach(
    facts: dict[str, str], expected: list[tuple[str, str]], unknown: bool
) -> None:
    made = plan(CASES, **facts)
    assert cases(made, "A") == expected
    assert bool(made.notes) is unknown


def test_a_setting_whose_condition_fails_is_left_alone() -> None:
    text = f"env: {{A: {{value: x, when: {{rocm: '<7'}}, {REASON}}}}}"
    assert cases(plan(text, rocm="7.0"), "A") == []
    assert cases(plan(text), "A") == []
    assert cases(plan(text, rocm="6.0"), "A") == [("", "x")]


def test_what_is_given_for_the_job_replaces_the_profile_s(built_in: object) -> None:
    assert built_in
    text = f"env: {{A: {{value: x, {REASON}}}, B: {{value: y, {REASON}}}}}"
    made = plan(text, settings={"A": ("mine",), "B": None, "C": ("new",)})
    assert [cases(made, name) for name in "ABC"] == [
        [("", "mine")],
        [("", None)],
        [("", "new")],
    ]
    assert all(setting.force for setting in made.settings)


def test_variables_of_the_job_that_ranks_refer_to_are_handed_on() -> None:
    text = f"env: {{A: {{value: '${{OUT}}/${{RANK}}', {REASON}}}, B: {{value: '${{HOST}}', {REASON}}}}}"
    assert plan(text).handed_on == ("OUT",)


def test_a_launcher_that_the_profile_does_not_allow_is_refused() -> None:
    with pytest.raises(UsageError, match="does not allow the launcher srun") as caught:
        plan("launch: {launchers: [local]}", launcher="srun")
    assert caught.value.hint
    assert caught.value.hint.startswith("it allows: local, deepspeed, horovod, ")


def test_another_runtime_gets_none_of_the_profile_s_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are words of the runtime that the profile names, or of the usual one."""
    known = runtimes.runtime("apptainer")
    other = known._replace(name="other", same_kind="")
    found = {"apptainer": known, "singularity": known, "other": other}
    monkeypatch.setattr(runtimes, "runtime", found.__getitem__)
    text = f"container: {{arguments: {{--nv: {{{REASON}}}}}}}"
    for name, words, rules in (
        ("apptainer", ["--nv", "--x"], []),
        ("singularity", ["--nv", "--x"], []),
        ("other", ["--x"], ["runtime-arguments-left-out"]),
    ):
        given = Options(container="a.sif", runtime=name, runtime_args=("--x",))
        made = plan(text, options=given)
        assert made.container
        assert [each.word for each in made.container.arguments] == words
        assert [each.rule for each in made.notes] == rules


def test_two_layers_of_masking_are_a_warning() -> None:
    text = f"visibility: {{variable: ROCR_VISIBLE_DEVICES, clear: [HIP_VISIBLE_DEVICES], {REASON}}}"
    assert not plan(text).notes
    (note,) = plan(text, settings={"HIP_VISIBLE_DEVICES": ("0",)}).notes
    assert note == Finding(
        "gpu-masked-twice",
        "warning",
        "HIP_VISIBLE_DEVICES",
        "masks GPUs on top of ROCR_VISIBLE_DEVICES, and indices then count what that "
        "left over",
        "set ROCR_VISIBLE_DEVICES alone",
        "s",
    )


@pytest.mark.parametrize(
    ("fact", "test", "example"),
    [
        ("plugin", "1", "plugin=1.14.2"),
        ("nccl", "1", "nccl=2.24.3"),
        ("rccl", "1", "rccl=2.22.3"),
        ("torch", "1", "torch=2.6.0"),
        ("rocm", "1", "rocm=6.2.4"),
    ],
)
def test_who_depends_on_a_fact_is_named_and_how_to_state_it(
    fact: str, test: str, example: str
) -> None:
    when = f"when: {{{fact}: '{test}'}}"
    text = (
        f"env: {{A: {{value: x, {when}, {REASON}}}, B: {{value: y, {when}, {REASON}}}}}"
    )
    (note,) = plan(text).notes
    assert note == Finding(
        "fact-unknown",
        "note",
        "A, B",
        f"depends on {fact}, which is unknown: the safe value is used",
        f"state it, as in --fact {example}",
    )


def test_a_bundle_that_an_option_breaks_up_is_left_out_as_a_whole() -> None:
    text = f"bundles: {{b: {{env: {{A: 1, B: 2}}, srun: [--x], {REASON}}}}}"
    assert [bundle.name for bundle in plan(text).bundles] == ["b"]
    for given, named in (["B"], "B"), (["B", "A"], "A"):  # the bundle's first
        made = plan(text, settings=dict.fromkeys(given, ("3",)))
        assert made.bundles == ()
        assert made.notes == (
            Finding(
                "bundle-left-out",
                "note",
                "b",
                f"is left out as a whole: {named} is given for this job",
                "its parts work together only: A, B",
                "s",
            ),
        )


def test_a_system_that_is_not_in_production_is_said() -> None:
    text = f"lifecycle: {{state: %s, {REASON}}}"
    assert plan(text % "active").notes == ()
    (note,) = plan(text % "retired").notes
    assert note == Finding(
        "system-not-active",
        "warning",
        "profile p",
        "the system is not active (retired): w",
        source="s",
    )


@pytest.mark.parametrize(
    ("state", "written"),
    [
        ("site documentation", "written from documentation"),
        ("user repository", "written from scripts and quotes of users"),
        ("inferred", "partly inferred from other systems"),
        ("generated", "generated from the values of another tool"),
    ],
)
def test_a_profile_that_never_ran_is_reported(state: str, written: str) -> None:
    text = f"verified: {{state: {state}, {REASON}}}"
    (note,) = plan(text).notes
    assert (note.rule, note.severity, note.subject, note.message) == (
        "profile-never-run",
        "note",
        "profile p",
        f"{written}, never tested: run envcfg profiles probe",
    )
    assert plan(f"verified: {{state: run, {REASON}}}").notes == ()


@pytest.mark.parametrize(
    ("image", "is_pulled"),
    [
        ("docker://ubuntu", True),
        ("oras://x/y:1", True),
        ("oci-archive:x.tar", True),
        ("instance://x", False),
        ("x.sif", False),
        ("docker", False),
        (None, False),
    ],
)
def test_an_image_that_every_rank_would_pull_is_a_warning(
    image: str | None, is_pulled: bool
) -> None:
    known = runtime("apptainer")
    container = image and Container(image, False, (known,), "exec", (), ())
    notes = list(image_notes(container or None))
    assert [note.lines() for note in notes] == [
        [
            f"envcfg: warning: {image}: every rank of the job would pull and unpack this image",
            "  hint: pull it once before the job (apptainer pull image.sif URI), and give --container image.sif",
        ]
    ] * is_pulled


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"binds": (Bind("/a"),)}, "--bind needs a container, and --container is none", "drop --bind, or name the image"),
        ({"runtime_args": ("--nv",)}, "--runtime-arg needs a container, and --container is none", "drop --runtime-arg, or name the image"),
        ({"runtime": "apptainer"}, "--runtime needs a container, and --container is none", "drop --runtime, or name the image"),
        ({"launcher": "local", "starter_args": {"srun": ("--x",)}}, "--srun-arg is given, but local starts the tasks, not srun", "drop it, or choose another --launcher"),
        ({"launcher": "mpi"}, "profile p does not say which PMI the ranks of MPI use", "without MPI, as PyTorch with NCCL or RCCL: --launcher srun -- PROGRAM; with it, srun --mpi=list names what the site has, and the image's MPI must know it: --srun-arg=--mpi=pmix, or launch.srun in the profile"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_with_a_remedy(
    options: dict[str, Any], message: str, hint: str
) -> None:
    text = "name: p\nlaunch: {launchers: [srun, local]}\n"
    profile = load_profile(text.encode(), path="p", stem="p", problems=[])
    assert profile
    with pytest.raises(UsageError) as caught:
        resolve(profile, "0", Options(**options))
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("facts", "message", "hint"),
    [
        ({"rocn": "1"}, "--fact rocn=1: unknown fact 'rocn'", suggest("rocn", FACTS)),
        ({"rocm": "new"}, "--fact rocm=new: 'new' is not a version: expected numbers and dots, as in 6.2.4", None),
        ({"nodes": "0"}, "--fact nodes=0: a job has at least one node", None),
        ({"nodes": "x"}, "--fact nodes=x: 'x' is not a whole number", None),
    ],
)  # fmt: skip
def test_a_fact_that_cannot_be_is_told_from_one_that_can(
    facts: dict[str, str], message: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        check_facts(facts)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    check_facts({"nodes": "1", "rocm": "6"})


@pytest.mark.parametrize(
    "facts", [{"x": "1"}, {"rocm": "six"}, {"nodes": "0"}, {"nodes": "two"}]
)
def test_facts_that_cannot_be_are_refused(facts: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="--fact"):
        check_facts(facts)


def test_each_fact_of_a_plan_keeps_who_says_so(built_in: Catalog) -> None:
    profile = built_in.load("lumi-g")
    image = "lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.7.1.sif"
    options = Options(container=image, facts={"torch": "2.7"})
    facts = resolve(profile, "", options).facts
    said = {name: (fact.value, fact.reason.source) for name, fact in facts.items()}
    assert said["torch"] == ("2.7", "--fact")
    assert str(facts["torch"].reason.place) == "command line:1:1"  # in the plan's JSON
    assert said["launcher"] == ("srun", "envcfg")
    assert said["container"] == (image, "--container")
    rocm = facts["rocm"]
    assert rocm.value.startswith("6.2")
    assert image in rocm.reason.why
    assert rocm.reason.place.path == "profiles/lumi-g.yaml"


def test_what_depends_on_a_fact_that_nobody_states_is_told_once() -> None:
    facts = Facts({})
    for _ in range(2):
        assert facts.judge(tuple(parse_tests("rocm", ">=6")), "A")[0] is Truth.UNKNOWN
    facts.judge(tuple(parse_tests("rocm", "<7")), "B")
    assert facts.missed == {"rocm": ["A", "B"]}
