"""Broken profiles: each gives a place and a sentence, soon, and never a traceback.

Most are the real ones with one thing changed, by a generator that always does the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.common.errors import EnvcfgError, ProfileError, UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder

SOURCES = sorted(Path(built_in_folder()).glob("*.yaml"))
REASON = "why: w, source: s, date: 2026-05-19"
Change = Callable[[str, random.Random], str]


def replaced(pattern: str, *others: str) -> Change:
    """Return a change of one place that fits the pattern, which has a group to replace."""

    def change(text: str, dice: random.Random) -> str:
        match = dice.choice(list(re.finditer(pattern, text, re.MULTILINE)))
        return text[: match.start(1)] + dice.choice(others) + text[match.end(1) :]

    return change


def removed(pattern: str) -> Change:
    return replaced(f"({pattern})", "")


def doubled(pattern: str) -> Change:
    def change(text: str, dice: random.Random) -> str:
        match = dice.choice(list(re.finditer(pattern, text, re.MULTILINE)))
        return text[: match.end()] + match[0] + text[match.end() :]

    return change


WHOLE_LINE = r"^ +why: [^>\n].*\n"
CHANGES: dict[str, Change] = {
    "wrong type": replaced(r"^ +(?:why|date|state|source): ([^>\n]*)$", "[a]", "{a: b}", "", "~"),
    "wrong block": replaced(r"^(?:lifecycle|verified|request|env):(\n(?:  .*\n)+)", " text\n", " [a]\n", " 7\n"),
    "tab": replaced(r"^(  )\w", "\t"),
    "duplicate key": doubled(WHOLE_LINE),
    "missing why": removed(WHOLE_LINE),
    "missing source": removed(r"^ +source: .*\n"),
    "missing date": removed(r"^ +date: .*\n"),
    "bad date": replaced(r"^ +date: (.*)$", "2026-02-30", "May 2026", "2026-5-1", "20260519", "2026-13-01"),
    "unknown key": replaced(r"^ +(why|state|source|date):", "wyh", "stat", "<<", "'a b'", "ä"),
    "unknown section": replaced(r"^(summary|lifecycle|verified):", "sumary", "Lifecycle", "x"),
    "unknown state": replaced(r"^  state: (.*)$", "good", "Active", "1", "run away"),
    "alias": replaced(r"^ +why: ([^>\n]*)$", "*a", "&a x\n  source: *a"),
    "tag": replaced(r"^ +why: ([^>\n]*)$", "!!python/name:os.system", "! a", "!!binary aGk="),
    "open quote": replaced(r"^ +why: ([^>\n]*)$", "'a", '"a', "[a", "{a", "a: b: c"),
    "name": replaced(r"^name: (.*)$", "other", "''", "[]", "../x"),
    "lost indent": replaced(r"^(  )(?:why|state): ", " ", "   "),
    "control character": replaced(r"^ +why: (.)", "\0", "\x07", "\x7f"),
}  # fmt: skip
PER_CHANGE = 6


def broken(folder: Path, name: str, data: bytes) -> EnvcfgError:
    """Load data as the profile *name* and return its error."""
    (folder / f"{name}.yaml").write_bytes(data)
    with pytest.raises(EnvcfgError) as caught:
        Catalog([built_in_folder(), str(folder)]).load(name)
    return caught.value


def check(error: EnvcfgError, name: str) -> None:
    """Hold an error against what a user needs: where, what, and printable."""
    assert isinstance(error, ProfileError)
    for problem in error.findings:
        assert problem.place.path.endswith(f"/{name}.yaml")
        assert problem.place.line >= 1
        assert problem.place.column >= 1
        assert 5 < len(problem.message) < 400
    for line in error.lines():
        assert line.isprintable(), line
        assert len(line) < 1000
        assert not re.search(r"Traceback|object at 0x|NoneType|<class", line)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(PER_CHANGE))
def test_a_real_profile_with_one_thing_wrong_is_refused(
    tmp_path: Path, change: str, seed: int
) -> None:
    dice = random.Random(f"{change} {seed}")
    source = dice.choice(SOURCES)
    text = CHANGES[change](source.read_text(), dice)
    assert text != source.read_text()
    check(broken(tmp_path, source.stem, text.encode()), source.stem)


def nested(opening: str, count: int) -> bytes:
    return f"name: x\nenv: {opening * count}".encode()


BOMB = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]"
    for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)
PARTS = {
    "nothing": (b"", "the file is empty"),
    "a comment": (b"# nothing\n", "the file is empty"),
    "a byte order mark": (b"\xef\xbb\xbf", "the file is empty"),
    "a list": (b"- a\n", "expected keys and values, not a list"),
    "a word": (b"profile\n", "expected keys and values, not a text"),
    "two documents": (b"name: x\n---\nname: x\n", "one document"),
    "another version of YAML": (b"%YAML 9.0\n---\nname: x\n", "incompatible YAML"),
    "latin 1": ("name: x\nsummary: Jülich\n".encode("latin-1"), "byte 0xfc is not UTF-8"),
    "UTF-16": ("name: x\n".encode("utf-16"), "byte 0xff is not UTF-8"),
    "a cut character": (b"name: x\nsummary: \xe2\x82", "byte 0xe2 is not UTF-8"),
    "a NUL": (b"name: x\nsummary: a\0b\n", "character '.x00' is not allowed in YAML"),
    "a NUL as escape": (b'name: x\nsummary: "a\\0b"\n', "cannot hold a NUL"),
    "NULs only": (bytes(4096), "is not allowed in YAML"),
    "a program": (b"\x7fELF\x02\x01\x01" + bytes(range(256)), "is not allowed in YAML|is not UTF-8"),
    "10 MB": (b"name: x\n" + b"#" * 10_000_000, "too many for a profile"),
    "10 MB of keys": (b"".join(b"k%d: 1\n" % i for i in range(1_000_000)), "too many"),
    "deep lists": (nested("[", 90_000), "nested more than 20 deep"),
    "deep mappings": (nested("{a: ", 20_000), "nested more than 20 deep"),
    "deep blocks": (b"name: x\nenv:\n  " + b"- " * 40_000, "nested more than 20 deep"),
    "a bomb": (f"a: &a [x]\n{BOMB}\nname: x\n".encode(), "an alias is not allowed"),
    "an alias of itself": (b"name: x\nenv: &e {A: *e}\n", "an alias is not allowed"),
    "many unknown keys": (b"".join(b"k%d: 1\n" % i for i in range(8_000)), "unknown key"),
    "a long key": (b"name: x\n? " + b"k" * 50_000 + b"\n: 1\n", "unknown key"),
    "a long mask": (f"name: x\nlaunch: {{cpu_masks: {{masks: [0x{'f' * 80_000}g], {REASON}}}}}".encode(), "expected CPU mask"),
    "an unknown fact": (f"name: x\nenv: {{A: {{value: 1, when: {{rcom: 6}}, {REASON}}}}}".encode(), "unknown key 'rcom'"),
    "a version that is none": (f"name: x\nenv: {{A: {{value: 1, when: {{rocm: new}}, {REASON}}}}}".encode(), "'new' is not a version"),
    "an unknown launcher": (b"name: x\nlaunch: {launchers: [mpirun]}", "unknown value 'mpirun'"),
    "an unknown launcher as fact": (f"name: x\nenv: {{A: {{value: 1, when: {{launcher: pdsh}}, {REASON}}}}}".encode(), "fits no launcher"),
    "a regular expression too large": (f"name: x\ncontainer: {{image_facts: [{{pattern: 'a{{{9**30}}}', facts: {{}}, {REASON}}}]}}".encode(), "no regular expression"),
    "a regular expression too deep": (f"name: x\ncontainer: {{image_facts: [{{pattern: '{'(' * 9000}{')' * 9000}', facts: {{}}, {REASON}}}]}}".encode(), "no regular expression"),
    "a command": (f"name: x\nenv: {{A: {{value: $(id), {REASON}}}}}".encode(), "'\\$' stands alone"),
    "a bundle without an option": (f"name: x\nbundles: {{b: {{env: {{A: 1}}, {REASON}}}}}".encode(), "couples variables with options"),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, name: str) -> None:
    data, message = PARTS[name]
    error = broken(tmp_path, "x", data)
    check(error, "x")
    assert any(re.search(message, line) for line in error.lines()), error.lines()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x": "extends: x\n"}, "a profile cannot extend itself, and there is no"),
        ({"x": "extends: y\n", "y": "extends: x\n"}, "in a circle: x -> y -> x"),
        ({"x": "extends: y\n", "y": "extends: z\n", "z": "extends: y\n"}, "circle"),
        ({"x": "extends: lumi\n"}, "unknown profile 'lumi'"),
        ({"x": "extends: ''\n"}, "'' is wrong: expected name of a profile"),
        ({"x": f"extends: {'y' * 5000}\n"}, "is wrong: expected name of a profile"),
        ({"x": "extends: y\n", "y": "emv: {}\n"}, "unknown key 'emv'"),
        ({"x": "extends: [y]\n"}, "expected a text, not a list"),
    ],
)
def test_a_family_that_cannot_be_is_refused(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\n{text}")
    error = broken(tmp_path, "x", f"name: x\n{files['x']}".encode())
    (problem,) = error.findings if isinstance(error, ProfileError) else []
    assert message in problem.message
    check(error, Path(problem.place.path).stem)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for name in (
        f"{tmp_path}/folder.yaml",
        f"{tmp_path}/none.yaml",
        "/dev/null/x.yaml",
    ):
        with pytest.raises(UsageError, match=r"no such file|this is a folder"):
            Catalog([built_in_folder()]).load(name)
