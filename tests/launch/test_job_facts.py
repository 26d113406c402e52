"""Who says what of an image: its name, its content, the user; and who wins."""

from __future__ import annotations

import pytest

from envcfg.common.errors import UsageError
from envcfg.job.plan.plan import ImageFacts, Options, Plan
from envcfg.job.plan.plan_facts import check_facts
from envcfg.job.plan.plan_notes import first_values
from envcfg.job.plan.resolve import resolve
from envcfg.profile.catalog import Catalog
from envcfg.profile.profile_model import Profile
from envcfg.profile.read.profile_loader import load_profile

SAID = "why: w, source: s, date: 2026-01-01"
TEXT = f"""
name: site
container:
  image_facts:
    - {{pattern: "-r(?P<major>[0-9])(?P<minor>[0-9])-", facts: {{rocm: "{{major}}.{{minor}}"}}, {SAID}}}
env:
  GDR: {{value: PHB, when: {{rocm: "<7"}}, {SAID}}}
  OWN: {{value: 1, when: {{container: "site-*"}}, {SAID}}}
"""
NOTHING = ImageFacts()
READ = {"rocm": ("6.2.4", "/opt/rocm/.info/version")}


def profile() -> Profile:
    problems: list[object] = []
    made = load_profile(TEXT.encode(), path="site.yaml", stem="site", problems=problems)  # type: ignore[arg-type]
    assert made, problems
    return made


def plan(image: str, read: ImageFacts = NOTHING, **facts: str) -> Plan:
    return resolve(
        profile(), "0", Options(container=image, image_facts=read, facts=facts)
    )


def set_in(made: Plan) -> set[str]:
    return {each.name for each in made.settings}


def notes(made: Plan) -> dict[str, list[str]]:
    return {
        each.rule: each.lines() for each in made.notes if each.rule == "fact-conflict"
    }


def test_what_is_read_in_the_image_is_known_and_says_where_it_stands() -> None:
    made = plan("/x/my.sif", ImageFacts(READ))
    fact = made.facts["rocm"]
    assert (fact.value, fact.reason.why) == (
        "6.2.4",
        "read in the image: /opt/rocm/.info/version",
    )
    assert "GDR" in set_in(made)
    assert not any(each.rule == "fact-unknown" for each in made.notes)


def test_a_stated_fact_wins_and_the_conflict_is_a_warning() -> None:
    made = plan("/x/my.sif", ImageFacts(READ), rocm="7.0")
    assert made.facts["rocm"].value == "7.0"
    assert "GDR" not in set_in(made)
    assert notes(made) == {
        "fact-conflict": [
            "envcfg: warning: rocm: --fact says 7.0, which wins: the image has 6.2.4 (read in the image: /opt/rocm/.info/version)",
            "  hint: leave out --fact rocm=7.0, or take the image that has it",
        ]
    }


def test_the_content_wins_over_the_name_and_the_conflict_is_a_warning() -> None:
    made = plan("/x/site-r70-x.sif", ImageFacts(READ))
    assert made.facts["rocm"].value == "6.2.4"
    (lines,) = notes(made).values()
    assert "its name says 7.0" in lines[0]


@pytest.mark.parametrize("stated", ["6", "6.2", "6.2.4"])
def test_to_say_the_same_less_precisely_is_no_conflict(stated: str) -> None:
    made = plan("/x/site-r62-x.sif", ImageFacts(READ), rocm=stated)
    assert notes(made) == {}


def test_an_image_made_from_one_of_the_site_counts_as_that_one() -> None:
    bases = ("/appl/images/site-r70-x.sif", "docker://ubuntu:24.04")
    made = plan("/home/me/mine.sif", ImageFacts(bases=bases))
    assert made.facts["container"].value == "site-r70-x.sif"
    assert (
        made.facts["container"].reason.why == "the image was made from site-r70-x.sif"
    )
    assert made.facts["rocm"].value == "7.0"
    assert "OWN" in set_in(made)


def test_one_made_from_what_nobody_knows_keeps_its_name() -> None:
    made = plan("/home/me/mine.sif", ImageFacts(bases=("ubuntu:24.04",)))
    assert made.facts["container"].value == "mine.sif"
    assert "OWN" not in set_in(made)


def test_its_own_name_comes_first() -> None:
    made = plan("/x/site-r62-y.sif", ImageFacts(bases=("site-r70-x.sif",)))
    assert made.facts["container"].value == "site-r62-y.sif"


@pytest.mark.parametrize(
    "facts", [{"rocm": ("new", "/x")}, {"colour": ("7", "/x")}], ids=["value", "name"]
)
def test_what_cannot_be_a_fact_is_none(facts: dict[str, tuple[str, str]]) -> None:
    made = plan("/x/my.sif", ImageFacts(facts))
    assert not made.facts.keys() & facts.keys()


def test_versions_that_do_not_go_together_are_a_warning() -> None:
    read = {"nccl": ("2.28.9", "/n"), "plugin": ("1.17.2", "/p")}
    made = plan("/x/my.sif", ImageFacts(read))
    assert [each.rule for each in made.notes if each.rule.startswith("stack-")] == [
        "stack-nccl-ofi-2.28.9"
    ]


@pytest.mark.parametrize("name", ["lumi-g", "frontier"])
def test_gpu_aware_mpi_is_set_up_only_for_the_mpi_that_needs_it(
    name: str, built_in: Catalog
) -> None:
    def values(**facts: str) -> dict[str, str]:
        options = Options(container="x.sif", facts={"rocm": "6.2.4", **facts})
        made = resolve(built_in.load(name), "0", options)
        assert not [each for each in made.notes if "mpi" in each.message]
        return first_values({each.name: each for each in made.settings})

    switch = "MPICH_GPU_SUPPORT_ENABLED"
    assert values(mpi="cray")[switch] == "1"
    assert "libmpi_gtl_hsa" in values(mpi="cray")["LD_PRELOAD"]
    for other in ({}, {"mpi": "mpich"}, {"mpi": "open-mpi"}):
        made = values(**other)
        assert switch not in made
        assert "gtl" not in made.get("LD_PRELOAD", "")


def test_an_mpi_that_is_not_known_is_a_usage_error() -> None:
    check_facts({"mpi": "cray"})
    with pytest.raises(UsageError, match=r"--fact mpi=crya: .* cray, mpich, open-mpi"):
        check_facts({"mpi": "crya"})


# how the image's Horovod is built, options of srun, the starter, and whether Horovod
# gets the variables of gloo; or the error
@pytest.mark.parametrize(
    ("parts", "words", "starter", "wanted"),
    [
        ("MPI, NCCL, ROCm", ("--mpi=pmi2",), "srun", False),
        ("MPI, NCCL, ROCm", (), "srun", "the image's horovod meets by MPI only"),
        ("MPI, NCCL", (), "pbs", False),
        ("MPI, NCCL", (), "local", "the image's horovod has MPI, and no Gloo, and local"),
        ("MPI, NCCL", (), "flux", "the image's horovod has MPI, and no Gloo, and flux"),
        ("Gloo, NCCL, CUDA", (), "srun", True),
        ("Gloo, NCCL, CUDA", ("--mpi=pmi2",), "srun", True),
        ("Gloo", (), "local", True),
        ("MPI, Gloo, NCCL", ("--mpi=pmi2",), "srun", False),
        ("MPI, Gloo, NCCL", (), "srun", True),
        ("NCCL", (), "srun", True),
        (None, (), "srun", True),
        (None, ("--mpi=pmi2",), "srun", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [False, True])
def test_horovod_s_ranks_meet_by_what_its_library_has(
    parts: str | None,
    words: tuple[str, ...],
    starter: str,
    wanted: bool | str,
    command: bool,
) -> None:
    text = f"name: p\nlaunch: {{launchers: [{starter}, torchrun]}}\n"
    problems: list[object] = []
    made = load_profile(text.encode(), path="p", stem="p", problems=problems)  # type: ignore[arg-type]
    assert made, problems
    facts = {"horovod-torch": (parts, "/x/mpi_lib.so")} if parts else {}
    options = Options(
        container="/x/a.sif",
        image_facts=ImageFacts(facts),
        starter_args={"srun": words},
        launcher=None if command else "horovod",
        command=("horovodrun", "-np", "4", "python", "t.py") if command else (),
        ranks=4,
        facts={"nodes": "1"},
    )
    if isinstance(wanted, str):
        with pytest.raises(UsageError) as caught:
            resolve(made, "0", options)
        assert wanted in caught.value.message
        assert caught.value.hint
    else:
        result = resolve(made, "0", options)
        assert (result.launcher, result.contract) == ("horovod", wanted)
