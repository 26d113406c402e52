"""Add the options of the core's tables to argparse."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from envcfg.commands.arguments.parser import Parser
from envcfg.core.option import (
    ALLOW_WRITABLE,
    NO_DEFAULT,
    Option,
    Table,
    help_texts,
    no_default,
    switch,
)

if TYPE_CHECKING:
    from envcfg.core.step import Step


def add_table(parser: argparse.ArgumentParser, table: Table) -> None:
    """Let *parser* read all options of *table*."""
    # Help texts are loaded only for a help page, which saves time in every other
    # run.
    if isinstance(parser, Parser):
        parser.about = help_texts
    for title, options in table.items():
        group = parser.add_argument_group(title)
        for option in options:
            add_option(group, option)
    # Only commands with --no-default read files of defaults.
    if isinstance(parser, Parser) and NO_DEFAULT in parser.known_options:
        parser.preset = _read_defaults


def add_defaults(parser: argparse.ArgumentParser, *names: str) -> None:
    """Let files set the options *names* of ``wrap`` for a command that is not a step.

    Such a command goes on without a file that other users may have written.
    """
    rows = [Option(f"--{name}", "") for name in (*names, ALLOW_WRITABLE[2:])]
    options = [no_default({"": rows}), switch(ALLOW_WRITABLE)]
    add_table(parser, {"defaults": options})
    if isinstance(parser, Parser):
        parser.preset = partial(_read_defaults, is_step=False)


def use_defaults(options: argparse.Namespace, *inputs: str) -> None:
    """Print the defaults that a command other than a step uses.

    ``ENVCFG_PROFILE`` is the default of ``--profile``. Options in *inputs* were given.
    """
    options.profile = options.profile or os.environ.get("ENVCFG_PROFILE")
    if defaults := getattr(options, "defaults", ()):
        from envcfg.commands.printing import tell
        from envcfg.core.defaults import taken

        for default in taken(defaults, {*getattr(options, "given", ()), *inputs}):
            name = default.option.flag[2:]
            tell(f"by default: {default.placed}", f"{NO_DEFAULT} {name} leaves it out")
        options.defaults = ()  # later errors need not name them again


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
    """Return the step that a command line with the options of ``STEP`` describes."""
    from envcfg.core.option import read_options
    from envcfg.core.step import make_step
    from envcfg.core.step_options import STEP

    defaults = getattr(options, "defaults", ())
    if defaults:
        from envcfg.core.defaults import taken

        # Options of the command line replace the defaults, so only the remaining
        # ones count.
        defaults = taken(defaults, getattr(options, "given", ()))
    values = {**read_options(STEP, ()), **vars(options)}
    step = make_step(values, options.command, example, is_line=is_line)
    if defaults:  # the recorded command line must work without the files
        words = (word for default in defaults for word in default.words)
        options.argv[2:2] = [NO_DEFAULT, "all", *words]
    files = dict.fromkeys(row.file for row in defaults if row.is_projects)
    own = (*files, *step.options.project_files)
    placed = tuple(default.placed for default in defaults)
    given = step.options._replace(project_files=own, defaults=placed)
    return step._replace(options=given)


def _read_defaults(
    parser: Parser, words: Sequence[str], *, is_step: bool = True
) -> dict[str, Any]:
    """Return the values from files, by name, and ``defaults`` with their places.

    An option set by a file is no longer required in *words*.

    Args:
        is_step: the values decide what runs, so no file may be left out in silence.
    """
    from envcfg.core.selection import current_folder
    from envcfg.profile.folders import default_files

    actions = parser.known_options
    files, (*strangers, project) = default_files(os.environ, current_folder())
    names = [word.partition("=")[0] for word in words]
    # --from and similar options describe the whole step, and a default would change
    # it.
    if any(getattr(actions.get(name), "spares", "") for name in names):
        return {}
    left_out = {
        after if word == NO_DEFAULT else word.partition("=")[2]
        for word, name, after in zip(words, names, [*words[1:], ""], strict=False)
        if name == NO_DEFAULT
    }
    # The usual case, without any file, must not load the readers.
    if "all" in left_out or not (files or project or strangers):
        return {}
    from envcfg.commands.printing import say, tell
    from envcfg.core.defaults import read_files, settle, values_of

    # Another user's file is reported: the user may wonder why it has no effect.
    for stranger in strangers:
        tell(f"{stranger} is ignored, because it belongs to another user")
    skip = None if is_step else lambda note: say([note])
    writable = ALLOW_WRITABLE in names
    read = read_files([*files, project], writable=writable, skip=skip)
    taking = actions[NO_DEFAULT].choices or ()
    own = (default for default in read if default.option.flag[2:] in taking)
    remaining = (default for default in own if default.option.flag[2:] not in left_out)
    defaults = settle(remaining, os.environ)
    # argparse reports a missing required option before it could see the default.
    for flag in {default.option.flag for default in defaults} & {*actions}:
        actions[flag].required = False
    return {**values_of(defaults), "defaults": defaults}


def made_by(argv: Sequence[str], step: Step) -> tuple[str, ...]:
    """Return the command line that repeats the result, with the profile's layer."""
    from envcfg.profile.words import is_profile_path

    name = step.profile_name
    if ":" not in name or is_profile_path(name):  # a file, or a built-in profile
        return tuple(argv)
    # Words after "--" belong to the program, and may also contain --profile.
    end = argv.index("--") if "--" in argv else len(argv)
    words = list(argv[:end])
    for index, word in enumerate(words):
        if word == "--profile" and index + 1 < end:
            words[index + 1] = name
            break
        if word.startswith("--profile="):
            words[index] = f"--profile={name}"
            break
    else:
        words += ["--profile", name]
    return (*words, *argv[end:])


def _declaration(option: Option) -> dict[str, Any]:
    """Return the columns of the table as keywords of argparse."""
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
        columns |= {"action": StoreInstead, "spares": option.spares}
    elif option.kind == "many":
        columns |= {"action": "append", "default": []}
    elif option.kind == "maybe":
        columns |= {"nargs": "?", "const": option.alone}
    return columns


class StoreInstead(argparse.Action):
    """Store a value; another option is then no longer required."""

    def __init__(self, *, spares: str, **columns: Any) -> None:  # noqa: ANN401
        """Store the name of the other option."""
        super().__init__(**columns)
        self.spares = spares

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as in argparse
        option_string: str | None = None,
    ) -> None:
        """Store the value if one is given."""
        if values is not None:  # None: the optional value is absent
            parser._option_string_actions[self.spares].required = False  # noqa: SLF001
        if self.const is not None:
            setattr(namespace, self.dest, self.const)
            return
        # The normal action is called through argparse, so that repeated options are
        # noted too.
        parser._registry_get("action", None, None)(  # noqa: SLF001
            self.option_strings, self.dest
        )(parser, namespace, values, option_string)
