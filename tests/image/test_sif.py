"""SIFs that are put together here; those of the real Apptainer: tests/cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from made_forms import (
    ARM64,
    DATA,
    ENCRYPTED,
    EXT3,
    LABELS,
    OCI_BLOB,
    OCI_INDEX,
    OVERLAY,
    PARTITION,
    SIGNATURE,
    Part,
    contents,
    make_folder,
    make_sif,
    root_part,
    squash,
)

from envcfg.common.errors import ImageError
from envcfg.image.open_image import open_image
from envcfg.image.tree import FolderTree
from support import require


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("sif") / "folder")


@pytest.fixture(scope="module")
def squashed(folder: Path) -> bytes:
    return squash(folder, folder.parent / "image.sqfs").read_bytes()


def partition(data: bytes, kind: int, use: int) -> Part:
    extra = kind.to_bytes(4, "little") + use.to_bytes(4, "little") + b"02\0"
    return Part(PARTITION, data, extra)


@pytest.mark.parametrize("alignment", [1, 512, 4096, 65536])
def test_a_sif_shows_its_root(
    alignment: int, folder: Path, squashed: bytes, tmp_path: Path
) -> None:
    labels = json.dumps({"a": "of the SIF", "org.envcfg.name": "hidden"}).encode()
    parts = [
        Part(0x4001, b"Bootstrap: docker\n"),
        Part(LABELS, labels + b"\0\0"),
        partition(b"other", 1, DATA),
        root_part(squashed, machine=ARM64),
        Part(PARTITION, b"gone", used=False),
        Part(SIGNATURE, b"-----BEGIN PGP", b"\1"),
    ]
    image = make_sif(tmp_path / "no-suffix", parts, alignment=alignment)
    with open_image(str(image)) as (tree, metadata):
        assert contents(tree) == contents(FolderTree(str(folder)))
    assert metadata.form == "sif"
    assert metadata.architecture == "aarch64"
    assert metadata.labels == {"a": "of the SIF", "org.envcfg.name": "small"}
    assert metadata.unread == ()


def test_an_overlay_in_a_sif_is_named(squashed: bytes, tmp_path: Path) -> None:
    parts = [root_part(squashed), partition(b"ext3", EXT3, OVERLAY)]
    image = make_sif(tmp_path / "image.sif", parts)
    with open_image(str(image)) as (_, metadata):
        assert "overlay" in metadata.unread[0]


NOT_READ = {
    "encrypted": ([root_part(b"luks", ENCRYPTED)], "files are encrypted", "its key"),
    "ext3": ([root_part(b"ext3", EXT3)], "is ext3, which is not read", "apptainer build"),
    "unknown": ([root_part(b"?", 77)], "of the unknown kind 77", "apptainer build"),
    "no root": ([Part(0x4001, b"def")], "without a root", "apptainer build"),
    "no squashfs": ([root_part(b"x" * 200)], "damaged", "copy or build"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_READ)
def test_a_sif_that_is_not_read_says_why(name: str, tmp_path: Path) -> None:
    parts, message, hint = NOT_READ[name]
    image = make_sif(tmp_path / "image.sif", parts)
    with pytest.raises(ImageError) as caught, open_image(str(image)):
        pass
    assert caught.value.message.startswith(f"{image}: ")
    assert message in caught.value.message
    assert hint in str(caught.value.hint)
    assert caught.value.exit_code == 4


def blob(data: bytes) -> Part:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return Part(OCI_BLOB, data, digest.encode())


def oci_parts(layers: Sequence[bytes], kind: str) -> list[Part]:
    config = blob(
        json.dumps(
            {
                "architecture": "arm64",
                "config": {
                    "Env": ["PYTORCH_VERSION=2.6", "EMPTY=", "bad", 3],
                    "Labels": {"org.envcfg.rocm": "6.2"},
                    "Entrypoint": ["/entry", "a b"],
                    "Cmd": ["sh"],
                },
            }
        ).encode()
    )
    blobs = [blob(each) for each in layers]
    entry: Callable[[Part], dict[str, str]] = lambda part: {  # noqa: E731
        "digest": part.extra.decode(),
        "mediaType": kind,
    }
    manifest = blob(
        json.dumps(
            {"config": entry(config), "layers": list(map(entry, blobs))}
        ).encode()
    )
    index = Part(OCI_INDEX, json.dumps({"manifests": [entry(manifest)]}).encode())
    return [*blobs, config, manifest, index]


def test_an_oci_sif_shows_its_layer_and_configuration(
    folder: Path, squashed: bytes, tmp_path: Path
) -> None:
    kind = "application/vnd.sylabs.image.layer.v1.squashfs"
    image = make_sif(tmp_path / "image.oci.sif", oci_parts([squashed], kind))
    with open_image(str(image)) as (tree, metadata):
        assert contents(tree) == contents(FolderTree(str(folder)))
    assert metadata.architecture == "aarch64"
    assert metadata.environment == {"PYTORCH_VERSION": "2.6", "EMPTY": ""}
    assert metadata.labels["org.envcfg.rocm"] == "6.2"
    assert metadata.starts == ("/entry", "a b", "sh")


def test_layers_of_an_oci_sif_lie_over_each_other(
    squashed: bytes, tmp_path: Path
) -> None:
    require("mksquashfs")
    upper = tmp_path / "upper"
    (upper / "etc").mkdir(parents=True)
    (upper / "etc/os-release").write_text("ID=upper\n")
    marks = ["-p", "opt d 755 0 0", "-p", "opt/large c 000 0 0 0 0"]
    over = squash(upper, tmp_path / "upper.sqfs", *marks).read_bytes()
    kind = "application/vnd.sylabs.image.layer.v1.squashfs"
    image = make_sif(tmp_path / "image.oci.sif", oci_parts([squashed, over], kind))
    with open_image(str(image)) as (tree, _):
        assert tree.text("/etc/os-release") == "ID=upper\n"
        assert tree.names("/opt") == ["empty", "exact", "fifo", "sparse"]
        assert tree.read("/opt/large") is None


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (oci_parts([b"x"], "application/vnd.oci.image.layer.v1.tar+gzip"), "tar.gzip"),
        (oci_parts([], "squashfs"), "without layers"),
        ([Part(OCI_INDEX, b"{}")], "without the blob None"),
        ([Part(OCI_INDEX, b"[" * 100_000)], "without the blob None"),
        (oci_parts([b"x"], "squashfs")[1:], "without the blob sha256"),
    ],
)
def test_an_oci_sif_that_is_not_read_says_why(
    parts: list[Part], message: str, tmp_path: Path
) -> None:
    image = make_sif(tmp_path / "image.sif", parts)
    with pytest.raises(ImageError, match=message), open_image(str(image)):
        pass
