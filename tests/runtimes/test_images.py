"""Which forms of an image each runtime takes, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.backends import runtimes
from envcfg.backends.runtimes import NAMES, runtime
from envcfg.backends.runtimes.pyxis import IMPORT
from envcfg.common.errors import UsageError
from envcfg.job.plan.container import choose_runtimes
from envcfg.job.plan.image_files import locate_image
from envcfg.job.plan.plan import Container, Options
from envcfg.job.plan.plan_notes import image_notes, runtime_notes
from envcfg.profile.profile_model import Profile
from envcfg.profile.read.profile_loader import load_profile
from support import Wrap

REASON = "{why: w, source: s, date: 2026-01-01}"


def profile(container: str) -> Profile:
    text = f"name: p\nlaunch: {{launchers: [srun]}}\ncontainer: {container}\n"
    made = load_profile(text.encode(), path="p", stem="p", problems=(problems := []))
    assert made, problems
    return made


@pytest.mark.parametrize(
    ("name", "image", "is_reference", "is_pulled"),
    [
        ("apptainer", "docker://a/b:c", True, True),
        ("apptainer", "localhost/a", False, False),
        ("charliecloud", "/images/a", False, False),
        ("podman", "docker.io/a/b:c", True, True),
        ("podman", "docker://a/b:c", True, True),
        ("podman", "ubuntu", True, True),
        ("podman", "localhost/a", True, False),
        ("podman", "./folder", False, False),
        ("podman", "/folder", False, False),
        ("podman-hpc", "docker.io/a/b:c", True, True),
        ("podman-hpc", "localhost/a", True, False),
        ("shifter", "docker:a/b:c", True, False),
        ("shifter", "a/b:c", True, False),
        ("shifter", "id:0123abcd", True, False),
        ("docker", "a/b:c", True, True),
        ("docker", "localhost/a", True, False),
        ("pyxis", "nvcr.io#nvidia/pytorch:24.01", True, True),
        ("pyxis", "me@nvcr.io#nvidia/pytorch:24.01", True, True),
        ("pyxis", "docker://a/b:c", True, True),
        ("pyxis", "./a", False, False),
        (
            "pyxis",
            "a.sqsh",
            False,
            False,
        ),  # Pyxis itself would look for it in Docker Hub
        ("ce", "nvcr.io#a/b:c", True, False),
        ("ce", "my-environment", True, False),
        ("ce", "my.toml", False, False),
        ("ce", "a.sqsh", False, False),
    ],
)
def test_an_image_is_a_path_or_a_reference_and_that_is_pulled_or_not(
    name: str, image: str, is_reference: bool, is_pulled: bool
) -> None:
    known = runtime(name)
    assert known.refuse(image) is None
    assert (known.is_reference(image), known.is_pulled(image)) == (
        is_reference,
        is_pulled,
    )
    notes = list(image_notes(Container(image, False, (known,), "exec", (), ())))
    assert [note.fix for note in notes] == [known.pull] * is_pulled
    assert all(note.message == known.pulled for note in notes)


@pytest.mark.parametrize(
    ("name", "image", "what", "fix"),
    [
        ("pyxis", "a.sif", "a .sif file", f"make one of the same image: {IMPORT}, then --container ./image.sqsh"),
        ("pyxis", "library://a", "a library URI", "as in docker://REGISTRY#NAME:TAG"),
        ("pyxis", "a.tar", "an archive", "podman load -i a.tar, enroot import -o image.sqsh podman://NAME"),
        ("ce", "a.sif", "a .sif file", f"make one of the same image: {IMPORT}, then --container ./image.sqsh"),
        ("ce", "dockerd://a/b:c", "of a Docker daemon", "as in docker://REGISTRY/NAME:TAG"),
        ("charliecloud", "docker://a/b:c", "a reference", "ch-image pull a/b:c, then ch-convert a/b:c image.sqfs"),
        ("charliecloud", "a.sif", "a .sif file", "apptainer build --sandbox FOLDER a.sif, then --container FOLDER"),
        ("charliecloud", "a.tar.gz", "an archive", "ch-convert a.tar.gz image.sqfs"),
        ("podman", "a.sif", "a .sif file", "apptainer build --sandbox FOLDER a.sif, then --container ./FOLDER"),
        ("podman", "a.sqsh", "a squashfs file", "unsquashfs -d FOLDER a.sqsh, then --container ./FOLDER"),
        ("podman", "a.tar", "an archive", "podman load -i a.tar, then --container with the name that it says"),
        ("podman", "library://a", "a library URI", "give a name in a registry, as in docker.io/NAME:TAG"),
        ("podman-hpc", "docker://a/b:c", "a docker URI", "podman-hpc wants the name: --container a/b:c"),
        ("podman-hpc", "a.sif", "a .sif file", "apptainer build --sandbox FOLDER a.sif, then tar -C FOLDER -c . | podman-hpc import - NAME, then podman-hpc migrate NAME and --container localhost/NAME"),
        ("podman-hpc", "a.tar", "an archive", "podman-hpc load -i a.tar, then podman-hpc migrate and --container with the name that it says"),
        ("podman-hpc", "/folder", "a path", "tar -C /folder -c . | podman-hpc import - NAME, then podman-hpc migrate NAME and --container localhost/NAME"),
        ("shifter", "docker://a/b:c", "a docker URI", "write it as Shifter does: docker:a/b:c"),
        ("shifter", "library://a", "a library URI", "write it as Shifter does: docker:NAME:TAG"),
        ("shifter", "a.sif", "a path", "shifterimg pull docker:NAME:TAG, then --container docker:NAME:TAG"),
        ("shifter", "./a", "a path", "shifterimg pull docker:NAME:TAG, then --container docker:NAME:TAG"),
        ("shifter", "docker:a@sha256:0", "a name with '@', which Shifter would leave out", "name it by a tag, as shifterimg images does"),
        ("docker", "docker://a/b:c", "a docker URI", "docker wants the name: --container a/b:c"),
        ("docker", "a.sif", "a .sif file", "apptainer build --sandbox FOLDER a.sif, then tar -C FOLDER -c . | docker import - NAME"),
        ("docker", "a.sqfs", "a squashfs file", "unsquashfs -d FOLDER a.sqfs, then tar -C FOLDER -c . | docker import - NAME"),
        ("docker", "a.tar", "an archive", "docker load -i a.tar, then --container with the name that it says"),
        ("docker", "podman.tar", "an archive", "docker load -i podman.tar, then --container with the name that it says"),
        ("docker", "/folder", "a path", "tar -C /folder -c . | docker import - NAME, then --container NAME"),
    ],
)  # fmt: skip
def test_an_image_of_another_form_is_refused_with_what_converts_it(
    name: str, image: str, what: str, fix: str
) -> None:
    with pytest.raises(UsageError) as caught:
        locate_image(image, "/", runtime(name))
    assert caught.value.message == f"{name} takes no such image: {image} is {what}"
    assert caught.value.hint == fix


def test_a_squashfs_file_under_charliecloud_is_taken_with_a_warning() -> None:
    """Tried with 0.31: ch-run serves the file, and does not pass signals on."""
    known = runtime("charliecloud")
    doubt = known.doubt("a.sqfs")
    assert known.refuse("a.sqfs") is None
    assert known.doubt("/a") is None
    (note,) = image_notes(Container("a.sqfs", True, (known,), "exec", (), ()))
    assert note.lines() == [
        f"envcfg: warning: a.sqfs: {doubt and doubt.problem}",
        "  hint: unpack it before: unsquashfs -d FOLDER a.sqfs",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_here_becomes_absolute(name: str, tmp_path: Path) -> None:
    (tmp_path / "image" / "usr").mkdir(parents=True)
    image, found = (
        locate_image("./image", str(tmp_path), runtime(name))
        if not runtime(name).refuse("./image")
        else (str(tmp_path / "image"), [])  # it takes none
    )
    assert (image, found) == (str(tmp_path / "image"), [])


def test_two_dots_behind_a_link_are_the_folder_that_the_system_takes_them_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "real/deep").mkdir(parents=True)
    (tmp_path / "real/a.sif").touch()
    (tmp_path / "link").symlink_to("real/deep")
    image, found = locate_image("link/../a.sif", str(tmp_path), runtime("apptainer"))
    assert not found
    assert image
    assert Path(image).samefile(tmp_path / "real/a.sif")


@pytest.mark.parametrize(
    ("listed", "image", "wanted", "found", "chosen"),
    [
        ("[apptainer, singularity]", "i", None, [], "apptainer singularity"),
        ("[singularity, podman, apptainer]", "i", None, [], "singularity apptainer"),
        ("[podman, apptainer, docker]", "i", None, [], "podman"),
        ("[podman, apptainer, docker]", "i", None, ["apptainer"], "apptainer"),
        ("[podman, apptainer, docker]", "i", None, ["docker", "apptainer"], "apptainer"),
        ("[apptainer, podman, docker]", "i", None, ["docker"], "docker"),
        ("[apptainer, podman]", "i", "charliecloud", ["podman"], "charliecloud"),
        ("[apptainer, charliecloud]", "i", None, ["ch-run"], "charliecloud"),
        ("[pyxis, apptainer]", "./i.sqsh", None, [], "pyxis"),
        ("[pyxis, apptainer]", "i", None, ["--container-image", "apptainer"], "pyxis"),
        ("[pyxis, apptainer]", "i", None, ["apptainer"], "apptainer"),
        ("[pyxis, apptainer]", "i.sif", None, ["--container-image"], "apptainer"),
        ("[pyxis, ce]", "i.sif", None, [], "pyxis"),  # none takes it
        ("[pyxis, apptainer], launcher: local", "i", None, [], "apptainer"),
        ("[pyxis], launcher: local", "i", None, [], "pyxis"),  # which is refused then
        ("[podman-hpc, podman, shifter]", "i", None, [], "podman-hpc"),
        ("[podman-hpc, podman, shifter]", "i", None, ["podman"], "podman"),
        ("[podman-hpc, shifter]", "i", None, ["shifter"], "shifter"),
    ],
)  # fmt: skip
def test_of_the_runtimes_that_take_the_image_the_first_kind_that_is_here_is_taken(
    listed: str, image: str, wanted: str | None, found: list[str], chosen: str
) -> None:
    listed, _, launcher = listed.partition(", launcher: ")
    known = profile(f"{{runtimes: {listed}}}")
    if launcher:
        known = known._replace(launchers=(launcher,))
    made = choose_runtimes(known, wanted, found, image, launcher or None)
    assert [each.name for each in made] == chosen.split()


@pytest.mark.parametrize(
    ("listed", "options", "rules"),
    [
        ("[apptainer, singularity]", Options(), []),
        ("[singularity]", Options(runtime="apptainer"), []),
        ("[apptainer, podman]", Options(), ["runtime-not-here"]),
        ("[apptainer, podman]", Options(runtimes_here=("apptainer",)), []),
        ("[apptainer, podman]", Options(runtimes_here=("podman",)), ["runtime-arguments-left-out"]),
        ("[apptainer]", Options(runtime="podman"), ["runtime-arguments-left-out"]),
        ("[podman]", Options(runtime="docker"), ["runtime-arguments-left-out"]),
    ],
)  # fmt: skip
def test_what_a_profile_has_for_another_runtime_is_left_out_and_said(
    listed: str, options: Options, rules: list[str]
) -> None:
    arguments = f"{{--nv: {REASON}}}"
    made = profile(f"{{runtimes: {listed}, arguments: {arguments}}}")
    first = choose_runtimes(made, options.runtime, options.runtimes_here, "i")[0]
    container = Container("i", True, (first,), "exec", (), ())
    notes = list(runtime_notes(made, options, container))
    assert [note.rule for note in notes] == rules
    assert not list(runtime_notes(made, options, None))


@pytest.mark.parametrize(
    ("here", "runtime_line", "note"),
    [
        ("ch-run", "ENVCFG_RUNTIMES='ch-run'", ""),
        ("apptainer", "ENVCFG_RUNTIMES='apptainer'", ""),
        ("", "ENVCFG_RUNTIMES='apptainer'", "--runtime NAME"),
    ],
)
def test_the_path_where_envcfg_runs_decides_between_kinds(
    wrap: Wrap,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: str,
    runtime_line: str,
    note: str,
) -> None:
    text = "name: p\nlaunch: {launchers: [local]}\n"
    text += "container: {runtimes: [apptainer, charliecloud]}\n"
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "image/usr").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    if here:
        (tmp_path / "bin" / here).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    made = wrap(
        *(
            "--profile",
            str(tmp_path / "p.yaml"),
            "--container",
            str(tmp_path / "image"),
        ),
        *("--", "true"),
    )
    assert made.code == 0, made.err
    assert runtime_line in made.text
    assert ("first runtime, and none of them is on PATH here" in made.err) == bool(note)
    assert note in made.err


def test_a_runtime_that_was_passed_over_for_the_image_is_still_the_profile_s_first(
    wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "name: p\nlaunch: {launchers: [srun]}\n"
    text += "container: {runtimes: [ce, apptainer]}\n"
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    made = wrap(
        *("--profile", str(tmp_path / "p.yaml"), "--container", "/images/p.sif"),
        *("--", "true"),
    )
    assert made.code == 0, made.err
    assert "ENVCFG_RUNTIMES='apptainer'" in made.text
    first = "apptainer: is the profile's first runtime that takes this image, and none"
    assert first in made.err


@pytest.mark.parametrize(
    ("name", "image", "written"),
    [
        ("ce", "docker://nvcr.io/a/b:c", "nvcr.io#a/b:c"),
        ("ce", "nvcr.io/a/b:c", "nvcr.io#a/b:c"),
        ("ce", "localhost:5000/a", "localhost:5000#a"),
        ("ce", "docker://nvcr.io#a/b:c", "nvcr.io#a/b:c"),
        ("ce", "docker://a/b:c", "a/b:c"),
        ("ce", "docker://ubuntu:24.04", "library/ubuntu:24.04"),
        ("ce", "my-environment", "my-environment"),
        ("ce", "/images/a.b/c.sqsh", "/images/a.b/c.sqsh"),
        ("pyxis", "nvcr.io/a/b:c", "nvcr.io/a/b:c"),
    ],
)
def test_the_container_engine_gets_references_in_its_own_form(
    name: str, image: str, written: str
) -> None:
    assert runtimes.runtime(name).spell(image) == written
