"""The profiles that come with envcfg: complete, sourced, and right where it was wrong."""

from __future__ import annotations

import pytest

from envcfg.launch.plan import Options, Plan
from envcfg.launch.resolve import resolve
from envcfg.profile.catalog import Catalog, built_in_folder
from envcfg.profile.model import Profile, Reason, Setting
from envcfg.profile.words import format_word

NAMES = Catalog([built_in_folder()]).names()


def plan(built_in: Catalog, name: str, image: str = "x.sif", **facts: str) -> Plan:
    options = Options(container=image, facts=facts, command=("true",))
    return resolve(built_in.load(name), "0", options)


def values(made: Plan) -> dict[str, str | None]:
    """Return the settings that need no more test, as the plan writes them."""
    return {
        each.name: None
        if (value := each.branches[0].value) is None
        else format_word(value)
        for each in made.settings
        if len(each.branches) == 1
    }


def reasons(profile: Profile) -> list[Reason]:
    found = [case.reason for s in profile.env.values() if s for case in s.cases]
    found += [mount.reason for mount in profile.binds.values() if mount]
    blocks = (
        profile.node, profile.cpu_masks, profile.visibility, profile.rendezvous,
        profile.scratch, profile.expect, profile.lifecycle, profile.verified,
    )  # fmt: skip
    return found + [block.reason for block in blocks if block]


@pytest.mark.parametrize("name", NAMES)
def test_everything_in_a_profile_says_why_and_who_says_so(
    built_in: Catalog, name: str
) -> None:
    profile = built_in.load(name)
    assert profile.summary
    assert profile.lifecycle
    assert profile.verified
    for reason in reasons(profile):
        assert len(reason.why) > 10, reason
        assert len(reason.source) > 5, reason
        assert "2017" < reason.date < "2027", reason


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_makes_a_plan_with_each_launcher(
    built_in: Catalog, name: str
) -> None:
    profile = built_in.load(name)
    for launcher in profile.launchers or ("srun", "torchrun", "local"):
        options = Options(container="x.sif", launcher=launcher, command=("true",))
        assert resolve(profile, "0", options).launcher == launcher


# The known conflict: GPU RDMA's level hangs with the ROCm 7 images, and helps before.


@pytest.mark.parametrize(
    ("image", "facts", "expected"),
    [
        ("x.sif", {"rocm": "6.2.4"}, "PHB"),
        ("x.sif", {"rocm": "7.0"}, None),
        ("lumi-multitorch-full-u24r70f21m50t210-20260513.sif", {}, None),
        ("lumi-multitorch-full-u24r64f21m50t210-20260513.sif", {}, "PHB"),
        ("lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif", {}, "PHB"),
        # what the user states wins over what a name says
        (
            "lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif",
            {"rocm": "7.1"},
            None,
        ),
    ],
)
def test_lumi_s_gdr_level_follows_rocm(
    built_in: Catalog, image: str, facts: dict[str, str], expected: str | None
) -> None:
    made = plan(built_in, "lumi-g", image, **facts)
    assert values(made)["NCCL_NET_GDR_LEVEL"] == expected
    assert not made.notes


def test_where_rocm_is_not_known_lumi_s_gdr_level_is_left_alone(
    built_in: Catalog,
) -> None:
    made = plan(built_in, "lumi-g", "pytorch.sif")
    assert "NCCL_NET_GDR_LEVEL" not in values(made)
    assert [note.rule for note in made.notes] == ["fact-unknown"]


@pytest.mark.parametrize(
    ("image", "verb", "host_fabric", "monitor"),
    [
        ("/appl/lumi-multitorch-latest.sif", "run", False, "userfaultfd"),
        ("/scratch/pytorch.sif", "exec", True, None),
    ],
)
def test_lumi_s_images_are_entered_as_they_need(
    built_in: Catalog, image: str, verb: str, host_fabric: bool, monitor: str | None
) -> None:
    made = plan(built_in, "lumi-g", image)
    assert made.container
    assert made.container.verb == verb
    assert ("/opt/cray" in [bind.spec for bind in made.container.binds]) is host_fabric
    assert values(made).get("FI_MR_CACHE_MONITOR") == monitor


def test_lumi_s_masks_pin_each_gcd_to_the_seven_cores_of_its_ccd(
    built_in: Catalog,
) -> None:
    masks = built_in.load("lumi-g").cpu_masks
    assert masks
    ccd_of_gcd = (6, 7, 2, 3, 0, 1, 4, 5)
    assert [int(mask, 16) for mask in masks.masks] == [
        0xFE << 8 * ccd for ccd in ccd_of_gcd
    ]


def test_what_lumi_unsets_of_the_family_is_in_the_family(built_in: Catalog) -> None:
    family = built_in.load("slingshot-rocm").env
    gone = [
        name for name, setting in built_in.load("lumi-g").env.items() if setting is None
    ]
    assert gone
    assert all(isinstance(family.get(name), Setting) for name in gone)
