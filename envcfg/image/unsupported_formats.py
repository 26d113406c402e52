"""What a file is that is no image which envcfg reads, and what makes one of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from envcfg.datafile import load_yaml
from envcfg.image.bounded_file import FormError

HEAD = 2048  # bytes that tell

_OCI = "make an image of it: {program} build image.sif {scheme}:{path}"
_TAR_AT, _TAR = 257, b"ustar"
_MOST_MEMBERS = 500  # of an archive that is looked through
_BY_ENROOT = ("dockerd", "podman")  # schemes that no other program fetches
_ARCHIVES = (
    "docker-archive",
    "oci-archive",
    "oci",
    "docker-daemon",
    "containers-storage",
)


def reference(name: str, program: str) -> FormError | None:
    """Return what *name* refers to where it is a URI, which nothing here fetches."""
    scheme, colon, rest = name.partition(":")
    if colon and scheme in _ARCHIVES:
        made = f"{program} build image.sif {name}"
        return FormError(
            "a reference, not a file", f"make one: {made}, then give image.sif"
        )
    if "://" not in name or not rest.startswith("//"):
        return None
    made, file = f"{program} pull image.sif {name}", "image.sif"
    if scheme in _BY_ENROOT:
        made, file = f"enroot import -o image.sqsh {name}", "image.sqsh"
    return FormError("a reference, not a file", f"fetch it: {made}, then give {file}")


def special(mode: int) -> str:
    """Return what a file of this *mode* is, which is neither file nor folder."""
    kinds = {
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a block device",
        stat.S_IFCHR: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "no file")


def recognise(descriptor: int, head: bytes, path: str, program: str) -> FormError:
    """Return what the file *path*, which begins with *head*, is instead of an image."""
    if not head:
        return FormError("an empty file", "build or copy it once more")
    known = load_yaml(
        os.path.join(os.path.dirname(__file__), "unsupported_formats.yaml")
    )
    for each in known["files"]:
        if head.startswith(each["magic"].encode("latin-1"), each.get("at", 0)):
            return FormError(each["what"], each.get("hint", known["any"]))
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return _archive(descriptor, path, program)
    if not set(head) & set(range(9)):
        return FormError("a text", known["any"])
    return FormError("no image of a form that is known", known["any"])


def _archive(descriptor: int, path: str, program: str) -> FormError:
    names = set(_members(descriptor))
    if "oci-layout" in names:
        scheme, of = "oci-archive", "an OCI image"
    elif "manifest.json" in names:
        scheme, of = "docker-archive", "docker save"
    else:
        return FormError("a tar archive", "unpack it, and give the folder")
    made = _OCI.format(program=program, scheme=scheme, path=path)
    hint = f"{made}, or podman load -i {path}, and give its name"
    return FormError(f"an archive of {of} ({scheme})", hint)


def _members(descriptor: int) -> Iterator[str]:
    """Yield the names in a tar archive, going from header to header."""
    at = 0
    for _ in range(_MOST_MEMBERS):
        header = os.pread(descriptor, 512, at)
        size = header[124:136].rstrip(b"\0 ")
        if len(header) < 512 or not size.isdigit():
            return
        yield header[:100].rstrip(b"\0").decode(errors="replace").removeprefix("./")
        try:
            at += 512 + -(-int(size, 8) // 512) * 512
        except ValueError:
            return
