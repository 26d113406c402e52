"""The container recipes: pinned, labelled, and silent on what profiles set.

spython's parser reads them; what it gets wrong (letter case of the base image) and what
it does not read (the values in ``%post``) is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import FACTS, fact_problem
from support import ROOT

FOLDER = ROOT / "container-recipes"
RECIPES = sorted(FOLDER.glob("*.def"))
LABEL = "org.envcfg."

recipes = pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)


def header(path: Path, key: str) -> str:
    """Return the value of *key* in what stands before the first section."""
    found = re.search(rf"^{key}:[ ]*(\S+)$", path.read_text(), re.MULTILINE)
    assert found
    return found[1]


def section(path: Path, name: str) -> list[str]:
    """Return the lines of a section, without comments and empty ones."""
    _, _, rest = path.read_text().partition(f"\n%{name}\n")
    body = re.split(r"^%\w", rest, maxsplit=1, flags=re.MULTILINE)[0]
    lines = (line.strip() for line in body.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def facts(path: Path) -> dict[str, str]:
    """Return the labels that are facts."""
    pairs = (line.split(maxsplit=1) for line in section(path, "labels"))
    return {
        name.removeprefix(LABEL): value
        for name, value in pairs
        if name.startswith(LABEL)
    }


def assigned(path: Path) -> set[str]:
    """Return the names that ``%environment`` gives a value."""
    text = "\n".join(section(path, "environment"))
    return set(re.findall(r"\b([A-Za-z_][A-Za-z0-9_]*)\+?=", text))


def parse(path: Path) -> Mapping[str, object]:
    """Return what spython reads in a recipe."""
    from spython.main.parse.parsers.singularity import SingularityParser

    (recipe,) = SingularityParser(str(path)).recipe.values()
    return dict(vars(recipe))


def test_there_is_a_recipe_for_rocm_and_one_for_cpus() -> None:
    assert [path.stem for path in RECIPES] == ["pytorch-cpu", "pytorch-rocm"]


@recipes
def test_the_base_image_is_pinned(path: Path) -> None:
    assert header(path, "Bootstrap") == "docker"
    image = header(path, "From")
    if "@" not in image:
        name, _, tag = image.partition(":")
        assert name
        assert re.search("[0-9]", tag), "a tag that names no version moves"
        assert tag != "latest"


@recipes
def test_spython_reads_the_same(path: Path) -> None:
    read = parse(path)
    assert read["fromHeader"] == header(path, "From").lower()
    assert read["labels"] == section(path, "labels")
    variables = [line.removeprefix("export ") for line in section(path, "environment")]
    assert read["environ"] == variables
    assert read["install"], "it found no commands in %post"


@recipes
def test_labels_are_facts_that_envcfg_takes(path: Path) -> None:
    labels = facts(path)
    assert labels
    for name, value in labels.items():
        assert name in FACTS
        assert None is fact_problem(name, value)


@recipes
def test_labels_agree_with_what_is_installed(path: Path) -> None:
    image = header(path, "From")
    installed = dict(
        re.findall(r"^(\w+)_version=(\S+)$", "\n".join(section(path, "post")), re.M)
    )
    for name, value in facts(path).items():
        if name in installed:
            assert value == installed[name]
        else:
            named = rf"{name}(_release_)?_?{re.escape(value)}(_|$)"
            assert re.search(named, image), f"{name} {value} is not in {image}"


@recipes
def test_help_states_the_versions_of_the_labels(path: Path) -> None:
    text = "\n".join(section(path, "help"))
    for name, value in facts(path).items():
        assert name == "plugin" or value in text


@recipes
def test_no_variable_is_set_that_a_profile_sets(path: Path, built_in: Catalog) -> None:
    names = built_in.names()
    assert names
    profiles = [built_in.load(name) for name in names]
    owned = {variable for profile in profiles for variable in profile.env}
    owned |= {each.visibility.variable for each in profiles if each.visibility}
    owned |= {
        name for each in profiles if each.visibility for name in each.visibility.clear
    }
    assert "NCCL_SOCKET_IFNAME" in owned
    assert assigned(path)
    assert not assigned(path) & owned
    prefixes = ("NCCL_", "RCCL_", "FI_", "OFI_", "MIOPEN_", "HSA_", "CXI_", "MASTER_")
    assert not [name for name in assigned(path) if name.startswith(prefixes)]


@recipes
def test_what_is_downloaded_is_checked(path: Path) -> None:
    lines = section(path, "post")
    for line in lines:
        if "https://" in line:
            assert line.startswith("fetch ") or "pip install" in line
    checksums = [line for line in lines if re.fullmatch("[0-9a-f]{64}", line)]
    assert len(checksums) == len([line for line in lines if line.startswith("fetch ")])


@recipes
def test_the_readme_names_the_recipe_and_its_facts(path: Path) -> None:
    text = (FOLDER / "README.md").read_text()
    assert f"({path.name})" in text
    assert f"apptainer build {path.stem}.sif {path.name}" in text
