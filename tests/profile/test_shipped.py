"""The profiles that come with envcfg: complete, sourced, and clean bash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from images import Stack, parts
from outcomes import launchers, plan

from envcfg.job.script.host_part import render_script
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Expect, Profile
from suites import FEW, mark_systems
from support import lint_script

NAMES = Catalog([built_in_folder()]).names()
BUILT_IN = {name: Catalog([built_in_folder()]).load(name) for name in NAMES}


def entries(value: object) -> Iterator[object]:
    """Yield every setting's case, bind, bundle, rule, partition and block with a reason."""
    if isinstance(getattr(value, "reason", None), Reason):
        yield value
    if isinstance(value, dict):
        for each in value.values():
            yield from entries(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from entries(each)


@pytest.mark.parametrize("name", mark_systems(NAMES))
def test_everything_in_a_profile_says_why_and_who_says_so(name: str) -> None:
    profile = BUILT_IN[name]
    assert profile.summary
    assert profile.lifecycle
    assert profile.verified
    assert profile.request
    found = list(parts(profile, Reason))
    of_the_family = sum(len(expect.others) for expect in parts(profile, Expect))
    assert len(found) == len(list(entries(profile))) + of_the_family > 3
    for reason in found:
        assert len(reason.why) > 8, reason
        assert len(reason.source) > 5, reason
        assert "2017" < reason.date < "2027", reason


@pytest.mark.parametrize("name", mark_systems(NAMES))
def test_each_profile_says_itself_how_it_was_verified(name: str) -> None:
    own = Catalog([built_in_folder()]).own(name)
    assert own.verified
    assert own.lifecycle


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_whose_reason_is_a_refusal_is_one_for_lint(name: str) -> None:
    for rule in BUILT_IN[name].rules.values():
        if rule and re.search(r"refuses (?:a|the) job", rule.reason.why):
            assert rule.refused, rule


UVERBS = ("/dev/infiniband/uverbs*",)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("aws-p4d", {"provider": "efa", "nics": 4, "gdr": True}),
        ("aws-p5", {"provider": "efa", "nics": 32, "gdr": True}),
        ("mahti", {"networks": ("IB", "IBext"), "nics": 1, "devices": UVERBS}),
        ("puhti", {"networks": ("IB", "IBext"), "devices": UVERBS}),
        ("juwels-booster", {"networks": ("IB", "IBext"), "interfaces": ("ib0",), "nics": 4, "devices": UVERBS}),
        ("polaris", {"networks": ("AWS Libfabric", "Libfabric", "OFI"), "provider": "cxi",
                     "interfaces": ("hsn0", "hsn1"), "nics": 2, "devices": ("/dev/cxi*",)}),
        ("azure-ndh100", {"networks": ("IB", "IBext"), "nics": 8, "devices": UVERBS}),
        ("azure-ndgb200", {"networks": ("IB", "IBext"), "devices": UVERBS}),
        ("google-a3-mega", {"networks": ("FasTrak",), "devices": ("/dev/aperture_devices/*",)}),
        ("google-a3-ultra", {"networks": ("gIB",), "nics": 8, "devices": UVERBS}),
        ("google-a4", {"networks": ("gIB",), "nics": 8, "devices": UVERBS}),
        ("roce-cuda", {"networks": ("IB", "IBext"), "devices": UVERBS}),
        ("oci-h100", {"networks": ("IB", "IBext"), "nics": 16, "devices": UVERBS}),
        ("oci-h200", {"networks": ("IB", "IBext"), "nics": 8, "devices": UVERBS}),
        ("roce-rocm-broadcom", {"networks": ("IB",)}),
        ("roce-rocm-pollara", {"networks": ("IB", "RCCL-ANP")}),
    ],
)  # fmt: skip
def test_a_profile_and_its_family_say_together_what_the_log_must_show(
    name: str, shown: dict[str, object]
) -> None:
    expect = BUILT_IN[name].expect
    assert expect
    said = expect.said()
    if name.startswith("aws"):
        assert said.pop("networks") == ("AWS Libfabric", "Libfabric", "OFI")
        assert expect.reason_of("provider").place.path == "profiles/efa.yaml"
        assert expect.reason_of("nics").place.path == f"profiles/{name}.yaml"
    assert said == shown


@pytest.mark.parametrize("name", mark_systems(NAMES))
def test_what_a_profile_takes_back_is_in_its_family(name: str) -> None:
    profile = BUILT_IN[name]
    own = Catalog([built_in_folder()])._merge([f"{built_in_folder()}/{name}.yaml"])
    family = BUILT_IN[profile.extends.name] if profile.extends else Profile(name="none")
    for field in ("env", "bundles", "rules", "partitions", "modules", "binds", "srun"):
        above = getattr(family, field)
        gone = {key for key, entry in getattr(own, field).items() if entry is None}
        assert gone <= {key for key, entry in above.items() if entry is not None}, field


@pytest.mark.parametrize("name", mark_systems(NAMES))
def test_a_variable_stands_in_env_or_in_bundles(name: str) -> None:
    profile = BUILT_IN[name]
    plain = {key for key, setting in profile.env.items() if setting}
    for bundle in profile.bundles.values():
        assert not plain & set(bundle.env if bundle else ()), bundle


@pytest.mark.parametrize("name", mark_systems(NAMES, FEW))
def test_what_a_profile_makes_is_clean_for_shellcheck(
    name: str,
) -> None:
    stack = Stack(facts={"rocm": "7.0.2", "plugin": "1.18"})
    for launcher in launchers(BUILT_IN[name]):
        made = plan(BUILT_IN[name], launcher, stack, Path("/x"))
        assert lint_script(render_script(made, ["envcfg"])) == ""


def test_lumi_s_masks_pin_each_gcd_to_the_seven_cores_of_its_ccd() -> None:
    masks = BUILT_IN["lumi-g"].cpu_masks
    assert masks
    ccd_of_gcd = (6, 7, 2, 3, 0, 1, 4, 5)
    assert [int(mask, 16) for mask in masks.masks] == [
        0xFE << 8 * ccd for ccd in ccd_of_gcd
    ]
