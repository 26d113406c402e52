"""What jobs came to, as text for a review: each line once, below the cases it is true of."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from images import Stack
from outcomes import Case, Outcome, normal

_OF_SHELLS = frozenset("_ SHLVL PWD OLDPWD OUT FAKE_NOTES FAKE_ONLY".split())
_SCHEDULED = {
    "SLURM_JOB_ID",
    "FLUX_URI",
}  # a job without them takes a port that is free


def changes(outcome: Outcome, folder: Path) -> Iterator[str]:
    """Yield what rank 0 finds in its environment and would not find without envcfg."""
    seen, bare = outcome.ranks[0], outcome.bare
    for name in sorted((seen.keys() | bare.keys()) - _OF_SHELLS):
        if name == "MASTER_PORT" and not _SCHEDULED & outcome.job.keys():
            yield "MASTER_PORT=(a free one)"
        elif name not in seen:
            yield f"unset {name}"
        elif seen[name] != bare.get(name):
            yield f"{name}={shlex.quote(normal(seen[name], folder))}"


def review(found: Sequence[tuple[Case, Outcome]], folder: Path) -> str:
    """Return what the jobs came to, each line once, below the cases that it is true of.

    Where several images come to the same, they are one case; those for which it makes no
    difference what is stated are left out.
    """
    jobs: dict[tuple[str, str], dict[int, tuple[list[str], list[str]]]] = {}
    for case, outcome in found:
        came = (list(outcome.lines), list(changes(outcome, folder)))
        jobs.setdefault((case.launcher, case.stack), {})[case.nodes] = came
    labels: dict[tuple[str, str], str] = {}  # by the first one that came to the same
    for (launcher, stack), made in jobs.items():
        same = next(
            key for key, other in jobs.items() if key[0] == launcher and other == made
        )
        if same not in labels:
            labels[same] = stack
        elif labels[same] != Stack().label:
            labels[same] += f" or {stack}"
    lines: dict[str, list[Case]] = {}
    env: dict[str, list[Case]] = {}
    cases = []
    for key, label in labels.items():
        for nodes, came in jobs[key].items():
            cases.append(Case(key[0], nodes, label))
            for entries, given in zip((lines, env), came, strict=True):
                for line in given:
                    entries.setdefault(line, []).append(cases[-1])
    most_first = sorted(env.items(), key=lambda entry: -len(entry[1]))
    return _sections("launch line", lines, cases) + _sections(
        "environment of rank 0", dict(most_first), cases
    )


def _sections(
    title: str, entries: Mapping[str, Sequence[Case]], cases: Sequence[Case]
) -> str:
    sections: dict[str, str] = {}
    for line, where in entries.items():
        heading = _heading(where, cases)
        sections[heading] = f"{sections.get(heading, '')}{line}\n"
    return "".join(
        f"\n# {title}: {heading}\n{text}" for heading, text in sections.items()
    )


def _heading(some: Sequence[Case], every: Sequence[Case]) -> str:
    """Name the cases as briefly as they can be: launchers, numbers of nodes, facts."""
    if len(some) == len(every):
        return "always"
    stated_in, full = _stacks_of(some), _stacks_of(every)
    groups: dict[tuple[tuple[str, ...], tuple[int, ...]], list[str]] = {}
    for launcher in dict.fromkeys(case.launcher for case in some):
        counts: dict[tuple[str, ...], list[int]] = {}
        for (other, nodes), stated in stated_in.items():
            if other == launcher:
                whole = stated == full[launcher, nodes]
                counts.setdefault(() if whole else stated, []).append(nodes)
        for stated, numbers in counts.items():
            allowed = [nodes for other, nodes in full if other == launcher]
            on = () if numbers == allowed else tuple(numbers)
            groups.setdefault((stated, on), []).append(launcher)
    return "; ".join(
        ", ".join(
            [
                *names,
                *(f"{n} node{'s' * (n > 1)}" for n in on),
                *([" or ".join(stated)] if stated else []),
            ]
        )
        for (stated, on), names in groups.items()
    )


def _stacks_of(cases: Sequence[Case]) -> dict[tuple[str, int], tuple[str, ...]]:
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for launcher, nodes, stack in cases:
        found[launcher, nodes] = (*found.get((launcher, nodes), ()), stack)
    return found
