"""What took long to find out is kept, and never trusted from others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg import __version__
from envcfg.common.cache import keep, kept_folder, recall, remember
from support import envcfg


def test_what_is_kept_is_recalled_as_long_as_its_key_is_the_same(
    tmp_path: Path,
) -> None:
    folder = str(tmp_path / "a/b")
    keep(folder, "x", ["k", 1], {"v": [1, None]})
    assert recall(folder, "x", ["k", 1]) == {"v": [1, None]}
    assert recall(folder, "x", ["k", 2]) is None
    assert recall(folder, "y", ["k", 1]) is None


def test_a_value_is_made_once_until_it_is_no_longer_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert remember("a/x", 1, lambda: None) is None
    assert remember("a/x", 1, lambda: [3]) == [3]
    assert remember("a/x", 1, pytest.fail) == [3]
    assert (tmp_path / "envcfg/a/x.json").stat().st_mode & 0o777 == 0o600
    assert remember("a/x", 1, lambda: 4, lambda value: value != [3]) == 4
    assert remember("a/x", 2, lambda: 5) == 5
    # Without a folder that can be made, only time is lost.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "envcfg/a/x.json"))
    assert remember("x", 1, lambda: 6) == 6


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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.data())
def test_what_was_changed_is_nothing(data: st.DataObject) -> None:
    """Other values and keys, other versions, wrong shapes, files that are cut."""
    value, other = data.draw(VALUES), data.draw(VALUES)
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        keep(folder, "x", ["k"], value)
        assert recall(folder, "x", ["k"]) == value
        whole = path.read_bytes()
        head, _, text = whole.partition(b"\n")
        said = {**json.loads(head), "value": value}
        name = data.draw(st.sampled_from(sorted(said)))
        changed = data.draw(
            st.sampled_from(
                [
                    json.dumps(other).encode(),
                    head + b"\n" + json.dumps(other).encode(),
                    json.dumps({**said, name: other}).encode() + b"\n" + text,
                    json.dumps({k: v for k, v in said.items() if k != name}).encode(),
                    whole[: data.draw(st.integers(0, len(whole)))],
                    whole + data.draw(st.binary()),
                    b"[" * 100_000,
                    head + b"\n" + b"[" * 100_000,
                ]
            )
        )
        path.write_bytes(changed)
        found = recall(folder, "x", ["k"])
        assert found is None or changed == whole or found == other == value


# As they were before a digest was kept, too.
_OLD = '{"form": "1 VERSION", "key": KEY, "value": []}'


@pytest.mark.parametrize("spoilt", ["", "[]", "{}", "null", "[" * 100_000, _OLD, "CUT"])
def test_wrap_makes_anew_whatever_is_wrong_in_the_cache(
    spoilt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
    envcfg("wrap", *words, "--", "true")  # some data stays in this process from here on
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = envcfg("wrap", *words, "--", "true")
    assert first.code == 0
    kept = sorted((tmp_path / "envcfg").glob("**/*.json"))
    assert "stacks.json" in [each.name for each in kept]
    before = [each.read_bytes() for each in kept]
    for path, data in zip(kept, before, strict=True):
        key = json.dumps([[str(path), 1, 2]])
        text = spoilt.replace("VERSION", __version__).replace("KEY", key)
        path.write_bytes(data[: len(data) // 2] if text == "CUT" else text.encode())
    again = envcfg("wrap", *words, "--", "true")
    assert (again.code, again.out, again.err) == (0, first.out, first.err)
    assert [each.read_bytes() for each in kept] == before


def test_a_kept_value_of_another_shape_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right version and key, and a list that lacks all: wrap ended with 70."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ("--profile", "lumi-g", "--container", "none", "--fact", "rocm=6.2.4")
    words += ("--", "true")
    assert envcfg("wrap", *words).code == 0
    path = tmp_path / "envcfg/knowledge/stacks.json"
    head, _, text = path.read_bytes().partition(b"\n")
    path.write_bytes(head.replace(text, b"[]") + b"\n[]" * bool(text))
    if not text:  # all in one object
        path.write_text(json.dumps({**json.loads(head), "value": []}))
    assert envcfg("wrap", *words).code == 0


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


def test_a_pipe_in_its_place_holds_up_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    assert recall(str(tmp_path), "x", 1) is None


def test_a_folder_in_its_place_leaves_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    keep(str(tmp_path), "x", 1, 2)
    assert os.listdir(tmp_path) == ["x.json"]
