"""A page for each rule of lint, and their table in docs/lint.md; written if run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from envcfg.lint.rule import Rule, Sample, load_rules, unfilled
from scripts.pages.markdown import code, linked, table, text

DOCS = Path(__file__).parents[2] / "docs"
_TITLES = "id name severity group".split()


def rule_pages() -> Mapping[str, str]:
    """Return the page of each rule as Markdown, by its file's name."""
    return {
        f"{rule.id}.md": "\n".join(_page(rule)) + "\n" for rule in load_rules().values()
    }


def with_table(page: str) -> str:
    """Return docs/lint.md with its table of rules made anew."""
    head = next(table(_TITLES, []))
    before, _, behind = page.partition(f"{head}\n")
    lines = behind.splitlines(keepends=True)
    rest = next(n for n, line in enumerate(lines) if not line.startswith("|"))
    rows = [
        [
            f"[{code(rule.id)}](lint/{rule.id}.md)",
            rule.name,
            rule.severity,
            rule.group,
        ]
        for rule in load_rules().values()
    ]
    made = "".join(f"{line}\n" for line in table(_TITLES, rows))
    return before + made + "".join(lines[rest:])


def _page(rule: Rule) -> Iterator[str]:
    yield f"# {rule.id} {rule.name}"
    yield ""
    yield (
        f"Severity: {rule.severity}. Group: {rule.group}. Made from "
        "`envcfg/lint/rules/` by `scripts/rules`; [all rules](../lint.md#rules)."
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
        yield from ("", f"with {code(name)} beside it:")
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


def main() -> None:
    """Write them all; what is no rule's any more goes."""
    folder, pages = DOCS / "lint", rule_pages()
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")
    page = DOCS / "lint.md"
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
