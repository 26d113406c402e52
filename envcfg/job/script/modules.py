"""Modules of a script: fixed bash, with the same bytes in each script.

A module is a file. Its first line has its name, version and purpose. The comments below
it declare its interface (``INTERFACE``), which is all that Python reads of a module. A
script contains a module completely or not at all.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from envcfg.backends.starters import STARTERS
from envcfg.common.datafile import data_path, is_data, read_text
from envcfg.common.provenance import sha256_of

_FOLDER = data_path("job/script/modules")
_WIDTH = 86
# What a head can declare:
# needs: modules that come before it
# defines: functions that make it necessary if the job's part calls them
# adds: LIST=FUNCTION: functions that a step calls, by the list of the core
# reads: data that the job's part sets, empty if the job has none
# sets: variables that it sets in a rank unless the job sets them
# hides: that a runtime may keep the task's variables from the container
# ranks: the source of each variable and binding of a rank, for a comment
# launch: the line that starts the tasks
# enter: the words that enter the container
# bind: the words of a bind
INTERFACE = "needs defines adds reads sets hides ranks launch enter bind".split()


class Module(NamedTuple):
    """A module of bash."""

    name: str  # its name, and that of its file in the folder of modules
    version: str  # a number that grows with each change of its text
    about: str
    # The words of its declarations, by the keys of `INTERFACE`.
    interface: Mapping[str, list[str]]
    text: str  # the bash below its head

    @property
    def digest(self) -> str:
        """SHA-256 of purpose and text, 16 hexadecimal digits."""
        return sha256_of(f"{self.about}\n{self.text}".encode())[:16]

    @property
    def is_for_ranks(self) -> bool:
        """Whether each rank runs its bash: it then follows the launcher."""
        return self.text.startswith("envcfg_in_rank")

    def declared(self, key: str) -> list[str]:
        """Return the words of a declaration; empty without it."""
        return self.interface.get(key, [])


@cache
def module(name: str) -> Module:
    """Return the module of that name."""
    title, _, text = read_text(_path(name)).partition("\n")
    name_and_version, about = title.split(" # ", 1)[1].split(": ", 1)
    text = re.sub(r"^@(.+)@$", _included, text, flags=re.MULTILINE)
    interface: dict[str, list[str]] = {}
    while text.startswith(tuple(f"# {key}: " for key in INTERFACE)):
        line, _, text = text.removeprefix("# ").partition("\n")
        for declaration in line.split("; "):
            key, _, words = declaration.partition(": ")
            interface[key] = words.split()
    return Module(name, name_and_version.split()[1], about, interface, text)


@cache
def has_module(name: str) -> bool:
    """Return whether the module exists."""
    return is_data(_path(name))


def render_module(name: str) -> str:
    """Return the text of a module in a script: name, version, hash, and its bash."""
    _, version, about, _, text = read = module(name)
    return f"# --- {name} {version} (sha256 {read.digest}): {about}\n{text}"


def _included(match: re.Match[str]) -> str:
    """Return the text of the file beside this one that a line of a module names."""
    return read_text(f"job/script/{match[1]}").rstrip("\n")


def _path(name: str) -> str:
    # The folder of a starter contains the module with its name.
    file = f"{name}/{name}" if name in STARTERS else name
    return f"{_FOLDER}/{file}.sh"


def template(name: str) -> str:
    """Return the text of a template, without its shellcheck line.

    Args:
        name: path in the folder of templates, without ``.sh``.
    """
    text = read_text(f"job/script/templates/{name}.sh")
    return text.partition("\n")[2].lstrip("\n")  # the first line is for shellcheck


def has_template(name: str) -> bool:
    """Return whether the template exists."""
    return is_data(data_path(f"job/script/templates/{name}.sh"))


def title(text: str) -> str:
    """Return the comment that begins a section."""
    return f"# --- {text} ".ljust(_WIDTH, "-")
