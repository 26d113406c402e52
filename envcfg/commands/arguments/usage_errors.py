"""Errors of wrong command lines; loaded only after an error."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

from envcfg.common.datafile import load_yaml
from envcfg.common.errors import UsageError, nearest, suggest

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")  # argparse reads it as a value
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # word processors use them for -
_VALUE = re.compile(r"argument (?P<option>\S+): expected (?:one|at least one) argument")
_NO_VALUE = re.compile(
    r"argument (?P<option>\S+): ignored explicit argument (?P<value>.+)"
)
_LONG = 4  # letters after one dash: from here on, it may be a long option
_MISSING = "the following arguments are required: "
_JOB_SCRIPTS = (".sbatch", ".sh", ".slurm")
_IMAGE = r"\.(?:sif|sqsh|squashfs)$|://"
# A placeholder in the name of an option in envcfg, for the user's own value.
_PLACE = r"\b(?:N|VALUE|NAME=VALUE|FILE|LIST|FOLDER|SOURCE\[:TARGET\]|TYPE|NAME)$"


class UsageParser(Protocol):
    """The part of a parser that this module needs; see
    ``envcfg.commands.arguments.parser``."""

    prog: str
    usage: str | None
    words: Sequence[str]
    taken: argparse.Namespace

    @property
    def known_options(self) -> Mapping[str, argparse.Action]: ...  # noqa: D102

    @property
    def has_commands(self) -> bool: ...  # noqa: D102


def explain(parser: UsageParser, message: str) -> UsageError:
    """Return the error for argparse's *message*; an unknown option comes first."""
    if words := _command_words(parser):
        msg = f"unexpected arguments: {shlex.join(words)}"
        return UsageError(msg, hint=_hint_on_command(parser, words))
    if stray := next(_strays(parser), None):
        return _unknown_option(parser, *stray)
    if message.startswith("unrecognized arguments: "):
        words = message.partition(": ")[2]
        return UsageError(f"unexpected arguments: {words}", hint=_usage(parser))
    if message.startswith(_MISSING):
        missing = message.removeprefix(_MISSING)
        verb = "are" if ", " in missing else "is"
        return UsageError(f"{missing} {verb} missing", hint=_usage(parser))
    if match := _VALUE.fullmatch(message):
        option = match["option"].partition("/")[0]
        action = parser.known_options.get(option)
        example = f"as in {option} {action.metavar or 'VALUE'}; " if action else ""
        return UsageError(f"{option} lacks its value", hint=f"{example}{_see(parser)}")
    if match := _NO_VALUE.fullmatch(message):
        msg = f"{match['option']} takes no value, but {match['value']} is given"
        return UsageError(msg, hint=_see(parser))
    return UsageError(message.removeprefix("argument "), hint=_see(parser))


def _hint_on_command(parser: UsageParser, words: Sequence[str]) -> str:
    """Return what to type in place of *words*, which end the words of *parser*."""
    option, name = ["", "", *parser.words[: -len(words)]][-2:]
    if option == "--set" and "=" not in name:
        return f"write --set {name}={words[0]}"
    if words == ["help"]:
        return _see(parser)
    if words[0] == "-" and words[1:]:  # it was meant to be --
        words = words[1:]
    text = words[0] if " " in words[0] else shlex.join(words)
    if re.search(_IMAGE, words[0]):
        own = f" -- {shlex.join(words[1:])}" if words[1:] else ""
        return f"write --container {shlex.quote(words[0])}{own}"
    if words[0].endswith(_JOB_SCRIPTS):
        return (
            f"a job script is sent by envcfg submit {words[0]}; "
            f"envcfg wrap --from {words[0]} converts it; a program of ranks goes "
            f"after --, as in -- {text}"
        )
    return f"write the command after --, as in -- {text}"


def explain_choice(
    parser: UsageParser, action: argparse.Action, value: str
) -> UsageError:
    """Return the error for a *value* that *action* does not accept."""
    if stray := next(_strays(parser), None):
        return _unknown_option(parser, *stray)
    choices = [str(choice) for choice in action.choices or ()]
    if action.option_strings:
        msg = f"{action.option_strings[-1]}: unknown value {value!r}"
        choice = _synonym(parser, f"{action.option_strings[-1]}={value}")
        return UsageError(msg, hint=choice or suggest(value, choices))
    msg = f"unknown {str(action.metavar).lower()} {value!r}"
    ending = value[value.rfind(".") :] if "." in value else value
    hint = _synonym(parser, value) or _synonym(parser, ending)
    if hint is None:
        return UsageError(msg, hint=f"{suggest(value, choices)}; {_see(parser)}")
    return UsageError(msg, hint=hint.replace(ending, value))


def _strays(parser: UsageParser) -> Iterator[tuple[str, str | None]]:
    """Yield the options that *parser* does not know, without those of a command.

    Each comes with the previous option if that waits for a value.
    """
    for _, word, before in _unknown_words(parser):
        if _is_option(word, before):
            name = word.partition("=")[0]
            yield name if name.strip("-") else word, before
        elif before is None and parser.has_commands:
            return


def _command_words(parser: UsageParser) -> Sequence[str]:
    """Return the command that the user wrote without the ``--`` before it.

    An unknown option before it is the error. The word after an unknown option may be its
    value, and one word may be the parser's own argument, such as a script. A misspelled
    option of the parser is the error, too.
    """
    if "-- COMMAND" not in (parser.usage or ""):
        return ()
    if any(_nearest(parser, option) for option, _ in _strays(parser)):
        return ()
    begin, count, after_option = None, 0, False
    for index, word, before in _unknown_words(parser):
        is_option = _is_option(word, before)
        if is_option and begin is None:
            return ()
        if before is None and not is_option and not after_option:
            begin = index if begin is None else begin
            count += 1
        after_option = is_option and "=" not in word
    is_argument = count == 1 and getattr(parser.taken, "script", None) is not None
    return () if begin is None or is_argument else parser.words[begin:]


def _unknown_words(parser: UsageParser) -> Iterator[tuple[int, str, str | None]]:
    """Yield the words that are no known option: their number, and the option before
    them that waits for a value."""
    actions = parser.known_options
    before: str | None = None
    for index, word in enumerate(parser.words):
        name = word.partition("=")[0]
        if word in actions or name in actions:
            action = actions.get(word) or actions[name]
            waits = action.nargs is None and word == name
            before = name if waits else None
            continue
        if not (_is_option(word, before) and word[1] != "-" and word[:2] in actions):
            yield index, word, before
        before = None


def _is_option(word: str, before: str | None) -> bool:
    if len(word) < 2 or " " in word or _NEGATIVE.fullmatch(word):
        return False
    return word[0] == "-" or (before is None and word[0] in _DASHES)


def _unknown_option(parser: UsageParser, option: str, before: str | None) -> UsageError:
    msg = f"unknown option {option}"
    everything = f"{parser.prog} --help-all lists all options"
    if option[0] in _DASHES:
        right = "--" + option.lstrip("-" + _DASHES)
        return UsageError(msg, hint=f"its dash is not a hyphen: write {right}")
    synonym = _synonym(parser, option if option[1] == "-" else option[:2])
    if synonym and (value := _value_of(parser, option)):
        synonym = re.sub(_PLACE, lambda _: shlex.quote(value), synonym)
    if near := _nearest(parser, option):
        hint = f"did you mean {near}? {everything}"
    elif synonym:
        hint = f"write {synonym}" if synonym.startswith("-") else synonym
    elif before:
        hint = f"if this is the value of {before}, join them: {before}={option}"
    elif parser.has_commands:
        hint = f"options come after what they belong to; {everything}"
    else:
        hint = everything
    return UsageError(msg, hint=hint)


def _value_of(parser: UsageParser, option: str) -> str:
    """Return the user's value of an unknown *option*; empty if there is none."""
    for word, following in zip(parser.words, (*parser.words[1:], "-"), strict=False):
        name, _, value = word.partition("=")
        if name == option:
            value = value or ("" if following.startswith("-") else following)
            return value.removeprefix("gpu:")
    return ""


def _nearest(parser: UsageParser, option: str) -> str | None:
    """Return the similar long option; dashes do not count as similarity."""
    name = option.lstrip("-")
    is_short = option[1] != "-" and len(name) < _LONG
    if is_short or _synonym(parser, option):
        return None
    actions = parser.known_options
    near = nearest(name, [flag[2:] for flag in actions if flag.startswith("--")])
    return f"--{near}" if near else None


def _synonym(parser: UsageParser, word: str) -> str | None:
    return option_aliases().get(parser.prog, {}).get(word)


@cache
def option_aliases() -> Mapping[str, Mapping[str, str]]:
    """Return options of other programs, by command, with their names in envcfg."""
    data = load_yaml("knowledge/option_aliases.yaml")
    aliases = {}
    for line, own in data["commands"].items():
        groups = [data["groups"][name] for name in own.pop("groups", "").split()]
        aliases[line] = {
            word: right.replace("OPTION", word)
            for words, right in (
                pair for group in (*groups, own) for pair in group.items()
            )
            for word in words.split()
        }
    return aliases


def _usage(parser: UsageParser) -> str:
    forms = (parser.usage or parser.prog).splitlines()  # a hint is one line
    return f"{'; or '.join(form.strip() for form in forms)}; {_see(parser)}"


def _see(parser: UsageParser) -> str:
    return f"see {parser.prog} --help"
