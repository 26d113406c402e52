"""A profile by its layer, and what strangers have put where profiles are looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envcfg.profile.ownership import OwnedPath, strangers
from support import envcfg, require_root

NOBODY = 65534
REASON = "why: w, source: s, date: 2026-01-01"
RUN = ("--container", "none", "--launcher", "local", "--ranks", "1", "--", "true")


def text(name: str, value: str, *more: str) -> str:
    env = f"env:\n  FROM: {{value: {value}, {REASON}}}\n"
    return f"name: {name}\n" + "".join(f"{each}\n" for each in more) + env


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The folders of the site's, the user's and a project's profiles; we are in a job's folder."""
    monkeypatch.delenv("ENVCFG_PROFILE", raising=False)
    for name, folder in (("ENVCFG_SITE", "site"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    found = {
        "site": tmp_path / "site/profiles",
        "user": tmp_path / "config/envcfg/profiles",
        "project": tmp_path / "shared/.envcfg/profiles",
    }
    for each in found.values():
        each.mkdir(parents=True)
    here = tmp_path / "shared/job"
    here.mkdir()
    monkeypatch.chdir(here)
    return found


def value_of(*profile: str) -> str:
    """Return what the profile that is chosen sets FROM to."""
    done = envcfg("wrap", *profile, *RUN)
    assert done.code == 0, done.err
    line = done.text.partition("_set FROM ")[2].partition("\n")[0]
    return line.partition(" # ")[0].strip("' ")


def test_a_layer_names_the_profile_without_those_above(layers: dict[str, Path]) -> None:
    for layer, folder in layers.items():
        (folder / "workstation.yaml").write_text(text("workstation", layer))
    expected = {
        **{f"{layer}:workstation": layer for layer in layers},
        "workstation": "project",
        "builtin:workstation": "",
    }
    assert {name: value_of("--profile", name) for name in expected} == expected
    (layers["project"] / "workstation.yaml").unlink()
    assert value_of("--profile", "workstation") == "user"


@pytest.mark.parametrize("layer", ["site", "user", "project"])
def test_families_are_of_the_layer_too(layers: dict[str, Path], layer: str) -> None:
    """One's own family counts in the layer that it is of, and not below it."""
    (layers[layer] / "slingshot-rocm.yaml").write_text(text("slingshot-rocm", "mine"))
    assert value_of("--profile", "lumi-g") == "mine"
    assert value_of("--profile", f"{layer}:lumi-g") == "mine"
    assert value_of("--profile", "builtin:lumi-g") == ""


def test_a_profile_may_extend_one_of_a_layer(layers: dict[str, Path]) -> None:
    for layer, folder in layers.items():
        (folder / "workstation.yaml").write_text(text("workstation", layer))
    mine = layers["user"] / "mine.yaml"
    for parent, value in (("site:workstation", "site"), ("workstation", "project")):
        mine.write_text(f"name: mine\nextends: {parent}\n")
        assert value_of("--profile", "mine") == value


WRONG = {
    "builtin:lumi": ("unknown profile 'builtin:lumi'", "lumi-g"),
    "builtin:lumi-g.yaml": ("unknown profile 'builtin:lumi-g.yaml'", "lumi-g"),
    "user:lumi-g": ("'lumi-g' is not in the layer 'user'", "use builtin:lumi-g"),
    "project:nothing": ("unknown profile 'project:nothing'", "profiles list"),
    "home:lumi-g": ("unknown profile 'home:lumi-g'", "one of builtin, site, user, project"),
}  # fmt: skip


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_a_layer_has_not_is_an_error(name: str) -> None:
    message, hint = WRONG[name]
    done = envcfg("wrap", "--profile", name, *RUN)
    assert done.code == 2
    assert message in done.err
    assert hint in done.err


def made_by(*words: str) -> str:
    done = envcfg("wrap", *words, *RUN)
    assert done.code == 0, done.err
    return done.text.partition("# made by: ")[2].partition("\n")[0]


@pytest.mark.parametrize(
    ("has", "given", "named"),
    [
        ((), "workstation", "workstation"),
        ((), "builtin:workstation", "builtin:workstation"),
        (("project", "site"), "workstation", "project:workstation"),
        (("site",), "workstation", "site:workstation"),
        (("user",), "builtin:workstation", "builtin:workstation"),
    ],
)
def test_the_script_says_of_which_layer_its_profile_is(
    layers: dict[str, Path], has: tuple[str, ...], given: str, named: str
) -> None:
    """By that line the same is made again, or nothing is, where there is no such layer."""
    for layer in has:
        (layers[layer] / "workstation.yaml").write_text(text("workstation", layer))
    line = made_by("--profile", given)
    assert f"--profile {named} " in line
    assert made_by("--profile", named) == line


@pytest.mark.parametrize(
    "words",
    [
        ("profiles", "show", "builtin:workstation"),
        ("profiles", "diff", "builtin:workstation", "builtin:workstation"),
        ("explain", "NCCL_DEBUG", "--profile", "builtin:workstation"),
        ("job", "--profile", "builtin:lumi-g", "--account", "a", "--nodes", "1", "--time", "1:00:00", "--container", "none", "--", "true"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_takes_a_layer(
    layers: dict[str, Path], words: tuple[str, ...]
) -> None:
    broken = "name: {}\nenv: broken\n"
    for name in ("workstation", "lumi-g"):
        (layers["user"] / f"{name}.yaml").write_text(broken.format(name))
    done = envcfg(*words)
    assert done.code == 0, done.err


def test_completion_offers_what_a_layer_has(layers: dict[str, Path]) -> None:
    (layers["user"] / "mine.yaml").write_text(text("mine", "user"))

    def offered(word: str) -> list[str]:
        done = envcfg(
            "completion",
            "--values",
            "profiles",
            "--",
            "envcfg",
            "wrap",
            "--profile",
            word,
        )
        return done.text.split()

    assert offered("user:") == ["user:mine"]
    assert "builtin:lumi-g" in offered("built")
    assert offered("builtin:lumi-g") == ["builtin:lumi-g"]
    assert offered("project:") == []


def stranger_s(folder: Path, *, uid: int = NOBODY) -> None:
    """Give a folder, and all that is in it, to somebody of another group."""
    require_root()
    for each in (folder, *folder.rglob("*")):
        os.chown(each, uid, uid, follow_symlinks=False)


def _whole(project: Path) -> None:
    stranger_s(project.parent)


def _file(project: Path) -> None:
    stranger_s(project / "workstation.yaml")


def _link(project: Path) -> None:
    """Their link to a folder that counts."""
    real = project.parents[1] / "real"
    project.parent.rename(real)
    project.parent.symlink_to(real)
    os.chown(project.parent, NOBODY, NOBODY, follow_symlinks=False)


def _open(project: Path) -> None:
    _whole(project)
    for each in (project.parent, *project.parent.rglob("*")):
        each.chmod(0o777)


@pytest.mark.parametrize("put", [_whole, _file, _link, _open])
@pytest.mark.parametrize("profile", [("--profile", "workstation"), ()])
def test_a_stranger_s_file_neither_counts_nor_blocks(
    layers: dict[str, Path],
    put: object,
    profile: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in /tmp, where anybody may make .envcfg: the layers below count, and a note says so."""
    require_root()
    for name in ("SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    (layers["user"] / "workstation.yaml").write_text(text("workstation", "user"))
    (layers["project"] / "workstation.yaml").write_text(text("workstation", "evil"))
    layers["project"].parents[1].chmod(0o1777)
    assert callable(put)
    put(layers["project"])
    done = envcfg("wrap", *profile, *RUN)
    assert done.code == 0, done.err
    assert "_set FROM user" in done.text
    assert "is ignored, because it belongs to nobody, not to you" in done.err
    listing = envcfg("profiles", "list", "--json")
    assert (listing.code, "evil" in listing.text) == (0, False)


def test_a_stranger_s_folder_does_not_hide_the_project_s(
    layers: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_root()
    (layers["project"] / "workstation.yaml").write_text(text("workstation", "team"))
    below = layers["project"].parents[1] / "job/.envcfg/profiles"
    below.mkdir(parents=True)
    (below / "workstation.yaml").write_text(text("workstation", "evil"))
    below.parents[1].chmod(0o1777)
    stranger_s(below.parent)
    monkeypatch.chdir(below.parents[1])
    assert value_of("--profile", "workstation") == "team"


def test_what_the_group_may_write_is_an_error_that_names_the_built_in_one(
    layers: dict[str, Path],
) -> None:
    path = layers["project"] / "workstation.yaml"
    path.write_text(text("workstation", "team"))
    require_root()
    os.chown(path, 0, 4321)
    path.chmod(0o664)
    done = envcfg("wrap", "--profile", "workstation", *RUN)
    assert done.code == 2
    assert f"chmod g-w {path}" in done.err
    assert "use the built-in one: --profile builtin:workstation" in done.err
    assert value_of("--profile", "builtin:workstation") == ""


ROOT_S = OwnedPath("/", 0, 0, 0o40755)
TMP = OwnedPath("/tmp", 0, 0, 0o41777)
WAYS: dict[str, tuple[tuple[OwnedPath, ...], str | None]] = {
    "mine": ((ROOT_S, OwnedPath("/a", 7, 7, 0o40700)), None),
    "root's": ((ROOT_S, OwnedPath("/a", 0, 0, 0o40755)), None),
    "another's": ((ROOT_S, OwnedPath("/a", 8, 8, 0o40755)), "/a"),
    "another's, of my group": ((ROOT_S, OwnedPath("/a", 8, 70, 0o40755)), None),
    "of my group, where all may make something": ((TMP, OwnedPath("/tmp/a", 8, 70, 0o40755)), "/tmp/a"),
    "mine, where all may make something": ((TMP, OwnedPath("/tmp/a", 7, 7, 0o40755)), None),
    "mine, in another's": ((ROOT_S, OwnedPath("/a", 8, 8, 0o40755), OwnedPath("/a/b", 7, 7, 0o100644)), "/a"),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_who_is_a_stranger(name: str) -> None:
    way, path = WAYS[name]
    found = strangers(way, 7, {7, 70})
    assert (found and found.path) == path
