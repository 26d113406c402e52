"""What an option is: from one table it is read, and written back as words."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias

from envcfg.datafile import load_kept
from envcfg.errors import UsageError, suggest

# What a program gives to an option.
Given: TypeAlias = "str | PathLike[str] | int | Sequence[str | int] | None"


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        flag: its long name, ``--bind``; *short*: another, ``-o``.
        help: what the help page says of it, as argparse takes it: a ``%`` is doubled; empty
            where ``options.yaml`` says it, which only a help page reads.
        metavar: what stands there for its value; None: its choices, if it takes a value.
        kind: ``one`` value, of which the last counts; ``many``, in a list; ``maybe`` one,
            else *alone*; a ``switch``, on or off.
        read: makes a value of a text; raises ``ValueError`` with what is wrong.
        write: makes of a value a text that *read* takes for the same value; None where
            another option with the same *dest* has to.
        choices: the texts that there are, if any may not stand.
        default: the value where nothing is given; of ``many`` an empty list.
        dest: what its value is called; else *flag* says it.
        spares: another option, which is not required where this one is given; all is said
            with it, so that no file's defaults count.
        variable: of the environment, that counts where no option is given.
        needs_trust: its value runs or loads code, or names a file that is overwritten: from
            a project's file it counts only when the user has trusted that.
    """

    flag: str
    help: str = ""
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
    variable: str = ""
    needs_trust: bool = False

    @property
    def name(self) -> str:
        """What its value is called."""
        return self.dest or self.flag[2:].replace("-", "_")


switch = partial(Option, kind="switch")


@cache
def help_texts() -> Mapping[str, str]:
    """Return what the help page says of the options of the core's tables, by flag."""
    (found,) = load_kept("options", [f"{os.path.dirname(__file__)}/options.yaml"])
    return dict(found)


# The options of each group, by the title of the group, as the help page has them.
Table = Mapping[str, Sequence[Option]]

NO_DEFAULT = "--no-default"


def no_default(*tables: Table) -> Option:
    """Return the option that leaves out defaults of *tables* which files give."""
    rows = (each for table in tables for options in table.values() for each in options)
    return Option(
        NO_DEFAULT,
        "leave out what envcfg.toml says of this option; all: read no such file; may be "
        "repeated",
        metavar="OPTION",
        kind="many",
        choices=("all", *(each.flag[2:] for each in rows)),
    )


def read_options(table: Table, given: Iterable[tuple[str, Given]]) -> dict[str, Any]:
    """Return the values of all options of *table*, by name, as a command line gives them.

    Args:
        given: an option's flag without dashes, ``_`` for ``-``, and what it is given, in
            order: a text or a number; of ``many`` also several; True: the option alone.
            None and False leave it as by default.

    Raises:
        UsageError: there is no such option, or it does not take this.
    """
    rows = [each for options in table.values() for each in options]
    known = {each.flag[2:].replace("-", "_"): each for each in rows}
    values: dict[str, Any] = {
        each.name: [] if each.kind == "many" else each.default for each in rows
    }
    for name, said in given:
        option = known.get(name)
        if option is None:
            msg = f"there is no option {name}"
            raise UsageError(msg, hint=suggest(name, known))
        if said is None or said is False:
            continue
        if option.kind == "many":
            several = said if isinstance(said, (tuple, list)) else [said]
            values[option.name] += [read_value(option, str(each)) for each in several]
        elif said is True and option.kind != "one":
            values[option.name] = True if option.kind == "switch" else option.alone
        else:
            values[option.name] = read_value(option, str(said))
    return values


def read_value(option: Option, text: str) -> Any:  # noqa: ANN401  # any option's
    """Return what *option* makes of *text*; raise ``UsageError`` where that is wrong."""
    try:
        value = option.read(text)
    except ValueError as err:
        msg = f"{option.flag}: {err}"
        raise UsageError(msg, hint=f"as {option.flag} of envcfg wrap and job") from None
    if option.choices is not None and value not in option.choices:
        msg = f"{option.flag}: unknown value {text!r}"
        raise UsageError(msg, hint=suggest(text, option.choices))
    return value


def write_options(table: Table, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield words that are read as *values* again; what is as by default needs none.

    Args:
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


def number_of(things: str) -> Callable[[str], int]:
    """Return what reads a number of *things*, at least one."""

    def read(text: str) -> int:
        from envcfg.log.process import MOST_RANKS

        if text.startswith("$"):
            msg = (
                f"{text} is not known before the job runs: give the number of {things}"
            )
            raise ValueError(msg)
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS))
        if not (digits and 0 < int(text) <= MOST_RANKS):
            msg = f"{text!r} is not a number of {things}, 1 to {MOST_RANKS}"
            raise ValueError(msg)
        return int(text)

    return read


def within(least: float, most: float, things: str) -> Callable[[str], float]:
    """Return what reads a number of *things*, fractions too, in these bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not least <= number <= most:
            msg = f"{text!r} is not a number of {things}, {least:g} to {most:g}"
            raise ValueError(msg)
        return number

    return read
