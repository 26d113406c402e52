"""How deep data may be nested: the answer does not depend on Python or a library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envcfg.common.foreign_data import read_json
from envcfg.common.nesting import MAX_DEPTH, check_depth
from envcfg.core import defaults
from envcfg.image.metadata import parse_object
from envcfg.log.collective.flight_recorder import read_flight
from envcfg.log.collective.ras import read_ras
from envcfg.nodes.probe.gpu import TOOLS
from envcfg.profile.read.profile_loader import load_profile
from support import ROOT, envcfg

DEPTHS = {
    50: True,
    MAX_DEPTH: True,
    MAX_DEPTH + 1: False,
    400: False,
    3000: False,
    200_000: False,
}
SHAPES = {"lists": ("[", "]"), "objects": ('{"a":', "}")}
READ = """\
import sys
from envcfg.common.foreign_data import read_json
sys.setrecursionlimit(int(sys.argv[1]))
for depth in map(int, sys.argv[2:]):
    try:
        read_json("[" * depth + "]" * depth)
        print(depth, "read")
    except ValueError as err:
        print(depth, err)
"""


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("encode", [str, str.encode])
def test_json_is_read_up_to_the_limit(
    depth: int, shape: str, encode: Callable[[str], Any]
) -> None:
    begin, end = SHAPES[shape]
    text = encode(begin * depth + "0" + end * depth)
    if DEPTHS[depth]:
        check_depth(read_json(text))
    else:
        with pytest.raises(ValueError, match=f"nested more than {MAX_DEPTH} deep"):
            read_json(text)


@pytest.mark.parametrize("limit", [400, 1000, 20_000])
def test_the_answer_does_not_depend_on_the_recursion_limit(limit: int) -> None:
    argv = [sys.executable, "-c", READ, str(limit), "100", "101", "2000", "9000"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    said = f"nested more than {MAX_DEPTH} deep"
    assert done.stdout.splitlines() == [
        "100 read", f"101 {said}", f"2000 {said}", f"9000 {said}",
    ]  # fmt: skip


def test_what_follows_a_value_is_ignored_if_wanted() -> None:
    assert read_json('{"a": 1} and more', is_whole=False) == {"a": 1}
    with pytest.raises(ValueError, match="Extra data"):
        read_json('{"a": 1} and more')
    with pytest.raises(ValueError, match="nested more"):
        read_json("[" * 3000 + "]" * 3000 + " more", is_whole=False)


def test_only_one_module_reads_json_of_strangers_and_knows_of_recursion() -> None:
    """What reads text that envcfg itself has written may do without."""
    own = {"api.py", "log/read/prefix.py"}
    own |= {f"common/{name}.py" for name in ("cache", "datafile", "foreign_data")}
    own |= {"job/script/ray_cluster.py"}
    damage = {"common/toml_document.py", "image/elf.py", "common/foreign_data.py"}
    for path in (ROOT / "envcfg").rglob("*.py"):
        name = str(path.relative_to(ROOT / "envcfg"))
        text = path.read_text(encoding="utf-8")
        assert name in own or not re.search(r"json\.loads?\(|raw_decode", text), name
        assert name in damage or "except RecursionError" not in text, name


def answer(read: Callable[[str], object], text: str) -> object:
    try:
        return read(text)
    except Exception as err:  # noqa: BLE001  # the type is a part of the answer
        return type(err), str(err)


READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "flight": (lambda text: read_flight(text.encode(), 0), '{"entries": [], "x": %s}'),
    "ras": (read_ras, '{"communicators_count": 1, "communicators": [], "x": %s}'),
    "image": (parse_object, '{"a": %s}'),
    "toml": (lambda text: defaults.parse(text.encode(), "x"), "a = %s\n"),
    **{
        f"gpu {name}": (lambda text, read=read: read([text]), '{"a": %s}')
        for name, read in TOOLS.items()
    },
}


@pytest.mark.parametrize("name", READERS)
def test_each_reader_gives_one_answer_to_all_that_is_too_deep(name: str) -> None:
    read, form = READERS[name]
    shallow, *deep = (answer(read, form % nested(n)) for n in (150, 450, 980, 3000))
    assert deep == [shallow] * 3
    assert "RecursionError" not in repr(shallow)
    assert "recursion depth" not in repr(shallow)


def test_a_number_in_toml_has_64_bits(tmp_path: Path) -> None:
    for text in ("0x" + "f" * 5000, "9" * 30, "-0x8000000000000001"):
        with pytest.raises(Exception, match=r"64 bits|not TOML"):
            defaults.parse(f"nodes = {text}\n".encode(), str(tmp_path / "envcfg.toml"))


def test_the_groups_of_a_pattern_are_counted() -> None:
    reason = "why: w, source: s, date: 2026-05-19"
    for count, is_right in ((100, True), (101, False), (9000, False)):
        pattern = "(" * count + ")" * count
        text = f"name: x\ncontainer: {{image_facts: [{{pattern: '{pattern}', facts: {{}}, {reason}}}]}}"
        problems: list[Any] = []
        load_profile(text.encode(), path="x.yaml", stem="x", problems=problems)
        said = [each.message for each in problems if "expression" in each.message]
        assert said == ([] if is_right else ["no regular expression: more than 100 ("])


@pytest.fixture
def deep_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with more folders within each other than Python's walk may follow."""
    (tmp_path / "top").mkdir()
    handle = os.open(tmp_path / "top", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    yield tmp_path / "top"
    subprocess.run(["rm", "-rf", tmp_path / "top"], check=True)  # Python's cannot


@pytest.mark.parametrize("command", ["lint", "check-log"])
def test_folders_too_deep_are_refused(command: str, deep_folder: Path) -> None:
    done = envcfg(command, str(deep_folder))
    assert done.code == 4
    assert f"its folders are nested more than {MAX_DEPTH} deep" in done.err


def test_statements_too_deep_cannot_be_followed_in_any_python(tmp_path: Path) -> None:
    """EC734 follows what a script ends with: deep statements do not end Python."""
    outs = []
    for depth in (60, 300, 3000):
        body = "if true; then\n" * depth + "python train.py\n" + "fi\n" * depth
        script = tmp_path / "job.sh"
        script.write_text(f"#!/bin/bash\n#SBATCH --nodes=1\nset -e\n{body}exit $?\n")
        # bash itself refuses 3,000 levels, and EC748 reports that; shellcheck needs minutes.
        done = envcfg("lint", "--ignore", "EC748,SC", str(script))
        outs.append((done.code, re.sub(rb"\d+:\d+", b"", done.out)))
    assert outs == outs[:1] * 3
