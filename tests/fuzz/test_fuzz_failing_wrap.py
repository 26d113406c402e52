"""Whatever options a failing ``wrap`` has: stdout is a script that fails.

The options are those of the parser itself, so that a new one is tried by itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.cli import build_parser
from fuzzing import tries
from support import bash

# What the oracle knows: these ask for something else than a script on stdout.
_ASKING = {"help", "output", "json", "what"}
_VALUES = [
    "-o", "-ojob.sh", "-o=job.sh", "--output", "--output=job.sh", "--json", "-h", "--help",
    "--print", "--print=plan", "plan", "exec-line", "-o job.sh", "--json ", "", "x", "a=1",
    "=", "-", "--", "-1", "wrap", "none", "0", "./x.yaml", "\udcff", "'", "$(id)", "\n-o\n",
]  # fmt: skip
_STRAYS = [
    "x",
    "-x",
    "--outputs",
    "--outpu=x",
    "--jso",
    "--json=1",
    "-fo",
    "--printt",
    "-",
]


def _options() -> list[argparse.Action]:
    parser = build_parser("wrap")
    (commands,) = (
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    )
    return list(commands.choices["wrap"]._actions)


def _words(action: argparse.Action) -> st.SearchStrategy[list[str]]:
    """Return the ways to give an option, none of which asks for anything but a script."""
    values = list(_VALUES)
    if action.dest == "output":
        values = ["-", "", "/dev/stdout", "/dev/fd/1"]
    elif action.dest == "what":
        values = ["script"]
    elif action.dest in _ASKING:
        return st.just([])
    else:
        values += [str(each) for each in action.choices or ()]
    name = st.sampled_from(action.option_strings)
    if action.nargs == 0:
        return name.map(lambda word: [word])
    ways = [st.tuples(name, st.sampled_from(values)).map(lambda two: ["=".join(two)])]
    apart = values
    if action.nargs == "?":  # what looks like an option behind it is one
        apart = [each for each in values if not each.startswith("-")]
        ways.append(name.map(lambda word: [word]))
    ways.append(st.tuples(name, st.sampled_from(apart)).map(list))
    return st.one_of(ways)


ANY = st.one_of([_words(each) for each in _options()])
COMMAND_LINES = st.tuples(
    st.lists(st.one_of(ANY, ANY, ANY, st.sampled_from(_STRAYS).map(lambda word: [word])), max_size=5),
    st.lists(st.sampled_from([["--container", "none"], ["--container=x"]]), max_size=1),
    st.permutations(range(8)),
    st.sampled_from([[], ["--"], ["--", "-o", "x"], ["--", "--json"]]),
)  # fmt: skip


def test_every_option_of_wrap_is_tried() -> None:
    names = {name for each in _options() for name in each.option_strings}
    assert {
        "--profiler-arg",
        "--setup",
        "--nccl-debug",
        "--profile-rank",
        "--output",
    } <= names


@tries(80)
@given(COMMAND_LINES)
def test_a_wrap_that_fails_prints_a_script_that_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: tuple[list[list[str]], list[list[str]], list[int], list[str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    given_, container, order, command = line
    groups = [*given_, *container, ["--profile", "no-such"]]
    groups = [groups[at] for at in order if at < len(groups)]
    words = [word for group in groups for word in group]
    encoded = [word.encode("utf-8", "surrogateescape") for word in [*words, *command]]
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", "wrap", *encoded],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2, (words, done.stderr)
    assert b"Traceback" not in done.stderr
    script = done.stdout
    for way in (script, b"set +e\nsource /dev/stdin\necho goes on"):
        ended = bash(way, stdin=script)
        assert (ended.returncode, ended.stdout) == (2, b""), (words, script)
    assert list(tmp_path.iterdir()) == []
