"""What is in an image, and whether its libraries would load in its host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shutil import which
from typing import TYPE_CHECKING, NamedTuple

from envcfg.budget import Budget
from envcfg.core.image_facts import step_facts
from envcfg.datafile import finding_in
from envcfg.errors import OutputError
from envcfg.findings import Finding
from envcfg.image.chain import Chain, follow, judge_chain
from envcfg.image.communication import loaded_plugin
from envcfg.image.fact_patterns import load_signs
from envcfg.image.facts import inspect_tree
from envcfg.image.host import Host, parse_host
from envcfg.image.layers import Mount, Overlay
from envcfg.image.library_index import LibraryIndex
from envcfg.image.open import open_image
from envcfg.image.record import Inspection
from envcfg.image.tree import MOST_BYTES, FolderTree, Tree

if TYPE_CHECKING:
    from envcfg.profile.facts import Facts
    from envcfg.profile.model import Profile


# By which the loader and NCCL find libraries; the job has the profile's.
_FINDING = ("LD_LIBRARY_PATH", "LD_PRELOAD", "NCCL_NET_PLUGIN")
# The largest images take a few seconds, and 200 MB.
_SECONDS, _MEGABYTES = 120.0, 2000.0


class Inspected(NamedTuple):
    """What was read of an image, and what is loaded with NCCL and its plug-in."""

    found: Inspection
    chain: Chain


def inspect(
    image: str, *, profile: str | None = None, host: Host | None = None
) -> Inspected:
    """Return what is in *image*: a file, a folder, or a name that the runtime here knows.

    Nothing of it is run or unpacked. The binds of *profile* are laid over it, from *host*
    or this machine; without a profile none are.

    Raises:
        OutputError: it cannot be read; also ``ImageError`` and ``ProfileError``.
    """
    program = next(filter(which, ("apptainer", "singularity")), None)
    try:
        with (
            Budget(image, seconds=_SECONDS, megabytes=_MEGABYTES),
            open_image(image, program=program) as (tree, metadata),
        ):
            found = inspect_tree(tree, metadata, image)
            chain, findings = judge_image(tree, found, profile, host)
    except OSError as err:
        msg = f"{image}: cannot be read: {err.strerror or err}"
        hint = "is it whole? a download may have ended early"
        raise OutputError(msg, hint=hint) from err
    return Inspected(found._replace(findings=(*findings, *found.findings)), chain)


def read_host_file(name: str) -> Host:
    """Return the machine that a file of ``envcfg inspect --host`` describes.

    Raises:
        OutputError: it cannot be read; also ``ImageError``.
    """
    try:
        with open(name, "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as err:
        msg = f"{name}: cannot be read: {err.strerror}"
        hint = "make one on a compute node: envcfg inspect --host -o host.json"
        raise OutputError(msg, hint=hint) from err
    return parse_host(data.decode("utf-8", "replace"), name)


def judge_image(
    tree: Tree, found: Inspection, profile: str | None, host: Host | None
) -> tuple[Chain, list[Finding]]:
    """Return what is loaded with NCCL and its plug-in, and what is wrong with that.

    *profile* and *host* are as of ``inspect``.

    Raises:
        EnvcfgError: the profile cannot be used.
    """
    environ = dict(found.metadata.environment)
    findings: list[Finding] = []
    is_laid = False
    if profile is None:
        from envcfg.profile.stacks import Job, known_faults

        values = {name: value for name, (value, _) in step_facts(found).items()}
        faults = known_faults(Job(values))
    else:
        from envcfg.core.selection import open_catalog
        from envcfg.launch.notes import stack_notes

        chosen = open_catalog().load(profile)
        machine = host.tree() if host else FolderTree("/")
        facts = _facts(chosen, found, tree)
        layers = list(_layers(chosen, facts))
        absent = [each.source for each in layers if machine.look(each.source) is None]
        if absent and host is None:
            findings.append(finding_in("image", "chain-bind-absent", ", ".join(absent)))
        is_laid = not findings
        name = facts.known["container"]
        if name.reason.why.startswith("the image was made from"):
            said = {"profile": profile, "name": name.value}
            findings.append(finding_in("image", "image-known", found.image, **said))
        tree = Overlay(tree, machine, layers)
        environ |= _settings(chosen, facts, _FINDING)
        faults = stack_notes(chosen, facts.known, _settings(chosen, facts, chosen.env))
    index = LibraryIndex(tree, environ)
    taken = (each for each in found.facts if each.taken)
    starts = [(e.evidence, e.why) for e in taken if e.name in {"nccl", "rccl"}]
    if plugin := loaded_plugin(index, environ, found.facts):
        starts.append((plugin.path, plugin.why))
    # PyTorch's libraries: loaded before NCCL looks for a plug-in.
    before: list[str] = []
    if torch := found.taken().get("torch"):
        site = torch.evidence.rpartition("/torch")[0]  # an environment may be called so
        names = {name for sign in load_signs().libraries for name in sign.needed_by}
        before = [f"{site}/torch/lib/{name}" for name in sorted(names)]
    chain = follow(index, starts, before)
    machine_of_host = host.architecture if host else ""
    return chain, [
        *judge_chain(chain, found.facts, host=machine_of_host, is_laid=is_laid),
        *faults,
        *findings,
    ]


def _facts(profile: Profile, found: Inspection, tree: Tree) -> Facts:
    """Return what the profile's conditions are judged by: what is in the image."""
    from envcfg.image.metadata import bases_of
    from envcfg.launch.container import named_runtimes
    from envcfg.launch.facts import gather_facts
    from envcfg.launch.plan import Options, Read
    from envcfg.launchers import allowed_launchers

    read = Read(step_facts(found), bases_of(tree, found.metadata.labels))
    launcher = allowed_launchers(profile.launchers)[0]
    runtime = named_runtimes(profile)[0].kind
    options = Options(container=found.image, read=read)
    return gather_facts(profile, options, launcher, runtime)[0]


def _layers(profile: Profile, facts: Facts) -> Iterator[Mount]:
    """Yield the mounts of the profile that apply to this image."""
    from envcfg.profile.conditions import Truth

    for mount in profile.binds.values():
        if not mount or mount.bind.refers:
            continue  # where the job's variables lead is not known here
        if facts.judge(mount.when, str(mount.bind))[0] is Truth.YES:
            yield Mount(mount.bind.source, mount.bind.target or mount.bind.source)


def _settings(profile: Profile, facts: Facts, names: Iterable[str]) -> dict[str, str]:
    """Return what the profile sets of the variables *names*, where that is known."""
    from envcfg.launch.choose import choose_cases

    found = {}
    for name in names:
        setting = profile.env.get(name)
        first = next(iter(choose_cases(setting, facts) if setting else ()), None)
        word = first.value if first and not first.when else None
        if word and all(isinstance(each, str) for each in word):
            found[name] = "".join(map(str, word))
    return found
