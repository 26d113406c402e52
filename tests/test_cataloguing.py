"""What ``scripts/catalogue`` takes from sources: formats, and whether the call fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.cataloguing.__main__ import LIBRARIES, main
from scripts.cataloguing.formats import Printed, printed

FAILS = "ncclResult_t f() { if (x) { %s return ncclSystemError; } return ncclSuccess; }"


@pytest.mark.parametrize(
    ("said", "format_"),
    [
        ('WARN("Net : took %lu of %zu bytes\\n", a, b);', "Net : took %d of %d bytes"),
        ('WARN("one "\n  "two %.*s " /* "three" */ "four", 1, s);', "one two %s four"),
        ('WARN("id %" PRIx64 " of %" PRIu64 "!", a, b);', "id %x of %d!"),
        ('WARN("Call to " name " failed (%5.1f%%)", f);', "Call to %s failed (%f%%)"),
        ('WARN("a \\"b\\"\\nand c");', 'a "b"\\nand c'),
        ('NCCL_OFI_WARN("No %s (%s)", f(")", 1), ",");', "NET/OFI No %s (%s)"),
        ('NCCL_OFI_WARN(PACKAGE " gave up");', "NET/OFI %s gave up"),
    ],
)
def test_a_format_is_taken_whole(said: str, format_: str) -> None:
    assert list(printed(FAILS % said)) == [Printed(True, format_, True)]


def test_of_a_condition_both_formats_are_taken() -> None:
    said = 'WARN(up ? "Port %d is up" : "Port %d is down", n);'
    assert [each.format for each in printed(said)] == [
        "Port %d is up",
        "Port %d is down",
    ]


@pytest.mark.parametrize(
    "said",
    [
        '// WARN("not said");',
        '/* WARN("not said"); */',
        'const char* s = "WARN(\\"not said\\")";',
        '#define WARN(...) log("not said", __VA_ARGS__)',
        "WARN(message, 1);",
    ],
)
def test_what_is_no_warning_is_not_taken(said: str) -> None:
    assert not list(printed(said))


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ('{ WARN("a thing"); return ncclInternalError; }', True),
        ('{ WARN("a thing"); ret = ncclSystemError; goto exit; }', True),
        ('{ ret = -EINVAL; NCCL_OFI_WARN("a thing"); }', True),
        (
            '#define CHECK(x) do { WARN("a thing"); \\\n return ncclError; } while (0)',
            True,
        ),
        ('{ WARN("a thing"); throw 1; }', True),
        ('{ WARN("a thing"); } return ncclInternalError;', False),
        ('{ WARN("a thing"); return ncclSuccess; }', False),
        ('{ WARN("a thing"); level = 0; }', False),
    ],
)
def test_a_call_fails_where_its_block_hands_an_error_up(body: str, fails: bool) -> None:
    assert [each.fails for each in printed(body)] == [fails]


def commit(folder: Path, source: str, tag: str) -> None:
    (folder / "src" / "transport").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "transport" / "net.cc").write_text(source)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["add", "."], ["commit", "-qm", tag], ["tag", tag]):
        subprocess.run([*git, *words], check=True)


def test_releases_are_read_and_say_what_is_new_and_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "nccl", tmp_path / "out"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    old, kept, new = (
        FAILS % f'WARN("{word} word");' for word in ("Old", "Kept", "New")
    )
    commit(folder, old + kept, "v2.9.6-1")
    commit(folder, kept, "v2.10.3-1")
    commit(folder, kept + new, "v2.30.7-1")
    monkeypatch.setattr(
        "sys.argv", ["catalogue", "--out", str(out), f"nccl={folder}/.git"]
    )
    main()
    head, *lines = (out / "nccl.tsv").read_text().splitlines()
    assert head == f"# NVIDIA/nccl\t2.9.6\t2.30.7\t{LIBRARIES['nccl'].license}"
    path = "transport\tfails\tsrc/transport/net.cc"
    assert lines == [
        f"2.9.6\t2.30.7\t{path}\tKept word",
        f"2.30.7\t2.30.7\t{path}\tNew word",
        f"2.9.6\t2.9.6\t{path}\tOld word",
    ]
