"""The options of a scheduler, by its table: names, values and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from envcfg.common.datafile import load_kept_file, record
from envcfg.common.getopt import OptionTable, read_table


class Table(NamedTuple):
    """The options of one scheduler; *words*: its messages for rejected ones."""

    command: str
    reader: OptionTable  # the table of `getopt`
    formats_of: Mapping[str, str]  # by option, the name of its format
    steps: frozenset[str]
    many: frozenset[str]
    # By name, the *pattern* of values, with what the scheduler *says* about a wrong
    # value, its *fix*, and what it says about a descending *range*.
    formats: Mapping[str, Mapping[str, str]]
    words: Mapping[str, str]
    # *options* that exclude each other; *newer*: only for new versions.
    pairs: Sequence[Mapping[str, Any]] = ()
    # The names of options in the rules of profiles, if different.
    means: Mapping[str, str] = {}
    listed: str = ""  # the option that contains a list of others
    # Parts of the scheduler's messages about a job, each with its remedy.
    answers: Mapping[str, str] = {}
    # By text of lint's hints, which name Slurm's variables, its replacement.
    hints: Mapping[str, str] = {}
    # Parts of messages that prove that it did not receive the job; *unsure*: parts
    # after which it may have the job.
    unreached: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    # An *option* that is rejected without *one_of* others.
    needs: Sequence[Mapping[str, Any]] = ()
    # Messages on numbers of GPUs that contradict each other, by their cases.
    gpus: Mapping[str, str] = {}

    def dashed(self, name: str) -> str:
        """Return an option as it is typed; one letter has one dash."""
        return f"-{name}" if len(name) == 1 else f"--{name}"


@cache
def option_table(scheduler: str) -> Table:
    """Return the options of *scheduler*, a name in ``SCHEDULERS``."""
    data = load_kept_file(f"backends/schedulers/{scheduler}.yaml")
    options, plugins = data["options"], data.get("plugins", {})
    reader = read_table({**data, "options": {**options, **plugins}})
    # An equals sign after a letter is a part of the value.
    spellings = {
        name: spec for name, spec in reader.options.items() if name[:2] == "--"
    }
    # A newer option may be missing in the installed version, so an abbreviation means
    # the old option. Options of plug-ins exist at some sites only.
    names = [f"--{name}" for name in options]
    newer = {f"--{name}" for name in data.get("newer", "").split()}
    old = [name for name in names if name not in newer]
    fields = {
        "reader": reader._replace(options=spellings, abbreviated=(old, names)),
        "formats_of": {
            name: text.split()[-1].lstrip("?")
            for name, text in {**options, **plugins}.items()
        },
        "steps": frozenset(data.get("steps", "").split()),
        "many": frozenset(data.get("many", "").split()),
    }
    return record(Table, {**data, **fields})
