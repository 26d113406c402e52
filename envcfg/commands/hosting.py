"""An image in its host: the profile's binds over it, and whether its libraries load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcfg.findings import Finding
from envcfg.image.chain import Setting, is_plugin, judge_chain
from envcfg.image.communication import loaded_plugin
from envcfg.image.folder import FolderTree
from envcfg.image.links import Chain, follow
from envcfg.image.overlay import Layer, Overlay
from envcfg.image.record import Inspection
from envcfg.image.shelf import Shelf
from envcfg.image.signs import load_signs
from envcfg.image.tree import Tree

if TYPE_CHECKING:
    from envcfg.image.host import Host
    from envcfg.profile.model import Profile


def judge_image(
    tree: Tree, found: Inspection, profile: str | None, host: Host | None
) -> tuple[Chain, list[Finding]]:
    """Return what is loaded with NCCL and its plug-in, and what is wrong with that.

    Args:
        tree: the files of the image.
        found: what was read of it.
        profile: whose binds are laid over the image; None: none are.
        host: the machine that they come from; None: this one.

    Raises:
        EnvcfgError: the profile cannot be used.
    """
    environ = dict(found.metadata.environment)
    findings: list[Finding] = []
    if profile is not None:
        from envcfg.commands.options.selection import open_catalog

        catalog = open_catalog()
        chosen = catalog.load(profile)
        machine = host.tree() if host else FolderTree("/")
        layers = list(_layers(chosen, found))
        absent = [each.source for each in layers if machine.look(each.source) is None]
        if absent and host is None:
            findings.append(_absent(absent))
        tree = Overlay(tree, machine, layers)
        environ |= _library_path(chosen)
    shelf = Shelf(tree, environ)
    starts = [
        (each.evidence, each.why)
        for each in found.facts
        if each.taken and each.name in {"nccl", "rccl"}
    ]
    if plugin := loaded_plugin(shelf, environ, found.facts):
        starts.append((plugin.path, plugin.why))
    chain = follow(shelf, starts, _of_torch(found))
    setting = Setting(
        facts=found.facts,
        host_architecture=host.architecture if host else "",
        has_host=profile is not None and not findings,
    )
    return _of_network(chain), [*judge_chain(chain, setting), *findings]


def _of_network(chain: Chain) -> Chain:
    """Leave the missing libraries of NCCL itself out: the driver and ROCm have them."""
    plugins = {
        each.library.path for each in chain.links if is_plugin(each.library.path)
    }
    return chain if plugins else chain._replace(missing=())


def _of_torch(found: Inspection) -> list[str]:
    """Return the libraries of PyTorch, which are loaded before NCCL looks for a plug-in."""
    torch = found.taken().get("torch")
    if torch is None:
        return []
    site = torch.evidence.partition("/torch")[0]
    names = {name for sign in load_signs().libraries for name in sign.needed_by}
    return [f"{site}/torch/lib/{name}" for name in sorted(names)]


def _layers(profile: Profile, found: Inspection) -> Iterator[Layer]:
    """Yield the mounts of the profile that apply to this image."""
    from envcfg.launch.choose import GIVEN, named_runtimes
    from envcfg.profile.conditions import Truth, usable_versions
    from envcfg.profile.facts import Fact, Facts

    name = found.image.rstrip("/").rpartition("/")[2]
    taken = {name: each.value for name, each in found.taken().items()}
    known = usable_versions(taken)
    known |= {"container": name, "runtime": named_runtimes(profile)[0].kind}
    facts = Facts({key: Fact(value, GIVEN) for key, value in known.items()})
    for mount in profile.binds.values():
        if mount and facts.judge(mount.when, str(mount.bind))[0] is Truth.YES:
            bind = mount.bind
            yield Layer(bind.source, bind.target or bind.source)


def _library_path(profile: Profile) -> dict[str, str]:
    """Return what the profile sets ``LD_LIBRARY_PATH`` to, if that is plain text."""
    setting = profile.env.get("LD_LIBRARY_PATH")
    for case in setting.cases if setting else ():
        if not case.when and case.value and all(isinstance(w, str) for w in case.value):
            return {"LD_LIBRARY_PATH": "".join(map(str, case.value))}
    return {}


def _absent(sources: list[str]) -> Finding:
    return Finding(
        "chain-bind-absent",
        "note",
        ", ".join(sources),
        "the profile binds what is not on this machine",
        "compare with a compute node: envcfg inspect --host -o host.json there, then "
        "--host-file host.json",
        why="what the host gives to the image was not looked at as a whole",
    )
