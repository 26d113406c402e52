"""What came of the changes, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from scripts.mutation.places import render_change
from scripts.mutation.trial import Trial


def render_text(
    trials: Sequence[Trial], sources: Mapping[str, bytes], seed: int, known: int
) -> str:
    """Return what nobody noticed, as diffs, and counts: *seed* made, *known* possible."""
    parts = []
    for trial in trials:
        if trial.by is None:
            place = trial.place
            at = f"{place.path}:{place.line}: {place.kind}"
            parts += [
                f"{at}: not noticed by {_tests(trial)}",
                render_change(sources[place.path], place),
                "",
            ]
    counts = _count_by_folder(trials)
    width = max(map(len, counts))
    parts += [f"{name:{width}}  {seen} of {of}" for name, (seen, of) in counts.items()]
    parts.append(f"noticed, of {known} changes that could be made; --seed {seed}")
    return "\n".join(parts)


def _tests(trial: Trial) -> str:
    if not trial.known:
        return f"{trial.tests} tests; none runs it"
    some = (
        trial.known
        if trial.calling == trial.known
        else f"{trial.calling} of {trial.known}"
    )
    return f"{trial.tests} tests, among them {some} that run it"


def _count_by_folder(trials: Sequence[Trial]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for trial in trials:
        for name in (str(PurePath(trial.place.path).parent), "all"):
            seen, of = counts.pop(name, (0, 0))
            counts[name] = seen + (trial.by is not None), of + 1
    return counts


def render_json(
    trials: Sequence[Trial], sources: Mapping[str, bytes], seed: int, known: int
) -> str:
    """Return every change with who noticed it."""
    changes = [
        {
            "path": trial.place.path,
            "line": trial.place.line,
            "kind": trial.place.kind,
            "diff": render_change(sources[trial.place.path], trial.place),
            "noticed_by": trial.by,
            "tests": trial.tests,
            "tests_that_run_it": trial.known,
        }
        for trial in trials
    ]
    folders = {
        name: {"noticed": seen, "changes": of}
        for name, (seen, of) in _count_by_folder(trials).items()
    }
    report = {
        "envcfg_mutate": 1,
        "seed": seed,
        "possible": known,
        "changes": changes,
        "folders": folders,
    }
    return json.dumps(report, indent=2)
