"""The record of an option: read from text, and written back as words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias

from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import UsageError, suggest

# The values that a program can pass to an option.
Given: TypeAlias = "str | PathLike[str] | int | Sequence[str | int] | None"


class Option(NamedTuple):
    """One option of a command."""

    flag: str  # its long name, `--bind`; *short*: a short name, `-o`
    # Its help text in the form of argparse, with a doubled `%`; empty if it is in
    # `options.yaml`, which only a help page reads.
    help: str = ""
    # The placeholder for its value; None: its choices, if it takes a value.
    metavar: str | None = None
    # `one` value, the last one; `many`, in a list; `maybe` one, otherwise *alone*; a
    # `switch`, on or off.
    kind: Literal["one", "many", "maybe", "switch"] = "one"
    # Parses a text; raises `ValueError` with the problem.
    read: Callable[[str], Any] = str
    # Returns a text that *read* parses to the same value; None if another option with
    # the same *dest* must do so.
    write: Callable[[Any], str | None] = str
    choices: Sequence[str] | None = None  # the allowed texts, if they are limited
    default: object = None  # the value without the option; for `many` an empty list
    alone: object = None
    dest: str = ""  # the name of its value; by default from *flag*
    short: str = ""
    required: bool = False
    # Another option that is not required with this one; files' defaults are then not
    # used.
    spares: str = ""
    variable: str = ""  # the environment variable that is used without the option
    module: str = ""  # of a switch: the module of bash that the job gets with it
    # The name of an option without which it is refused, message and hint.
    needs: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of its value."""
        return self.dest or self.flag[2:].replace("-", "_")


switch = partial(Option, kind="switch")


@cache
def help_texts() -> Mapping[str, str]:
    """Return the help texts of the options in the core's tables, by flag."""
    texts = load_kept_file("core/options.yaml")
    return dict(texts)


# The options of each group, by the title of the group on the help page.
Table = Mapping[str, Sequence[Option]]

NO_DEFAULT = "--no-default"
ALLOW_WRITABLE = "--allow-writable"


def no_default(*tables: Table) -> Option:
    """Return the option that ignores defaults from files for *tables*."""
    rows = (
        option for table in tables for options in table.values() for option in options
    )
    return Option(
        NO_DEFAULT,
        "leave out what envcfg.toml says of this option; all: read no such file; may be "
        "repeated",
        metavar="OPTION",
        kind="many",
        choices=("all", *(row.flag[2:] for row in rows)),
    )


def read_options(table: Table, inputs: Iterable[tuple[str, Given]]) -> dict[str, Any]:
    """Return the values of all options of *table*, by name, like a command line.

    Args:
        inputs: an option's flag without dashes, with ``_`` for ``-``, and its value: a
            text or a number; for ``many`` also several; True: the option alone. None
            and False keep the default.

    Raises:
        UsageError: an option does not exist, or rejects its value.
    """
    rows = [row for options in table.values() for row in options]
    by_name = {row.flag[2:].replace("-", "_"): row for row in rows}
    values: dict[str, Any] = {
        row.name: [] if row.kind == "many" else row.default for row in rows
    }
    for name, value in inputs:
        option = by_name.get(name)
        if option is None:
            msg = f"there is no option {name}"
            raise UsageError(msg, hint=suggest(name, by_name))
        # None and False let a program pass optional values without a test.
        if value is None or value is False:
            continue
        if option.kind == "many":
            several = value if isinstance(value, (tuple, list)) else [value]
            values[option.name] += [read_value(option, str(part)) for part in several]
        # A bare True for an option with a value falls through, and its reader
        # rejects it.
        elif value is True and option.kind != "one":
            values[option.name] = True if option.kind == "switch" else option.alone
        else:
            values[option.name] = read_value(option, str(value))
    return values


def read_value(option: Option, text: str) -> Any:  # noqa: ANN401  # any option's
    """Return the value of *text* for *option*; raise ``UsageError`` if it is wrong."""
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
    """Yield words that parse to *values*; defaults need none.

    Args:
        values: the parsed values of the options, by name. Options that share a name
            share a list, whose order is kept.
    """
    # --set and --unset share a list, because their order decides the result.
    sharing: dict[str, list[Option]] = {}
    for options in table.values():
        for option in options:
            sharing.setdefault(option.name, []).append(option)
    for name, options in sharing.items():
        many = options[0].kind == "many"
        for value in values[name] if many else [values[name]]:
            words = (_words(option, value) for option in options)
            yield from next(filter(None, words), ())


def _words(option: Option, value: Any) -> Sequence[str]:  # noqa: ANN401  # any option's
    """Return the words for *value*; empty if none are needed or possible."""
    if option.kind == "switch":
        return (option.flag,) if value else ()
    # A default is left out, so that a later version may change it.
    if value == option.default:
        return ()
    if option.kind == "maybe" and value == option.alone:
        return (option.flag,)
    text = option.write(value)
    if text is None:
        return ()
    # After "=", the text is the value, even if it begins with a dash.
    if option.kind == "one" and text and text[0] != "-":
        return option.flag, text
    return (f"{option.flag}={text}",)


def number_of(things: str) -> Callable[[str], int]:
    """Return a reader for a positive number of *things*."""

    def read(text: str) -> int:
        from envcfg.log.state.process import MOST_RANKS

        # A dollar sign reaches envcfg only if the shell did not expand it.
        if text.startswith("$"):
            msg = (
                f"{text} is not known before the job runs: give the number of {things}"
            )
            raise ValueError(msg)
        # The length is tested first, because int() rejects very long texts.
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS))
        if not (digits and 0 < int(text) <= MOST_RANKS):
            msg = f"{text!r} is not a number of {things}, 1 to {MOST_RANKS}"
            raise ValueError(msg)
        return int(text)

    return read


def within(least: float, most: float, things: str) -> Callable[[str], float]:
    """Return a reader for a number of *things* within these bounds, fractions allowed."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        # A comparison with NaN is false, so it is rejected here too.
        if not least <= number <= most:
            msg = f"{text!r} is not a number of {things}, {least:g} to {most:g}"
            raise ValueError(msg)
        return number

    return read
