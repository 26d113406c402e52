"""Every help has examples, and every example can be read by the parser of its command."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from envcfg.cli import build_parser, split_command
from envcfg.commands import ALIASES, texts
from envcfg.commands.arguments.parser import Parser
from support import envcfg


def parsers(
    parser: argparse.ArgumentParser, path: str = ""
) -> Iterator[tuple[str, Parser]]:
    """Yield every command and its own commands, by what one types for it."""
    assert isinstance(parser, Parser)
    yield path or "envcfg", parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from parsers(each, f"{path} {name}".strip())


ALL = dict(parsers(build_parser()))


def examples(parser: Parser) -> list[list[str]]:
    """Return the command lines of envcfg among the examples, as words without envcfg."""
    text = (parser.epilog or "").partition("examples:\n")[2]
    text = re.split(r"\n\n(?=\S)", text)[0].replace("\\\n", " ")
    lines = [each for each in text.splitlines() if not each.strip().startswith("#")]
    # What stands behind two spaces is what a line is for, but for aligned options.
    plain = [
        re.sub(r"(?<=\S) {2,}(?!-).*", "", re.sub(r" +(?=-)", " ", e)) for e in lines
    ]
    inner = [part for line in plain for part in re.findall(r"\$\(([^()]*)\)", line)]
    outer = [re.sub(r"\"?\$\([^()]*\)\"?", "made", line) for line in plain]
    parts = [part for line in (*inner, *outer) for part in re.split(r"[|;&()<>]", line)]
    ours = [part.strip() for part in parts if part.strip().startswith("envcfg ")]
    return [shlex.split(part)[1:] for part in ours]


@pytest.mark.parametrize("name", ALL)
def test_a_help_has_examples_and_each_can_be_read(name: str) -> None:
    found = examples(ALL[name])
    assert found, f"{name} has no examples"
    own = [] if name == "envcfg" else ALIASES.get(name, name).split()
    assert any(each[: len(own)] == own for each in found)
    for words in found:
        head, _, _ = split_command([each for each in words if each != "..."])
        if "..." not in words:
            build_parser(head[0]).parse_args(head)


@pytest.mark.parametrize("name", ALL)
def test_a_help_says_what_the_command_is_for(name: str) -> None:
    assert ALL[name].description
    commands = {"command_name", "action"}  # each of which has a help of its own
    ALL[name].format_help()  # which looks up what the tables of the core leave out
    silent = {each.dest for each in ALL[name]._actions if not each.help}
    assert silent <= commands


@pytest.mark.parametrize("width", ["80", "88", "120"])
@pytest.mark.parametrize("name", ALL)
def test_a_help_fits_on_a_screen_and_the_whole_one_has_all(
    name: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    words = [] if name == "envcfg" else name.split()
    short = envcfg(*words, "--help").text
    whole = envcfg(*words, "--help-all").text
    assert short.count("\n") <= 40
    long = [line for line in (short + whole).splitlines() if len(line) > int(width)]
    assert long == []
    assert "envcfg " in short.partition("examples:\n")[2].partition("\n\n")[0]
    assert ("exit codes:" in short) == ("exit codes:" in ALL[name].epilog)
    known = ALL[name].known_options.items()
    flags = [
        flag
        for flag, each in known
        if flag.startswith("--") and each.help != argparse.SUPPRESS
    ]
    assert [each for each in flags if each not in whole] == []
    if [each for each in flags if each not in short]:
        assert f"\n{ALL[name].prog} --help-all has all " in short
    else:
        assert short == whole


@pytest.mark.parametrize("name", ALL)
def test_what_most_need_is_an_option_of_the_command(name: str) -> None:
    common = (
        texts()[ALIASES.get(name, name).replace(" ", ".")].get("common", "").split()
    )
    assert set(common) <= ALL[name].known_options.keys()
    words = [] if name == "envcfg" else name.split()
    short = envcfg(*words, "--help").text
    assert [each for each in common if each not in short] == []
