"""The list of profiles: columns where they fit, else a name with what it is below."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from envcfg.common.characters import text_width
from envcfg.profile.catalog import Catalog
from envcfg.profile.look.survey import Summary, survey
from envcfg.report.profile.profile_list import list_lines

FEW = [
    Summary("a", "One system", "active", "run", "2026-01-02", "fam", False, ("built-in",), ()),
    Summary("fam", "What systems have in common", None, None, None, None, True, ("built-in", "site"), ()),
    Summary("old", None, "retired", None, None, None, False, ("user",), ()),
]  # fmt: skip


def test_columns_are_taken_where_they_fit() -> None:
    wide = [line for _, line in list_lines(FEW)]
    assert wide == [
        "name          state    verified        extends  layer           summary",
        "a             active   2026-01-02 run  fam      built-in        One system",
        "fam (family)  -        -               -        built-in, site  What systems have in common",
        "old           retired  -               -        user",
    ]
    assert [line for _, line in list_lines(FEW, max(map(len, wide)))] == wide


def test_a_narrow_terminal_shows_what_each_is_and_what_is_not_so_of_most() -> None:
    assert [*list_lines(FEW, 60)] == [
        ("", "a"),
        ("", "    One system"),
        ("", "    2026-01-02 run; fam"),
        ("dim", "fam (family)"),
        ("dim", "    What systems have in common"),
        ("dim", "    built-in, site"),
        ("red", "old"),
        ("red", "    retired; user"),
    ]


@pytest.mark.parametrize("width", [100, 80, 60, 40])
def test_no_line_is_wider_than_the_terminal(
    built_in: Catalog, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text_width.cache_clear()
    summaries, problems = survey(built_in)
    assert problems == []
    lines = [line for _, line in list_lines(summaries, width)]
    text_width.cache_clear()
    assert max(map(len, lines)) <= width
    heads = [line.partition("  ")[0] for line in lines if not line.startswith(" ")]
    assert [head.removesuffix(" (family)") for head in heads] == built_in.names()


def test_a_terminal_of_80_columns_is_not_overrun() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "envcfg", "profiles", "list"],
        stdout=theirs,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    ) as done:
        os.close(theirs)
        said = b""
        while block := _read(ours):
            said += block
    os.close(ours)
    assert done.returncode == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
    assert max(map(len, lines)) <= 80
    assert "lumi-g" in " ".join(lines)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # so Linux says that the other end is closed
        return b""
