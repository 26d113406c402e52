"""argparse, changed to raise instead of exiting, and to start quickly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from envcfg.common.characters import text_width
from envcfg.common.errors import UsageError

# argparse's texts stay unchanged, because usage_errors.py reads them. A search for
# translations takes two dozen file operations, and a module that parses locales.
argparse._ = str  # type: ignore[attr-defined]  # there is no other way


class ParseError(UsageError):
    """A command line that argparse rejects."""

    def __init__(self, error: UsageError, selected: argparse.Namespace) -> None:
        """Keep the error, and the options parsed before it."""
        super().__init__(error.message, hint=error.hint)
        # The options read before the error, with the defaults of the others.
        self.taken = selected


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help with its own line breaks; argparse creates one formatter per option."""

    def __init__(self, prog: str) -> None:
        """Format help for *prog*."""
        super().__init__(prog, max_help_position=30, width=text_width())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return ``-o, --output FILE``: Python before 3.13 repeats FILE."""
        is_new = sys.version_info >= (3, 13)
        if is_new or not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        default = self._get_default_metavar_for_optional(action)
        value = self._format_args(action, default)
        return f"{', '.join(action.option_strings)} {value}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Return the lines of *text*, without breaking an option."""
        import textwrap

        words = " ".join(text.split())
        return textwrap.wrap(words, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of exiting; one place prints all errors."""

    words: Sequence[str] = ()
    # Its commands by purpose, as listed in its help.
    roles: Mapping[str, Sequence[str]] = {}
    # The options read so far, with the defaults of the others.
    taken = argparse.Namespace()
    is_whole = False  # True if the help is complete, even if it exceeds a screen
    # Returns values from files for these words, if allowed.
    preset: Callable[[Parser, Sequence[str]], Mapping[str, Any]] | None = None
    # Returns the help texts of options by flag, if the options have none.
    about: Callable[[], Mapping[str, str]] = dict

    def __init__(
        self,
        *,
        texts: Callable[[], Mapping[str, Any]],
        **options: Any,  # noqa: ANN401  # argparse's
    ) -> None:
        """Accept argparse's options; help keeps its line breaks."""
        # Abbreviations are off: a new option could change the meaning of an old
        # command line.
        super().__init__(formatter_class=Formatter, allow_abbrev=False, **options)
        self.register("action", None, _Store)
        self.add_argument(
            "--color",
            choices=("auto", "always", "never"),
            default=argparse.SUPPRESS,
            help="colours: auto uses them on a terminal, unless NO_COLOR is set",
        )
        more = "all options, and all examples"
        self.add_argument("--help-all", action=_HelpAll, help=more)
        self.texts = texts  # returns the texts of the help: usage, description, epilog
        # Without these attributes, __getattr__ loads the texts only for a help
        # page.
        del self.usage, self.description, self.epilog

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # texts, and one mapping
        """Return a help text, loaded only when needed."""
        if name in {"usage", "description", "epilog"}:
            return self.texts()[name]
        raise AttributeError(name)

    def parse_known_args(  # type: ignore[override]  # one of its two forms
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse *args*; leftover words are an error of the command that leaves them."""
        self.words = args or ()
        self.taken = argparse.Namespace() if namespace is None else namespace
        # A help page must not depend on files of defaults, which may be broken.
        if self.preset and not {"-h", "--help", "--help-all"} & {*self.words}:
            vars(self.taken).update(self.preset(self, self.words))
        # The namespace is kept in an attribute, so that an error still knows the
        # options before it.
        options, leftover = super().parse_known_args(args, self.taken)
        # argparse reports leftover words at the top parser, whose usage would not
        # help.
        if leftover:
            self.error(f"unrecognized arguments: {' '.join(leftover)}")
        return options, leftover

    @property
    def known_options(self) -> Mapping[str, argparse.Action]:
        """The options of this parser, by all their names."""
        return self._option_string_actions

    @property
    def has_commands(self) -> bool:
        """Whether a command with its own options follows."""
        return self._subparsers is not None

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Write *message*; argparse's error output is dropped, because the error is
        raised."""
        if file is not None:
            file.write(message)

    def error(self, message: str) -> NoReturn:
        """Raise the error of argparse with a helpful message."""
        from envcfg.commands.arguments.usage_errors import explain

        raise ParseError(explain(self, message), self.taken)

    def format_help(self) -> str:
        """Return the help, limited to a screen or complete.

        A screen shows the most needed options: ``common`` of the texts, otherwise all
        except those of every command. The remaining space is filled with examples.
        """
        from envcfg.commands.arguments.help_format import SCREEN, shortened

        listed = self._commands_by_role()
        options = [action for action in self._actions if action.option_strings]
        if listed:
            full_text = self._arranged([*listed, ("options", options)], self.epilog)
        else:
            full_text = super().format_help()
        # A complete help that fits on a screen needs no short form.
        if self.is_whole or full_text.count("\n") <= SCREEN:
            return full_text
        for_all = {"-h", "--help", "--color", "--help-all"}
        # Without a list of common options, all options count as common.
        common = {*self.texts().get("common", "").split()} or {*self.known_options}
        actions = [
            action
            for action in self._actions
            if not action.option_strings or {*action.option_strings} & common - for_all
        ]
        text = self._arranged(listed or [("options", actions)], None)
        sentence = f"has all {len(options)} options, and all examples"
        end = f"\n{self.prog} --help-all {sentence}\n"
        # The number of examples depends on the lines that are left.
        room = SCREEN - text.count("\n") - end.count("\n")
        return text + shortened(str(self.epilog), room) + end

    def _commands_by_role(self) -> list[tuple[str, list[argparse.Action]]]:
        if not self.roles:
            return []
        (commands,) = (
            action for action in self._actions if action.dest == "command_name"
        )
        listed = commands._get_subactions()  # type: ignore[attr-defined]  # noqa: SLF001
        by_name = {action.dest: action for action in listed}
        return [
            (role, [by_name[n] for n in names]) for role, names in self.roles.items()
        ]

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Return the formatter of a help page, with the text of each option loaded."""
        for action in self._actions:
            if action.option_strings and not action.help:
                # A generator of completions for zsh adds a "=" to the name.
                action.help = self.about()[action.option_strings[-1].rstrip("=")]
        return super()._get_formatter()

    def _arranged(
        self, sections: Sequence[tuple[str, Sequence[argparse.Action]]], end: str | None
    ) -> str:
        """Return a help page with these actions, by the titles of their sections."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, actions in sections:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(end)
        return formatter.format_help()

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:  # noqa: ANN401
        """Return the value of *action*; ``--`` may be a value, as in ``--setup=--``.

        The ``--`` before the command has been split off. Older versions of argparse
        treat this one the same way, and leave an empty list as value.
        """
        if arg_strings != ["--"]:
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401
        """Return an option's value; keep the message of the reader's ``ValueError``."""
        reader = self._registry_get("type", action.type, action.type)
        try:
            return reader(arg_string)
        except ValueError as err:
            raise argparse.ArgumentError(action, str(err)) from err

    def _check_value(self, action: argparse.Action, value: object) -> None:
        # The check is here because argparse's own message lists all choices, even
        # hundreds.
        if action.choices is not None and value not in action.choices:
            from envcfg.commands.arguments.usage_errors import explain_choice

            usage_error = explain_choice(self, action, str(value))
            raise ParseError(usage_error, self.taken)


class _HelpAll(argparse._HelpAction):  # noqa: SLF001  # argparse exports no other
    """Print the complete help."""

    def __call__(self, parser: Any, *arguments: Any) -> None:  # noqa: ANN401  # as there
        parser.is_whole = True
        super().__call__(parser, *arguments)


class _Store(argparse._StoreAction):  # noqa: SLF001  # argparse exports no other
    """Store a value, and note options that are repeated with another value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as in argparse
        option_string: str | None = None,
    ) -> None:
        # The last value wins, as in argparse; the note helps to find long forgotten
        # options.
        values_given = vars(namespace).setdefault("given", {})
        if option_string and values_given.setdefault(self.dest, values) != values:
            vars(namespace).setdefault("given_twice", []).append(option_string)
        super().__call__(parser, namespace, values, option_string)
