"""``scripts/drift``: hold sources against newer checkouts of the repositories they name."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from envcfg.profile.validate import lacks_coordinates
from scripts.drifting.checkouts import (
    FETCHED,
    Verdict,
    compare,
    fetch,
    find_checkouts,
    newest,
)
from scripts.drifting.sources import Entry, read_entries

ROOT = Path(__file__).parent.parent.parent
_DATA = ("profiles", "envcfg")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print what has changed and the counts; return 1 if a source changed or is gone."""
    parser = argparse.ArgumentParser(prog="scripts/drift", description=__doc__)
    parser.add_argument(
        "checkouts",
        metavar="CHECKOUT",
        nargs="*",
        type=Path,
        help="a repository, bare or not, or a folder of such: OWNER+NAME",
    )
    parser.add_argument(
        "--fetch",
        action="store_true",
        help=f"clone the other repositories from GitHub into {FETCHED}, or update them",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="counts and places, no diffs"
    )
    options = parser.parse_args(arguments)
    if not (options.checkouts or options.fetch):
        parser.error("give checkouts, or --fetch")
    entries = all_entries(root)
    checkouts = find_checkouts(options.checkouts)
    if options.fetch:
        names = {spot.repository for entry in entries for spot in entry.spots}
        for name in sorted(name for name in names if name.lower() not in checkouts):
            if error := fetch(name, root / FETCHED):
                print(f"not fetched: {name}: {error}")
        checkouts = {**find_checkouts([root / FETCHED]), **checkouts}
    places: dict[tuple[str, Verdict], list[Entry]] = {}
    counts: Counter[str] = Counter()
    for entry in entries:
        verdicts = [
            (
                f"{spot.repository} {spot.commit} {spot.path}",
                compare(entry, spot, checkouts.get(spot.repository.lower())),
            )
            for spot in entry.spots
        ]
        for place, verdict in verdicts:
            places.setdefault((place, verdict), []).append(entry)
        counts[
            worst([verdict.word for _, verdict in verdicts])
            if verdicts
            else kind(entry.source)
        ] += 1
    for (place, verdict), concerned in sorted(places.items(), key=lambda item: item[0]):
        if verdict.word == "same":
            continue
        print(f"{verdict.word}: {place}" + (f": {verdict.why}" if verdict.why else ""))
        for entry in concerned:
            print(f"  {entry.where} {entry.key}")
        if verdict.diff and not options.quiet:
            print("".join(f"    {line}\n" for line in verdict.diff.splitlines()))
    for name, path in sorted(checkouts.items()):
        print(f"checkout: {name}, newest commit {newest(path)}")
    print(", ".join(f"{number} {word}" for word, number in sorted(counts.items())))
    return 1 if counts["changed"] or counts["gone"] else 0


def all_entries(root: Path) -> list[Entry]:
    """Return what has a source in profiles, rules, variables and records."""
    files = (
        path for folder in _DATA for path in sorted((root / folder).rglob("*.yaml"))
    )
    return [entry for path in files for entry in read_entries(path, root)]


def worst(words: list[str]) -> str:
    """Return what counts of a source that names several places."""
    order = ("changed", "gone", "unreadable", "lacks", "same")
    return next(word for word in order if word in words)


def kind(source: str) -> str:
    """Return what a source is that is no place in a repository."""
    if lacks_coordinates(source):
        return "repository without coordinates"
    return "page" if "https://" in source else "words"


if __name__ == "__main__":
    raise SystemExit(main())
