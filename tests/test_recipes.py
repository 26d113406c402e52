"""The container recipes: pinned, labelled, and without variables that profiles set.

spython reads all of them. It knows no other base than Docker's, so it gets a copy that names
this one; it writes the base in small letters. The values in ``%post`` are read here. One recipe
is built whole (tests/cluster/test_recipe_image.py), two without their part for GPUs
(tests/cluster/test_recipe_frameworks.py).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from envcfg.knowledge.variables import find_variable
from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import FACTS, fact_problem
from scripts.locks import FOLDER as FOLDER_OF_LOCKS
from scripts.locks import read_lock
from support import ROOT

FOLDER = ROOT / "container-recipes"
RECIPES = sorted(FOLDER.glob("*.def"))
LABEL = "org.envcfg."

BUILT = {"pytorch-cpu"}  # by tests/cluster/test_recipe_image.py
# The recipes of the LUMI AI workshop (Helsinki, February 2025, "Extreme scale AI training"),
# variable by variable; $MPICH_PATH and $ROCM_PATH are the reader's.
HOROVOD = """
HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_GPU=ROCM HOROVOD_ROCM_HOME=$ROCM_PATH
HOROVOD_GPU_OPERATIONS=NCCL HOROVOD_CPU_OPERATIONS=MPI HOROVOD_WITH_MPI=1
HOROVOD_ROCM_PATH=$ROCM_PATH HOROVOD_RCCL_HOME=$ROCM_PATH/rccl
RCCL_INCLUDE_DIRS=$ROCM_PATH/rccl/include HOROVOD_RCCL_LIB=$ROCM_PATH/rccl/lib
HCC_AMDGPU_TARGET=gfx90a CMAKE_PREFIX_PATH=$MPICH_PATH
HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1
HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITH_PYTORCH=1
""".split()
DEEPSPEED = """
DS_BUILD_AIO=0 DS_BUILD_CCL_COMM=1 DS_BUILD_CPU_ADAM=0 DS_BUILD_CPU_LION=0
DS_BUILD_EVOFORMER_ATTN=0 DS_BUILD_FUSED_ADAM=1 DS_BUILD_FUSED_LION=1 DS_BUILD_CPU_ADAGRAD=0
DS_BUILD_FUSED_LAMB=1 DS_BUILD_QUANTIZER=0 DS_BUILD_RANDOM_LTD=0 DS_BUILD_SPARSE_ATTN=0
DS_BUILD_TRANSFORMER=0 DS_BUILD_TRANSFORMER_INFERENCE=0 DS_BUILD_STOCHASTIC_TRANSFORMER=1
""".split()
SUMS = {"sha256sum": 64, "sha512sum": 128}  # digits of what they print
SHELL_SECTIONS = ("post", "environment", "test")


def each(paths: Iterable[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", list(paths), ids=lambda path: path.stem)


recipes = each(RECIPES)


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


def script(path: Path, name: str) -> str:
    """Return a section as the shell reads it, without its indentation; "" for none."""
    _, _, rest = path.read_text().partition(f"\n%{name}\n")
    return textwrap.dedent(re.split(r"^%\w", rest, maxsplit=1, flags=re.MULTILINE)[0])


def commands(path: Path) -> list[str]:
    """Return the lines of ``%post``, where continued ones are one."""
    text = "\n".join(section(path, "post")).replace("\\\n", " ")
    return [re.sub(" +", " ", line) for line in text.splitlines()]


def base(path: Path) -> Path:
    """Return the recipe that starts from an image of Docker's: this or the one below."""
    if header(path, "Bootstrap") == "docker":
        return path
    return FOLDER / header(path, "From").replace(".sif", ".def")


def facts(path: Path) -> dict[str, str]:
    """Return the labels that are facts; those that are only known when it is built not."""
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


def parse(path: Path, folder: Path) -> Mapping[str, object]:
    """Return what spython reads in a recipe, from a copy in *folder*."""
    from spython.main.parse.parsers.singularity import SingularityParser

    copy = folder / path.name
    copy.write_text(
        path.read_text().replace("Bootstrap: localimage", "Bootstrap: docker", 1)
    )
    (recipe,) = SingularityParser(str(copy)).recipe.values()
    return dict(vars(recipe))


def test_there_is_a_recipe_for_each_kind_of_gpu_and_framework() -> None:
    assert [path.stem for path in RECIPES] == [
        "deepspeed-rocm",
        "deepspeed",
        "horovod-rocm",
        "horovod",
        "pytorch-cpu",
        "pytorch-cuda-slingshot",
        "pytorch-rocm",
    ]


@recipes
def test_the_base_image_is_pinned(path: Path) -> None:
    image = header(path, "From")
    if header(path, "Bootstrap") == "localimage":
        assert base(path) in RECIPES, "no recipe here makes it"
        assert header(base(path), "Bootstrap") == "docker"
        return
    assert header(path, "Bootstrap") == "docker"
    if "@" not in image:
        name, _, tag = image.partition(":")
        assert name
        assert re.search("[0-9]", tag), "a tag that names no version moves"
        assert tag != "latest"


@recipes
def test_spython_reads_the_same(path: Path, tmp_path: Path) -> None:
    read = parse(path, tmp_path)
    assert read["fromHeader"] == header(path, "From").lower()
    assert read["labels"] == section(path, "labels")
    variables = [line.removeprefix("export ") for line in section(path, "environment")]
    assert read["environ"] == variables
    lines = [str(line).strip() for line in read["install"]]  # type: ignore[attr-defined]
    commands_read = [line for line in lines if line and not line.startswith("#")]
    post = section(path, "post")
    assert commands_read[: len(post)] == post  # after them come the lines of %test


@pytest.mark.parametrize(
    ("name", "variables"), [("horovod-rocm", HOROVOD), ("deepspeed-rocm", DEEPSPEED)]
)
def test_recipes_for_rocm_set_each_variable_of_the_training_material(
    name: str, variables: list[str], tmp_path: Path
) -> None:
    path = FOLDER / f"{name}.def"
    read = "\n".join(map(str, parse(path, tmp_path)["install"]))  # type: ignore[call-overload]
    words = read.replace("\\\n", " ").split()
    assert [word for word in variables if word not in words] == []


def test_the_material_sets_15_operators_and_ends_with_the_report() -> None:
    path = FOLDER / "deepspeed-rocm.def"
    assert len(DEEPSPEED) == 15
    assert commands(path)[-1] == "ds_report"
    assert "ds_report" in section(path, "test")


@recipes
def test_it_has_the_sections_that_it_needs_and_no_other(path: Path) -> None:
    names = re.findall(r"^%(\w+)$", path.read_text(), re.MULTILINE)
    order = ["post", "environment", "test", "labels", "help"]
    assert names == [name for name in order if name in names]
    assert {"post", "test", "help"} <= set(names)


@recipes
@pytest.mark.parametrize("name", ["post", "test"])
def test_a_failure_ends_the_build(path: Path, name: str) -> None:
    assert section(path, name)[0] == "set -eu"
    assert not re.search(r"\|\| (:|true)$", script(path, name), re.MULTILINE)


@recipes
@pytest.mark.parametrize("name", SHELL_SECTIONS)
@pytest.mark.skipif(not shutil.which("shellcheck"), reason="there is no shellcheck")
def test_shellcheck_finds_nothing(path: Path, name: str) -> None:
    # SC2154: Apptainer sets one of the two variables for labels, SingularityCE the other.
    argv = ["shellcheck", "--shell=sh", "--exclude=SC2154", "-"]
    done = subprocess.run(
        argv, input=script(path, name), capture_output=True, text=True, check=False
    )
    assert done.stdout == ""


@recipes
@pytest.mark.parametrize("name", SHELL_SECTIONS)
@pytest.mark.skipif(not shutil.which("shfmt"), reason="there is no shfmt")
def test_shfmt_would_change_nothing(path: Path, name: str) -> None:
    text = script(path, name).rstrip("\n") + "\n"
    argv = ["shfmt", "-ln", "posix", "-i", "2", "-ci", "-bn", "-d"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert done.stdout == ""


@recipes
def test_labels_are_facts_that_envcfg_takes(path: Path) -> None:
    labels = facts(base(path))
    assert labels
    for name, value in {**labels, **facts(path)}.items():
        assert name in FACTS
        assert None is fact_problem(name, value)


@recipes
def test_the_machine_that_builds_says_its_architecture(path: Path) -> None:
    lines = [line for line in commands(path) if "org.envcfg.architecture" in line]
    wanted = base(path) == path
    assert len(lines) == wanted, "an image on top of another has its labels"
    assert "architecture" not in facts(path)
    for line in lines:
        assert line.endswith(
            '"$(uname -m)" >>"${APPTAINER_LABELS:-$SINGULARITY_LABELS}"'
        )


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
            named = rf"{name}(_release_)?[_:]?{re.escape(value)}([_.-]|$)"
            assert re.search(named, image), f"{name} {value} is not in {image}"
    known = {name for name in installed if name in FACTS} - {"libfabric"}
    assert known <= set(facts(path)), "a fact without its label"


@recipes
def test_help_states_the_versions_of_the_labels(path: Path) -> None:
    text = "\n".join(section(path, "help"))
    for name, value in facts(path).items():
        assert name == "plugin" or value in text


@recipes
def test_the_test_looks_at_the_versions_of_the_labels(path: Path) -> None:
    text = script(path, "test").replace("\\.", ".")
    for name, value in facts(path).items():
        number = "{}{:0>2}{:0>2}".format(*value.split(".")) if name == "nccl" else value
        assert name == "plugin" or number in text, name


@recipes
def test_no_variable_is_set_that_a_profile_sets(path: Path, built_in: Catalog) -> None:
    names = built_in.names()
    assert names
    profiles = [built_in.load(name) for name in names]
    owned = {variable for profile in profiles for variable in profile.env}
    owned |= {each.visibility.variable for each in profiles if each.visibility}
    owned |= {
        name
        for each in profiles
        if each.visibility
        for name in (each.visibility.numbers, *each.visibility.clear)
    }
    assert "NCCL_SOCKET_IFNAME" in owned
    assert assigned(base(path))
    assert not assigned(path) & owned
    prefixes = ("NCCL_", "RCCL_", "FI_", "OFI_", "MIOPEN_", "HSA_", "CXI_", "MASTER_")
    assert not [name for name in assigned(path) if name.startswith(prefixes)]
    assert not re.search(r"_ENVIRONMENT\b|singularity\.d", script(path, "post"))


@recipes
def test_what_is_downloaded_is_checked(path: Path) -> None:
    text = script(path, "post")
    assert not re.search(r"\b(git clone|wget|git\+)", text)
    assert len(re.findall(r"\bcurl -", text)) == ("fetch()" in text)
    for line in commands(path):
        if "https://" in line and "pip install" not in line:
            found = re.fullmatch(r'fetch "https://\S+" (\w+) ([0-9a-f]+)', line)
            assert found, line
            assert len(found[2]) == SUMS[found[1]]


@recipes
def test_what_pip_downloads_has_a_hash_and_no_address(path: Path) -> None:
    for line in commands(path):
        if "pip download" in line:
            assert " --no-deps " in line
            assert " --require-hashes -r sources" in line
            post = script(path, "post")
            assert re.search(r"--hash=sha256:%s.*\n +[0-9a-f]{64} >sources", post)
            assert "http" not in post


@recipes
def test_what_pip_installs_is_pinned(path: Path) -> None:
    lines = [line for line in commands(path) if "pip install" in line]
    assert bool(lines) != (path.stem == "pytorch-rocm"), "AMD's image has all of it"
    for line in lines:
        words = line.partition("pip install")[2].split()
        for word in words:
            if not word.startswith("-"):
                assert "==" in word or word in ("./source", "sources"), word


@recipes
def test_a_source_of_pip_has_the_version_and_the_hash_of_the_lock(path: Path) -> None:
    pins = {pin.name: pin for pin in read_lock(FOLDER_OF_LOCKS / "sources.txt")}
    text = "\n".join(commands(path))
    sources = re.findall(r"printf '(\w+)==%s --hash=sha256:%s\\n' \S+ (\w+)", text)
    package = path.stem.removesuffix("-rocm")
    assert [name for name, _ in sources] == [package] * (package in pins)
    for name, digest in sources:
        assert pins[name].hashes == (f"sha256:{digest}",)
        assert f"{name}_version={pins[name].version}" in text
    for line in commands(path):
        if "sources" in line and "pip" in line:
            assert "--require-hashes -r sources" in line


@recipes
def test_what_pip_installs_from_here_needs_no_other_package(path: Path) -> None:
    for line in commands(path):
        if line.endswith((" ./source", " sources")):
            assert " --no-deps --no-build-isolation " in line


@recipes
def test_a_recipe_says_whether_it_was_built(path: Path) -> None:
    built = path.stem in BUILT
    assert ("NOT BUILT YET" in path.read_text()) != built
    (row,) = [
        line
        for line in (FOLDER / "README.md").read_text().splitlines()
        if line.startswith(f"| [{path.name}]")
    ]
    assert row.endswith("| built in CI |" if built else "| not built yet |")


@recipes
def test_the_variables_that_a_build_is_told_by_are_known(path: Path) -> None:
    names = set(re.findall(r"\b((?:HOROVOD|DS|TORCH)_[A-Z_]+)=", script(path, "post")))
    assert all(find_variable(name) for name in names)
    assert names or base(path) == path


@recipes
def test_the_readme_names_the_recipe_and_its_facts(path: Path) -> None:
    text = (FOLDER / "README.md").read_text()
    assert f"({path.name})" in text
    assert f"apptainer build {path.stem}.sif {path.name}" in text


@pytest.mark.parametrize("name", ["horovod-rocm", "deepspeed-rocm"])
def test_what_ci_builds_installs_what_is_locked(name: str) -> None:
    """tests/cluster/test_recipe_frameworks.py gives them the packages of the lock."""
    locks = [FOLDER_OF_LOCKS / f"{lock}.txt" for lock in ("images-cpu", "recipes")]
    locked = {f"{pin.name}=={pin.version}" for lock in locks for pin in read_lock(lock)}
    post = "\n".join(section(FOLDER / f"{name}.def", "post"))
    assert set(re.findall(r"\b[\w-]+==[\d.]+(?=\s)", post)) <= locked
