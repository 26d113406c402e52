"""Repositories as they lie on this machine, and what has changed in them since a commit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts.drifting.sources import Entry, Spot

FETCHED = ".drift"  # the folder of the repositories that `fetch` keeps
# Entries of profiles and variables that state a source for others, and no value.
_WITHOUT_VALUE = re.compile(r"(?:^|\.)(?:lifecycle|verified)$|^sources\.")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
# A line of a diff that adds a version of Slurm, such as an entry of a change log.
_SLURM = re.compile(r"(?im)^\+.*\bslurm\b.*?\b(2\d\.\d\d(?:\.\d+)?)\b")


class Verdict(NamedTuple):
    """What became of a source: same, lacks, changed, gone or unreadable."""

    word: str
    why: str = ""
    diff: str = ""


def find_checkouts(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the git folders below *folders* by repository, ``owner/name`` in lower case.

    The name is that of the remote ``origin``, or of the folder: ``owner+name``.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        for path in (folder, *sorted(folder.glob("*")), *sorted(folder.glob("*/*"))):
            if not ((path / "HEAD").is_file() or (path / ".git").exists()):
                continue
            url = _git(path, "config", "--get", "remote.origin.url") or str(path)
            named = re.findall(
                r"([\w.-]+)[/+:]([\w.-]+?)(?:\.git)?(?=/repo$|/?$)", url.strip()
            )
            if named:
                found.setdefault("/".join(named[-1]).lower(), path)
    return found


def fetch(repository: str, folder: Path) -> str:
    """Clone *repository* from GitHub into *folder*, or update it; return git's error."""
    clone = folder / repository.replace("/", "+")
    if clone.exists():
        words = ["-C", str(clone), "fetch", "-q", "--prune", "origin"]
        words.append("+refs/heads/*:refs/heads/*")
    else:
        # Files are fetched when they are compared: some repositories have gigabytes.
        words = ["clone", "-q", "--bare", "--filter=blob:none"]
        words += [f"https://github.com/{repository}", str(clone)]
    done = subprocess.run(
        ["git", *words],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
    )
    _git.cache_clear()  # its answers are those of the state before
    lines = done.stderr.strip().splitlines()
    return (lines or ["git failed"])[-1] if done.returncode else ""


@cache
def _git(path: Path, *words: str) -> str | None:
    """Return what git says of a repository; None where it refuses. Nothing there is run."""
    safe = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    done = subprocess.run(
        ["git", *safe, "-C", str(path), *words],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return None if done.returncode else done.stdout


def newest(path: Path, head: str = "HEAD") -> str:
    """Return the day of the newest commit of a checkout."""
    return (_git(path, "show", "-s", "--format=%cs", head) or "").strip()


def _newest_with(path: Path, commit: str) -> str:
    """Return the main branch, or if *commit* is not in it the newest one that has it."""
    if _git(path, "merge-base", "--is-ancestor", commit, "HEAD") is not None:
        return "HEAD"
    form = ("--sort=-committerdate", "--format=%(refname)", f"--contains={commit}")
    return next(
        iter((_git(path, "for-each-ref", *form, "refs/heads") or "").split()), "HEAD"
    )


def compare(entry: Entry, spot: Spot, path: Path | None) -> Verdict:
    """Return what became of *spot* since its commit, as far as *entry* is concerned."""
    if path is None:
        return Verdict("unreadable", "no checkout of it was given")
    if _git(path, "cat-file", "-e", f"{spot.commit}^{{commit}}") is None:
        return Verdict("unreadable", "the checkout does not have this commit")
    old = _git(path, "rev-parse", "--verify", "-q", f"{spot.commit}:{spot.path}")
    head = _newest_with(path, spot.commit)
    new = _git(path, "rev-parse", "--verify", "-q", f"{head}:{spot.path}")
    if old is None:
        return Verdict("unreadable", "the commit does not have this file")
    if new is None:
        return Verdict("gone", f"not in the commit of {newest(path, head)}")
    text = _git(path, "cat-file", "blob", old.strip())  # None for a folder
    has_value = not _WITHOUT_VALUE.search(entry.key)
    if text is not None and has_value and not _has_words(entry, text):
        return Verdict("lacks", "its commit has neither the value nor its name")
    if old == new:
        return Verdict("same")
    diff = _git(
        path, "diff", "-U0", "--no-ext-diff", spot.commit, head, "--", spot.path
    )
    lines = "".join(_concerning(entry, spot, each) for each in _hunks(diff or ""))
    return (
        Verdict("changed", diff=lines)
        if lines
        else Verdict("same", "changed elsewhere")
    )


def _has_words(entry: Entry, text: str) -> bool:
    """Return whether a file has the name or a value of an entry, in any case."""
    # Units, quotes and zeros differ: 60G is 60 in a table.
    numbers = (word.rstrip("GMK") for word in entry.words)
    words = "|".join(sorted(map(re.escape, {*entry.words, *filter(None, numbers)})))
    return not words or bool(re.search(rf"(?i)(?<![\w-])(?:{words})(?![\w-])", text))


def _hunks(diff: str) -> Iterator[str]:
    starts = [found.start() for found in _HUNK.finditer(diff)]
    for start, end in zip(starts, [*starts[1:], len(diff)], strict=True):
        yield diff[start:end]


def _concerning(entry: Entry, spot: Spot, hunk: str) -> str:
    """Return the lines of a hunk that an entry rests on."""
    if entry.key.rpartition(".")[2] == "slurm" and _adds_newer_slurm(entry, hunk):
        return hunk
    if spot.lines:
        found = _HUNK.match(hunk)
        first = int(found[1]) if found else 0
        last = first + max(int(found[2] or 1) - 1, 0) if found else 0
        return hunk if first <= spot.lines[1] and spot.lines[0] <= last else ""
    words = "|".join(sorted(map(re.escape, entry.words)))
    if not words:
        return ""
    named = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")
    _, *lines = hunk.splitlines()
    return "".join(f"{line}\n" for line in lines if named.search(line))


def _adds_newer_slurm(entry: Entry, hunk: str) -> bool:
    """Return whether a hunk adds a newer version of Slurm than that of *entry*."""
    known = max(filter(re.compile(r"2\d\.\d\d").match, entry.words), default="")
    return any(_numbers(version) > _numbers(known) for version in _SLURM.findall(hunk))


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]
