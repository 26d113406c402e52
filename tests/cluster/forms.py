"""The image of PyTorch in the forms that other runtimes take; made once, and kept."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from cluster import UID

CACHE = Path("/var/cache/envcfg-cluster")
_WEEK = 7 * 24 * 3600  # seconds
# What the image sets, as the others do: wrong, but for the last.
ENV = {
    "NCCL_SOCKET_IFNAME": "wrong0",
    "NCCL_NET": "Wrong",
    "MIOPEN_USER_DB_PATH": "/wrong",
    "HIP_VISIBLE_DEVICES": "7",
    "IMAGE_OWN": "kept",
}
WORKDIR = "/opt"  # must not matter
NAME = "localhost/pytorch"


class Forms:
    """An image in several forms.

    Attributes:
        folder: unpacked; with Charliecloud's file of variables.
        file: the same as a squashfs file.
        store: of Podman, for many to read, with the image :data:`NAME`; it also has an
            entrypoint that must not run.
        images: what stand-ins know by type and name: links to the folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "pytorch"
        self.file = root / "pytorch.sqfs"
        self.store = root / "store"
        self.images = root / "images"


def drop_unused(pattern: str) -> None:
    """Remove what older clones left in the cache, if it was not used for a week."""
    for folder in CACHE.glob(pattern):
        if time.time() - folder.stat().st_mtime > _WEEK:
            shutil.rmtree(folder)


def make_forms(sif: Path) -> Forms:
    """Return the image of a SIF file in other forms; about 40 s the first time."""
    key = sif.resolve().parent.name.removeprefix("images-")
    forms = Forms(CACHE / f"forms-{key}")
    drop_unused("forms-*")
    if forms.root.is_dir():
        forms.root.touch()
        return forms
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="tmp.") as folder:
        made = Forms(Path(folder) / "forms")
        made.root.mkdir()
        unpack(sif, made.folder)
        _describe(made.folder)
        _squash(made)
        _store(made)
        (made.images / "docker").mkdir(parents=True)
        (made.images / "docker/pytorch:1.0").symlink_to("../../pytorch")
        # Without subuids a user has no other files in a container than their own.
        _run("chown", "-R", f"{UID}:{UID}", made.root)
        made.root.rename(forms.root)
    return forms


def unpack(sif: Path, folder: Path) -> None:
    """Make *folder* with what the image of a SIF file holds."""
    with (
        sif.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        offset = data.find(b"hsqs")  # where the squashfs file in it begins
    _run(
        "unsquashfs",
        "-quiet",
        "-no-progress",
        "-offset",
        str(offset),
        "-dest",
        folder,
        sif,
    )


def _describe(folder: Path) -> None:
    (folder / "ch").mkdir()
    (folder / "ch/environment").write_text(
        "".join(f"{name}={value}\n" for name, value in ENV.items())
    )
    (folder / "ch/workdir").write_text(f"{WORKDIR}\n")  # for the stand-ins
    (folder / "run/envcfg-cluster/home").mkdir(parents=True)  # to be mounted on


def _squash(forms: Forms) -> None:
    _run(
        "mksquashfs", forms.folder, forms.file, "-comp", "lz4", "-quiet", "-no-progress"
    )


def _store(forms: Forms) -> None:
    conf = forms.root / "storage.conf"
    conf.write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{forms.store}"\n'
        f'runroot = "{forms.root}/run"\n'
    )
    changes = [f"ENV {name}={value}" for name, value in ENV.items()]
    changes += [f"WORKDIR {WORKDIR}", 'ENTRYPOINT ["/bin/false"]']
    options = [word for change in changes for word in ("--change", change)]
    script = 'export CONTAINERS_STORAGE_CONF=$1; tar -C "$2" -c . | podman import "${@:4}" - "$3"'
    _run(
        "bash",
        "-o",
        "pipefail",
        "-c",
        script,
        "bash",
        conf,
        forms.folder,
        NAME,
        *options,
    )
    _run("chmod", "-R", "a+rX", forms.store)


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode == 0, (argv, done.stderr.decode(errors="replace"))
