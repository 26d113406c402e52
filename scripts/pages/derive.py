"""All files of the repository that are made of something else; written if run.

What is made stands in the repository, so that people can read it there, and nothing is
needed to install it. A test says when one of them is old.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from envcfg.common.secrets import secret_patterns
from envcfg.job.script.modules import module
from envcfg.job.script.quoting import quote_always
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from scripts.pages.backends import (
    fact_rows,
    launcher_rows,
    program_rows,
    runtime_rows,
    scheduler_rows,
)
from scripts.pages.commands import (
    TITLES,
    code_rows,
    command_rows,
    schema_rows,
)
from scripts.pages.defaults_schema import defaults_schema
from scripts.pages.lint_rules import rule_pages, rule_rows
from scripts.pages.markdown import with_table
from scripts.pages.pictures import drawn_words, pictures
from scripts.pages.profile_schema import profile_schema
from scripts.pages.schemas import bundled, read_schemas
from scripts.pages.script_lines import former_lines, profile_rows
from scripts.pages.systems import systems_pages
from scripts.pages.warnings import warnings_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MODULES = ROOT / "tests/golden/modules.txt"
_BASH = ROOT / "envcfg/job/script/modules"
SECRETS = _BASH / "secrets.sh"
# Folders in which no file is but those that are made.
_WHOLE = (DOCS / "lint", DOCS / "systems")
# Titles of tables.
_RUNTIMES = "runtime|program or option of srun|an image is|environment of the job|tried"
_KNOWN = "`RANK`, `WORLD_SIZE`, `MASTER_ADDR` and the other variables"
_PROGRAMS = "command begins with|starts|gets from the job|since|source"
_SCHEDULERS = "scheduler|in a profile|a job is submitted by|options that it lacks"


def derived() -> dict[Path, str]:
    """Return the text of each file as it is to be."""
    made = {
        DOCS / "warnings.md": warnings_page(),
        ROOT / "profiles/schema.json": profile_schema(
            _text(ROOT / "profiles/schema.json")
        ),
        DOCS / "envcfg.toml.json": defaults_schema(),
        SECRETS: _secret_lines(_text(SECRETS)),
        MODULES: _module_lines(_text(MODULES)),
    }
    for page, titles, rows in (
        ("profile-keys", "fact|kind|what it is, and a test", fact_rows()),
        ("runtimes", _RUNTIMES, runtime_rows()),
        ("launchers", f"launcher|a task is|additions to {_KNOWN}", launcher_rows()),
        ("launchers", _PROGRAMS, program_rows()),
        ("job", _SCHEDULERS, scheduler_rows()),
        ("wrap-modules", "module|what it does|lines|lines before", _module_rows()),
        ("wrap-modules", "profile|lines|lines with `--inline`", profile_rows()),
        ("agents", TITLES, command_rows()),
        ("command-line", TITLES, command_rows(actions=False)),
        ("lint", "id|name|severity|group", rule_rows()),
    ):
        path = DOCS / f"{page}.md"
        text = made.get(path, _text(path))
        made[path] = with_table(text, titles.split("|"), rows)
    guide = ROOT / "CONTRIBUTING.md"
    titles = ["file of rules", "subject"]
    made[guide] = with_table(_text(guide), titles, _rule_file_rows())
    page = with_table(made[DOCS / "agents.md"], ["code", "meaning"], code_rows())
    titles = ["printed by", "schema", "what it holds"]
    made[DOCS / "agents.md"] = with_table(page, titles, schema_rows())
    pages = systems_pages(Catalog([built_in_folder()]))
    made |= {DOCS / "systems" / name: page for name, page in pages.items()}
    made |= {DOCS / "lint" / name: page for name, page in rule_pages().items()}
    for name, drawn in pictures().items():
        old = _text(DOCS / name)
        is_same = drawn_words(old) == drawn_words(drawn)
        made[DOCS / name] = old if is_same else drawn
    for name, text in bundled(read_schemas()).items():
        made[DOCS / f"{name}.schema.json"] = text
    return made


def _rule_file_rows() -> Iterator[list[str]]:
    """Yield each file of log rules with its first line, which describes it."""
    for path in sorted((ROOT / "envcfg/log/read/rules").glob("*.yaml")):
        yield [f"`{path.name}`", _text(path).partition("\n")[0].removeprefix("# ")]


def old_files() -> list[Path]:
    """Return the files that are not as they are to be, and those that are to go."""
    made = derived()
    stray = [each for folder in _WHOLE for each in folder.iterdir() if each not in made]
    return [*stray, *(path for path, text in made.items() if _text(path) != text)]


def module_names() -> Iterator[str]:
    """Yield the names of all modules of bash."""
    yield from _module_files()


def _module_files() -> dict[str, Path]:
    paths = sorted(_BASH.glob("**/*.sh"))
    own = [path.parent.name in {"modules", path.stem} for path in paths]
    return {
        path.stem if is_own else f"{path.parent.name}/{path.stem}": path
        for path, is_own in zip(paths, own, strict=True)
    }


def _module_rows() -> Iterator[list[str]]:
    """Yield each module with the lines of its file, now and before it had a head."""
    former = former_lines()
    lines = {name: _text(path).count("\n") for name, path in _module_files().items()}
    for name, count in lines.items():
        yield [
            f"`{name}`",
            module(name).about,
            str(count),
            str(former.get(name, "-")),
        ]
    yield ["all", "", str(sum(lines.values())), str(sum(former.values()))]


def _secret_lines(module_text: str) -> str:
    """Return the bash module of secrets with the patterns of envcfg/knowledge."""
    names, values = map(quote_always, secret_patterns())
    made = f"ENVCFG_SECRET_NAMES={names}\nENVCFG_SECRET_VALUES={values}\n"
    pattern = r"ENVCFG_SECRET_NAMES=.*\nENVCFG_SECRET_VALUES=.*\n"
    return re.sub(pattern, lambda _: made, module_text)


def _module_lines(known: str) -> str:
    """Return a line for each module, its version and hash; a known version keeps its own.

    So a text that has changed and kept its version is seen.
    """
    hashes = dict(re.findall(r"^(\S+ \d+) (\w+)$", known, re.MULTILINE))
    now = ((f"{name} {module(name).version}", module(name)) for name in module_names())
    lines = {key: hashes.get(key, each.digest) for key, each in now}
    return "".join(f"{key} {digest}\n" for key, digest in sorted(lines.items()))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main() -> None:
    """Write what is old, and say what it was."""
    made = derived()
    for path in old_files():
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if path in made:
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()


if __name__ == "__main__":
    main()
