"""Write anew which releases read each variable, and with which default.

The sources are read from git repositories, release by release. What is written is compact:
``envcfg/knowledge/history.yaml``, a text for each name and library. A name that the newest
release reads and no file of ``envcfg/knowledge/variables`` has is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from envcfg.knowledge.variable_record import load_readers
from envcfg.knowledge.variables import load_variables
from scripts.naming.sources import LIBRARIES, Library, Release, read_releases

OUT = Path(__file__).parents[2] / "envcfg" / "knowledge" / "history.yaml"
_ABOUT = (
    "# Which releases read each variable, and with which default: written by"
    " scripts/variables.\n"
)


def main() -> int:
    """Read the repositories that are named, and write what their releases read."""
    parser = argparse.ArgumentParser(prog="scripts/variables", description=__doc__)
    parser.add_argument(
        "gits",
        nargs="+",
        metavar="LIBRARY=GITDIR",
        help=f"a library ({', '.join(LIBRARIES)}) and its git directory, with all tags",
    )
    parser.add_argument("--out", type=Path, default=OUT, help="default: %(default)s")
    options = parser.parse_args()
    names: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    for given in options.gits:
        key, _, git = given.partition("=")
        if key not in LIBRARIES or not Path(git).is_dir():
            parser.error(f"{given}: LIBRARY=GITDIR, of {', '.join(LIBRARIES)}")
        library = LIBRARIES[key]
        releases = read_releases(library, Path(git))
        versions = list(releases)
        sources[key] = f"{library.repository}, {versions[0]} to {versions[-1]}"
        for name in sorted({name for each in releases.values() for name in each.names}):
            text = history(library, releases, name)
            names.setdefault(name, []).append(text)
        for name in sorted(set(releases[versions[-1]].names) - set(load_variables())):
            print(f"unknown: {name} ({key} {versions[-1]})")
    assert set(sources) <= set(load_readers())  # noqa: S101  # a slip of this script
    data = {"sources": sources, "names": dict(sorted(names.items()))}
    text = yaml.safe_dump(data, width=1000, sort_keys=False)
    options.out.write_text(f"{_ABOUT}{text}", encoding="utf-8")
    print(f"{len(names)} names, {', '.join(sources.values())}")
    return 0


def history(library: Library, releases: Mapping[str, Release], name: str) -> str:
    """Return in which releases a name is read and what its default was, as a text.

    Where the source names no plain value, it is only said to be read.
    """
    having = [version for version, each in releases.items() if each.reads(name)]
    versions = list(releases)
    changes: list[tuple[str, str | None]] = []
    for version in having:
        default = releases[version].names.get(name)
        if not changes or default != changes[-1][1]:
            changes.append((version, default))
    told = _told(changes, since_ever=having[0] == versions[0])
    until = "" if having[-1] == versions[-1] else f"; not after {having[-1]}"
    return f"{library.title}: {told}{until}"


def _told(changes: Sequence[tuple[str, str | None]], *, since_ever: bool) -> str:
    said = []
    for number, (version, default) in enumerate(changes):
        value = "read" if default is None else f"default {default or 'empty'}"
        since = "" if since_ever and not number else f" since {version}"
        said.append(f"{value}{since}")
    return ", ".join(said)


if __name__ == "__main__":
    raise SystemExit(main())
