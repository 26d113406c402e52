"""A page for each rule of lint, and the rows of their table in docs/lint.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.lint.lint_rule import LintRule, Sample, load_rules, unfilled
from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from scripts.pages.markdown import code, linked, text


def rule_pages() -> Mapping[str, str]:
    """Return the page of each rule as Markdown, by its file's name."""
    return {
        f"{rule.id}.md": "\n".join(_page(rule)) + "\n" for rule in load_rules().values()
    }


def rule_rows(folder: str = "lint/") -> Iterator[list[str]]:
    """Yield the rows of the table of rules, whose pages are in *folder*."""
    for rule in load_rules().values():
        link = f"[{code(rule.id)}]({folder}{rule.id}.md)"
        yield [link, rule.name, rule.severity, rule.group]


def _page(rule: LintRule) -> Iterator[str]:
    yield f"# {rule.id} {rule.name}"
    yield ""
    yield (
        f"Severity: {rule.severity}. Group: {rule.group}. Made from "
        "`envcfg/lint/rules/` by `scripts/derive`; [all rules](../lint.md#rules)."
    )
    for title, said in (
        ("Why", text(rule.why)),
        ("Fix", text(unfilled(rule.fix))),
        ("Source", f"{linked(rule.source)}, {rule.date}"),
    ):
        yield from ("", f"**{title}:** {said}")
    yield from ("", "## Example")
    for sample in rule.bad[:1]:
        yield from _sample(sample, rule.severity)
        yield from _repair(rule, sample)
    if rule.bad[1:]:
        yield from ("", "## Also found in")
    for sample in rule.bad[1:]:
        yield from _sample(sample, rule.severity)
    yield from ("", "## Not found in")
    for sample in rule.good:
        yield from _sample(sample)
    yield from ("", "## Turn it off", "")
    yield (
        f"For one line: `# envcfg: ignore {rule.id}` on it, or alone above it. "
        f"For one run: `--ignore {rule.id}`. For a project: `ignore` in the table `[lint]` "
        "of [`envcfg.toml`](../how-to/defaults.md#options-in-the-file)."
    )


def _repair(rule: LintRule, sample: Sample) -> Iterator[str]:
    """Yield what lint prints about a sample, and the sample after ``--fix``."""
    sources, profile = Sources(), None
    if sample.profile:
        profile = Catalog([built_in_folder()]).load(sample.profile)
    texts = {"job.sh": sample.script, **sample.files}
    files = [sources.add(name, script.encode()) for name, script in texts.items()]
    found = judge(files, sources, rules=[rule.id], profile_of=lambda _: profile)
    remarks = [each for file in found.values() for each in file]
    for remark in remarks[:1]:
        lines = (remark.finding.message, f"hint: {remark.finding.fix}")
        yield from ("", "`envcfg lint` prints:", "", "```text", *lines, "```")
    edits = [edit for remark in found["job.sh"] if (edit := remark.edit)]
    if edits:
        after = sample.script
        for edit in sorted(edits, reverse=True):
            after = after[: edit.start] + edit.text + after[edit.end :]
        yield from ("", "After `envcfg lint --fix`:")
        yield from _code(after)


def _sample(sample: Sample, severity: str = "") -> Iterator[str]:
    if said := _said(sample, severity):
        yield from ("", f"{text(said)}:")
    yield from _code(sample.script)
    for name, script in sample.files.items():
        yield from ("", f"with {code(name)} next to it:")
        yield from _code(script)


def _said(sample: Sample, severity: str) -> str:
    said = [sample.shows] if sample.shows else []
    if sample.lines:
        number = ", ".join(map(str, sample.lines))
        said.append(f"line {number}")
    if sample.profile:
        said.append(f"on {sample.profile}")
    if severity and sample.severity and sample.severity != severity:
        said.append(f"{sample.severity} instead of {severity}")
    return "; ".join(said)


def _code(script: str) -> Iterator[str]:
    yield from ("", "```bash", *script.rstrip("\n").split("\n"), "```")
