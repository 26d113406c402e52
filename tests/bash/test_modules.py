"""Each module is good shell by itself, and its version grows with its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envcfg.bash import modules
from envcfg.bash.modules import module
from envcfg.bash.quoting import heredoc
from scripts.pages.derive import MODULES, module_names
from support import ACROSS, bash, lint_shell

BASH = Path(modules.__file__).parent
FILES = sorted((BASH / "modules").glob("**/*.sh"))
NAMES = [*module_names()]
TEMPLATES = sorted((BASH / "templates").glob("**/*.sh"))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_module_is_clean_bash_around_a_clean_part_for_ranks(path: Path) -> None:
    text = path.read_bytes()
    assert lint_shell(text, "bash", exclude=ACROSS) == ""
    parts = re.findall(
        rb"' (ENVCFG_\w+) <<'ENVCFG_TEXT'.*?\n(.*?)^ENVCFG_TEXT$", text, re.S | re.M
    )
    for name, part in parts:
        in_bash = (
            name in {b"ENVCFG_SMOKE", b"ENVCFG_STAGER"}
            or b"module setup_file" in text
            or b"ENVCFG_TASK=" in text
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


def test_a_module_says_its_name_and_what_it_is_for() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        each = module(name)
        assert (
            path.read_text().split("\n")[1] == f"# envcfg module {name} {each.version}"
        )
        assert each.about.startswith("# ") or name == "begin"
        assert each.functions or each.text


def test_a_changed_text_has_a_new_version() -> None:
    """One line for each module that was released; ``scripts/derive`` adds new ones."""
    known = dict(re.findall(r"^(\S+ \d+) (\w+)$", MODULES.read_text(), re.M))
    now = {f"{name} {module(name).version}": module(name).digest for name in NAMES}
    changed = [
        name for name, digest in now.items() if known.get(name, digest) != digest
    ]
    assert changed == [], "give them the next number in their second line"


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "$(touch canary) `id` \\ ' \"",
        "a\nENVCFG_TEXT\nENVCFG_TEXT_\nb",
        "\n\nx\n\n y",
    ],
)
def test_a_heredoc_holds_any_text(text: str) -> None:
    done = bash(f"set -eu\n{heredoc('V', text)}printf '%s' \"$V\"")
    assert done.returncode == 0
    assert done.stdout.decode() == text.rstrip() + "\n"
