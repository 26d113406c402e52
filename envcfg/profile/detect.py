"""Which profile knows a machine, and by what.

To ask every profile there is, only the few lines of each file that say it are parsed:
the whole file is read where these cannot be told apart by their indentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from envcfg.errors import ProfileError, UsageError
from envcfg.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.model import Detect, Profile
from envcfg.profile.read.loader import load_profile

Evidence = Literal["cluster", "mark", "host", "devices"]
# How the names of profiles begin that were read from a cluster and not written by a person:
# any other that knows the system goes before them.
READ = "here-"
# A block at the left margin, with all that is indented below it.
_BLOCK = r"^{}:(?:[ \t].*)?\n(?:(?:[ \t#].*)?\n)*"
_WANTED = re.compile(
    "|".join(_BLOCK.format(key) for key in ("detect", "lifecycle")).encode(), re.M
)
_SIGN = re.compile(r"[*?[]")  # where the plain text of a pattern ends
_PLAIN_KEYS = re.compile(rb"\A(?:(?:#.*|[a-z_]+:(?:[ \t].*)?|[ \t].*)?\n)+\Z")


class Machine(NamedTuple):
    """What can be told of a machine without running anything.

    Attributes:
        cluster: the name that its scheduler gives, if any.
        exists: whether a path is there.
        mark: the first line of a file by its path, a variable's value by its name; None: it
            is not there.
    """

    cluster: str | None
    host: str
    interfaces: Sequence[str] = ()
    exists: Callable[[str], bool] = lambda _: False
    mark: Callable[[str], str | None] = lambda _: None


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
    """What all profiles say of a machine.

    Attributes:
        found: those that fit by the best kind of evidence, maybe several.
        others: the other answers.
        broken: files that could not be asked.
    """

    found: tuple[Answer, ...]
    others: tuple[Answer, ...]
    broken: tuple[str, ...]

    def one(self) -> Answer | None:
        """Return the one that fits, or None.

        Raises:
            UsageError: several do.
        """
        if len(self.found) > 1:
            names = " and ".join(each.name for each in self.found)
            msg = f"{names} both claim this system: {self.found[0].why}"
            raise UsageError(msg, hint="choose one with --profile")
        return self.found[0] if self.found else None


class Detected(NamedTuple):
    """Which profiles fit a machine, and what it shows of itself."""

    detection: Detection
    machine: Machine


def detect(catalog: Catalog, machine: Machine) -> Detection:
    """Ask every profile; a name counts more than what is in the machine.

    Raises:
        ProfileError: files of others would have to be asked, and are not trusted.
    """
    known, broken = known_profiles(catalog)
    return ask(known, machine, broken)


def ask(
    known: Iterable[Known], machine: Machine, broken: Sequence[str] = ()
) -> Detection:
    """Return what *known* profiles say of a machine; *broken* files could not be asked."""
    answers = [_ask(each, machine) for each in known]
    found: tuple[Answer, ...] = ()
    for kind in ("cluster", "mark", "host", "devices"):
        found = found or tuple(each for each in answers if each.evidence == kind)
    found = tuple(e for e in found if not e.name.startswith(READ)) or found
    others = tuple(each for each in answers if each not in found)
    return Detection(found, others, tuple(broken))


def _ask(known: Known, machine: Machine) -> Answer:
    detect, cluster = known.detect, machine.cluster
    if cluster is not None and _fits(cluster, detect.clusters):
        return Answer(known.name, "cluster", f"the cluster is {cluster}")
    # A cluster that has a name is not mistaken for another by what its hosts are called.
    marks = {} if cluster is not None and detect.clusters else detect.marks
    for name, glob in marks.items():
        seen = machine.mark(name)
        if seen is not None and _fits(seen, [glob or "*"]):
            sign = f"{name} says {seen}" if glob else f"there is {name}"
            return Answer(known.name, "mark", sign)
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
    cluster, clusters = machine.cluster, " or ".join(detect.clusters)
    if cluster is not None and clusters:
        return f"the cluster is {cluster}, not {clusters}"
    if cluster is not None and detect.hosts:
        return f"the cluster is {cluster}, and only hosts are known"
    if detect.hosts:
        return f"the host is {machine.host}, not {' or '.join(detect.hosts)}"
    if detect.marks and not clusters:
        return f"no mark of it is here: {', '.join(detect.marks)}"
    return (
        f"no cluster is named, as {clusters} would be"
        if clusters
        else "it says nothing"
    )


def known_profiles(catalog: Catalog) -> tuple[list[Known], list[str]]:
    """Return what each profile says of its system, and the files that cannot be used.

    What its families say does not count.

    Raises:
        ProfileError: files of others would have to be asked, and are not trusted.
    """
    known = []
    refused: list[Finding] = []
    broken = catalog.misnamed()
    for name in catalog.names():
        profile: Profile | None = None
        for path in catalog.files(name):
            try:
                layer = read_known(catalog.read(path), path=path, stem=name)
            except ProfileError as err:
                refused += err.findings
                continue
            except OSError:
                layer = None
            if layer is None:  # another's mistake; it is said, and not in the way
                broken.append(path)
                continue
            profile = layer.over(profile) if profile else layer
        if profile and profile.detect:
            status = profile.lifecycle
            retired = status is not None and status.state == "retired"
            known.append(Known(name, profile.detect, retired))
    if refused:
        other = "; or name the system, so that it is not asked: --profile NAME"
        raise ProfileError(
            [each._replace(fix=f"{each.fix or ''}{other}") for each in refused]
        )
    return known, broken


def read_known(data: bytes, *, path: str, stem: str) -> Profile | None:
    """Return a profile with ``detect`` and ``lifecycle``, of a file's bytes.

    None, if the file cannot be used. What else is wrong in it shows when it is loaded.
    """
    text = data.replace(b"\r\n", b"\n") + b"\n"
    named = re.search(rb"^name:[ \t]*(\S+)[ \t]*$", text, re.M)
    if named and named[1] == stem.encode() and _PLAIN_KEYS.match(text):
        wanted = [match.span() for match in _WANTED.finditer(text)]
        kept = _only(text, [named.span(), *wanted])
        if b"detect:" not in kept:
            return Profile(name=stem)
        if profile := _load(kept, path, stem):
            return profile
    return _load(data, path, stem)


def _only(text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return what *spans* of *text* hold, each on the line where it was."""
    parts, done = [], 0
    for start, end in sorted(spans):
        parts += [b"\n" * text.count(b"\n", done, start), text[start:end]]
        done = end
    return b"".join(parts)


def _load(data: bytes, path: str, stem: str) -> Profile | None:
    problems: list[Finding] = []
    profile = load_profile(data, path=path, stem=stem, problems=problems)
    return None if problems else profile


def _fits(text: str, globs: Sequence[str]) -> bool:
    # fnmatch makes an expression of each pattern, which takes longer than all else here.
    return any(
        text.startswith(_SIGN.split(glob, maxsplit=1)[0]) and fnmatchcase(text, glob)
        for glob in globs
    )
