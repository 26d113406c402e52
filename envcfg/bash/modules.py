"""Modules of a script: fixed bash, the same bytes in each script that has them.

A module is a file: its name and version stand in its second line, what it is for in the
comment below. It is in a script whole or not at all.
"""

import os.path
import re
from functools import cache
from typing import NamedTuple

from envcfg.datafile import is_data, read_text
from envcfg.provenance import sha256_of
from envcfg.starters import STARTERS

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.path.join(_HERE, "modules")
_TEMPLATES = os.path.join(_HERE, "templates")
_HEAD = "# envcfg module "
_WIDTH = 86


class Module(NamedTuple):
    """A module.

    Attributes:
        name: also that of its file in the folder of modules.
        version: a number, which grows with each change of its text.
        about: the comment at its head: what it is for.
        text: what stands below, bash.
    """

    name: str
    version: str
    about: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of comment and text, 16 hexadecimal digits."""
        return sha256_of(f"{self.about}{self.text}".encode())[:16]

    @property
    def functions(self) -> list[str]:
        """The functions that it defines."""
        return re.findall(r"^(envcfg_\w+)\(\) \{", self.text, re.MULTILINE)


@cache
def module(name: str) -> Module:
    """Return the module of that name."""
    _, head, rest = read_text(_path(name)).split("\n", 2)
    _, version = head.removeprefix(_HEAD).split()
    about, _, text = rest.partition("\n\n")
    return Module(name, version, f"{about}\n", text)


@cache
def has_module(name: str) -> bool:
    """Tell whether there is such a module."""
    return is_data(_path(name))


def render_module(name: str) -> str:
    """Return a module as it stands in a script: name, version, hash, and its text."""
    each = module(name)
    line = f"# --- {name} {each.version} (sha256 {each.digest}) "
    return f"{line.ljust(_WIDTH, '-')}\n{each.about}\n{each.text}"


def _path(name: str) -> str:
    # A starter's folder holds the module that is named for it.
    file = f"{name}/{name}" if name in STARTERS else name
    return os.path.join(_FOLDER, f"{file}.sh")


def template(name: str) -> str:
    """Return the text of a template, without its shellcheck line.

    Args:
        name: path in the folder of templates, without ``.sh``.
    """
    text = read_text(os.path.join(_TEMPLATES, f"{name}.sh"))
    return text.partition("\n")[2].lstrip("\n")  # the first line is for shellcheck


def has_template(name: str) -> bool:
    """Tell whether there is such a template."""
    return is_data(os.path.join(_TEMPLATES, f"{name}.sh"))


def title(text: str) -> str:
    """Return the comment that begins a section."""
    return f"# --- {text} ".ljust(_WIDTH, "-")
