"""What an option is: from one table argparse reads it, and it is written back as words."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        flag: its long name, ``--bind``; *short*: another, ``-o``.
        help: what the help page says of it, as argparse takes it: a ``%`` is doubled.
        metavar: what stands there for its value; None: its choices, if it takes a value.
        kind: ``one`` value, of which the last counts; ``many``, in a list; ``maybe`` one,
            else *alone*; a ``switch``, on or off.
        read: makes a value of a text; raises ``ArgumentTypeError`` with what is wrong.
        write: makes of a value a text that *read* takes for the same value; None where
            another option with the same *dest* has to.
        choices: the texts that there are, if any may not stand.
        default: the value where nothing is given; of ``many`` an empty list.
        dest: what its value is called; else *flag* says it.
        spares: another option, which is not required where this one is given.
    """

    flag: str
    help: str
    metavar: str | None = None
    kind: Literal["one", "many", "maybe", "switch"] = "one"
    read: Callable[[str], Any] = str
    write: Callable[[Any], str | None] = str
    choices: Sequence[str] | None = None
    default: object = None
    alone: object = None
    dest: str = ""
    short: str = ""
    required: bool = False
    spares: str = ""

    @property
    def name(self) -> str:
        """What its value is called."""
        return self.dest or self.flag[2:].replace("-", "_")


# The options of each group, by the title of the group, as the help page has them.
Table = Mapping[str, Sequence[Option]]


def add_options(parser: argparse.ArgumentParser, table: Table) -> None:
    """Let *parser* read all options of *table*."""
    for title, options in table.items():
        group = parser.add_argument_group(title)
        for option in options:
            add_option(group, option)


def add_option(group: argparse._ActionsContainer, option: Option) -> None:
    """Let the parser of *group* read *option*."""
    names = [option.short, option.flag] if option.short else [option.flag]
    group.add_argument(*names, **_declaration(option))


def write_options(table: Table, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield words that are read as *values* again; what is as by default needs none.

    Args:
        table: all options that there are.
        values: of the options, by name, as they were read. Options that share a name
            share a list, whose order stays.
    """
    sharing: dict[str, list[Option]] = {}
    for options in table.values():
        for option in options:
            sharing.setdefault(option.name, []).append(option)
    for name, options in sharing.items():
        many = options[0].kind == "many"
        for value in values[name] if many else [values[name]]:
            said = (_words(option, value) for option in options)
            yield from next(filter(None, said), ())


def _declaration(option: Option) -> dict[str, Any]:
    """Return what argparse calls the columns of the table."""
    if option.kind == "switch":
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
    if option.spares:
        columns |= {"action": _Sparing, "spares": option.spares}
    elif option.kind == "many":
        columns |= {"action": "append", "default": []}
    elif option.kind == "maybe":
        columns |= {"nargs": "?", "const": option.alone}
    return columns


class _Sparing(argparse.Action):
    """Keep a value, and require another option no more."""

    def __init__(self, *, spares: str, **columns: Any) -> None:  # noqa: ANN401
        super().__init__(**columns)
        self.spares = spares

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as in argparse
        option_string: str | None = None,
    ) -> None:
        parser._option_string_actions[self.spares].required = False  # noqa: SLF001
        parser._registry_get("action", None, None)(  # noqa: SLF001
            self.option_strings, self.dest
        )(parser, namespace, values, option_string)


def _words(option: Option, value: Any) -> Sequence[str]:  # noqa: ANN401  # any option's
    """Return how *option* says *value*; nothing where it need not, or cannot."""
    if option.kind == "switch":
        return (option.flag,) if value else ()
    if value == option.default:
        return ()
    if option.kind == "maybe" and value == option.alone:
        return (option.flag,)
    text = option.write(value)
    if text is None:
        return ()
    # Behind a sign of equality it is the value, whatever it looks like.
    if option.kind == "one" and text and text[0] != "-":
        return option.flag, text
    return (f"{option.flag}={text}",)
