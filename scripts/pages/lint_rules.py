"""A page for each rule of lint, and the rows of their table in docs/lint.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.lint.rule import Rule, Sample, load_rules, unfilled
from scripts.pages.markdown import code, linked, text


def rule_pages() -> Mapping[str, str]:
    """Return the page of each rule as Markdown, by its file's name."""
    return {
        f"{rule.id}.md": "\n".join(_page(rule)) + "\n" for rule in load_rules().values()
    }


def rule_rows() -> Iterator[list[str]]:
    """Yield the rows of the table of rules."""
    for rule in load_rules().values():
        link = f"[{code(rule.id)}](lint/{rule.id}.md)"
        yield [link, rule.name, rule.severity, rule.group]


def _page(rule: Rule) -> Iterator[str]:
    yield f"# {rule.id} {rule.name}"
    yield ""
    yield (
        f"Severity: {rule.severity}. Group: {rule.group}. Made from "
        "`envcfg/lint/rules/` by `scripts/derive`; [all rules](../lint.md#rules)."
    )
    for title, said in (
        ("Why", text(rule.why)),
        ("What to write instead", text(unfilled(rule.fix))),
        ("Who says so", f"{linked(rule.source)}, {rule.date}"),
    ):
        yield from ("", f"**{title}:** {said}")
    yield from ("", "## Found in")
    for sample in rule.bad:
        yield from _sample(sample)
    yield from ("", "## Not found in")
    for sample in rule.good:
        yield from _sample(sample)


def _sample(sample: Sample) -> Iterator[str]:
    if said := _said(sample):
        yield from ("", f"{text(said)}:")
    yield from _code(sample.script)
    for name, script in sample.files.items():
        yield from ("", f"with {code(name)} next to it:")
        yield from _code(script)


def _said(sample: Sample) -> str:
    said = [sample.shows] if sample.shows else []
    if sample.lines:
        number = ", ".join(map(str, sample.lines))
        said.append(f"line {number}")
    if sample.profile:
        said.append(f"on {sample.profile}")
    return "; ".join(said)


def _code(script: str) -> Iterator[str]:
    yield from ("", "```bash", *script.rstrip("\n").split("\n"), "```")
