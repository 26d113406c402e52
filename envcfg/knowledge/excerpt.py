"""One entry of the data files, without the time that it takes to parse them all.

An entry is found in a file's text by its first line, and only its lines are parsed; tests
hold that this finds what the whole file says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from envcfg import datafile
from envcfg.datafile import names_in, parse_yaml

Data = dict[str, Any]
_FAMILY = re.compile(r"^  (\w+): (open|closed)$", re.M)
_NAME = re.compile(r"^(?:  - name:|    -) ([A-Za-z_][A-Za-z0-9_]*)$", re.M)
_VARIABLES = "\nvariables:\n"
_HIDDEN = "\nundocumented:\n"


def texts_for(folder: str, name: str) -> Iterator[str]:
    """Yield the texts of the data files, first those that sound as if they had *name*."""
    lower = name.lower()
    files = sorted(file for file in names_in(folder) if file.endswith(".yaml"))
    subjects = {file: file.removesuffix(".yaml").partition("-")[0] for file in files}
    for file in sorted(subjects, key=lambda file: subjects[file] not in lower):
        yield read_text(os.path.join(folder, file))


@lru_cache(maxsize=1)
def _files(folder: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in names_in(folder) if name.endswith(".yaml")))


@cache
def read_text(path: str) -> str:
    """Return the text of one data file."""
    return datafile.read_text(path)


def cut_variable(text: str, name: str) -> Data | None:
    """Return what a file says of one variable, in the form of the whole file."""
    if entry := cut_entry(text, f"  - name: {name}\n"):
        return {**_head(text), "variables": parse_yaml(entry)}
    listed = f"\n    - {name}\n"
    before, _, hidden = text.partition(_HIDDEN) if listed in text else ("", "", "")
    if listed not in hidden:
        return None
    source = parse_yaml(hidden.partition("\n  names:\n")[0])
    undocumented = {**source, "names": [name]}
    return {**_head(before), "variables": [], "undocumented": undocumented}


def cut_entry(text: str, first: str) -> str | None:
    """Return the lines of the entry of a list whose first line is *first*."""
    at = text.find(f"\n{first}") + 1
    if not at:
        return None
    margin = first[: first.index("-")]
    ends = (text.find(end, at) for end in (f"\n{margin}- ", _HIDDEN))
    return text[at : min((end for end in ends if end >= 0), default=len(text))]


def families_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each beginning of names in a file, and whether all names of it are known."""
    for match in _FAMILY.finditer(text.partition(_VARIABLES)[0]):
        yield match[1], match[2] == "closed"


def names_of(text: str) -> list[str]:
    """Return the names of all variables of a file."""
    return _NAME.findall(text.partition(_VARIABLES)[2])


@cache
def _head(text: str) -> Data:
    head: Data = parse_yaml(text.partition(_VARIABLES)[0])
    return head
