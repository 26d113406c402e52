"""Pieces of shell text: templates of a job script, titles, texts of other shells."""

from __future__ import annotations

import os.path

from envcfg.datafile import is_data, read_text

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_WIDTH = 88


def template(name: str) -> str:
    """Return the text of a template, without its shellcheck line.

    Args:
        name: path in the folder of templates, without ``.sh``.
    """
    text = read_text(os.path.join(_TEMPLATES, f"{name}.sh"))
    return text.partition("\n")[2].lstrip("\n")  # the first line is for shellcheck


def has_template(name: str) -> bool:
    """Tell whether there is such a template."""
    return is_data(os.path.join(_TEMPLATES, f"{name}.sh"))


def title(text: str) -> str:
    """Return the comment that begins a section."""
    return f"# --- {text} ".ljust(_WIDTH - 2, "-")


def heredoc(variable: str, text: str) -> str:
    """Return bash that sets *variable* to *text*, to be read without any escapes."""
    mark = "ENVCFG_TEXT"
    lines = set(text.splitlines())
    while mark in lines:  # a value may hold any line, this one too
        mark += "_"
    return (
        f"IFS= builtin read -r -d '' {variable} <<'{mark}' "
        "|| builtin : # until the text ends\n"
        f"{text.rstrip()}\n{mark}\n"
    )
