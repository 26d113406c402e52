"""Read the words of a command as options and operands, by a table of the options; pure.

>>> table = read_table({"values": "ntasks", "flags": "label", "short": {"n": "ntasks"}})
>>> [(word.name, word.value) for word in getopt(table, ["-n4", "--label", "a.out"])]
[('ntasks', '4'), ('label', None), ('', 'a.out')]
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class OptionSpec(NamedTuple):
    """The name of an option, and the values that it takes."""

    name: str  # without dashes, the same for all its spellings
    takes: str = ""  # value, pair (two words, or one with "="), optional (in its word)


# By the keys of data files that list options; a later key overrides an earlier one.
_KINDS = {"flags": "", "attached": "optional", "values": "value", "two_words": "pair"}


class OptionTable(NamedTuple):
    """The options of a program."""

    options: Mapping[str, OptionSpec]  # by spelling, with dashes
    letters: Mapping[str, OptionSpec] = {}  # those with a value in the same word
    clusters: bool = True  # whether letters can be combined
    abbreviated: tuple[Sequence[str], ...] = ()  # spellings; the first match decides

    def find(self, spelling: str) -> Sequence[str]:
        """Return the spellings that *spelling* may be short for."""
        if spelling in self.options:
            return [spelling]
        matches = (
            [name for name in names if name.startswith(spelling)]
            for names in self.abbreviated
            if spelling != "--"
        )
        return next(filter(None, matches), [])


class OptionWord(NamedTuple):
    """An option, or an operand, which has no name."""

    name: str  # if the option is not known: as it is typed, without dashes
    value: str | None
    begin: int  # index of its word
    end: int  # index of the first word after its value
    cut: int = (
        0  # number of characters before the value in the word; 0: a word of its own
    )
    fault: str = ""  # unknown, ambiguous, missing (its value), unwanted (a value)


def getopt(
    table: OptionTable, words: Sequence[str], end: int = 0
) -> Iterator[OptionWord]:
    """Yield the options and operands from index *end*; "-" and "--" are operands.

    A caller that stops at the first operand, or at "--", ends the loop there.
    """
    while end < len(words):
        word, begin = words[end], end
        end += 1
        if not word.startswith("-") or word in {"-", "--"}:
            yield OptionWord("", word, begin, end)
            continue
        for (name, takes), cut, fault in _split_word(table, word):
            value = word[cut:] if cut else None
            if takes in {"value", "pair"} and not cut:
                if end == len(words):
                    fault = "missing"  # noqa: PLW2901
                else:
                    value = words[end]
                    end += 1 + (takes == "pair" and "=" not in value)
            yield OptionWord(name, value, begin, min(end, len(words)), cut, fault)


def _split_word(table: OptionTable, word: str) -> Iterator[tuple[OptionSpec, int, str]]:
    """Yield the options of one word, each with the place of its value and its fault."""
    head = word.partition("=")[0]
    cut = len(head) + 1 if head != word else 0
    specs = {table.options[spelling] for spelling in table.find(head)}
    if len(specs) == 1:
        (option,) = specs
        yield option, cut, "unwanted" if cut and not option.takes else ""
        return
    if word.startswith("--") or not (table.clusters or word[2:].isdigit()):
        fault = "ambiguous" if specs else "unknown"
        yield OptionSpec(head.lstrip("-")), cut, fault
        return
    for position, letter in enumerate(word[1:], 2):
        known_option = table.letters.get(letter)
        if known_option is None:
            yield OptionSpec(letter), 0, "unknown"
            return
        takes_rest = known_option.takes and position < len(word)
        yield known_option, position if takes_rest else 0, ""
        if takes_rest:
            return


def read_table(entry: Mapping[str, Any]) -> OptionTable:
    """Return the options in an entry of a data file; ``srun.yaml`` describes its keys."""
    takes: dict[str, str] = {}
    short: dict[str, str] = {}
    without = entry.get("without", "").split()
    for name, text in entry.get("options", {}).items():
        *letter, format_ = text.split()
        if name not in without:
            kind = "optional" if format_[0] == "?" else "value"
            takes[name] = "" if format_ == "flag" else kind
            short |= dict.fromkeys(letter, name)
    for key, kind in _KINDS.items():
        takes |= dict.fromkeys(entry.get(key, "").split(), kind)
    same = {**entry.get("old", {}), **entry.get("same", {})}
    takes |= {name: takes[other] for name, other in same.items() if name not in takes}
    short |= entry.get("short", {})
    takes |= {name: "value" for name in short.values() if name not in takes}
    specs = {name: OptionSpec(same.get(name, name), takes[name]) for name in takes}
    letters = {letter: specs[name] for letter, name in short.items()}
    dashes = ("-", "--") if entry.get("single_dash") else ("--",)
    options = {dash + name: spec for dash in dashes for name, spec in specs.items()}
    options |= {f"-{letter}": spec for letter, spec in letters.items()}
    return OptionTable(options, letters, clusters=len(dashes) == 1)
