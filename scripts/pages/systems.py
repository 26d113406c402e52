"""A page for each system, and one that lists them: docs/systems/, from the profiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from envcfg.profile.catalog import Catalog
from envcfg.profile.conditions import Condition
from envcfg.profile.job_facts import Reason
from envcfg.profile.node_kinds import all_kinds
from envcfg.profile.profile_model import Argument, BindMount, Profile, Setting
from envcfg.profile.scheduler_settings import UNASKED, Billing, Partition, Qos
from envcfg.profile.words import Word, format_word
from scripts.pages.markdown import cited, code, table, text
from scripts.pages.system_commands import commands_part

_TUTORIALS = Path(__file__).parents[2] / "docs/tutorials"
_FIRST_STEPS = "[First steps on many GPUs](../first-steps.md)"
_HEAD = """\
# Systems

`envcfg profiles show NAME` prints the same. *Verified* says from what a profile was
written; *run* means that a job has run with it.

These pages are made from the profiles by `scripts/derive`. Correct a profile, not its page.
"""


def systems_pages(catalog: Catalog) -> dict[str, str]:
    """Return each page by its file's name, as Markdown."""
    profiles = []
    for name in catalog.names():  # a family's status says nothing of its systems
        own = catalog.own(name)
        status = {"verified": own.verified, "lifecycle": own.lifecycle}
        profiles.append(catalog.load(name)._replace(**status))
    systems = [each for each in profiles if each.node]
    others = [each for each in profiles if not each.node]
    parts = [_HEAD, _overview(systems), "## Families and generic profiles\n"]
    index = "\n".join([*parts, _overview(others)])
    tutorials = _tutorials()
    pages = {
        f"{each.name}.md": "\n".join(
            _profile_lines(each, tutorials.get(each.name, _FIRST_STEPS))
        )
        for each in profiles
    }
    pages["index.md"] = index
    return {name: page.rstrip("\n") + "\n" for name, page in pages.items()}


def _tutorials() -> dict[str, str]:
    """Return a link to the tutorial of each system: the one that names it most often."""
    most: dict[str, tuple[int, str]] = {}
    for path in sorted(_TUTORIALS.glob("*.md")):
        body = path.read_text(encoding="utf-8")
        title = body.splitlines()[0].removeprefix("# ")
        link = f"[{title}](../tutorials/{path.name})"
        names = re.findall(r"--profile ([\w-]+)", body)
        for name in names:
            most[name] = max(most.get(name, (0, "")), (names.count(name), link))
    return {name: link for name, (_, link) in most.items()}


def _overview(profiles: Iterable[Profile]) -> str:
    titles = "name|what it is|GPUs per node|network|scheduler|lifecycle|verified"
    rows = [
        [
            f"[{each.name}]({each.name}.md)",
            text(each.summary or ""),
            str(each.node.gpus) if each.node else "",
            _network(each),
            each.request.scheduler if each.request else "",
            each.lifecycle.state if each.lifecycle else "",
            _verified(each),
        ]
        for each in profiles
    ]  # fmt: skip
    return "\n".join([*table(titles.split("|"), rows), ""])


def _verified(profile: Profile) -> str:
    verified = profile.verified
    return f"{verified.state}, {verified.reason.date}" if verified else ""


def _network(profile: Profile) -> str:
    expect = profile.expect
    if expect is None:
        return ""
    name = expect.provider or " or ".join(expect.networks)
    return f"{expect.nics} x {name}" if expect.nics else name


def _profile_lines(profile: Profile, tutorial: str) -> Iterator[str]:
    """Yield the lines about one profile: what to copy, limits and costs, then the rest."""
    yield f"# {profile.name}\n"
    family = profile.extends
    extends = f" Extends [{family.name}]({family.name}.md)." if family else ""
    yield f"{text(profile.summary or '')}.{extends}\n"
    if profile.node and profile.request:
        yield from _titled("Commands to copy", commands_part(profile))
        yield f"Next: {tutorial}.\n"
    yield from _titled("Limits and costs", _limits(profile))
    yield from _titled("The system", _node(profile))
    yield from _titled("How to ask for it", _request(profile))
    yield from _titled("Containers", _containers(profile))
    yield from _titled("Settings", _settings(profile))
    yield from _titled("What log and nodes must show", _expect(profile))
    for kind in all_kinds(profile)[1:]:
        yield from _kind_lines(kind, profile)
    yield from _titled("How far this is known", _status(profile))


def _kind_lines(kind: Profile, default: Profile) -> Iterator[str]:
    """Yield what differs on a kind of node from the default, which the page describes."""
    name = kind.kind.name if kind.kind else ""
    show = f"envcfg profiles show {kind.name}/{name}"
    lines = [
        f"The parts above describe `{default.kind and default.kind.name}`, the default.\n"
    ]
    for part in (_node, _request, lambda each: _billing(each.billing), _expect):
        known = list(part(default))
        lines += [line for line in part(kind) if line not in known]
    settings = list(_settings(kind))
    if settings != list(_settings(default)):
        lines += ["", *settings]
    yield from _titled(
        f"Kind of node: {name}", [*lines, "", f"{code(show)} prints all of it."]
    )


def _limits(profile: Profile) -> Iterator[str]:
    yield from _queues("partition", profile.partitions.values())
    yield from _queues("QOS", profile.qos.values())
    yield from _billing(profile.billing)


def _status(profile: Profile) -> Iterator[str]:
    if profile.lifecycle:
        yield f"- {profile.lifecycle.state}: {_said(profile.lifecycle.reason)}"
    if profile.verified:
        yield f"- verified by {profile.verified.state}: {_said(profile.verified.reason)}"


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines under a title; nothing, where there are none."""
    found = list(lines)
    return [f"## {title}\n", *found, ""] if found else []


def _node(profile: Profile) -> Iterator[str]:
    if node := profile.node:
        cpu = f", {node.architecture}" if node.architecture else ""
        cores = f", {node.cores_per_gpu} cores each" if node.cores_per_gpu else ""
        memory = f", {node.memory_per_gpu} each" if node.memory_per_gpu else ""
        nics = f"; {', '.join(node.nics)}" if node.nics else ""
        what = f"{node.gpus} GPUs{cores}{memory}{cpu}{nics}"
        yield f"- {what}: {_said(node.reason)}"
    if domain := profile.nvlink:
        asked = f", asked for by {code('--segment')}" if domain.segment else ""
        yield f"- NVLink joins {domain.nodes} nodes{asked}: {_said(domain.reason)}"
    if internet := profile.internet:
        way = f"by the proxy {code(internet.proxy)}" if internet.proxy else "no"
        yield f"- internet on compute nodes: {way}: {_said(internet.reason)}"
    if home := profile.home:
        yield f"- home folders: {home.quota} GB: {_said(home.reason)}"
    if profile.launchers:
        yield f"- launchers: {', '.join(profile.launchers)}"
    yield from _arguments("srun", profile.srun)
    if masks := profile.cpu_masks:
        yield f"- CPU masks {code(','.join(masks.masks))}: {_said(masks.reason)}"
    if table := profile.attachment:
        nics = code(" ".join(table.nics))
        yield f"- the NIC of each GPU, in order: {nics}: {_said(table.reason)}"
    if view := profile.visibility:
        clear = f", without {', '.join(map(code, view.clear))}" if view.clear else ""
        numbers = f", numbered in {code(view.numbers)}" if view.numbers else ""
        mask = f"{code(view.variable)}{numbers}{clear}"
        yield f"- GPUs masked by {mask}: {_said(view.reason)}"
    if meet := profile.rendezvous:
        name = f"the address of {meet.interface}" if meet.interface else "its name"
        suffix = f" with {code(meet.suffix)}" if meet.suffix else ""
        yield f"- rendezvous at the first node by {name}{suffix}: {_said(meet.reason)}"
    if scratch := profile.scratch:
        memory = ", in the node's memory" if scratch.in_memory else ""
        asked = " ".join(f"{k}={value}" for k, value in scratch.disk_request.items())
        disk = f", or {_word(scratch.disk)} with {code(asked)}" if scratch.disk else ""
        yield f"- caches in {_word(scratch.root)}{memory}{disk}: {_said(scratch.reason)}"


def _request(profile: Profile) -> Iterator[str]:
    if request := profile.request:
        prefix = "gpu:" if request.gpus == "--gres" else ""
        kind = f"{prefix}{request.gpu_type}:N" if request.gpu_type else "N"
        gpus = f", GPUs by {code(f'{request.gpus} {kind}')}" if request.gpus else ""
        if request.gpus == UNASKED:
            gpus = ", GPUs are not asked for"
        yield f"- {request.scheduler}{gpus}: {_said(request.reason)}"
    for rule in filter(None, profile.rules.values()):
        like = f", as in {code(rule.value)}" if rule.value else ""
        yield f"- {code(rule.option)} **{rule.rule}**{like}: {_said(rule.reason)}"
    for module in filter(None, profile.modules.values()):
        what = f"module {module.action} {module.name}"
        yield f"- {code(what)}{_if(module.when)}: {_said(module.reason)}"


def _queues(title: str, queues: Iterable[Partition | Qos | None]) -> Iterator[str]:
    """Yield the limits of partitions or QOS as a table; maybe nothing."""
    kinds = {True: "whole nodes", False: "shared", None: ""}
    rows = [
        [
            code(each.name),
            _bounds(each.min_nodes, each.nodes),
            _bounds(each.min_gpus, each.gpus),
            _longest(each),
            kinds[getattr(each, "exclusive", None)],
            *_reason(each.reason),
        ]
        for each in queues
        if each
    ]
    if rows:
        titles = f"{title}|nodes|GPUs|time|nodes are|why|source"
        yield from table(titles.split("|"), rows)
        yield ""


def _bounds(least: int | None, most: int | None) -> str:
    if least and least > 1:
        return f"{least}-{most}" if most else f"from {least}"
    return str(most or "")


def _longest(queue: Partition | Qos) -> str:
    by_size = (f"{each.time} up to {each.nodes} nodes" for each in queue.sizes)
    return ", ".join(by_size) or str(queue.time or "")


def _containers(profile: Profile) -> Iterator[str]:
    if profile.runtimes:
        yield f"- runtimes: {', '.join(profile.runtimes)}"
    for case in profile.verb.cases if profile.verb else ():
        yield f"- entered by {_word(case.value)}{_if(case.when)}: {_said(case.reason)}"
    if profile.verb and profile.verb.otherwise:
        yield f"- entered by {_word(profile.verb.otherwise)} otherwise"
    for fact in profile.image_facts or ():
        names = ", ".join(fact.facts)
        yield f"- names like {code(fact.pattern)} tell {names}: {_said(fact.reason)}"
    if prefix := profile.prefix:
        words = code(" ".join(prefix.words))
        yield f"- before each command {words}{_if(prefix.when)}: {_said(prefix.reason)}"
    yield from _arguments("argument", profile.arguments)
    yield from _mounts(profile.binds)


def _mounts(mounts: Mapping[str, BindMount | None]) -> Iterator[str]:
    for mount in filter(None, mounts.values()):
        own = mount.if_exists == mount.bind.source
        path = "it" if own else code(mount.if_exists or "")
        there = f", where {path} exists" if mount.if_exists else ""
        what = code(str(mount.bind))
        yield f"- bind {what}{_if(mount.when)}{there}: {_said(mount.reason)}"


def _arguments(what: str, arguments: Mapping[str, Argument | None]) -> Iterator[str]:
    for each in filter(None, arguments.values()):
        there = f", where {code(each.if_exists)} exists" if each.if_exists else ""
        yield f"- {what} {code(each.word)}{_if(each.when)}{there}: {_said(each.reason)}"


def _settings(profile: Profile) -> Iterator[str]:
    """Yield a table of the profile's own settings, and the names of its family's."""
    rows, above = [], []
    for setting in filter(None, profile.env.values()):
        reason = setting.cases[0].reason
        if reason.place.path.endswith(f"/{profile.name}.yaml"):
            rows += list(_rows(setting))
        else:
            above.append(setting.name)
    for bundle in filter(None, profile.bundles.values()):
        if not bundle.reason.place.path.endswith(f"/{profile.name}.yaml"):
            above.append(bundle.name)
            continue
        values = [f"{name}={format_word(word)}" for name, word in bundle.env.items()]
        values += [f"srun --network={value}" for value in bundle.network]
        values += [f"srun {option}" for option in bundle.srun]
        what = f"{code(bundle.name)}, all or nothing"
        when = ", ".join(_tests(bundle.when))
        rows.append(
            [what, "<br>".join(map(code, values)), when, *_reason(bundle.reason)]
        )
    if rows:
        yield from table("variable|value|where|why|source".split("|"), rows)
    if family := profile.extends:
        settings: dict[str, object] = {**profile.env, **profile.bundles}
        gone = [name for name, entry in settings.items() if entry is None]
        link = f"[{family.name}]({family.name}.md)"
        for what, names in ((f"From {link} and above", above), ("Taken back", gone)):
            if names:
                yield f"\n{what}: {', '.join(map(code, names))}."


def _rows(setting: Setting) -> Iterator[list[str]]:
    for case in setting.cases:
        value = "unset" if case.value is None else _word(case.value)
        force = " (always)" if setting.force else ""
        when = ", ".join(_tests(case.when))
        yield [code(setting.name), f"{value}{force}", when, *_reason(case.reason)]
    if setting.otherwise is not None:
        yield [code(setting.name), _word(setting.otherwise), "otherwise", "", ""]


def _expect(profile: Profile) -> Iterator[str]:
    if expect := profile.expect:
        shown = {
            "networks": f"network {' or '.join(expect.networks)}",
            "provider": f"provider {expect.provider}",
            "interfaces": f"interfaces {', '.join(expect.interfaces)}",
            "nics": f"adapters {expect.nics}",
            "gdr": f"GPU RDMA {'yes' if expect.gdr else 'no'}",
            "devices": f"devices {', '.join(map(code, expect.devices))}",
            "bandwidth": f"all-reduce {expect.bandwidth} GB/s",
        }
        lines: dict[Reason, list[str]] = {}
        for name in expect.said():
            lines.setdefault(expect.reason_of(name), []).append(shown[name])
        for reason, parts in lines.items():
            yield f"- {'; '.join(parts)}: {_said(reason)}"


def _billing(billing: Billing | None) -> Iterator[str]:
    if billing:
        skipped = {"reason", "unit", "charge"}
        parts = [
            f"{name.replace('_', ' ')} {', '.join(v) if isinstance(v, tuple) else v}"
            if v is not True
            else name.replace("_", " ")
            for name, v in billing._asdict().items()
            if v and name not in skipped
        ]
        said = _said(billing.reason)
        yield f"- {billing.unit}, {billing.charge}; {'; '.join(parts)}: {said}"


def _if(condition: Condition) -> str:
    return f" where {', '.join(_tests(condition))}" if condition else ""


def _tests(condition: Condition) -> list[str]:
    signs = {"glob": "", "prefix": "", "==": ""}
    return [
        code(f"{test.fact} {signs.get(test.operator, test.operator)}{test.operand}")
        for test in condition
    ]


def _said(reason: Reason) -> str:
    why, source = _reason(reason)
    return f"{why} ({source})"


def _reason(reason: Reason) -> list[str]:
    return [text(reason.why), cited(reason.source, reason.date)]


def _word(word: Word | None) -> str:
    return code(format_word(word or ()))
