"""argparse, made to raise instead of leaving, and to start quickly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from envcfg.characters import text_width
from envcfg.errors import UsageError

# argparse's texts stay as they are: usage_errors.py reads them. To look for translations
# takes two dozen file operations, and a module that parses locales.
argparse._ = str  # type: ignore[attr-defined]  # there is no other way


class ParseError(UsageError):
    """A command line that argparse refuses.

    Attributes:
        taken: the options that it had taken before, with the defaults of the others.
    """

    def __init__(self, found: UsageError, taken: argparse.Namespace) -> None:
        """Keep what was found wrong, and what was taken."""
        super().__init__(found.message, hint=found.hint)
        self.taken = taken


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as it is written; argparse makes one for every option."""

    def __init__(self, prog: str) -> None:
        """Format help for *prog*."""
        super().__init__(prog, max_help_position=30, width=text_width())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return ``-o, --output FILE``: Python before 3.13 says FILE twice."""
        is_new = sys.version_info >= (3, 13)
        if is_new or not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        default = self._get_default_metavar_for_optional(action)
        value = self._format_args(action, default)
        return f"{', '.join(action.option_strings)} {value}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Return *text* in lines; an option stays in one."""
        import textwrap

        words = " ".join(text.split())
        return textwrap.wrap(words, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, so that one place decides what is said.

    Attributes:
        words: those that it was to read.
        taken: what it has read of them so far, with the defaults of the others.
        roles: its commands by what they are for, as its help lists them.
        is_whole: its help has all, also where it is longer than a screen.
        preset: returns of those words the values that files give, where they may.
        texts: returns what stands in its help: usage, description, epilog.
        about: returns what the help says of options by their flags, where they do not.
    """

    words: Sequence[str] = ()
    roles: Mapping[str, Sequence[str]] = {}
    taken = argparse.Namespace()
    is_whole = False
    preset: Callable[[Parser, Sequence[str]], Mapping[str, Any]] | None = None
    about: Callable[[], Mapping[str, str]] = dict

    def __init__(
        self,
        *,
        texts: Callable[[], Mapping[str, Any]],
        **options: Any,  # noqa: ANN401  # argparse's
    ) -> None:
        """Take what argparse takes; help stands as it is written, and no name is cut."""
        super().__init__(formatter_class=Formatter, allow_abbrev=False, **options)
        self.register("action", None, _Store)
        self.add_argument(
            "--color",
            choices=("auto", "always", "never"),
            default=argparse.SUPPRESS,
            help="colours: auto is on a terminal, or as NO_COLOR and its like say",
        )
        more = "all options, and all examples"
        self.add_argument("--help-all", action=_HelpAll, help=more)
        self.texts = texts
        del self.usage, self.description, self.epilog

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # texts, and one mapping
        """Return a text of the help, which is read only where somebody wants it."""
        if name in {"usage", "description", "epilog"}:
            return self.texts()[name]
        raise AttributeError(name)

    def parse_known_args(  # type: ignore[override]  # one of its two forms
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read *args*; what is left over is an error of the command that leaves it."""
        self.words = args or ()
        self.taken = argparse.Namespace() if namespace is None else namespace
        if self.preset and not {"-h", "--help", "--help-all"} & {*self.words}:
            vars(self.taken).update(self.preset(self, self.words))
        options, left = super().parse_known_args(args, self.taken)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return options, left

    @property
    def known_options(self) -> Mapping[str, argparse.Action]:
        """Its options, by each of their names."""
        return self._option_string_actions

    @property
    def has_commands(self) -> bool:
        """Whether a command follows, with options of its own."""
        return self._subparsers is not None

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Write *message*; where argparse says nothing of an error, this one is raised."""
        if file is not None:
            file.write(message)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong, in words that help."""
        from envcfg.usage_errors import explain

        raise ParseError(explain(self, message), self.taken)

    def format_help(self) -> str:
        """Return the help, of a screen or whole; lines written by hand are folded.

        On a screen stand the options that most need: ``common`` of its texts, else all but
        those that every command has. Then come as many examples as have room.
        """
        from envcfg.help_format import SCREEN, fold, shortened

        listed = self._commands_by_role()
        options = [each for each in self._actions if each.option_strings]
        if listed:
            whole = self._arranged([*listed, ("options", options)], self.epilog)
        else:
            whole = super().format_help()
        whole = fold(whole, text_width())
        if self.is_whole or whole.count("\n") <= SCREEN:
            return whole
        for_all = {"-h", "--help", "--color", "--help-all"}
        common = {*self.texts().get("common", "").split()} or {*self.known_options}
        shown = [
            each
            for each in self._actions
            if not each.option_strings or {*each.option_strings} & common - for_all
        ]
        text = self._arranged(listed or [("options", shown)], None)
        text = fold(text, text_width())
        what = f"has all {len(options)} options, and all examples"
        end = fold(f"\n{self.prog} --help-all {what}\n", text_width())
        room = SCREEN - text.count("\n") - end.count("\n")
        return text + shortened(fold(str(self.epilog), text_width()), room) + end

    def _commands_by_role(self) -> list[tuple[str, list[argparse.Action]]]:
        if not self.roles:
            return []
        (commands,) = (each for each in self._actions if each.dest == "command_name")
        listed = commands._get_subactions()  # type: ignore[attr-defined]  # noqa: SLF001
        known = {each.dest: each for each in listed}
        return [(role, [known[n] for n in names]) for role, names in self.roles.items()]

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Return what writes a help, for which each option must have its text."""
        for action in self._actions:
            if action.option_strings and not action.help:
                # Who makes a completion for zsh writes a = after the name.
                action.help = self.about()[action.option_strings[-1].rstrip("=")]
        return super()._get_formatter()

    def _arranged(
        self, sections: Sequence[tuple[str, Sequence[argparse.Action]]], end: str | None
    ) -> str:
        """Return a help with these actions in it, by the titles of their sections."""
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
        """Return the value of *action*; a ``--`` is one as well, as in ``--setup=--``.

        The one before the command has been split off. argparse, in older versions, takes
        this one for such too, and leaves an empty list for the value.
        """
        if arg_strings != ["--"]:
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401
        """Return what the option makes of a text; its ``ValueError`` says what is wrong."""
        read = self._registry_get("type", action.type, action.type)
        try:
            return read(arg_string)
        except ValueError as err:
            raise argparse.ArgumentError(action, str(err)) from err

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            from envcfg.usage_errors import explain_choice

            found = explain_choice(self, action, str(value))
            raise ParseError(found, self.taken)


class _HelpAll(argparse._HelpAction):  # noqa: SLF001  # argparse exports no other
    """Print the whole help."""

    def __call__(self, parser: Any, *arguments: Any) -> None:  # noqa: ANN401  # as there
        parser.is_whole = True
        super().__call__(parser, *arguments)


class _Store(argparse._StoreAction):  # noqa: SLF001  # argparse exports no other
    """Keep a value, and the options that are given again with another one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as in argparse
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("given", {})
        if option_string and given.setdefault(self.dest, values) != values:
            vars(namespace).setdefault("given_twice", []).append(option_string)
        super().__call__(parser, namespace, values, option_string)
