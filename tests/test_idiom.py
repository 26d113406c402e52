"""Words of a step that are not literal: the job's own shell expands them, in each form shown."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.test_help import ALL
from envcfg.lint.word_expansion import closing
from lint.following import found_in
from scripts.pages.man import man_pages
from support import ROOT, bash

ENVCFG = f"{shlex.quote(sys.executable)} -m envcfg"
WRAP = f"{ENVCFG} wrap --profile workstation --container none"

# What the texts say

# Its samples are what must not be written.
OWN = {ROOT / "docs/lint/EC141.md", ROOT / "envcfg/lint/rules/1-scope.yaml"}
BEGIN = re.compile(r"(?:<\(|\$\()\s*envcfg wrap\b")
GROOVY = re.compile(r"(?<!\\)\$\{[^}]*\}")  # Nextflow fills it in; bash sees a word
SAFE = re.compile(r"""'[^']*'|"\$\{\w+\[@\]\}"|"\$@"|\|\| echo exit \$\?""")
EXPANDED = re.compile(r"[$`]|[<>]\(")


def texts() -> Iterator[tuple[str, str]]:
    """Yield all that tells people what to type, with where it stands."""
    for folder in (
        "docs",
        "examples",
        "container-recipes",
        "profiles",
        "envcfg",
        "packaging",
    ):
        for path in sorted((ROOT / folder).rglob("*")):
            if (
                path in OWN
                or not path.is_file()
                or path.suffix in (".pyc", ".json", ".svg")
            ):
                continue
            text = path.read_text("utf-8", "replace")
            if path.suffix == ".nf" or path.stem == "nextflow":
                text = GROOVY.sub("made", text).replace("\\$", "$")
            yield str(path.relative_to(ROOT)), text
    for name, page in man_pages().items():
        yield f"man/{name}", page.replace("\\-", "-").replace("\\e\n", "\\\n")
    yield "README.md", (ROOT / "README.md").read_text("utf-8")
    yield from ((f"{name} --help", parser.epilog or "") for name, parser in ALL.items())


def substitutions(text: str) -> Iterator[str]:
    """Yield what stands in each substitution that runs ``envcfg wrap``."""
    for begin in BEGIN.finditer(text):
        yield text[begin.start() + 2 : closing(text, begin.start() + 2, len(text), ")")]


FOUND = [(place, each) for place, text in texts() for each in substitutions(text)]


def test_the_walk_finds_the_texts() -> None:
    places = {place for place, _ in FOUND}
    assert len(FOUND) > 30
    assert {
        "README.md",
        "docs/sourcing.md",
        "man/envcfg-wrap.1",
        "wrap --help",
    } <= places
    assert {"examples/train.sbatch", "examples/nextflow/main.nf"} <= places


@pytest.mark.parametrize(("place", "command"), FOUND)
def test_no_text_shows_a_word_that_a_subshell_would_expand(
    place: str, command: str
) -> None:
    assert not EXPANDED.search(SAFE.sub("", command)), place


# What the forms do

LOST = {  # under set -u, in one line: the step is left out, or something is lost
    "unset": 'echo RAN "$UNSET"',
    "unset in arithmetic": "echo RAN $((UNSET + 1))",
    "required": "echo RAN ${UNSET:?}",
    "required, by default": 'echo RAN "${UNSET?no data}"',
    "an argument": 'echo RAN "$1"',
    "a part of a name": 'echo RAN "${UNSET%.sif}"',
    "a count": "echo RAN $((i++))",
    "a default that is kept": 'echo RAN "${j:=5}"',
    "a file of a process": "cat <(echo RAN)",
}
KEPT = {
    "literal": "echo RAN '$UNSET'",
    "set": 'echo RAN "$k"',
    "a default": 'echo RAN "${UNSET:-5}"',
    "arguments": 'echo RAN "$@"',
    "an array": 'echo RAN "${words[@]}"',
    "no array": 'echo RAN "${none[@]}"',
    "arithmetic": "echo RAN $((k + 1))",
    "a command": 'echo RAN "$(echo x)"',
}
BEFORE = "set -u\ni=0 k=7 words=(a 'b  c')\n"
AFTER = '\necho "after i=$i j=${j-}"\n'


def in_one_line(command: str) -> str:
    return f"{BEFORE}source <({WRAP} -- {command} || echo exit $?){AFTER}"


def by_array(command: str) -> str:
    whole = f'{WRAP} -- "${{command[@]}}"'
    return f"{BEFORE}command=({command})\nsource <({whole} || echo exit $?){AFTER}"


def by_run(command: str) -> str:
    return f"{BEFORE}source <({WRAP} || echo exit $?)\nenvcfg_run {command}{AFTER}"


def by_options(command: str) -> str:
    word = command.partition("RAN ")[2] or "x"
    words = f"options=(--set A={word})\n"
    whole = f'{WRAP} "${{options[@]}}" -- echo RAN'
    return f"{BEFORE}{words}source <({whole} || echo exit $?){AFTER}"


def outcome(script: str) -> tuple[bool, list[bytes]]:
    done = bash(script)
    return done.returncode == 0, done.stdout.splitlines()


@pytest.mark.parametrize(
    "name", [name for name in LOST if name != "a file of a process"]
)
def test_the_forms_that_are_shown_fail_or_count_as_the_job_would(name: str) -> None:
    bare = outcome(f"{BEFORE}{LOST[name]}{AFTER}")
    assert outcome(by_array(LOST[name])) == bare
    assert outcome(by_run(LOST[name])) == bare
    assert outcome(by_options(LOST[name]))[0] == bare[0]
    assert outcome(in_one_line(LOST[name])) != bare  # which is why they are shown


def test_a_file_of_a_process_is_read_where_the_jobs_own_shell_calls() -> None:
    assert outcome(by_run(LOST["a file of a process"]))[1][0] == b"RAN"


@pytest.mark.parametrize("name", KEPT)
def test_all_forms_are_alike_where_nothing_can_fail(name: str) -> None:
    bare = outcome(f"{BEFORE}{KEPT[name]}{AFTER}")
    assert bare[0]
    for form in (in_one_line, by_array, by_run):
        assert outcome(form(KEPT[name])) == bare


@pytest.mark.parametrize("form", [in_one_line, by_array, by_run])
@pytest.mark.parametrize("name", [*LOST, *KEPT])
def test_lint_warns_of_what_is_lost_and_of_nothing_else(
    name: str, form: object, tmp_path: Path
) -> None:
    assert callable(form)
    script = str(form((LOST | KEPT)[name])).replace(ENVCFG, "envcfg")
    found = found_in({"job.sh": f"#!/bin/bash\n#SBATCH --nodes=2\n{script}"}, tmp_path)
    is_file = name == "a file of a process" and form is by_array
    is_lost = is_file or (name in LOST and form is in_one_line)
    assert [rule for _, _, rule in found if rule == "EC141"] == ["EC141"] * is_lost
