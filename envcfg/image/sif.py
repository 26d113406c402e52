"""SIF images: the part with the root file system, and the metadata next to the files.

The header has 128 bytes and each descriptor 585, with little-endian numbers on every
system (sif v2.19, pkg/sif: header.go, descriptor.go). Signatures are not checked.
"""

import struct
from collections.abc import Sequence

from envcfg.common.foreign_data import mapping, sequence
from envcfg.image.bounded_file import BoundedFile, FormError, refuse
from envcfg.image.image_record import Metadata
from envcfg.image.layers import LayeredTree
from envcfg.image.metadata import machine, parse_object, read_config, texts
from envcfg.image.squashfs import SquashTree
from envcfg.image.tree import MOST_BYTES, Tree

MAGIC = b"SIF_MAGIC\0"
MAGIC_AT = 32  # after the line that makes the file executable
_HEADER = struct.Struct("<32s10s3s3s16s8q")
_DESCRIPTOR = struct.Struct("<i?III7q128s384s")
_PARTITION = struct.Struct("<ii3s")
_MOST_DESCRIPTORS = 4096  # a SIF usually has 48

_LABELS, _PARTITIONS, _OCI_INDEX, _OCI_BLOB = 0x4003, 0x4004, 0x400A, 0x400B
_SQUASHFS, _ENCRYPTED = 1, 5
_FILE_SYSTEMS = {2: "ext3", 3: "an archive", 4: "raw"}
_ROOT, _OVERLAY = 2, 4
_ARCHITECTURES = {
    "01": "386", "02": "amd64", "03": "arm", "04": "arm64", "05": "ppc64",
    "06": "ppc64le", "07": "mips", "08": "mipsle", "09": "mips64", "10": "mips64le",
    "11": "s390x", "12": "riscv64",
}  # fmt: skip
_ENCRYPTED_HINT = (
    "inspect it where it is not encrypted: the files are in an encrypted partition, "
    "which only the runtime opens, with its key"
)
_BUILD_HINT = "make a SIF with a squashfs of it: apptainer build new.sif IMAGE"


def read_sif(file: BoundedFile) -> tuple[Tree, Metadata]:
    """Return the files of a SIF and its metadata.

    Raises:
        OSError: it is damaged, or its files cannot be read; FormError has a hint.
    """
    header = _HEADER.unpack(file.read_at(0, _HEADER.size))
    code, total, start, length = header[3], header[8], header[9], header[10]
    is_list = 0 < total <= _MOST_DESCRIPTORS and start >= _HEADER.size
    if not is_list or length != total * _DESCRIPTOR.size:
        refuse(f"{total} descriptors in {length} bytes")
    if header[1] != MAGIC:
        refuse("it does not begin as a SIF")
    parts = [  # for each descriptor: its kind, its data, and its type's own fields
        (kind, file.part(offset, size), extra)
        for kind, used, _, _, _, offset, size, *_, extra in _DESCRIPTOR.iter_unpack(
            file.read_at(start, length)
        )
        if used
    ]
    if any(kind == _OCI_INDEX for kind, _, _ in parts):
        return _read_oci(parts)
    labels: dict[str, str] = {}
    unread, root, system = [], None, 0
    for kind, part, extra in parts:
        if kind == _LABELS and part.size <= MOST_BYTES:
            data = part.read_at(0, part.size)
            labels |= texts(parse_object(data.rstrip(b"\0 \n")))
        if kind != _PARTITIONS:
            continue
        file_system, use, own = _PARTITION.unpack(extra[: _PARTITION.size])
        if use == _ROOT:
            root, system, code = part, file_system, own
        elif use == _OVERLAY:
            unread.append("an overlay in the SIF, whose files cover those of the image")
    if root is None:
        raise FormError("a SIF without a root file system", _BUILD_HINT)  # noqa: EM101
    if system == _ENCRYPTED:
        raise FormError("a SIF whose files are encrypted", _ENCRYPTED_HINT)  # noqa: EM101
    if system != _SQUASHFS:
        system_name = _FILE_SYSTEMS.get(system, f"of the unknown kind {system}")
        msg = f"a SIF whose root file system is {system_name}, which is not read"
        raise FormError(msg, _BUILD_HINT)
    own = machine(_ARCHITECTURES.get(_text(code), ""))
    return SquashTree(root), Metadata("sif", own, labels, unread=tuple(unread))


def _read_oci(parts: Sequence[tuple[int, BoundedFile, bytes]]) -> tuple[Tree, Metadata]:
    """Return the files of an OCI-SIF with squashfs layers (SingularityCE 4)."""
    blobs = {_text(extra): part for kind, part, extra in parts if kind == _OCI_BLOB}
    index = next(part for kind, part, _ in parts if kind == _OCI_INDEX)
    manifests = sequence(parse_object(_whole(index)).get("manifests"))
    manifest = parse_object(_whole(_blob(blobs, next(iter(manifests), None))))
    metadata = read_config("sif", _whole(_blob(blobs, manifest.get("config"))))
    layers = sequence(manifest.get("layers"))
    if not layers:
        refuse("an OCI-SIF without layers")
    trees = []
    for layer in layers:
        kind = str(mapping(layer).get("mediaType", ""))
        if not kind.endswith("squashfs"):
            msg = f"an OCI-SIF with a layer of the type {kind}, which is not read"
            hint = "pull it once more with layers as squashfs: singularity pull --oci"
            raise FormError(msg, hint)
        trees.append(SquashTree(_blob(blobs, layer)))
    return trees[0] if len(trees) == 1 else LayeredTree(trees[::-1]), metadata


def _blob(blobs: dict[str, BoundedFile], entry: object) -> BoundedFile:
    """Return the blob of a list's entry, by its digest."""
    digest = mapping(entry).get("digest")
    if not isinstance(digest, str) or digest not in blobs:
        refuse(f"an OCI-SIF without the blob {digest}")
    return blobs[digest]


def _whole(file: BoundedFile) -> bytes:
    if file.size > MOST_BYTES:
        refuse(f"a description of {file.size:,} bytes")
    return file.read_at(0, file.size)


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("ascii", "replace")
