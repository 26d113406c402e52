"""The options of the core's tables, where argparse reads them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from envcfg.core.option import NO_DEFAULT, Option, Table, help_texts, no_default
from envcfg.parser import Parser

if TYPE_CHECKING:
    from envcfg.core.step import Step


def add_table(parser: argparse.ArgumentParser, table: Table) -> None:
    """Let *parser* read all options of *table*."""
    if isinstance(parser, Parser):
        parser.about = help_texts
    for title, options in table.items():
        group = parser.add_argument_group(title)
        for option in options:
            add_option(group, option)
    if isinstance(parser, Parser) and NO_DEFAULT in parser.known_options:
        parser.preset = _read_defaults


def add_defaults(parser: argparse.ArgumentParser, *names: str) -> None:
    """Let files give the options *names* of ``wrap`` to a command that is not a step."""
    rows = [Option(f"--{name}", "") for name in names]
    add_table(parser, {"defaults": [no_default({"": rows})]})


def use_defaults(options: argparse.Namespace, *given: str) -> None:
    """Say which defaults a command that is not a step takes; the environment has one, too.

    Of the options *given* none counts. ``FindingsError``: a file is not trusted.
    """
    options.profile = options.profile or os.environ.get("ENVCFG_PROFILE")
    if found := getattr(options, "defaults", ()):
        from envcfg.commands.printing import tell
        from envcfg.core.defaults import taken

        for each in taken(found, {*getattr(options, "given", ()), *given}):
            name = each.option.flag[2:]
            tell(f"by default: {each.placed}", f"{NO_DEFAULT} {name} leaves it out")
        options.defaults = ()  # no error needs to name them again


def add_same(parser: argparse.ArgumentParser) -> None:
    """Give the options of a step that ``SAME`` lacks the values that they have there."""
    from envcfg.core.diagnostics import DIAGNOSTICS
    from envcfg.core.step import SAME

    kept = {each.name for options in SAME.values() for each in options}
    parser.set_defaults(
        **{
            each.name: [] if each.kind == "many" else each.default
            for options in DIAGNOSTICS.values()
            for each in options
            if each.name not in kept
        }
    )


def add_option(group: argparse._ActionsContainer, option: Option) -> None:
    """Let the parser of *group* read *option*."""
    names = [option.short, option.flag] if option.short else [option.flag]
    group.add_argument(*names, **_declaration(option))


def read_step(
    options: argparse.Namespace,
    example: str,
    *,
    is_line: bool = False,
) -> Step:
    """Return the step of a command line with the options of ``STEP``; as ``make_step``."""
    from envcfg.core.step import make_step

    found = getattr(options, "defaults", ())
    if found:
        from envcfg.core.defaults import taken

        found = taken(found, getattr(options, "given", ()))
    step = make_step(vars(options), options.command, example, is_line=is_line)
    if found:  # what is made says how to make it without the files
        words = (word for each in found for word in each.words)
        options.argv[2:2] = [NO_DEFAULT, "all", *words]
    return step._replace(defaults=tuple(each.placed for each in found))


def _read_defaults(parser: Parser, words: Sequence[str]) -> dict[str, Any]:
    """Return the values that files give, by name, and as ``defaults`` where they stand.

    What they give need not be given in *words* any more.
    """
    from envcfg.core.selection import current_folder
    from envcfg.profile.folders import default_files

    known = parser.known_options
    user, (*strangers, project) = default_files(os.environ, current_folder())
    names = [word.partition("=")[0] for word in words]
    if any(getattr(known.get(name), "spares", "") for name in names):
        return {}
    left_out = {
        after if word == NO_DEFAULT else word.partition("=")[2]
        for word, name, after in zip(words, names, [*words[1:], ""], strict=False)
        if name == NO_DEFAULT
    }
    if "all" in left_out or not (user or project or strangers):
        return {}
    from envcfg.commands.printing import tell
    from envcfg.core.defaults import read_files, settle, values_of

    for each in strangers:
        tell(f"{each} is ignored, because it belongs to another user")
    read = read_files(user, project, os.environ)
    taking = known[NO_DEFAULT].choices or ()
    own = (each for each in read if each.option.flag[2:] in taking)
    left = (each for each in own if each.option.flag[2:] not in left_out)
    found = settle(left, os.environ)
    for flag in {default.option.flag for default in found} & {*known}:
        known[flag].required = False
    return {**values_of(found), "defaults": found}


def made_by(argv: Sequence[str], step: Step) -> tuple[str, ...]:
    """Return the command line that makes the same again: it names the profile's layer."""
    name = step.profile_name
    if ":" not in name or "/" in name:  # a file, or what is the same everywhere
        return tuple(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    words = list(argv[:end])
    for at, word in enumerate(words):
        if word == "--profile" and at + 1 < end:
            words[at + 1] = name
            break
        if word.startswith("--profile="):
            words[at] = f"--profile={name}"
            break
    else:
        words += ["--profile", name]
    return (*words, *argv[end:])


def _declaration(option: Option) -> dict[str, Any]:
    """Return what argparse calls the columns of the table."""
    if option.kind == "switch" and not option.spares:
        return {"action": "store_true", "dest": option.name, "help": option.help}
    columns: dict[str, Any] = {
        "dest": option.name,
        "help": option.help,
        "metavar": option.metavar,
        "type": option.read,
        "choices": option.choices,
        "default": option.default,
        "required": option.required,
    }
    if option.kind == "switch":
        columns |= {"nargs": 0, "const": True}
    if option.spares:
        columns |= {"action": Sparing, "spares": option.spares}
    elif option.kind == "many":
        columns |= {"action": "append", "default": []}
    elif option.kind == "maybe":
        columns |= {"nargs": "?", "const": option.alone}
    return columns


class Sparing(argparse.Action):
    """Keep a value, and require another option no more."""

    def __init__(self, *, spares: str, **columns: Any) -> None:  # noqa: ANN401
        """Keep the name of the other one."""
        super().__init__(**columns)
        self.spares = spares

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as in argparse
        option_string: str | None = None,
    ) -> None:
        """Take what is given, if it is."""
        if values is not None:  # a word that may be absent is
            parser._option_string_actions[self.spares].required = False  # noqa: SLF001
        if self.const is not None:
            setattr(namespace, self.dest, self.const)
            return
        parser._registry_get("action", None, None)(  # noqa: SLF001
            self.option_strings, self.dest
        )(parser, namespace, values, option_string)
