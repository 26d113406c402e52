"""Scripts as texts, for the tests of lint: what is read in them, and what is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from envcfg.common.findings import Finding
from envcfg.lint.lint_rule import Sample, load_rules
from envcfg.lint.model_builder import read_models
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_model import Model
from envcfg.lint.script_source import Source, Sources, read_files
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n"


def read_sources(given: Iterable[str], sources: Sources) -> list[Source]:
    """Take files and folders among *sources*, and return what was given."""
    return [sources.add(path, data) for path, data in read_files(given).items()]


def model_of(text: str, folder: Path | None = None, **files: str) -> Model:
    """Return what the first script does; *files* lie beside it, by name without ending."""
    sources = Sources()
    if folder is None:
        source = sources.add("-", text.encode())
    else:
        for name, other in files.items():
            (folder / f"{name}.sh").write_text(other, encoding="utf-8")
        (folder / "job.sh").write_text(text, encoding="utf-8")
        (source,) = read_sources([str(folder / "job.sh")], sources)
    return read_models([source], sources)[0]


def words_of(text: str) -> list[list[str]]:
    """Return the commands of a script as words, with what is not known as written."""
    return [[word.shown for word in each.words] for each in model_of(text).commands]


def expansions_of(text: str) -> dict[str, str]:
    """Return the scope in which each variable is expanded at last."""
    return {each.name: each.hole.scope for each in model_of(text).expansions}


def found_in(texts: Mapping[str, str], folder: Path) -> list[tuple[str, int, str]]:
    """Return file, line and rule of what is found in scripts that are given together."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = Sources()
    given = read_sources([str(folder / name) for name in texts], sources)
    found = judge(given, sources, rules=list(load_rules()))
    return [
        (Path(path).name, each.finding.place.line, each.finding.rule)
        for path, remarks in found.items()
        for each in remarks
        if each.finding.severity != "note" and each.finding.place
    ]


_CATALOG = Catalog([built_in_folder()])


def severities_of(script: str, sample: Sample, rule: str, folder: Path) -> list[str]:
    """Return the severities of what one rule finds in a script, as in its sample."""
    return [each.severity for each in findings_of(script, sample, rule, folder)]


def findings_of(script: str, sample: Sample, rule: str, folder: Path) -> list[Finding]:
    """Return what one rule finds in a script.

    Args:
        sample: says which files lie beside the script, and for which system it is.
        folder: for the files.
    """
    for name, text in sample.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    profile = _CATALOG.load(sample.profile) if sample.profile else None
    sources = Sources()
    given = [sources.add(str(folder / "job.sh"), script.encode())]
    found = judge(given, sources, rules=[rule], profile_of=lambda _: profile)
    return [each.finding for remarks in found.values() for each in remarks]
