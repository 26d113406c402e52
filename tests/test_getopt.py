"""The reader of options, compared with those of Python and of util-linux."""

from __future__ import annotations

import getopt as python
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcfg.backends.programs import load_all
from envcfg.common.getopt import OptionTable, OptionWord, getopt, read_table

LETTERS, LONG = "abn:o:", ["all", "brief", "number=", "output="]
TABLE = read_table(
    {
        "flags": "all brief",
        "values": "number output",
        "attached": "color",
        "two_words": "env",
        "short": {"a": "all", "b": "brief", "n": "number", "o": "output"},
        "old": {"out_put": "output"},
    }
)
LONG_ONLY = TABLE._replace(
    options={name: spec for name, spec in TABLE.options.items() if len(name) > 2},
    abbreviated=([f"--{name.rstrip('=')}" for name in LONG],),
)
WORDS = st.one_of(
    st.sampled_from(
        "-a -b -ab -n -n4 -an4 -n=4 -o -ofile -bo --all --brief --number --number=4 "
        "--output --output= --num --num=2 --a --o=- - -- -ba file --x -x -ax".split()
    ),
    st.text("abn-=", max_size=4),
)
SHORT = {"-a": "all", "-b": "brief", "-n": "number", "-o": "output"}
Result = tuple[list[tuple[str, str]], list[str]]


def envcfg_result(words: list[str], *, stops: bool) -> Result | None:
    """Return options and operands as getopt.getopt does; None: it is an error."""
    options, operands = [], []
    for word in getopt(LONG_ONLY, words):
        if word.fault:
            return None
        if word.name:
            options.append((word.name, word.value or ""))
        elif word.value == "--":
            return options, operands + words[word.end :]
        elif stops:
            return options, words[word.begin :]
        else:
            operands.append(word.value or "")
    return options, operands


def python_result(words: list[str], *, stops: bool) -> Result | None:
    reader = python.getopt if stops else python.gnu_getopt
    try:
        options, operands = reader(words, LETTERS, LONG)
    except python.GetoptError:
        return None
    return [(SHORT.get(name, name[2:]), value) for name, value in options], operands


@pytest.mark.parametrize("stops", [True, False])
@settings(max_examples=300, deadline=None)
@given(words=st.lists(WORDS, max_size=6))
def test_the_same_words_are_read_as_by_python(words: list[str], stops: bool) -> None:
    assert envcfg_result(words, stops=stops) == python_result(words, stops=stops)


@pytest.mark.skipif(not shutil.which("getopt"), reason="no util-linux")
@settings(max_examples=40, deadline=None)
@given(words=st.lists(WORDS, max_size=6))
def test_the_same_words_are_read_as_by_util_linux(words: list[str]) -> None:
    long = ",".join(name.replace("=", ":") for name in LONG)
    command = ["getopt", "-q", "-o", LETTERS, "-l", long, "--", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = None
    if result.returncode == 0:
        expected = python_result(shlex.split(result.stdout), stops=True)
    assert envcfg_result(words, stops=False) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--color", "x"], OptionWord("color", None, 0, 1)),
        (["--color=x"], OptionWord("color", "x", 0, 1, 8)),
        (["--env", "A", "1"], OptionWord("env", "A", 0, 3)),
        (["--env", "A=1", "x"], OptionWord("env", "A=1", 0, 2)),
        (["--out_put", "x"], OptionWord("output", "x", 0, 2)),
        (["-n=4"], OptionWord("number", "4", 0, 1, 3)),
        (["-n"], OptionWord("number", None, 0, 1, 0, "missing")),
        (["--all=x"], OptionWord("all", "x", 0, 1, 6, "unwanted")),
        (["--new=x", "y"], OptionWord("new", "x", 0, 1, 6, "unknown")),
        (["-z4"], OptionWord("z", None, 0, 1, 0, "unknown")),
        (["-", "-a"], OptionWord("", "-", 0, 1)),
    ],
)
def test_an_option_keeps_its_value_and_its_place(
    words: list[str], expected: OptionWord
) -> None:
    assert next(getopt(TABLE, words)) == expected


def test_letters_are_not_combined_where_long_options_have_one_dash() -> None:
    table = read_table({"values": "np", "short": {"n": "np"}, "single_dash": True})
    for word, name, value in [("-np=4", "np", "4"), ("-n4", "np", "4")]:
        (option,) = getopt(table, [word])
        assert (option.name, option.value, option.fault) == (name, value, "")
    assert [word.fault for word in getopt(table, ["-nfoo"])] == ["unknown"]


def test_an_ambiguous_name_is_a_fault() -> None:
    table = OptionTable(
        {f"--{spec.name}": spec for spec in {*TABLE.options.values()}},
        abbreviated=(["--all", "--also"], []),
    )
    table = table._replace(options={**table.options, "--also": TABLE.options["--env"]})
    (option,) = getopt(table, ["--al"])
    assert option.fault == "ambiguous"
    assert table.find("--al") == ["--all", "--also"]


def test_every_launch_line_has_a_table() -> None:
    for program, sections in load_all().items():
        table = read_table(sections["line"])
        assert {*table.letters.values()} <= {*table.options.values()}, program
