"""Images in stores: layers over each other, as the runtime itself shows them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from made_forms import contents, make_folder, make_store, squash

from envcfg.common.errors import ImageError
from envcfg.image.layers import LayeredTree
from envcfg.image.open_image import open_image
from envcfg.image.tree import FolderTree
from support import require, require_root

CONFIG = {
    "architecture": "amd64",
    "config": {"Env": ["A=b=c"], "Labels": {"l": "v", "n": 1}, "Entrypoint": None, "Cmd": ["x"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_other_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the store of a test, which storage.conf names."""
    for name in ("SQUASH_DIR", "SCRATCH", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("envcfg.image.podman_store._SYSTEM", ())
    configuration = tmp_path / "storage.conf"
    configuration.write_text(
        f'[storage]\ndriver = "overlay"\n  graphroot = "{tmp_path}/store"\n'
        f'runroot = "{tmp_path}/run"\n'
        f'[storage.options]\nadditionalimagestores = [\n  "{tmp_path}/more",\n]\n'
    )
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(configuration))


def layer(root: Path, **files: str | None) -> Path:
    """Make a folder with *files*, whose names have __ for /; None is a folder."""
    root.mkdir()
    for name, text in files.items():
        path = root / name.replace("__", "/")
        (path if text is None else path.parent).mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)
    return root


def test_upper_layers_cover_lower_ones(tmp_path: Path) -> None:
    low = layer(
        tmp_path / "low", a="low", d__x="low", d__y="low", f__in="low", o__p="low"
    )
    (low / "link").symlink_to("d")
    middle = layer(tmp_path / "middle", d__x="middle", d__z="middle", f="a file now")
    (middle / "d/.wh.y").touch()
    (middle / "o").mkdir()
    (middle / "o/.wh..wh..opq").touch()
    (middle / "o/q").write_text("middle")
    high = layer(tmp_path / "high", d__y="back", d__x="high")
    (high / "d/.wh.x").touch()  # hides what is below, not the layer's own
    (high / ".wh.a").touch()
    tree = LayeredTree([FolderTree(str(each)) for each in (high, middle, low)])
    assert tree.names("/") == ["d", "f", "link", "o"]
    assert tree.names("/link") == ["x", "y", "z"]
    assert [tree.text(f"/link/{name}") for name in "xyz"] == ["high", "back", "middle"]
    assert tree.names("/o") == ["q"]
    assert tree.text("/f") == "a file now"
    for gone in ("/a", "/o/p", "/f/in", "/d/.wh.x/x", "/no/where"):
        assert tree.look(gone) is None, gone


def test_marks_of_overlayfs_hide(tmp_path: Path) -> None:
    require_root()
    low = layer(tmp_path / "low", a="low", d__x="low", keep="low")
    high = layer(tmp_path / "high", d__new="high")
    os.mknod(high / "a", 0o020000, os.makedev(0, 0))
    try:
        os.setxattr(high / "d", "trusted.overlay.opaque", b"y")
    except OSError:
        pytest.skip("this file system has no such attributes")
    tree = LayeredTree([FolderTree(str(each)) for each in (high, low)])
    assert tree.names("/") == ["d", "keep"]
    assert tree.names("/d") == ["new"]
    assert tree.look("/a") is None
    assert tree.look("/d/x") is None


@pytest.mark.parametrize(
    "name",
    ["small", "small:latest", "localhost/small", "localhost/small:latest", "ab" * 32, "ab" * 6,
     "sha256:" + "ab" * 32],
)  # fmt: skip
def test_a_name_is_found_as_podman_finds_it(name: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "folder")
    (folder / "opt/fifo").unlink()  # which copies do not like
    make_store(tmp_path / "store", [folder], config=CONFIG)
    with open_image(name) as (tree, metadata):
        assert contents(tree) == contents(FolderTree(str(folder)))
    assert metadata.form == "podman"
    assert metadata.architecture == "x86_64"
    assert metadata.environment == {"A": "b=c"}
    assert metadata.labels == {"l": "v", "org.envcfg.name": "small"}
    assert metadata.starts == ("x",)


def test_docker_hub_and_other_stores_count(tmp_path: Path) -> None:
    low = layer(tmp_path / "low", etc__a="1")
    make_store(tmp_path / "more", [low], names=["docker.io/library/debian:12"])
    with open_image("debian:12") as (tree, _):
        assert tree.text("/etc/a") == "1"
    with pytest.raises(ImageError, match="no such image in the stores") as caught:
        open_image("debian").__enter__()
    assert str(tmp_path / "more") in caught.value.message


def test_podman_hpc_shows_its_squashed_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "folder")
    (folder / "opt/fifo").unlink()
    bare = layer(tmp_path / "bare", unseen="")
    store = tmp_path / "scratch/storage"
    make_store(store, [bare, bare], config=CONFIG)
    for diff in store.glob("overlay/*/diff"):  # which its migration leaves empty
        shutil.rmtree(diff)
        diff.mkdir()
    squash(folder, store / "overlay/l/LINK1.squash", "-comp", "lz4")
    monkeypatch.setenv("SCRATCH", str(tmp_path / "scratch"))
    with open_image("small") as (tree, metadata):
        assert contents(tree) == contents(FolderTree(str(folder)))
    assert metadata.environment == {"A": "b=c"}


def broken_stores() -> dict[str, tuple[str, str, str]]:
    """Return what is written into a file of a store, and what is said of it."""
    first = f"{1:064x}"
    circle = json.dumps([{"id": first, "parent": first}])
    return {
        "no list": ("overlay-images/images.json", "[{", "is not JSON"),
        "deep list": ("overlay-images/images.json", "[" * 99_999, "is not JSON"),
        "odd list": ("overlay-images/images.json", '{"id": 3}', "no such image"),
        "odd names": (
            "overlay-images/images.json",
            '[{"id": "ab", "names": 5}]',
            "no such image",
        ),
        "odd images": (
            "overlay-images/images.json",
            '[3, {"id": "../x"}]',
            "no such image",
        ),
        "no layers": ("overlay-layers/layers.json", "[]", "does not know its layer"),
        "circle": ("overlay-layers/layers.json", circle, "a circle"),
        "no folder": ("", "", "is not there"),
    }


@pytest.mark.parametrize("name", broken_stores())
def test_a_broken_store_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    make_store(tmp_path / "store", [layer(tmp_path / "low", a="1")])
    path, text, message = broken_stores()[name]
    if path:
        (tmp_path / "store" / path).write_text(text)
    else:
        shutil.rmtree(tmp_path / "store/overlay" / f"{1:064x}")
    with pytest.raises(ImageError, match=message):
        open_image("small").__enter__()


FIRST = """\
FROM scratch
COPY busybox /bin/busybox
COPY busybox /opt/gone/a
COPY busybox /opt/old
"""
SECOND = """\
FROM localhost/first
LABEL org.envcfg.name=second
ENV PYTORCH_VERSION=2.6
RUN ["/bin/busybox", "rm", "-r", "/opt/gone", "/opt/old"]
RUN ["/bin/busybox", "mkdir", "/opt/gone"]
RUN ["/bin/busybox", "touch", "/opt/gone/new"]
ENTRYPOINT ["/bin/busybox", "sh"]
"""


@pytest.mark.parametrize("driver", ["overlay", "vfs"])
def test_what_podman_builds_is_read_as_it_shows_it(driver: str, tmp_path: Path) -> None:
    require_root()
    require("podman", "busybox")
    configuration = tmp_path / "storage.conf"
    text = configuration.read_text().partition("[storage.options]")[0]
    configuration.write_text(text.replace("overlay", driver, 1))
    context = layer(tmp_path / "context")
    shutil.copy(shutil.which("busybox") or "", context / "busybox")
    options = ["--isolation=chroot", "--layers", "--quiet"]
    for name, text in (("first", FIRST), ("second", SECOND)):
        (tmp_path / name).write_text(text)
        build = ["podman", "build", *options, "-t", name, "-f", str(tmp_path / name)]
        subprocess.run([*build, str(context)], check=True, capture_output=True)
    mount = subprocess.run(
        ["podman", "image", "mount", "second"],
        check=True,
        capture_output=True,
        text=True,
    )
    try:
        expected = contents(FolderTree(mount.stdout.strip()))
        with open_image("second") as (tree, metadata):
            assert contents(tree) == expected
    finally:
        subprocess.run(
            ["podman", "image", "umount", "second"], check=True, capture_output=True
        )
        subprocess.run(["podman", "rmi", "-af"], check=True, capture_output=True)
    assert "/opt/gone/new" in expected
    assert "/opt/old" not in expected
    assert metadata.environment["PYTORCH_VERSION"] == "2.6"
    assert metadata.labels["org.envcfg.name"] == "second"
    assert metadata.starts == ("/bin/busybox", "sh")
