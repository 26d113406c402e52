"""Each template is good shell by itself; pieces are joined without loss."""

from pathlib import Path

import pytest

from envcfg.bash import pieces as script
from envcfg.bash.pieces import Template, assemble, heredoc
from support import bash, lint_shell

TEMPLATES = sorted((Path(script.__file__).parent / "templates").glob("**/*.sh"))
# One template uses what another sets; assembled scripts are checked without these.
ACROSS = ("SC2034", "SC2153", "SC2154")


@pytest.mark.parametrize(
    "path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_template_is_clean(path: Path) -> None:
    text = path.read_bytes()
    dialect = text.partition(b"\n")[0].removeprefix(b"# shellcheck shell=").decode()
    assert lint_shell(text, dialect, exclude=ACROSS) == ""


def test_functions_that_nothing_uses_are_left_out() -> None:
    text = Template(
        "# about a\nenvcfg_a() {\n  envcfg_b\n}\n\nenvcfg_b() {\n  :\n}\n\n"
        "# about c\nenvcfg_c() {\n  envcfg_c\n}\n"
    )
    assert assemble([text], ["envcfg_a"]) == (
        "# about a\nenvcfg_a() {\n  envcfg_b\n}\n\nenvcfg_b() {\n  :\n}\n"
    )
    assert assemble([text, "envcfg_b # data\n"]) == (
        "envcfg_b() {\n  :\n}\n\nenvcfg_b # data\n"
    )


def test_what_looks_like_a_function_in_a_value_is_never_cut() -> None:
    value = "x='\nenvcfg_core() {\n}\n\n'\n"
    assert assemble([Template("envcfg_core() {\n  :\n}\n"), value]).endswith(value)


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
