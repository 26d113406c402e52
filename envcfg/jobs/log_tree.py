"""The logs below folders: regular files that may be output of a job, each once."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.common.errors import OutputError
from envcfg.common.nesting import MAX_DEPTH
from envcfg.log.collective.sidecars import kinds_of, read_edges
from envcfg.log.job_files import EDGE
from envcfg.log.read.content import SOURCES, kind_of

# Endings of files next to logs. A file with such a name is read only if it is given.
_OTHER = re.compile(
    r"\.(?:pyc|lua|ya?ml|json|jsonl|ndjson|toml|cfg|ini|conf|md|rst|csv|tsv"
    r"|html?|xml|js|css|ipynb|c|cc|cpp|cu|h|hpp|f90|rs|go|java|patch|diff|lock|db|sqlite|key"
    r"|pt|pth|bin|ckpt|npy|npz|safetensors|pkl|h5|hdf5|parquet|arrow|sif|sqsh|squashfs|tar|tgz|zip"
    r"|so|a|o|png|jpe?g|gif|pdf|svg|mp4|wav|nsys-rep|qdrep)(?:\.(?:gz|xz|zst))?$",
    re.IGNORECASE,
)


_SPARSE = 10_000  # times the space on the disk: holes take hours to read


class LogFile(NamedTuple):
    """A file, and its identity for a later run."""

    path: str
    identity: str  # changes if the file is written
    mtime: int  # nanoseconds since 1970
    owner: int  # number of the user


def has_grown(before: str, now: str) -> bool:
    """Return whether a file still has all lines, by its identities *before* and *now*."""
    (inode, size, _), (new_inode, new_size, _) = before.split(), now.split()
    return inode == new_inode and int(size) <= int(new_size)


class Skipped:
    """Names that were not read, by the reason."""

    def __init__(self) -> None:
        """Begin without names."""
        self.unreadable: dict[str, str] = {}  # the error by path
        self.others = 0  # files that are no logs


def find_logs(paths: Sequence[str], skipped: Skipped) -> Iterator[LogFile]:
    """Yield the files of *paths*, and of all folders below them.

    Raises:
        OutputError: one of *paths* does not exist.
    """
    # A link may lead to a file that was found before.
    known: set[tuple[int, int]] = set()
    for given in paths:
        if not os.path.lexists(given):
            msg = f"{given}: no such file or folder"
            raise OutputError(msg, hint="name the folder with the logs of the jobs")
        for path in _walk(given, skipped):
            try:
                status = os.stat(path)
            except OSError as err:
                skipped.unreadable[path] = f"{err.strerror}"
                continue
            if not stat.S_ISREG(status.st_mode) or SOURCES.search(path):
                skipped.others += 1
            elif status.st_size > _SPARSE * (status.st_blocks + 1) * 512:
                skipped.unreadable[path] = f"{status.st_size:,} bytes, mostly holes"
            elif (place := (status.st_dev, status.st_ino)) not in known:
                known.add(place)
                yield LogFile(
                    os.path.abspath(path),
                    f"{status.st_ino} {status.st_size} {status.st_mtime_ns}",
                    status.st_mtime_ns,
                    status.st_uid,
                )


def _walk(given: str, skipped: Skipped) -> Iterator[str]:
    if not os.path.isdir(given):
        yield given
        return

    def note(err: OSError) -> None:
        skipped.unreadable[str(err.filename)] = f"{err.strerror}"

    # os.walk follows no link to a folder, so a loop of links ends.
    for folder, folders, names in os.walk(given, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if folder[len(given) :].count(os.sep) >= MAX_DEPTH and folders:
            skipped.unreadable[folder] = f"folders nested more than {MAX_DEPTH} deep"
            folders.clear()
        for name in sorted(names):
            if name.startswith(".") or _OTHER.search(name):
                skipped.others += 1
            else:
                yield os.path.join(folder, name)


def read_log_edges(path: str) -> bytes | None:
    """Return the text at both ends of *path*; None if it is no log.

    Raises:
        OSError: it cannot be read.
    """
    text = read_edges(path, EDGE)
    # A dump of a hang, a binary file and a table of the scheduler are no output of a job.
    is_log = kind_of(text[:512]) in ("", "empty") and not kinds_of([path])
    return text if is_log and not text.startswith(b"JobID") else None
