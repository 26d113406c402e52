"""What ends on a terminal: text from anywhere, and colours only where they are wanted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from checking import check
from hypothesis import given
from hypothesis import strategies as st
from jobs import Job, text

from envcfg.common.characters import one_line, printable
from envcfg.common.errors import OutputError
from envcfg.common.findings import Finding, Place
from envcfg.report.log.log_text import log_lines
from envcfg.report.styled import is_styled, put
from fuzzing import tries
from suites import mark_sample
from support import envcfg

# What does something to a terminal: C0, DEL, C1, and what turns the direction of text.
HOSTILE = [
    *(chr(code) for code in (*range(32), 127, *range(0x80, 0xA0))),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "\udcff",
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2K",
]
texts = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=12
).map("".join)


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@tries(200)
@given(texts)
def test_one_line_is_one_line_of_harmless_text(text: str) -> None:
    assert one_line(text).isprintable()
    assert one_line(one_line(text)) == one_line(text)


@pytest.mark.parametrize("text", ["", "plain", "größe 模型 🙂 é", "a\\nb"])
def test_one_line_leaves_what_can_be_read(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize("character", [each for each in HOSTILE if each not in "\t\n"])
def test_no_page_holds_what_a_terminal_must_not(character: str) -> None:
    assert printable(f"a{character}b").isprintable()


@tries(200)
@given(texts, texts, texts)
def test_errors_and_findings_are_harmless(name: str, what: str, hint: str) -> None:
    for lines in (
        OutputError(f"{name}: {what}", hint=hint).lines(),
        Finding("rule", "error", what, name, hint, place=Place(name, 1)).lines(),
        Finding("rule", "note", name, what, fix=hint).lines(),
    ):
        assert all(line.isprintable() for line in lines)
        assert len(lines) == (2 if hint else 1)


@tries(200)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), texts), min_size=1, max_size=30))
def test_a_report_on_a_hostile_log_is_harmless(places: list[tuple[int, str]]) -> None:
    log = text(
        Job(ranks_per_node=1, fallen=frozenset({1}), errors={0: ("ofi-register-gpu",)})
    )
    for place, junk in places:
        at = place % len(log)
        log = log[:at] + junk + log[at:]
    said: list[str] = []
    put_to(said, check(log.encode("utf-8", "surrogateescape")))
    assert is_harmless("".join(said))


def put_to(said: list[str], report: object) -> None:
    """Put the report as a command does, into a list."""

    class Stream:
        def write(self, text: str) -> None:
            said.append(text)

        def isatty(self) -> bool:
            return False

    stdout, sys.stdout = sys.stdout, Stream()  # type: ignore[assignment]
    try:
        put((style, line) for line, style in log_lines(report))  # type: ignore[arg-type]
    finally:
        sys.stdout = stdout


EVIL = "\x1b[31mslurm\x07\x08\u202e\x9b2K\n-7.out"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check-log", EVIL),
        ("check-log", "--profile", EVIL, "log"),
        ("check-log", "--html", f"no/{EVIL}", "log"),
        ("check-log", "--expect-ranks", EVIL, "log"),
        ("check-log", "--follow", "--timeout", "0", EVIL),
        (
            "check-log",
            "--follow",
            "--timeout",
            "9",
            "--on-bad",
            f"exit 3 # {EVIL}",
            "log",
        ),
        ("check-log", f"--{EVIL}"),
        ("check-log", "evil"),
        ("explain", EVIL),
        ("monitor", EVIL),
        ("profiles", "show", EVIL),
        ("profiles", "validate", EVIL),
        ("profiles", EVIL),
        ("wrap", "--container", f"none{EVIL}", "--print", "plan", "--", EVIL),
        ("wrap", "--profile", EVIL, "--print", "plan", "--", "true"),
        (EVIL,),
    ],
    ids=lambda arguments: " ".join(arguments).replace(EVIL, "EVIL"),
)
def test_a_hostile_name_does_nothing_to_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(text(Job(ranks_per_node=2, fallen=frozenset({1}))))
    Path("evil").mkdir()
    Path("evil", EVIL).write_text(text(Job(ranks_per_node=2, fallen=frozenset({1}))))
    done = envcfg(*arguments)
    assert is_harmless(done.err), done.err
    assert is_harmless(done.text), done.text


def on_terminal(folder: Path, *arguments: str, **env: str) -> str:
    """Return what envcfg writes to a terminal."""
    known = {name: os.environ[name] for name in os.environ if name != "NO_COLOR"}
    command = " ".join([sys.executable, "-m", "envcfg", *arguments])
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**known, "TERM": "xterm-256color", **env},
    )
    return done.stdout


COMMANDS = [
    ("check-log", "log"),
    ("check-log", "evil"),
    ("explain",),
    ("explain", "socket-fallback"),
    ("explain", "NCCL_NET_GDR_LEVEL"),
    ("profiles", "list"),
    ("profiles", "show", "lumi-g"),
    ("profiles", "detect"),
    ("profiles", "diff", "lumi-g", "frontier"),
    (
        "wrap",
        "--profile",
        "lumi-g",
        "--container",
        "none",
        "--print",
        "plan",
        "--",
        "true",
    ),
]


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": ""}, True),  # as no-color.org says
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("arguments", mark_sample(COMMANDS, every=3), ids=" ".join)
def test_colours_only_where_they_are_wanted(
    tmp_path: Path, arguments: tuple[str, ...], env: Mapping[str, str], coloured: bool
) -> None:
    log = text(Job(ranks_per_node=2, fallen=frozenset({1})))
    (tmp_path / "log").write_text(log)
    (tmp_path / "evil").write_text(
        log.replace("Using network", "Using\x1b[2J\x9b network")
    )
    said = on_terminal(tmp_path, *arguments, **env)
    assert said.strip()
    if not coloured:
        assert "\x1b" not in said
    elif arguments == ("check-log", "log"):
        assert "\x1b[33m" in said


@pytest.mark.parametrize(
    ("env", "tty", "styled"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "", "TERM": "xterm"}, True, True),
        ({"NO_COLOR": "yes"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "unknown"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_what_may_be_styled(
    monkeypatch: pytest.MonkeyPatch, env: Mapping[str, str], tty: bool, styled: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty, raising=False)
    assert is_styled() == styled


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_colours_go_through_a_pipe_where_they_are_asked_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    name: str,
) -> None:
    for log in ("log", "evil"):
        (tmp_path / log).write_text(text(Job(ranks_per_node=2, fallen=frozenset({1}))))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv(name, "1")
    done = envcfg(*arguments)
    assert done.out
    if arguments[0] in ("check-log", "explain"):
        assert b"\x1b[" in done.out


@pytest.mark.parametrize(
    ("words", "environ", "coloured"),
    [
        (("explain", "port", "--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color=always", "explain", "port"), {"TERM": "dumb"}, True),
        (("explain", "port", "--color=never"), {"FORCE_COLOR": "1"}, False),
        (("explain", "port", "--color=auto"), {"FORCE_COLOR": "1"}, True),
        (("explain", "port", "--color=auto"), {}, False),
        (("profiles", "--color=always", "list"), {}, True),
        (("--color=always", "profiles", "list", "--color=never"), {}, False),
    ],
)
def test_the_option_goes_before_the_environment(
    words: tuple[str, ...],
    environ: Mapping[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    plain = envcfg("explain", "port")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in envcfg(*words).text) == coloured
    monkeypatch.undo()
    assert envcfg("explain", "port").text == plain.text  # of one run alone


def test_colours_that_there_are_not_are_refused() -> None:
    done = envcfg("explain", "--color", "purple")
    assert done.code == 2
    assert "--color: unknown value 'purple'" in done.err
    assert "known: always, auto, never" in done.err


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("72", 72), ("300", 120)])
def test_texts_are_as_wide_as_the_terminal(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = envcfg("explain", "socket-fallback").text.splitlines()
    longest = max(
        len(each) for each in lines if not re.search(r"as in: |://|docs/\S+\.md", each)
    )
    assert width - 10 < longest <= width
