"""Each module is good shell by itself, and its version grows with its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envcfg.job.script import modules
from envcfg.job.script.modules import module
from scripts.pages.derive import MODULES, module_names
from support import ACROSS, lint_shell

BASH = Path(modules.__file__).parent
FILES = sorted((BASH / "modules").glob("**/*.sh"))
NAMES = [*module_names()]
TEMPLATES = sorted((BASH / "templates").glob("**/*.sh"))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_module_is_clean_bash_around_a_clean_part_for_ranks(path: Path) -> None:
    text = path.read_bytes()
    assert lint_shell(text, "bash", exclude=ACROSS) == ""
    parts = re.findall(
        rb"(?:' |^)(ENVCFG_\w+|envcfg_in_rank\b.*?) <<'ENVCFG_TEXT'.*?\n(.*?)^ENVCFG_TEXT$",
        text,
        re.S | re.M,
    )
    for name, part in parts:
        in_bash = (
            name in {b"ENVCFG_SMOKE", b"ENVCFG_STAGER", b"ENVCFG_KEEPER"}
            or b"# setup_file " in text
            or name == b"ENVCFG_TASK"
        )
        dialect = "bash" if in_bash else "sh"
        assert lint_shell(part, dialect, exclude=ACROSS) == ""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_of_a_job_script_is_clean(path: Path) -> None:
    assert lint_shell(path.read_bytes(), "bash", exclude=ACROSS) == ""


def test_what_fails_fails_in_a_trap_as_well() -> None:
    """There a ``return`` alone tells the code from before the trap."""
    for path in FILES:
        assert not re.search(r"(\|\||&&) return(;|$)", path.read_text(), re.M), path


def test_a_wait_hears_signals_in_bash_4_4() -> None:
    """There ``builtin wait`` runs no trap before the process has ended by itself."""
    for path in FILES:
        assert "builtin wait" not in path.read_text().replace('"builtin wait"', ""), (
            path
        )


def test_a_module_says_its_name_and_what_it_is_for() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        each = module(name)
        title = f" # {name} {each.version}: {each.about}"
        assert path.read_text().split("\n")[0].endswith(title)
        assert each.about
        assert each.text


def test_a_changed_text_has_a_new_version() -> None:
    """One line for each module that was released; ``scripts/derive`` adds new ones."""
    known = dict(re.findall(r"^(\S+ \d+) (\w+)$", MODULES.read_text(), re.M))
    now = {f"{name} {module(name).version}": module(name).digest for name in NAMES}
    changed = [
        name for name, digest in now.items() if known.get(name, digest) != digest
    ]
    assert changed == [], "give them the next number in their first line"


def words_of_launch(text: str) -> list[str]:
    """Return the words of the launch line in the text of a module."""
    found = re.search(r"\benvcfg_spawn exec ((?:[^\n]*\\\n)*[^\n]*)\n", text)
    words = found[1].replace("\\\n", " ").split() if found else []
    names = {
        "${ENVCFG_ENTER[@]}": "ENTER",
        "$ENVCFG_RANK_SHELL": "SHELL",
        "$@": "COMMAND",
    }
    words = [names.get(word.strip('"'), word) for word in words]
    return [word for word in words if word != '"${envcfg_task[@]}"']


@pytest.mark.parametrize("name", NAMES)
def test_a_head_declares_what_the_text_does(name: str) -> None:
    read, text = module(name), module(name).text
    functions = set(re.findall(r"^(envcfg_\w+)\(\) \{", text, re.M))
    calls = {entry.partition("=")[2] for entry in read.declared("adds")}
    assert calls <= functions
    if read.declared("needs") or read.declared("defines"):
        assert set(read.declared("defines")) <= functions
        assert set(read.declared("needs")) <= set(NAMES)
    data = {each for other in NAMES for each in module(other).declared("reads")}
    used = {each for each in data if re.search(rf"\$\{{?[#!]?{each}\b", text)}
    assert set(read.declared("reads")) == used
    sets = re.findall(r"\benvcfg_set ([A-Z]\w*)", text)
    assert set(read.declared("sets")) == set(sets)
    launch = [word for word in read.declared("launch") if word != "OPTIONS"]
    assert launch == words_of_launch(text) or name in SPAWNING


# Modules that start other programs than the step.
SPAWNING = {"core", "before", "signals", "smoke", "stage", "preflight"}
