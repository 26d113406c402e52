"""CONTRIBUTING.md leads to files that are there and hold what it says."""

from __future__ import annotations

import re

import pytest

from envcfg.core.step_options import ROWS
from envcfg.job.script.modules import has_module
from support import LOCAL, ROOT, envcfg

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OWN_MODULE = [row for row in ROWS if row.module]
# Command lines whose error every reader can provoke, of commands and rooms.
WRONG = {
    "a command without words": ("wrap", *LOCAL, "--"),
    "an option of another": ("wrap", *LOCAL, "--require", "fast", "--", "true"),
    "tasks without nodes": (
        *("job", "--profile", "lumi-g", "--container", "none"),
        *("--ntasks", "8", "--", "true"),
    ),
    "a bind without a container": ("wrap", *LOCAL, "--bind", "/a", "--", "true"),
    "a system that does not count": ("job", *LOCAL, "--", "true"),
    "a fact that is chosen": ("wrap", *LOCAL, "--fact", "runtime=podman", "--", "true"),
    "a log without a name": ("check-log", ""),
    "a request that divides unevenly": (
        *("job", "--profile", "lumi-g", "--container", "none"),
        *("--nodes", "2", "--gpus", "3", "--", "true"),
    ),
}


def test_the_files_that_the_page_names_are_there() -> None:
    named = {
        path.rstrip(".;")
        for words in re.findall(r"`([^`]+)`", PAGE)
        for path in words.split()
        if re.match(r"(?:\./)?(?:envcfg|tests|scripts|docs|profiles)/", path)
    }
    placeholder = re.compile(r"[A-Z]{3,}|PROGRAM")
    missing = [
        path
        for path in sorted(named)
        if not any(ROOT.glob(placeholder.sub("*", path).rstrip("/")))
    ]
    assert len(named) > 15
    assert missing == []


@pytest.mark.parametrize("case", WRONG)
def test_a_few_words_of_a_message_lead_to_one_file(case: str) -> None:
    done = envcfg(*WRONG[case])
    (message,) = re.findall(r"envcfg: error: (.*)", done.err)
    words = message.split()
    texts = {
        path: path.read_text(encoding="utf-8", errors="replace")
        for path in (ROOT / "envcfg").rglob("*")
        if path.suffix in {".py", ".yaml", ".sh"}
    }
    runs = (
        " ".join(words[start : start + size])
        for size in range(len(words), 2, -1)
        for start in range(len(words) - size + 1)
    )
    found = ([path for path in texts if run in texts[path]] for run in runs)
    assert len(next(filter(None, found))) == 1


@pytest.mark.parametrize("flag", [row.flag for row in OWN_MODULE])
def test_a_script_has_the_module_that_the_row_of_its_option_names(flag: str) -> None:
    (row,) = (row for row in OWN_MODULE if row.flag == flag)
    assert has_module(row.module)
    line = ("wrap", *LOCAL, "--print", "job")
    modules = [
        envcfg(*words).text.partition("\n# modules: ")[2].partition("\n")[0].split(", ")
        for words in ((*line, "--", "true"), (*line, flag, "--", "true"))
    ]
    assert row.module not in modules[0]
    assert row.module in modules[1]
