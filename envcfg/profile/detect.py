"""Detection of the profile of a machine, with its evidence.

To ask every profile there is, only the few lines of each file that say it are parsed:
the whole file is read where these cannot be told apart by their indentation.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from envcfg.common.errors import ProfileError, UsageError
from envcfg.common.findings import Finding
from envcfg.profile.catalog import Catalog
from envcfg.profile.profile_model import Detect, Profile
from envcfg.profile.read.profile_loader import load_profile

Evidence = Literal["cluster", "mark", "host", "devices"]
# The prefix of profiles that envcfg generated from a cluster. Any other profile
# that matches the system is preferred.
READ = "here-"
# A block at the left margin, with all that is indented below it.
# A regular expression finds the block without parsing YAML, which would dominate
# the time of detection.
_BLOCK = r"^{}:(?:[ \t].*)?\n(?:(?:[ \t#].*)?\n)*"
_WANTED = re.compile(
    "|".join(_BLOCK.format(key) for key in ("detect", "lifecycle")).encode(), re.M
)
_SIGN = re.compile(r"[*?[]")  # the plain text of a pattern ends here
# Files with another layout, such as quoted keys, are parsed completely instead.
_PLAIN_KEYS = re.compile(rb"\A(?:(?:#.*|[a-z_]+:(?:[ \t].*)?|[ \t].*)?\n)+\Z")


class Machine(NamedTuple):
    """The facts of a machine that need no command."""

    cluster: str | None  # the name reported by its scheduler, if any
    host: str
    interfaces: Sequence[str] = ()
    exists: Callable[[str], bool] = lambda _: False  # whether a path exists
    # The first line of a file by its path, or a variable's value by its name; None:
    # missing.
    mark: Callable[[str], str | None] = lambda _: None


class Candidate(NamedTuple):
    """A profile with signs of its system."""

    name: str
    detect: Detect
    retired: bool = False


class ProfileMatch(NamedTuple):
    """The match of one profile with this machine."""

    name: str
    evidence: Evidence | None  # None if the profile does not match
    why: str  # the matching or missing sign; lower case, no full stop


class Detection(NamedTuple):
    """The matches of all profiles with a machine."""

    # The profiles that match by the best kind of evidence, maybe several.
    matches: tuple[ProfileMatch, ...]
    others: tuple[ProfileMatch, ...]
    broken: tuple[str, ...]

    def single_match(self, allowed: Sequence[str] = ()) -> ProfileMatch | None:
        """Return the only match, or None.

        Args:
            allowed: the profiles that the job's options allow; empty: any.

        Raises:
            UsageError: several profiles match.
        """
        # Two claims are never resolved silently: a wrong profile can slow down a
        # job without any error.
        matches = [each for each in self.matches if each.name in (allowed or each.name)]
        if len(matches) > 1:
            names = " and ".join(answer.name for answer in matches)
            msg = f"{names} both claim this system: {matches[0].why}"
            hint = "choose one with --profile, or by --partition if only one names it"
            raise UsageError(msg, hint=hint)
        return matches[0] if matches else None


class Detected(NamedTuple):
    """The profiles that match a machine, and the facts of the machine."""

    detection: Detection
    machine: Machine


def detect(catalog: Catalog, machine: Machine) -> Detection:
    """Compare every profile with the machine; a name outranks the machine's hardware.

    Raises:
        ProfileError: files of others would have to be read, and are not trusted.
    """
    signs, broken = known_profiles(catalog)
    return ask(signs, machine, broken)


def ask(
    entries: Iterable[Candidate], machine: Machine, broken: Sequence[str] = ()
) -> Detection:
    """Return the matches of *entries* profiles; *broken* files could not be read."""
    answers = [_ask(signs, machine) for signs in entries]
    best: tuple[ProfileMatch, ...] = ()
    # Kinds of evidence are in order of reliability. A name is chosen by the site,
    # devices only hint at it.
    for kind in ("cluster", "mark", "host", "devices"):
        best = best or tuple(answer for answer in answers if answer.evidence == kind)
    # A generated profile matches its cluster by construction, so it must not hide a
    # written one.
    best = tuple(e for e in best if not e.name.startswith(READ)) or best
    rest = tuple(answer for answer in answers if answer not in best)
    return Detection(best, rest, tuple(broken))


def _ask(signs: Candidate, machine: Machine) -> ProfileMatch:
    detect, cluster = signs.detect, machine.cluster
    if cluster is not None and _fits(cluster, detect.clusters):
        return ProfileMatch(signs.name, "cluster", f"the cluster is {cluster}")
    # A named cluster is not matched by host names, because other clusters may use
    # the same ones.
    marks = {} if cluster is not None and detect.clusters else detect.marks
    for name, glob in marks.items():
        value = machine.mark(name)
        if value is not None and _fits(value, [glob or "*"]):
            sign = f"{name} says {value}" if glob else f"there is {name}"
            return ProfileMatch(signs.name, "mark", sign)
    # Compute nodes of different sites have equal host names, so a cluster's name
    # decides first.
    if cluster is None and _fits(machine.host, detect.hosts):
        return ProfileMatch(signs.name, "host", f"the host is {machine.host}")
    if detect.interfaces or detect.devices:
        return _ask_devices(signs, machine)
    return ProfileMatch(signs.name, None, _not_named(detect, machine))


def _ask_devices(signs: Candidate, machine: Machine) -> ProfileMatch:
    detect = signs.detect
    # The devices of a retired system may be in use at its successor.
    if signs.retired:
        return ProfileMatch(signs.name, None, "retired: it is known by its name only")
    devices = []
    # Every pattern must match: single devices are common to many systems.
    for glob in detect.interfaces:
        fitting = [
            interface
            for interface in machine.interfaces
            if fnmatchcase(interface, glob)
        ]
        if not fitting:
            return ProfileMatch(signs.name, None, f"no interface is named {glob}")
        devices.append(fitting[0])
    for path in detect.devices:
        if not machine.exists(path):
            return ProfileMatch(signs.name, None, f"there is no {path}")
        devices.append(path)
    return ProfileMatch(signs.name, "devices", f"there is {' and '.join(devices)}")


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


def known_profiles(catalog: Catalog) -> tuple[list[Candidate], list[str]]:
    """Return the signs of each profile's system, and the unusable files.

    The signs of its families are ignored.

    Raises:
        ProfileError: files of others would have to be read, and are not trusted.
    """
    signs = []
    refused: list[ProfileError] = []
    broken = catalog.misnamed()
    for name in catalog.names():
        profile: Profile | None = None
        for path in catalog.files(name):
            try:
                layer = read_known(catalog.read(path), path=path, stem=name)
            except ProfileError as err:
                refused.append(err)
                continue
            # A file that cannot be read must not stop the detection of the other
            # profiles.
            except OSError:
                layer = None
            if layer is None:  # reported, but it does not stop the detection
                broken.append(path)
                continue
            profile = layer.over(profile) if profile else layer
        if profile and profile.detect:
            status = profile.lifecycle
            retired = status is not None and status.state == "retired"
            signs.append(Candidate(name, profile.detect, retired))
    if refused:
        remedy = "; or name the system, so that it is not asked: --profile NAME"
        # All files of a project have the same refusal, so duplicates are removed.
        findings = dict.fromkeys(f for err in refused for f in err.findings)
        refused[0].replace_findings(
            [
                finding._replace(fix=f"{finding.fix or ''}{remedy}")
                for finding in findings
            ]
        )
        raise refused[0]
    return signs, broken


def read_known(data: bytes, *, path: str, stem: str) -> Profile | None:
    """Return a profile with only ``detect`` and ``lifecycle`` from a file's bytes.

    None if the file is unusable. Other errors are reported when the profile is loaded.
    """
    # The last line may lack its end, and the patterns need one.
    text = data.replace(b"\r\n", b"\n") + b"\n"
    named = re.search(rb"^name:[ \t]*(\S+)[ \t]*$", text, re.M)
    # Only a plain file with the right name takes the fast way. All others take the
    # exact one.
    if named and named[1] == stem.encode() and _PLAIN_KEYS.match(text):
        spans = [match.span() for match in _WANTED.finditer(text)]
        content = _only(text, [named.span(), *spans])
        # Without signs, the profile can never match, so it is not parsed.
        if b"detect:" not in content:
            return Profile(name=stem)
        if profile := _load(content, path, stem):
            return profile
    return _load(data, path, stem)


def _only(text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the *spans* of *text*, each on its original line, so that messages name it."""
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
    # fnmatch compiles each pattern, which is slow. The plain prefix rejects most of
    # them first.
    return any(
        text.startswith(_SIGN.split(glob, maxsplit=1)[0]) and fnmatchcase(text, glob)
        for glob in globs
    )
