"""Options are written back as words that are read alike, whatever their values hold."""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from envcfg.cli import build_parser, split_command
from envcfg.commands import NAMES, job, wrap
from envcfg.commands.arguments.parser import Parser
from envcfg.commands.option_arguments import read_step
from envcfg.common.bind import Bind
from envcfg.common.errors import UsageError
from envcfg.core.option import Option, Table, help_texts, write_options
from envcfg.core.option_values import write_removal, write_setting
from envcfg.core.step import Step, step_values
from envcfg.core.step_options import STEP
from envcfg.profile.read.entry_readers import name_problem
from fuzzing import part, tries

TABLES: dict[str, Table] = {"wrap": wrap.OPTIONS, "job": job.OPTIONS}
BARE = ("--container", "none")
# What looks like something else: an option, the end of options, shell, no text at all.
HOSTILE = (
    *(
        "",
        "-",
        "--",
        "---",
        "-o",
        "-ox",
        "--json",
        "--set=A=1",
        "-1",
        "-x y",
        "=",
        "=x",
    ),
    *(
        "a b",
        " ",
        "\n",
        "a\n-o\n",
        "'",
        '"',
        "\\",
        "$(id)",
        "`id`",
        "${A}",
        "%s",
        "{}",
        "#",
    ),
    *("\u00e9", "\u2014x", "\udc80", "\udcff'", "\x1b[31m", "\x7f", "\t"),
)
# What bytes of a command line are here: no NUL, and of the surrogates those of an escape.
TEXT = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
    max_size=12,
)
NUMBER = st.integers(1, 9999).map(str)
NAME = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: not name_problem(name)
)
PLAIN = st.text(st.sampled_from("aZ0-_=,:%+./\u00e9"), min_size=1, max_size=8)
WORD = st.lists(
    st.sampled_from(["${A}", "${B:-c/d}", "$$", "$${A}"])
    | TEXT.map(lambda text: text.replace("$", "$$")),
    max_size=4,
).map("".join)


def pairs(
    names: st.SearchStrategy[str], values: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    return st.tuples(names, values).map("=".join)


SOME = TEXT.filter(bool)
# What variables tell is for profiles alone.
BIND = st.builds(
    Bind, SOME, TEXT, st.lists(SOME, max_size=2).map(tuple), refers=st.just(False)
)

# Texts that an option takes, where that is not every text, and no choice: by what reads
# them, and of those that a pattern reads by name.
TEXTS = {
    "number_of": NUMBER,
    "_typed_gpus": st.one_of(NUMBER, pairs(st.sampled_from(["a100", "H.1_x-2"]), NUMBER).map(lambda text: text.replace("=", ":"))),
    "read_binds": st.lists(BIND, min_size=1, max_size=3).map(lambda b: ",".join(map(str, b))),
    "read_setting": pairs(NAME, WORD),
    "read_removal": NAME,
    "read_pair": pairs(TEXT.map(lambda text: text.replace("=", "") or "a"), TEXT),
    "read_module": st.sampled_from(["pytorch", "gcc/13.2", "/a/b", "a:b@c~=d+e"]),
    "read_word": WORD.filter(bool),
    "read_ranks": st.lists(st.integers(0, 10**9 - 1).map(str), min_size=1).map(",".join),
    "read_silence": st.sampled_from(["5s", "015m", "2h=report", "7d=stop"]),
    "read_after": st.sampled_from(["5s", "10m", "never"]),
    "read_stage": st.one_of(st.sampled_from(["image", "env"]), TEXT.filter(bool).map("env={}".format)),
    "_plain": PLAIN,
    "_signal": st.sampled_from(["0", "00120", "TERM@300", "SIGUSR2@60"]),
    "_argument": st.sampled_from(["--x", "--x=", "--reservation=a=b"]),
    "--mem-per-gpu": st.tuples(NUMBER, st.sampled_from(["", "M", "g", "TB"])).map("".join),
    "--time": st.sampled_from(["90", "5:07", "1:30:00", "2-00", "9999-999999:99:99"]),
    "--array": st.sampled_from(["0-9", "1,3,5-7", "0-15:4%2"]),
}  # fmt: skip


def options_of(table: Table) -> list[Option]:
    return [option for options in table.values() for option in options]


def texts(option: Option) -> st.SearchStrategy[str]:
    """Return texts that *option* takes; there is no value that is left out."""
    if option.choices:
        return st.sampled_from(option.choices)
    if option.read is str:
        return TEXT
    reader = option.read.__qualname__.partition(".")[0]
    for name in (option.flag, reader):
        if name in TEXTS:
            return TEXTS[name]
    pytest.fail(f"say in TEXTS what {option.flag} takes, by {reader} or by its name")


def given_as(option: Option) -> st.SearchStrategy[list[str]]:
    """Return the ways to give *option*: joined and apart, by each of its names."""
    if option.kind == "switch":
        return st.just([option.flag])
    joined = texts(option).map(lambda text: [f"{option.flag}={text}"])
    plain = texts(option).filter(lambda text: not text.startswith("-"))
    ways = [joined, plain.map(lambda text: [option.flag, text])]
    if option.short:
        ways.append(
            texts(option).filter(bool).map(lambda text: [f"{option.short}={text}"])
        )
    if option.kind == "maybe":
        ways.append(st.just([option.flag]))
    return st.one_of(ways)


def lines(table: Table) -> st.SearchStrategy[list[str]]:
    """Return command lines that can be read, of all options of *table*."""
    pieces = st.lists(st.sampled_from(options_of(table)).flatmap(given_as), max_size=6)
    return pieces.map(lambda found: [*BARE, *chain.from_iterable(found)])


class Reader:
    """The parser of a command, made once."""

    parsers: dict[str, Parser] = {}  # noqa: RUF012

    def __call__(self, command: str, words: list[str]) -> argparse.Namespace:
        head, is_split, _ = split_command([command, *words])
        assert not is_split, words
        if command not in self.parsers:
            self.parsers[command] = build_parser(command)
        return self.parsers[command].parse_args(head)


read = Reader()


def step_of(options: argparse.Namespace) -> Step:
    options.command = ["true"]
    return read_step(options, "")


def values(table: Table, options: argparse.Namespace) -> dict[str, Any]:
    return {each.name: getattr(options, each.name) for each in options_of(table)}


@pytest.mark.parametrize("command", TABLES)
def test_the_parser_has_the_options_of_the_table(command: str) -> None:
    (commands,) = build_parser(command)._subparsers._group_actions  # type: ignore[union-attr]
    parser = commands.choices[command]  # type: ignore[index]
    table = options_of(TABLES[command])
    known = {name for each in table for name in (each.flag, each.short) if name}
    assert set(parser.known_options) == {
        "-h",
        "--help",
        "--help-all",
        "--color",
        *known,
    }
    for option in table:
        action = parser.known_options[option.flag]
        assert (action.nargs == 0) == (option.kind == "switch"), option.flag


def test_no_two_options_share_a_name_but_in_a_list() -> None:
    assert set(TABLES) <= set(NAMES)
    for table in TABLES.values():
        flags = [each.flag for each in options_of(table)]
        assert len(flags) == len(set(flags))
        shared = [each.name for each in options_of(table) if each.kind != "many"]
        assert len(shared) == len(set(shared))


def test_each_option_of_a_table_has_its_help_in_one_place() -> None:
    rows = [each for table in TABLES.values() for each in options_of(table)]
    assert {each.flag for each in rows if not each.help} == help_texts().keys()


@pytest.mark.parametrize("command", TABLES)
@tries(300)
@given(st.data())
def test_what_is_written_is_read_alike(command: str, data: st.DataObject) -> None:
    table = TABLES[command]
    first = values(table, read(command, data.draw(lines(table))))
    written = list(write_options(table, first))
    again = values(table, read(command, written))
    assert again == first
    assert list(write_options(table, again)) == written


EACH = [(name, each) for name, table in TABLES.items() for each in options_of(table)]


@pytest.mark.parametrize(
    ("command", "option"), EACH, ids=lambda each: getattr(each, "flag", each)
)
@part(40)
@given(st.data())
def test_each_option_says_its_value(
    command: str, option: Option, data: st.DataObject
) -> None:
    first = values(
        TABLES[command], read(command, [*BARE, *data.draw(given_as(option))])
    )
    written = list(write_options(TABLES[command], first))
    value = first[option.name]
    assume(value not in (option.default, []))
    assert option.flag in {word.partition("=")[0] for word in written}
    assert values(TABLES[command], read(command, written))[option.name] == value


@pytest.mark.parametrize("flag", ["--setup", "--profile", "--output"])
def test_two_dashes_behind_a_sign_of_equality_are_a_value(flag: str) -> None:
    options = read("wrap", [*BARE, f"{flag}=--", "--srun-arg=--", "--srun-arg=--"])
    assert getattr(options, flag[2:]) == "--"
    assert options.srun_arg == ["--", "--"]
    with pytest.raises(UsageError, match="--launcher: unknown value '--'"):
        read("wrap", [*BARE, "--launcher=--"])


def test_what_is_as_by_default_is_not_said() -> None:
    words = [*BARE, "--runtime", "auto", "--setup=", "--print", "script"]
    options = read("wrap", words)
    assert list(write_options(wrap.OPTIONS, vars(options))) == [*BARE]


def test_settings_and_removals_keep_their_order() -> None:
    words = [*BARE, "--unset=B", "--set=A=1", "--set=B=${A}", "--unset=A", "--set=C="]
    assert list(write_options(STEP, vars(read("wrap", words)))) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("lumi-g", ["--profile", "lumi-g"]),
        ("a b=c", ["--profile", "a b=c"]),
        ("", ["--profile="]),
        ("--", ["--profile=--"]),
        ("-1", ["--profile=-1"]),
        (None, []),
    ],
)
def test_a_value_stands_apart_where_it_can_be_nothing_else(
    value: str | None, words: list[str]
) -> None:
    table = {"": [Option("--profile", "")]}
    assert list(write_options(table, {"profile": value})) == words


def test_a_setting_and_a_removal_are_each_said_by_one_option() -> None:
    assert (write_setting(("A", None)), write_removal(("A", None))) == (None, "A")
    assert (write_setting(("A", ())), write_removal(("A", ()))) == ("A=", None)


# The step of a job is the one that was described.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    (tmp_path / "x.sif").touch()
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_what_a_job_need_not_know_is_not_said_again() -> None:
    words = [*BARE, "--profile=lumi-g", "--set=A=1", "--unset=B", "--set=A=2"]
    step = step_of(read("wrap", words))
    assert list(write_options(STEP, step_values(step))) == [
        *("--profile", "lumi-g", "--container", "none"),
        *("--set=A=2", "--unset=B"),
    ]


def test_paths_are_those_of_the_folder_where_they_were_given(folder: Path) -> None:
    (folder / "mine.yaml").write_text("name: mine\nextends: lumi-g\n")
    words = ["--profile=./mine.yaml", "--container=x.sif", "--ranks=2"]
    step = step_of(read("wrap", words))
    step = step._replace(options=step.options._replace(ranks=4))
    assert list(write_options(STEP, step_values(step))) == [
        *("--profile", f"{folder}/mine.yaml"),
        *("--container", f"{folder}/x.sif", "--ranks", "4"),
    ]


@tries(60)
@given(data=st.data())
def test_a_step_is_made_again_from_its_words(data: st.DataObject, folder: Path) -> None:
    assert folder == Path.cwd()
    image = data.draw(st.sampled_from([[*BARE], ["--container=./x.sif"]]))
    profiled = data.draw(
        st.sampled_from([[], ["--profile-rank=0,3", "--profiler=nsys"]])
    )
    facts = data.draw(st.sampled_from([[], ["--fact=rocm=6.2.4", "--fact=rocm=6.3"]]))
    kept = {
        "what": [
            each
            for each in options_of(STEP)
            if each.flag
            not in (
                "--profile",
                "--container",
                "--fact",
                "--profile-rank",
                "--profiler",
            )
        ]
    }
    words = [*data.draw(lines(kept)), *image, *profiled, *facts, "--profile=lumi-g"]
    try:
        step = step_of(read("wrap", words))
    except UsageError:
        reject()
    written = list(write_options(STEP, step_values(step)))
    again = step_of(read("wrap", written))
    assert again.options == step.options
    assert list(write_options(STEP, step_values(again))) == written
