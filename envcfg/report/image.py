"""What was read of an image or a host: for people, and as docs/inspect.schema.json."""

import shlex
from collections.abc import Iterator

from envcfg.image.chain import Chain
from envcfg.image.facts import unclear_facts
from envcfg.image.host import SCHEMA_VERSION as HOST_VERSION
from envcfg.image.host import Host
from envcfg.image.record import Inspection
from envcfg.profile.conditions import usable_versions
from envcfg.report.document import json_text
from envcfg.report.findings import STYLES, said
from envcfg.report.styled import Line

_WIDEST = 24  # characters of a value, beyond which the others do not move


def inspection_lines(found: Inspection) -> Iterator[Line]:
    """Yield the facts with their evidence, those that do not count dim, then findings."""
    # A second sign of one thing is left out; a second library is not.
    same = {(name, each.value) for name, each in found.taken().items()}
    facts = [
        each
        for each in found.facts
        if each.taken or ".so" in each.evidence or (each.name, each.value) not in same
    ]
    names = [each.name if each.taken else f"not {each.name}" for each in facts]
    width = max(map(len, names), default=0)
    values = [len(each.value) for each in facts if len(each.value) <= _WIDEST]
    room = max(values, default=0)
    yield "bold", f"{found.image}: {found.metadata.form}"
    for name, each in zip(names, facts, strict=True):
        why = f"  ({each.why})" if each.why else ""
        line = f"  {name:<{width}}  {each.value:<{room}}  {each.evidence}{why}"
        yield "" if each.taken else "dim", line
    for name, value in sorted(found.metadata.labels.items()):
        if name.startswith("org."):
            yield "", f"  label {name}: {value[:200]}"
    if found.findings:
        yield "", ""
    for problem in found.findings:
        yield STYLES[problem.severity], f"{problem.severity}: {said(problem)}"
        for title, text in (("why", problem.why), ("hint", problem.fix)):
            if text:
                yield "", f"  {title}: {text}"


def fact_words(found: Inspection) -> str:
    """Return the facts that conditions ask for, as options of ``wrap``.

    >>> from envcfg.image.record import ImageFact, Metadata
    >>> facts = (ImageFact("rocm", "6.2.4", "/x"), ImageFact("python", "3.12", "/y"))
    >>> fact_words(Inspection("i.sif", Metadata("sif"), facts))
    '--fact rocm=6.2.4'
    """
    taken, unclear = sorted(found.taken().items()), unclear_facts(found)
    values = {name: each.value for name, each in taken if name not in unclear}
    facts = usable_versions(values).items()
    return " ".join(f"--fact {shlex.quote(f'{name}={value}')}" for name, value in facts)


def inspection_json(found: Inspection, chain: Chain) -> str:
    """Return all that was read, and what is loaded with NCCL and its plug-in."""
    links = [
        {
            "path": link.library.path,
            "asked": link.asked,
            "needed_by": link.needed_by or None,
            "why": link.why,
            "host": link.host or None,
        }
        for link in chain.own
    ]
    return json_text(
        {
            "schema_version": 1,
            "image": found.image,
            "metadata": found.metadata,
            "facts": found.facts,
            "libraries": found.libraries,
            "chain": {"links": links, "missing": chain.missing},
            "findings": found.findings,
        }
    )


def host_json(host: Host) -> str:
    """Return the record of a machine, as ``parse_host`` reads it."""
    return json_text({"schema_version": HOST_VERSION, **host._asdict()})
