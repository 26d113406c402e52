"""The profiles that come with envcfg: complete, sourced, and good for a job that runs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.launch import script
from envcfg.launch.plan import Options, Plan
from envcfg.launch.render import render_script
from envcfg.launch.resolve import resolve
from envcfg.profile.catalog import Catalog, built_in_folder
from envcfg.profile.conditions import LAUNCHERS
from envcfg.profile.model import Profile, Reason
from environment import environment
from support import bash, require
from support import environment as environment_of

NAMES = Catalog([built_in_folder()]).names()
BUILT_IN = {name: Catalog([built_in_folder()]).load(name) for name in NAMES}
TEMPLATES = Path(script.__file__).parent / "templates"
FAKES = Path(__file__).parent.parent / "fakes"
STACKS = [
    {},
    {"rocm": "6.2.4", "plugin": "1.4", "rccl": "2.20.5"},
    {"rocm": "7.0.2", "plugin": "1.18.0", "libfabric": "2.1"},
    {"rocm": "7.2.1", "cuda": "12.9", "nccl": "2.27.5", "plugin": "1.13"},
]


def launchers(profile: Profile) -> list[str]:
    """Return the launchers that the profile allows and that there is a template for."""
    allowed = profile.launchers or LAUNCHERS
    return [each for each in allowed if (TEMPLATES / f"{each}.sh").exists()]


TRIED = [
    (name, launcher)
    for name, profile in BUILT_IN.items()
    for launcher in launchers(profile)
    if launcher != "flux"  # has fakes of its own, in tests/launch/test_run_flux.py
]


def reasons(value: object) -> Iterator[Reason]:
    """Yield every reason in a profile, wherever it stands."""
    if isinstance(value, Reason):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from reasons(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from reasons(each)


def entries(value: object) -> Iterator[object]:
    """Yield every setting's case, bind, bundle, rule, partition and block."""
    if hasattr(value, "_fields") and "reason" in getattr(value, "_fields", ()):
        yield value
    if isinstance(value, dict):
        for each in value.values():
            yield from entries(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from entries(each)


@pytest.mark.parametrize("name", NAMES)
def test_everything_in_a_profile_says_why_and_who_says_so(name: str) -> None:
    profile = BUILT_IN[name]
    assert profile.summary
    assert profile.lifecycle
    assert profile.verified
    assert profile.request
    found = list(reasons(profile))
    of_the_family = len(profile.expect.others) if profile.expect else 0
    assert len(found) == len(list(entries(profile))) + of_the_family > 3
    for reason in found:
        assert len(reason.why) > 8, reason
        assert len(reason.source) > 5, reason
        assert "2017" < reason.date < "2027", reason


@pytest.mark.parametrize("name", NAMES)
def test_each_profile_says_itself_how_it_was_verified(name: str) -> None:
    own = Catalog([built_in_folder()]).own(name)
    assert own.verified
    assert own.lifecycle


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("aws-p4d", {"provider": "efa", "nics": 4, "gdr": True}),
        ("aws-p5", {"provider": "efa", "nics": 32, "gdr": True}),
        ("mahti", {"networks": ("IB", "IBext"), "nics": 1}),
        ("puhti", {"networks": ("IB", "IBext")}),
        ("juwels-booster", {"networks": ("IB", "IBext"), "interfaces": ("ib0",), "nics": 4}),
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


@pytest.mark.parametrize("name", NAMES)
def test_what_a_profile_takes_back_is_in_its_family(name: str) -> None:
    profile = BUILT_IN[name]
    own = Catalog([built_in_folder()])._merge([f"{built_in_folder()}/{name}.yaml"])
    family = BUILT_IN[profile.extends.name] if profile.extends else Profile(name="none")
    for field in ("env", "bundles", "rules", "partitions", "modules", "binds", "srun"):
        above = getattr(family, field)
        gone = {key for key, entry in getattr(own, field).items() if entry is None}
        assert gone <= {key for key, entry in above.items() if entry is not None}, field


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_stands_in_env_or_in_bundles(name: str) -> None:
    profile = BUILT_IN[name]
    plain = {key for key, setting in profile.env.items() if setting}
    for bundle in profile.bundles.values():
        assert not plain & set(bundle.env if bundle else ()), bundle


def plan(name: str, launcher: str, image: str | None, *command: str, **facts: str) -> Plan:  # fmt: skip
    options = Options(
        container=image, launcher=launcher, facts=facts, command=command, ranks=2
    )
    return resolve(BUILT_IN[name], "0", options)


@pytest.mark.parametrize(("name", "launcher"), TRIED)
def test_a_profile_makes_bash_for_any_nodes_image_and_stack(
    name: str, launcher: str
) -> None:
    texts = {
        render_script(plan(name, launcher, image, "true", **nodes, **facts), ["envcfg"])
        for image in (None, "x.sif")
        for nodes in ({"nodes": "1"}, {"nodes": "4"})
        for facts in STACKS
    }
    checked = subprocess.run(  # all in one, as a process for each would take long
        ["bash", "-n"], input="\n".join(sorted(texts)).encode(), capture_output=True, check=False
    )  # fmt: skip
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_profile_makes_is_clean_for_shellcheck(
    name: str, tmp_path: Path
) -> None:
    require("shellcheck")
    for launcher in launchers(BUILT_IN[name]):
        made = plan(name, launcher, "/x.sif", "true", rocm="7.0.2", plugin="1.18")
        (tmp_path / f"{launcher}.sh").write_text(render_script(made, ["envcfg"]))
    checked = subprocess.run(
        ["shellcheck", "-x", "-e", "SC2034,SC2153,SC2154", *tmp_path.glob("*.sh")],
        capture_output=True,
        check=False,
    )
    assert checked.stdout.decode() == ""


# Stands in for python and for the program: as torchrun it starts two ranks, as the program
# it writes down its environment.
PROGRAM = """#!/bin/bash
if [[ $1 != -m ]]; then
  env -0 >"$OUT/$RANK.env"
  exit
fi
while [[ $1 != --no-python ]]; do shift; done
shift
for i in 0 1; do GROUP_RANK=$NODE_RANK RANK=$((2 * NODE_RANK + i)) LOCAL_RANK=$i "$@"; done
"""


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("name", "launcher"), TRIED)
def test_what_a_profile_makes_runs_and_its_variables_arrive(
    name: str, launcher: str, tmp_path: Path
) -> None:
    """With fakes for srun and the runtimes, and none of the paths that are optional."""
    nodes = 1 if launcher == "local" else 2
    program, image = tmp_path / "python3", tmp_path / "x.sif"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    image.touch()
    stack = {"rocm": "7.0.2", "plugin": "1.18", "cuda": "12.9", "nccl": "2.27.5"}
    made = plan(name, launcher, str(image), str(program), "train.py", **stack)
    assert made.settings or name == "workstation"
    done = bash(
        f"set -euo pipefail\n{render_script(made, ['envcfg'])}",
        OUT=str(tmp_path),
        SLURM_NNODES=str(nodes),
        FAKE_NODES=str(nodes),
        FAKE_TASKS="1" if launcher == "torchrun" else "2",
    )
    assert done.returncode == 0, done.stderr.decode()
    written = sorted(tmp_path.glob("*.env"))
    assert [path.stem for path in written] == [str(rank) for rank in range(2 * nodes)]
    for rank, path in enumerate(written):
        seen = {
            name.decode(): value.decode("utf-8", "surrogateescape")
            for name, value in environment_of(path).items()
        }
        assert (seen["RANK"], seen["LOCAL_RANK"]) == (str(rank), str(rank % 2))
        identity = {key: seen[key] for key in ("RANK", "LOCAL_RANK")}
        cache = re.sub("/[^/]*$", "", seen.get("TRITON_CACHE_DIR", ""))
        expected = environment(made, {**os.environ}, {**identity, "ENVCFG_CACHE": cache}, nodes)  # fmt: skip
        for setting in made.settings:
            assert seen.get(setting.name) == expected.get(setting.name), setting.name
        for bundle in made.bundles:
            for variable in bundle.env:
                assert seen.get(variable) == expected.get(variable), variable


def test_lumi_s_masks_pin_each_gcd_to_the_seven_cores_of_its_ccd() -> None:
    masks = BUILT_IN["lumi-g"].cpu_masks
    assert masks
    ccd_of_gcd = (6, 7, 2, 3, 0, 1, 4, 5)
    assert [int(mask, 16) for mask in masks.masks] == [
        0xFE << 8 * ccd for ccd in ccd_of_gcd
    ]
