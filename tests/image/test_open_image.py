"""Every form by its content; what is not an image is named, with what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tarfile
from pathlib import Path

import pytest
from made_forms import contents, make_folder, make_sif, root_part, squash

from envcfg.common.errors import ImageError
from envcfg.image.open_image import open_image
from envcfg.image.tree import FolderTree
from support import require


@pytest.fixture(autouse=True)
def no_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store of Podman but those of a test."""
    monkeypatch.setattr("envcfg.image.open_image.stores", list)
    monkeypatch.setattr("envcfg.image.podman_store.stores", list)


def failure(name: str | Path, program: str | None = None) -> ImageError:
    with pytest.raises(ImageError) as caught, open_image(str(name), program=program):
        pass
    assert caught.value.exit_code == 4
    assert caught.value.message.startswith(f"{name}: ")
    assert caught.value.hint
    return caught.value


def test_every_form_shows_the_same(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "folder.sif")  # whatever the suffix says
    squashed = squash(folder, tmp_path / "squashed.tar")
    simg = tmp_path / "old.simg"
    simg.write_bytes(b"#!/usr/bin/env run-singularity\n" + squashed.read_bytes())
    whole = make_sif(tmp_path / "whole.sqfs", [root_part(squashed.read_bytes())])
    bundle = tmp_path / "bundle"
    shutil.copytree(
        folder, bundle / "rootfs", symlinks=True, ignore=lambda *_: ["fifo"]
    )
    os.mkfifo(bundle / "rootfs/opt/fifo")
    process = {"env": ["A=1"], "args": ["sh", "-c"]}
    (bundle / "config.json").write_text(json.dumps({"process": process}))
    expected = contents(FolderTree(str(folder)))
    forms = {}
    for image in (folder, squashed, simg, whole, bundle):
        with open_image(str(image)) as (tree, metadata):
            assert contents(tree) == expected, image
            forms[image.name] = metadata.form
            assert metadata.labels == {"org.envcfg.name": "small"}
    assert forms == {
        "folder.sif": "folder",
        "squashed.tar": "squashfs",
        "old.simg": "squashfs",
        "whole.sqfs": "sif",
        "bundle": "folder",
    }
    with open_image(str(bundle)) as (_, metadata):
        assert metadata.environment == {"A": "1"}
        assert metadata.starts == ("sh", "-c")


def test_the_file_is_closed_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").touch()
    image = squash(tmp_path / "folder", tmp_path / "image")
    before = len(os.listdir("/proc/self/fd"))
    with open_image(str(image)):
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before
    image.write_bytes(image.read_bytes()[:80])
    failure(image)
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_builders_left_is_read(tmp_path: Path) -> None:
    for folder in ("ch", "etc", ".singularity.d"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ch/environment").write_text("CH=yes\nBOTH=ch\n# no\n")
    (tmp_path / "etc/environment").write_text('ENROOT="kept as it is"\nBOTH=enroot\n')
    labels = json.dumps({"org.label-schema.build-arch": "arm64"})
    (tmp_path / ".singularity.d/labels.json").write_text(labels)
    with open_image(str(tmp_path)) as (_, metadata):
        assert metadata.environment == {"CH": "yes", "BOTH": "ch"}
        assert metadata.architecture == "aarch64"
    rc = "# maintainer A B\n\nif [ -s /etc/rc.local ]; then\n    . /etc/rc.local\nfi\n"
    (tmp_path / "etc/rc").write_text(rc)
    with open_image(str(tmp_path)) as (_, metadata):
        assert metadata.environment["ENROOT"] == '"kept as it is"'
        assert metadata.environment["BOTH"] == "enroot"
        assert metadata.labels["maintainer"] == "A B"


FOREIGN = {
    "nothing": (b"", "an empty file"),
    "program": (b"\x7fELF\2\1\1", "a program"),
    "zip": (b"PK\x03\x04....", "a zip archive"),
    "gzip": (b"\x1f\x8b\x08\0", "compressed by gzip"),
    "xz": (b"\xfd7zXZ\0\0", "compressed by xz"),
    "zstd": (b"\x28\xb5\x2f\xfd\0", "compressed by zstd"),
    "script": (b"#!/bin/sh\nexit\n", "a script"),
    "text": (b"<html>Not found</html>\n", "a text"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS"),
    "bytes": (bytes(range(256)), "no image of a form that is known"),
    "zeros": (bytes(5000), "no image of a form that is known"),
    "ext3": (bytes(1080) + b"\x53\xef" + bytes(3000), "ext3 or ext4"),
    "erofs": (bytes(1024) + b"\xe2\xe1\xf5\xe0" + bytes(99), "an EROFS"),
    "short sif": (bytes(32) + b"SIF_MAGIC\0", "the image is damaged"),
    "short squashfs": (b"hsqs", "the image is damaged"),
    "big-endian squashfs": (b"sqsh" + bytes(200), "big-endian"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named(name: str, tmp_path: Path) -> None:
    image = tmp_path / "image.sif"
    image.write_bytes(FOREIGN[name][0])
    assert FOREIGN[name][1] in failure(image).message


@pytest.mark.parametrize(
    ("members", "message", "hint"),
    [
        (["a/b.txt"], "a tar archive", "unpack it"),
        (["x", "manifest.json"], "docker-archive", "apptainer build image.sif docker-"),
        (
            ["oci-layout", "./manifest.json"],
            "oci-archive",
            "build image.sif oci-archive:",
        ),
    ],
)
def test_an_archive_says_what_converts_it(
    members: list[str], message: str, hint: str, tmp_path: Path
) -> None:
    image = tmp_path / "image.tar"
    with tarfile.open(image, "w") as archive:
        for name in members:
            (tmp_path / "member").write_text("{}" * 700)
            archive.add(tmp_path / "member", name)
    error = failure(image)
    assert message in error.message
    assert hint in str(error.hint)
    for cut in (0, 300, 600, 3000):  # says something whatever is missing
        image.write_bytes(image.read_bytes()[: cut or None])
        failure(image)


@pytest.mark.parametrize(
    ("name", "program", "hint"),
    [
        ("docker://a/b:1", None, "apptainer pull image.sif docker://a/b:1, then"),
        ("oras://a/b:1", "singularity", "singularity pull image.sif oras://a/b:1"),
        ("dockerd://a", None, "enroot import -o image.sqsh dockerd://a, then give image.sqsh"),
        ("docker-archive:x.tar", None, "apptainer build image.sif docker-archive:x.tar"),
        ("odd://a", None, "apptainer pull image.sif odd://a"),
        ("docker://x-old", None, "pull image.sif docker://x-old, then give image.sif"),
        ("./absent", None, "ls"),
        ("/absent/image", None, "ls"),
        ("absent.sif", None, "ls"),
        ("", None, "ls"),
        ("absent:1", None, "podman pull absent:1"),
        ("a\0b", None, "read"),
        ("x" * 5000, None, "read"),
    ],
)  # fmt: skip
def test_what_is_no_file_says_what_to_do(
    name: str, program: str | None, hint: str
) -> None:
    assert hint in str(failure(name, program).hint)


def test_what_is_neither_file_nor_folder_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "a FIFO" in failure(tmp_path / "fifo").message
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    assert "a socket" in failure(tmp_path / "socket").message
    assert "a device" in failure("/dev/null").message
    (tmp_path / "round").symlink_to("round")
    assert "symbolic links" in failure(tmp_path / "round").message


def test_folders_that_are_no_image_are_named(tmp_path: Path) -> None:
    assert "empty folder" in failure(tmp_path).message
    (tmp_path / "oci-layout").write_text("{}")
    (tmp_path / "index.json").write_text("{}")
    assert "oci:" in str(failure(tmp_path).hint)


def test_a_file_for_others_says_so(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        require("setpriv")
        import subprocess
        import sys

        shut = Path("/tmp") / f"shut-{os.getpid()}"
        shut.write_bytes(b"hsqs")
        shut.chmod(0o600)
        code = (
            "import sys; sys.path[:] = sys.argv[2].split(':'); "
            "from envcfg.image.open_image import open_image; from envcfg.common.errors import ImageError\n"
            "try:\n    open_image(sys.argv[1]).__enter__()\n"
            "except ImageError as err: print(err.message)"
        )
        words = [
            "setpriv",
            "--reuid=65534",
            "--clear-groups",
            sys.executable,
            "-c",
            code,
        ]
        path = ":".join(sys.path)
        done = subprocess.run(
            [*words, str(shut), path], capture_output=True, text=True, check=False
        )
        shut.unlink()
        if done.returncode == 0:  # that user may not see this checkout
            assert "Permission denied" in done.stdout
        return
    image = tmp_path / "image"
    image.write_bytes(b"hsqs")
    image.chmod(0)
    assert "Permission denied" in failure(image).message
