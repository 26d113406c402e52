"""``scripts/drift``: hold sources against newer checkouts of the repositories they name."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from envcfg.profile.validate import lacks_coordinates
from scripts.drifting.checkouts import Verdict, compare, find_checkouts, newest
from scripts.drifting.sources import Entry, read_entries

ROOT = Path(__file__).parent.parent.parent
_DATA = ("profiles", "envcfg")


def main() -> int:
    """Print what has changed, and how many of each kind there are."""
    parser = argparse.ArgumentParser(prog="scripts/drift", description=__doc__)
    parser.add_argument(
        "checkouts",
        metavar="CHECKOUT",
        nargs="+",
        type=Path,
        help="a repository, bare or not, or a folder of such: OWNER+NAME",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="counts and places, no diffs"
    )
    options = parser.parse_args()
    known = find_checkouts(options.checkouts)
    found: dict[tuple[str, Verdict], list[Entry]] = {}
    counts: Counter[str] = Counter()
    for entry in all_entries(ROOT):
        verdicts = [
            (
                f"{spot.repository} {spot.commit} {spot.path}",
                compare(entry, spot, known.get(spot.repository.lower())),
            )
            for spot in entry.spots
        ]
        for name, verdict in verdicts:
            found.setdefault((name, verdict), []).append(entry)
        counts[
            worst([verdict.word for _, verdict in verdicts])
            if verdicts
            else kind(entry.source)
        ] += 1
    for (name, verdict), entries in sorted(found.items(), key=lambda each: each[0]):
        if verdict.word == "same":
            continue
        print(f"{verdict.word}: {name}" + (f": {verdict.why}" if verdict.why else ""))
        for each in entries:
            print(f"  {each.where} {each.key}")
        if verdict.diff and not options.quiet:
            print("".join(f"    {line}\n" for line in verdict.diff.splitlines()))
    for name, path in sorted(known.items()):
        print(f"checkout: {name}, newest commit {newest(path)}")
    print(", ".join(f"{number} {word}" for word, number in sorted(counts.items())))
    return 0


def all_entries(root: Path) -> list[Entry]:
    """Return what has a source in profiles, rules, variables and records."""
    files = (
        path for folder in _DATA for path in sorted((root / folder).rglob("*.yaml"))
    )
    return [entry for path in files for entry in read_entries(path, root)]


def worst(words: list[str]) -> str:
    """Return what counts of a source that names several places."""
    order = ("changed", "gone", "unreadable", "same")
    return next(word for word in order if word in words)


def kind(source: str) -> str:
    """Return what a source is that is no place in a repository."""
    if lacks_coordinates(source):
        return "repository without coordinates"
    return "page" if "https://" in source else "words"


if __name__ == "__main__":
    raise SystemExit(main())
