"""``wrap`` reads facts in the image by itself, once, and keeps them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from made_forms import squash

from envcfg.core import image_cache
from envcfg.core.image_cache import identify, read_image
from envcfg.image.metadata import bases_of
from envcfg.image.tree import DeadlineTree, FolderTree, TimeIsUpError
from envcfg.job.plan.plan import ImageFacts
from imaging import SITE, Image, environment, python, torch, wheel
from support import Wrap, bash

LUMI = ("--profile", "lumi-g", "--runtime", "apptainer")
READ = "read in the image: /opt/rocm/.info/version"


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path / "root")
    made.text("opt/rocm/.info/version", "6.2.4-139\n")
    made.text("usr/bin/env", "")
    return made


@pytest.fixture
def file(image: Image, tmp_path: Path) -> Path:
    return squash(image.root, tmp_path / "own.sqfs")


def facts(wrap: Wrap, image: Path, *options: str) -> dict[str, dict[str, str]]:
    done = wrap(*LUMI, "--container", str(image), "--json", *options)
    assert done.code == 0, done.err
    found: dict[str, dict[str, str]] = json.loads(done.text)["facts"]
    return found


@pytest.fixture(autouse=True)
def _no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_facts_are_read_in_a_file_and_say_where_they_stand(
    wrap: Wrap, file: Path
) -> None:
    found = facts(wrap, file)
    assert (found["rocm"]["value"], found["rocm"]["why"]) == ("6.2.4", READ)
    plan = wrap(*LUMI, "--container", str(file), "--print", "plan").text
    assert f"rocm=6.2.4  ({READ}" in plan
    assert "NCCL_NET_GDR_LEVEL=PHB" in plan


def test_facts_are_read_in_a_folder(wrap: Wrap, image: Image) -> None:
    assert facts(wrap, image.root)["rocm"]["value"] == "6.2.4"


@pytest.mark.parametrize(
    ("others", "path", "wanted"),
    [
        (["6.2.4"], "/usr/bin", {"torch": "2.7.1", "rocm": "6.2.4"}),
        (["6.2.4", "6.2.4"], "/usr/bin", {"torch": "2.7.1", "rocm": "6.2.4"}),
        (["6.2.4", "7.0.2"], "/usr/bin", {"torch": "2.7.1"}),
        (["6.2.4", "7.0.2"], "/opt/e1/bin", {"torch": "2.7.1", "rocm": "7.0.2"}),
    ],
)
def test_which_environment_a_job_activates_is_not_guessed(
    tmp_path: Path, others: list[str], path: str, wanted: dict[str, str]
) -> None:
    image = Image(tmp_path / "several")
    python(image, "usr")
    environment(image, PATH=path)
    for number, rocm in enumerate(others):
        python(image, f"opt/e{number}")
        torch(image, f"opt/e{number}/{SITE}", f"2.7.1+rocm{rocm}", hip=rocm)
    read, _ = read_image(str(image.root))
    assert {name: value for name, (value, _) in read.facts.items()} == wanted


def test_a_name_in_a_store_is_no_folder_of_the_same_name(
    wrap: Wrap, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(image.root.parent)
    words = ("--profile", "workstation", "--runtime", "podman", "--json")
    for name, is_read in (("root", False), ("./root", True)):
        found = json.loads(wrap(*words, "--container", name).text)["facts"]
        assert ("rocm" in found) is is_read, name


def test_a_file_is_read_once_and_says_so(wrap: Wrap, file: Path) -> None:
    words = (*LUMI, "--container", str(file))
    assert "was read for the first time: rocm 6.2.4" in wrap(*words).err
    assert "was read" not in wrap(*words).err


def test_a_file_that_has_changed_is_read_again(
    wrap: Wrap, image: Image, file: Path
) -> None:
    assert facts(wrap, file)["rocm"]["value"] == "6.2.4"
    image.text("opt/rocm/.info/version", "7.0.2\n")
    squash(image.root, file)
    assert facts(wrap, file)["rocm"]["value"] == "7.0.2"


def test_what_is_kept_is_what_is_used(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, (note,) = read_image(str(file))
    assert note.rule == "image-read"
    monkeypatch.setattr(image_cache, "_look", pytest.fail)
    again, notes = read_image(str(file))
    assert (json.dumps(again), notes) == (json.dumps(before), [])


def test_nothing_is_read_where_that_is_not_wanted(wrap: Wrap, file: Path) -> None:
    assert "rocm" not in facts(wrap, file, "--no-inspect")


def test_a_stated_fact_wins_with_a_warning(wrap: Wrap, file: Path) -> None:
    done = wrap(*LUMI, "--container", str(file), "--fact", "rocm=7.1", "--json")
    assert json.loads(done.text)["facts"]["rocm"]["value"] == "7.1"
    assert "warning: rocm: --fact says 7.1, which wins: the image has 6.2.4" in done.err


def test_the_name_of_the_file_loses_with_a_warning(
    wrap: Wrap, image: Image, tmp_path: Path
) -> None:
    made = squash(image.root, tmp_path / "lumi-multitorch-full-u24r70f21m50t210.sif")
    done = wrap(*LUMI, "--container", str(made), "--json")
    assert json.loads(done.text)["facts"]["rocm"]["value"] == "6.2.4"
    assert "the image has 6.2.4" in done.err
    assert "its name says 7.0" in done.err


def test_an_image_made_from_one_of_the_site_is_known_by_that(
    wrap: Wrap, image: Image, tmp_path: Path
) -> None:
    base = "lumi-multitorch-full-u24r70f21m50t210.sif"
    image.text(
        ".singularity.d/Singularity", f"Bootstrap: localimage\nFrom: /appl/{base}\n"
    )
    made = squash(image.root, tmp_path / "mine.sif")
    assert facts(wrap, made)["container"]["value"] == base


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "warning: {}: no runtime can start this image: an empty file"),
        (b"hsqs" + b"\xff" * 200, "warning: {}: no runtime can start this image: "),
        (b"#!/bin/sh\n", "warning: {}: no runtime can start this image: a script"),
        (b"\x7fELF", "note: {}: its facts are not known: "),
    ],
)
def test_what_cannot_be_read_is_told_and_no_end(
    wrap: Wrap, tmp_path: Path, data: bytes, reason: str
) -> None:
    (tmp_path / "x.sif").write_bytes(data)
    done = wrap(*LUMI, "--container", "x.sif")
    assert done.code == 0
    assert reason.format(tmp_path / "x.sif") in done.err


def test_reading_ends_when_the_time_is_up_and_is_tried_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_cache, "PATIENCE", -1.0)
    read, (note,) = read_image(str(file))
    assert (read, note.rule) == (ImageFacts(), "image-not-read")
    assert note.message == "its facts are not known: it takes longer than -1 s"
    monkeypatch.setattr(image_cache, "PATIENCE", 60.0)
    read, _ = read_image(str(file))
    assert read.facts["rocm"][0] == "6.2.4"


@pytest.mark.parametrize("err", [PermissionError(13, "Permission denied"), KeyError(1)])
def test_what_fails_once_is_tried_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, err: Exception
) -> None:
    def fail(*_: object) -> None:
        raise err

    with monkeypatch.context() as patch:
        patch.setattr("envcfg.image.image_facts.inspect_tree", fail)
        read, (note,) = read_image(str(file))
    assert (read, note.rule) == (ImageFacts(), "image-not-read")
    assert read_image(str(file))[0].facts["rocm"][0] == "6.2.4"


def test_facts_are_read_if_the_time_ends_at_the_commands(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TimeIsUpError

    monkeypatch.setattr("envcfg.image.command_imports.command_imports", fail)
    read, _ = read_image(str(file))
    assert (read.facts["rocm"][0], read.imports) == ("6.2.4", {})


def test_a_command_that_uses_a_launcher_is_asked_for(wrap: Wrap, image: Image) -> None:
    site = "usr/lib/python3/dist-packages"
    image.program("usr/bin/python3")
    text = "[console_scripts]\nmytrain = mine.cli:main\n"
    image.text(f"{site}/mine-1.dist-info/entry_points.txt", text)
    image.text(f"{site}/mine/cli.py", "import ray\nray.init()\n")
    begin = (*LUMI, "--container", str(image.root))
    done = wrap(*begin, "--", "mytrain", "x")
    assert "mytrain: uses ray in the image" in done.err
    assert "uses ray" not in wrap(*begin, "--launcher", "srun", "--", "mytrain").err


def test_a_tree_of_which_the_time_is_up_is_read_no_further(image: Image) -> None:
    now = [0.0]
    tree = DeadlineTree(FolderTree(str(image.root)), 5.0, lambda: now[0])
    file = tree.open("/opt/rocm/.info/version")
    assert file
    with file:
        assert file.read() == b"6.2.4-139\n"
        now[0] = 6.0
        with pytest.raises(TimeIsUpError):
            file.read()
    with pytest.raises(TimeIsUpError):
        tree.names("/opt")


@pytest.mark.parametrize(("build", "is_known"), [("2.9.0", True), ("2.9.0+cpu", False)])
def test_a_pytorch_for_cpus_decides_nothing_about_gpus(
    build: str, is_known: bool, image: Image
) -> None:
    python(image, "usr")
    torch(image, f"usr/{SITE}", build)
    wheel(image, f"usr/{SITE}", "torch", build)
    read, _ = read_image(str(image.root))
    assert ("torch" in read.facts) == is_known


def test_a_script_says_that_the_image_has_changed_since(
    wrap: Wrap, image: Image, file: Path, fakes: Path
) -> None:
    assert fakes
    text = wrap(*LUMI, "--container", str(file), "--", "true").text
    words = b"has changed since envcfg read it"
    assert words not in bash(f"stat() {{ :; }}\n{text}").stderr
    image.text("opt/rocm/.info/version", "7.0.2\n")
    squash(image.root, file)
    os.utime(file, (1, 1))
    done = bash(f"set -euo pipefail\n{text}")
    assert done.returncode == 0, done.stderr
    assert words in done.stderr


# What is kept


def test_what_another_envcfg_has_read_is_read_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envcfg.image.__file__", str(tmp_path / "__init__.py"))
    os.utime(tmp_path, ns=(1, 1))
    read_image(str(file))
    os.utime(tmp_path, ns=(1, 1))
    assert read_image(str(file))[1] == []
    os.utime(tmp_path, ns=(2, 2))
    (note,) = read_image(str(file))[1]
    assert note.rule == "image-read"


def test_only_plain_files_are_known_again(tmp_path: Path) -> None:
    assert identify(str(tmp_path)) is None
    assert identify(str(tmp_path / "none")) is None
    os.mkfifo(tmp_path / "pipe")
    assert identify(str(tmp_path / "pipe")) is None


# From what an image was made


def test_the_nearest_base_comes_first(image: Image) -> None:
    image.text(
        ".singularity.d/Singularity",
        "bootstrap: localimage\nfrom: c.sif\n\n%post\n  echo From: no\n",
    )
    image.text(
        ".singularity.d/bootstrap_history/Apptainer0", "Bootstrap: docker\nFrom: a:1\n"
    )
    image.text(
        ".singularity.d/bootstrap_history/Apptainer1",
        "Bootstrap: localimage\nFrom: b.sif\n",
    )
    labels = {"org.opencontainers.image.base.name": "docker.io/x:2"}
    tree = FolderTree(str(image.root))
    assert bases_of(tree, labels) == ("docker.io/x:2", "c.sif", "b.sif", "a:1")


def test_an_image_of_a_site_shows_itself_by_a_path(image: Image) -> None:
    image.text("opt/alps/env/alps-runtime.env", "defvar FI_PROVIDER cxi\n")
    assert bases_of(FolderTree(str(image.root)), {}) == ("alps-extended-image",)


def test_an_image_that_does_not_say_has_none(image: Image) -> None:
    assert bases_of(FolderTree(str(image.root)), {}) == ()
