"""Which profile knows a machine, and by what.

To ask every profile there is, only the few lines of each file that say it are parsed:
the whole file is read where these cannot be told apart by their indentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

from envcfg.errors import Problem
from envcfg.profile.loader import load_profile
from envcfg.profile.model import Detect, Profile

if TYPE_CHECKING:
    from envcfg.profile.catalog import Catalog

Evidence = Literal["cluster", "host", "devices"]
# A block at the left margin, with all that is indented below it.
_BLOCK = r"^{}:(?:[ \t].*)?\n(?:(?:[ \t#].*)?\n)*"
_WANTED = re.compile(
    "|".join(_BLOCK.format(key) for key in ("detect", "lifecycle")).encode(), re.M
)
_PLAIN_KEYS = re.compile(rb"\A(?:(?:#.*|[a-z_]+:(?:[ \t].*)?|[ \t].*)?\n)+\Z")


class Machine(NamedTuple):
    """What can be told of a machine without running anything.

    Attributes:
        cluster: the name that its scheduler gives, if any.
        exists: whether a path is there.
    """

    cluster: str | None
    host: str
    interfaces: Sequence[str] = ()
    exists: Callable[[str], bool] = lambda _: False


class Known(NamedTuple):
    """A profile that says by what its system is known."""

    name: str
    detect: Detect
    retired: bool = False


class Answer(NamedTuple):
    """What one profile's words are worth on this machine.

    Attributes:
        evidence: None where it does not fit.
        why: what fits, or what does not; lower case, no full stop.
    """

    name: str
    evidence: Evidence | None
    why: str


class Detection(NamedTuple):
    """All answers; *found*: those of the best kind of evidence, maybe several."""

    found: tuple[Answer, ...]
    others: tuple[Answer, ...]


def detect(known: Iterable[Known], machine: Machine) -> Detection:
    """Ask every profile; a name counts more than what is in the machine."""
    answers = [_ask(each, machine) for each in known]
    for kind in ("cluster", "host", "devices"):
        found = tuple(each for each in answers if each.evidence == kind)
        if found:
            return Detection(
                found, tuple(each for each in answers if each not in found)
            )
    return Detection((), tuple(answers))


def _ask(known: Known, machine: Machine) -> Answer:
    detect, cluster = known.detect, machine.cluster
    if cluster is not None and _fits(cluster, detect.clusters):
        return Answer(known.name, "cluster", f"the cluster is {cluster}")
    # A cluster that has a name is not mistaken for another by the names of its hosts.
    if cluster is None and _fits(machine.host, detect.hosts):
        return Answer(known.name, "host", f"the host is {machine.host}")
    if detect.interfaces or detect.devices:
        return _ask_devices(known, machine)
    return Answer(known.name, None, _not_named(detect, machine))


def _ask_devices(known: Known, machine: Machine) -> Answer:
    detect = known.detect
    if known.retired:
        return Answer(known.name, None, "retired: it is known by its name only")
    seen = []
    for glob in detect.interfaces:
        fitting = [each for each in machine.interfaces if fnmatchcase(each, glob)]
        if not fitting:
            return Answer(known.name, None, f"no interface is named {glob}")
        seen.append(fitting[0])
    for path in detect.devices:
        if not machine.exists(path):
            return Answer(known.name, None, f"there is no {path}")
        seen.append(path)
    return Answer(known.name, "devices", f"there is {' and '.join(seen)}")


def _not_named(detect: Detect, machine: Machine) -> str:
    said = []
    if machine.cluster is not None and detect.clusters:
        said.append(f"the cluster is {machine.cluster}, not {_either(detect.clusters)}")
    elif machine.cluster is not None and detect.hosts:
        said.append(f"the cluster is {machine.cluster}, and only hosts are known")
    elif detect.hosts:
        said.append(f"the host is {machine.host}, not {_either(detect.hosts)}")
    elif detect.clusters:
        said.append(f"no cluster is named, as {_either(detect.clusters)} would be")
    return "; ".join(said) or "it says nothing"


def known_profiles(catalog: Catalog) -> list[Known]:
    """Return what each profile says of its system; what its families say does not count.

    Files that cannot be used are passed over and named in ``catalog.broken``.
    """
    known = []
    for name in catalog.names():
        profile: Profile | None = None
        for path in catalog.files(name):
            layer = _read(path, name)
            if layer is None:  # another's mistake; it is said, and not in the way
                catalog.broken.append(path)
                continue
            profile = layer.over(profile) if profile else layer
        if profile and profile.detect:
            status = profile.lifecycle
            retired = status is not None and status.state == "retired"
            known.append(Known(name, profile.detect, retired))
    return known


def _read(path: str, stem: str) -> Profile | None:
    try:
        with open(path, "rb") as file:
            return read_known(file.read(), path=path, stem=stem)
    except OSError:
        return None


def read_known(data: bytes, *, path: str, stem: str) -> Profile | None:
    """Return a profile with ``detect`` and ``lifecycle``, of a file's bytes.

    None, if the file cannot be used. What else is wrong in it shows when it is loaded.
    """
    text = data.replace(b"\r\n", b"\n") + b"\n"
    named = re.search(rb"^name:[ \t]*(\S+)[ \t]*$", text, re.M)
    if named and named[1] == stem.encode() and _PLAIN_KEYS.match(text):
        blocks = b"".join(match[0] for match in _WANTED.finditer(text))
        if b"detect:" not in blocks:
            return Profile(name=stem)
        if profile := _load(named[0] + b"\n" + blocks, path, stem):
            return profile
    return _load(data, path, stem)


def _load(data: bytes, path: str, stem: str) -> Profile | None:
    problems: list[Problem] = []
    profile = load_profile(data, path=path, stem=stem, problems=problems)
    return None if problems else profile


def _fits(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _either(words: Sequence[str]) -> str:
    return " or ".join(words)
