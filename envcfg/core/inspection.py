"""Inspection of an image: its contents, and which libraries its host can load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from envcfg.common.bind import Bind
from envcfg.common.budget import Budget, SpentError
from envcfg.common.errors import ImageError, OutputError
from envcfg.common.findings import Finding, finding_in
from envcfg.core.image_cache import MEGABYTES, PATIENCE, runtime_here, step_facts
from envcfg.image.bounded_file import FormError
from envcfg.image.communication import loaded_plugin
from envcfg.image.fact_patterns import load_signs
from envcfg.image.host_libraries import read_host
from envcfg.image.host_parts import Image, Parts, choose_parts
from envcfg.image.image_facts import inspect_tree
from envcfg.image.image_record import Inspection
from envcfg.image.layers import Overlay
from envcfg.image.library_chain import Chain, follow, judge_chain
from envcfg.image.library_index import LibraryIndex
from envcfg.image.open_image import ClosedTree, open_image
from envcfg.image.recipe import inspect_recipe, recipe_text
from envcfg.image.tree import FolderTree, Tree

if TYPE_CHECKING:
    from envcfg.profile.job_facts import Facts
    from envcfg.profile.profile_model import Profile


# Variables by which the loader and NCCL find libraries; the job has the profile's.
_FINDING = ("LD_LIBRARY_PATH", "LD_PRELOAD", "NCCL_NET_PLUGIN")
# The largest images take a few seconds and 200 MB, so the limits stop only damaged
# ones.
_SECONDS, _MEGABYTES = 120.0, 2000.0


class Inspected(NamedTuple):
    """The contents of an image, and the libraries loaded with NCCL and its plug-in."""

    inspection: Inspection
    chain: Chain


def inspect(
    image: str,
    *,
    profile: str | None = None,
    writable: bool = False,
) -> Inspected:
    """Return the contents of *image*: a file, a folder, or a name that the runtime
    knows; or the contents that a recipe will build.

    Nothing in it is executed or unpacked. The binds of *profile* are laid over it, from
    this machine; without a profile there are none. If *writable*, members of the user's
    groups may write the profile.

    Raises:
        OutputError: it cannot be read; also ``ImageError`` and ``ProfileError``.
    """
    try:
        with (
            Budget(image, seconds=_SECONDS, megabytes=_MEGABYTES),
            _opened(image) as (tree, inspection),
        ):
            chain, findings = judge_image(tree, inspection, profile, writable=writable)
    except OSError as err:
        msg = f"{image}: cannot be read: {err.strerror or err}"
        hint = "is it whole? a download may have ended early"
        raise OutputError(msg, hint=hint) from err
    return Inspected(
        inspection._replace(findings=(*findings, *inspection.findings)), chain
    )


@contextmanager
def _opened(image: str) -> Iterator[tuple[Tree, Inspection]]:
    """Yield the files of *image* and its facts; a recipe has no files."""
    if (text := recipe_text(image)) is not None:
        closed = FormError("a recipe has no files", "build it")
        yield ClosedTree(closed), inspect_recipe(image, text)
        return
    with open_image(image, program=runtime_here()) as (tree, metadata):
        yield tree, inspect_tree(tree, metadata, image)


def judge_image(
    tree: Tree,
    inspection: Inspection,
    profile: str | None,
    root: str = "/",
    *,
    writable: bool = False,
) -> tuple[Chain, list[Finding]]:
    """Return the libraries loaded with NCCL and its plug-in, and the problems among
    them.

    *profile* and *writable* are as for ``inspect``; *root* has the files of the host.

    Raises:
        EnvcfgError: the profile cannot be used.
    """
    environ = dict(inspection.metadata.environment)
    findings: list[Finding] = []
    is_laid, own, provider = False, tree, None
    if profile is None:
        from envcfg.profile.version_conflicts import KnownJob, known_faults

        values = {name: value for name, (value, _) in step_facts(inspection).items()}
        faults = known_faults(KnownJob(values))
    else:
        from envcfg.core.selection import open_catalog
        from envcfg.job.plan.plan_facts import wrong_architecture
        from envcfg.job.plan.plan_notes import stack_notes

        site_profile = open_catalog(writable=writable).load(profile)
        machine = FolderTree(root)
        facts = _facts(site_profile, inspection, tree)
        findings += wrong_architecture(site_profile, facts, inspection.image)
        layers = list(_layers(site_profile, facts))
        absent = [
            layer.source for layer in layers if machine.look(layer.source) is None
        ]
        # Missing sources make the judgement incomplete, so it is reported and not
        # assumed.
        if absent:
            findings.append(finding_in("image", "chain-bind-absent", ", ".join(absent)))
        is_laid = not absent
        name = facts.known["container"]
        # The name of a base image matches the profile, although the file has
        # another name.
        if name.reason.why.startswith("the image was made from"):
            words = {"profile": profile, "name": name.value}
            findings.append(
                finding_in("image", "image-known", inspection.image, **words)
            )
        tree = Overlay(tree, machine, layers)
        provider = site_profile.expect and site_profile.expect.provider
        environ |= _settings(site_profile, facts, _FINDING)
        faults = stack_notes(
            site_profile, facts.known, _settings(site_profile, facts, site_profile.env)
        )
    if own.is_closed:
        return Chain(), [*faults, *findings]
    index = LibraryIndex(tree, environ)
    image_facts = (fact for fact in inspection.facts if fact.taken)
    starts = [(e.evidence, e.why) for e in image_facts if e.name in {"nccl", "rccl"}]
    before = _loaded_before(inspection)
    # NCCL loads the plug-in itself, so it is a second start of the chain.
    if plugin := loaded_plugin(index, environ, inspection.facts):
        starts.append((plugin.path, plugin.why))
    elif starts and provider:
        image = Image(own, inspection.facts, environ, before)
        findings += choose_parts(image, read_host(root), provider).findings
    chain = follow(index, starts, before)
    return chain, [
        *judge_chain(chain, inspection.facts, is_laid=is_laid),
        *faults,
        *findings,
    ]


def host_parts(image: str, profile: Profile) -> Parts:
    """Return the parts of this machine by which *image* reaches the profile's network.

    There are none if the image or this machine cannot be read.
    """
    provider = profile.expect and profile.expect.provider
    if not provider:
        return Parts()
    try:
        host = read_host()
        if not any(fact.name == "plugin" for fact in host.facts):
            return Parts()
        with (
            Budget(image, seconds=PATIENCE, megabytes=MEGABYTES),
            open_image(image) as (tree, metadata),
        ):
            inspection = inspect_tree(tree, metadata, image)
            environ = inspection.metadata.environment
            before = _loaded_before(inspection)
            image_seen = Image(tree, inspection.facts, environ, before)
            return choose_parts(image_seen, host, provider)
    except (OSError, SpentError, ImageError):
        return Parts()


def _loaded_before(inspection: Inspection) -> list[str]:
    """Return the libraries that PyTorch loads before NCCL searches for a plug-in."""
    torch = inspection.taken().get("torch")
    if torch is None:
        return []
    site = torch.evidence.rpartition("/torch")[0]  # a folder may be named so
    names = {name for sign in load_signs().libraries for name in sign.needed_by}
    return [f"{site}/torch/lib/{name}" for name in sorted(names)]


def _facts(profile: Profile, inspection: Inspection, tree: Tree) -> Facts:
    """Return the facts for the profile's conditions, from the image."""
    from envcfg.backends.launchers import allowed_launchers
    from envcfg.image.metadata import bases_of
    from envcfg.job.plan.container import named_runtimes
    from envcfg.job.plan.plan import ImageFacts, Options
    from envcfg.job.plan.plan_facts import gather_facts

    bases = () if tree.is_closed else bases_of(tree, inspection.metadata.labels)
    reading = ImageFacts(step_facts(inspection), bases)
    launcher = allowed_launchers(profile.launchers)[0]
    runtime = named_runtimes(profile)[0].kind
    options = Options(container=inspection.image, image_facts=reading)
    return gather_facts(profile, options, launcher, runtime)[0]


def _layers(profile: Profile, facts: Facts) -> Iterator[Bind]:
    """Yield the mounts of the profile that apply to this image."""
    from envcfg.profile.conditions import Truth

    for mount in profile.binds.values():
        if not mount or mount.bind.refers:
            continue  # the values of the job's variables are unknown here
        if facts.judge(mount.when, str(mount.bind))[0] is Truth.YES:
            yield mount.bind


def _settings(profile: Profile, facts: Facts, names: Iterable[str]) -> dict[str, str]:
    """Return the profile's values of the variables *names*, if they are known."""
    from envcfg.job.plan.applicable_settings import choose_cases

    values = {}
    for name in names:
        setting = profile.env.get(name)
        first = next(iter(choose_cases(setting, facts) if setting else ()), None)
        # A conditional value is decided in the job, and a reference only has a
        # value there.
        word = first.value if first and not first.when else None
        if word and all(isinstance(part, str) for part in word):
            values[name] = "".join(map(str, word))
    return values
