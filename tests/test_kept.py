"""What took long to find out is kept, and never trusted from others."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.kept import keep, kept_folder, recall


def test_what_is_kept_is_recalled_as_long_as_its_key_is_the_same(
    tmp_path: Path,
) -> None:
    folder = str(tmp_path / "a/b")
    keep(folder, "x", ["k", 1], {"v": [1, None]})
    assert recall(folder, "x", ["k", 1]) == {"v": [1, None]}
    assert recall(folder, "x", ["k", 2]) is None
    assert recall(folder, "y", ["k", 1]) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_could_have_written_is_nothing(tmp_path: Path, mode: int) -> None:
    keep(str(tmp_path), "x", 1, 2)
    (tmp_path / "x.json").chmod(mode)
    assert recall(str(tmp_path), "x", 1) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"form": 1}', "\xff"])
def test_what_is_something_else_is_nothing(tmp_path: Path, text: str) -> None:
    keep(str(tmp_path), "x", 1, 2)
    (tmp_path / "x.json").write_text(text, encoding="latin-1")
    assert recall(str(tmp_path), "x", 1) is None


def test_where_nothing_can_be_kept_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keep(str(tmp_path / "file/no"), "x", 1, 2)
    assert recall(str(tmp_path / "file/no"), "x", 1) is None


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/envcfg"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "/h/.cache/envcfg"),
        ({"HOME": "/h"}, "/h/.cache/envcfg"),
        ({"HOME": "here"}, None),
        ({}, None),
    ],
)
def test_where_it_is_kept(environ: dict[str, str], folder: str | None) -> None:
    assert kept_folder(environ) == folder
