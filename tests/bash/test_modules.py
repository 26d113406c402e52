"""Each module is good shell by itself, and its version grows with its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envcfg.bash import pieces
from envcfg.bash.modules import module
from envcfg.bash.pieces import heredoc
from support import ACROSS, ROOT, bash, lint_shell

BASH = Path(pieces.__file__).parent
FILES = sorted((BASH / "modules").glob("**/*.sh"))
NAMES = [
    path.stem
    if path.parent.name in {"modules", path.stem}
    else f"{path.parent.name}/{path.stem}"
    for path in FILES
]
TEMPLATES = sorted((BASH / "templates").glob("**/*.sh"))
GOLDEN = ROOT / "tests/golden/modules.txt"
PAGE = ROOT / "docs/wrap.md"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_module_is_clean_bash_around_a_clean_part_for_ranks(path: Path) -> None:
    text = path.read_bytes()
    assert lint_shell(text, "bash", exclude=ACROSS) == ""
    parts = re.findall(
        rb"' (ENVCFG_\w+) <<'ENVCFG_TEXT'.*?\n(.*?)^ENVCFG_TEXT$", text, re.S | re.M
    )
    for name, part in parts:
        in_bash = (
            name in {b"ENVCFG_SMOKE"}
            or b"module setup_file" in text
            or b"ENVCFG_TASK=" in text
        )
        dialect = "bash" if in_bash else "sh"
        assert lint_shell(part, dialect, exclude=ACROSS) == ""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_of_a_job_script_is_clean(path: Path) -> None:
    assert lint_shell(path.read_bytes(), "bash", exclude=ACROSS) == ""


def test_a_module_says_its_name_and_what_it_is_for() -> None:
    for name, path in zip(NAMES, FILES, strict=True):
        each = module(name)
        assert (
            path.read_text().split("\n")[1] == f"# envcfg module {name} {each.version}"
        )
        assert each.about.startswith("# ") or name == "begin"
        assert each.functions or each.text


def test_a_changed_text_has_a_new_version(request: pytest.FixtureRequest) -> None:
    """One line for each module that was released; ``--update-golden`` adds to them."""
    known = dict(re.findall(r"^(\S+ \d+) (\w+)$", GOLDEN.read_text(), re.M))
    now = {f"{name} {module(name).version}": module(name).digest for name in NAMES}
    changed = [
        name for name, digest in now.items() if known.get(name, digest) != digest
    ]
    if request.config.getoption("--update-golden"):
        text = "".join(f"{name} {digest}\n" for name, digest in sorted(now.items()))
        GOLDEN.write_text(text)
        return
    assert changed == []
    assert now.keys() == known.keys()


def test_the_page_has_each_module_by_its_own_head(
    request: pytest.FixtureRequest,
) -> None:
    page = PAGE.read_text()
    before, head, rest = page.partition("| module | what it does |\n|---|---|\n")
    _, end, after = rest.partition("\n\n## ")
    abouts = (module(name).about.replace("\n# ", " ") for name in NAMES)
    rows = [
        f"| `{name}` | {about.removeprefix('# ').partition('. ')[0].rstrip('.' + chr(10))} |"
        for name, about in zip(NAMES, abouts, strict=True)
    ]
    wanted = f"{before}{head}{chr(10).join(rows)}{end or chr(10) * 2 + '## '}"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted + (after or rest.partition("## ")[2]))
    else:
        assert page.startswith(wanted)


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
