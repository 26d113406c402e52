"""Write the catalogue of warnings anew: what each release of each library prints.

The sources are read from git repositories, release by release; what is written is compact:
a file for each library in envcfg/log/read/warnings, a line for each format, sorted. A new
release is one run, and a diff to read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.cataloguing.formats import Printed, printed

OUT = Path(__file__).parents[2] / "envcfg" / "log" / "warnings"
_SOURCE = re.compile(r"(?:src|include)/(?!.*\btests?/).*\.(?:cc?|cpp|cu|hp?p?|in)$")
# INFO lines that decide which way data go.
_DECIDES = re.compile(
    r"(?!Coll|HINT|.*Closing|.*threads)"
    r".*(?:GPU ?Direct|GDR|DMA-?BUF|[Pp]rovider|transport protocol|Using network|via |"
    r"(?:NET|net|network) plugin|NET/(?:IB|Socket) ?: (?:Using|No device)|peer ?mem)"
)


class Library(NamedTuple):
    """A repository, its license, and which of its refs are releases, with their version.

    Of one without tags, each branch is one, and its build says the version.
    """

    repository: str
    license: str
    releases: str


LIBRARIES = {
    "nccl": Library(
        "NVIDIA/nccl", "BSD-3-Clause, since 2.29 Apache-2.0", r"v(2\.\d+\.\d+)-\d+"
    ),
    "rccl": Library(
        "ROCm/rccl",
        "BSD-3-Clause",
        r"(?:rocm-|release/rocm-rel-)([3-9]\.\d+\.\d+(?:\.\d+)?)",
    ),
    "aws-ofi-nccl": Library(
        "aws/aws-ofi-nccl", "Apache-2.0", r"v(\d+\.\d+\.\d+)(?:-?aws)?"
    ),
    "aws-ofi-rccl": Library("ROCm/aws-ofi-rccl", "Apache-2.0", ""),
}

# The part of a library that a source belongs to, by its path; the first that fits.
_PARTS = (
    (
        "tuning",
        r"tun(?:er|ing)|profiler|param|/env|nvtx|msccl/msccl_(?:lifecycle|parser)",
    ),
    ("topology", r"graph/|topo|platform|nvml|rocm_?smi|/pci|archinfo"),
    ("proxy", r"proxy"),
    (
        "memory",
        r"alloc|regist|/mr\b|mem|freelist|gdr|shmutils|dma_?buf|ipcsocket|utils|buff",
    ),
    ("bootstrap", r"bootstrap|socket\.|ras/|/cm\b|connmgr"),
    ("plugin", r"plugin|nccl_ofi_(?:api|net|interface|init)|interface|src/net\.cc"),
    (
        "transport",
        r"transport|/net|p2p|shm|nvls|ibv|mlx5|verbs|ofi|rdma|sendrecv|gin|rma",
    ),
    ("call", r"enqueue|collectives|argcheck|group|msccl|device|symmetric|nccl\.h"),
    ("init", r""),
)


class Entry(NamedTuple):
    """A format, and in which releases it is printed."""

    since: int
    last: int
    part: str
    effect: str
    path: str


def main() -> None:
    """Read the repositories that are named, and write what their releases print."""
    parser = argparse.ArgumentParser(prog="scripts/catalogue", description=__doc__)
    parser.add_argument(
        "gits",
        nargs="+",
        metavar="LIBRARY=GITDIR",
        help=f"a library ({', '.join(LIBRARIES)}) and its git directory, with all tags",
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, help="where to (default: %(default)s)"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="REF",
        help="a release to leave out",
    )
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="LIBRARY:REF",
        help="a branch that is newer than all releases",
    )
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    for given in options.gits:
        name, _, git = given.partition("=")
        if name not in LIBRARIES or not Path(git).is_dir():
            parser.error(
                f"{given}: expected LIBRARY=GITDIR, one of {', '.join(LIBRARIES)}"
            )
        releases = _releases(git, LIBRARIES[name].releases, options.without)
        newer = [each.partition(":")[::2] for each in options.also]
        releases |= {ref: ref for library, ref in newer if library == name}
        text = _written(LIBRARIES[name], list(releases), _catalogue(git, releases))
        path = options.out / f"{name}.tsv"
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(
            f"{path}: {len(releases)} releases, {text.count(chr(10))} lines\n"
        )


def _git(git: str, *words: str, given: bytes = b"") -> bytes:
    command = ["git", "--git-dir", git, *words]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def _releases(git: str, pattern: str, without: list[str]) -> dict[str, str]:
    """Return the releases, the oldest first: their version, and the ref that has it."""
    form = "--format=%(refname:lstrip=2)"
    refs = _git(git, "for-each-ref", form, "refs/tags", "refs/heads").decode().split()
    found: dict[str, str] = {}
    for ref in (each for each in refs if each not in without):
        if pattern:
            named = re.fullmatch(pattern, ref)
        else:
            build = _git(git, "show", f"{ref}:configure.ac").decode()
            named = re.search(r"AC_INIT\(\[[^]]*\], *\[v?([\d.]+)", build)
        if named:
            found[named[1]] = ref
    numbers = sorted(found, key=lambda each: [int(part) for part in each.split(".")])
    return {each: found[each] for each in numbers}


def _catalogue(git: str, releases: dict[str, str]) -> dict[tuple[str, str], Entry]:
    """Return what the *releases* print: level and format, and what is known of each."""
    known: dict[str, list[Printed]] = {}
    entries: dict[tuple[str, str], Entry] = {}
    for at, ref in enumerate(releases.values()):
        files = dict(_files(git, ref))
        new = [blob for blob in files.values() if blob not in known]
        for blob, source in zip(new, _sources(git, new), strict=True):
            known[blob] = list(printed(source))
        for path, blob in files.items():
            for each in known[blob]:
                if not each.warns and not _DECIDES.match(each.format):
                    continue
                effect = (
                    ("fails" if each.fails else "goes on") if each.warns else "tells"
                )
                key = "WARN" if each.warns else "INFO", each.format
                since = entries[key].since if key in entries else at
                if key in entries and entries[key].last == at:
                    effect = min(effect, entries[key].effect)  # one that fails counts
                entries[key] = Entry(since, at, _part(path), effect, path)
    return entries


def _files(git: str, ref: str) -> Iterator[tuple[str, str]]:
    for line in _git(git, "ls-tree", "-r", ref).decode().splitlines():
        about, _, path = line.partition("\t")
        if _SOURCE.match(path) and about.split()[1] == "blob":
            yield path, about.split()[2]


def _sources(git: str, blobs: list[str]) -> Iterator[str]:
    """Yield the texts of *blobs*."""
    given = "".join(f"{blob}\n" for blob in blobs).encode()
    text = _git(git, "cat-file", "--batch", given=given)
    at = 0
    for _ in blobs:
        end = text.index(b"\n", at)
        size = int(text[at:end].split()[2])
        yield text[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + size + 2


def _part(path: str) -> str:
    return next(part for part, pattern in _PARTS if re.search(pattern, path))


def _written(
    library: Library, versions: list[str], entries: dict[tuple[str, str], Entry]
) -> str:
    """Return a file of the catalogue."""
    lines = [
        f"{versions[each.since]}\t{versions[each.last]}\t{each.part}\t{each.effect}"
        f"\t{each.path}\t{words}\n"
        for (_, words), each in sorted(entries.items(), key=lambda item: item[0][::-1])
    ]
    head = f"# {library.repository}\t{versions[0]}\t{versions[-1]}\t{library.license}\n"
    return head + "".join(lines)


if __name__ == "__main__":
    main()
