"""The report on an image: for readers, and as docs/inspect.schema.json."""

import shlex
from collections.abc import Iterator

from envcfg.image.image_facts import unclear_facts
from envcfg.image.image_record import Inspection
from envcfg.image.library_chain import Chain
from envcfg.profile.conditions import usable_versions
from envcfg.report.document import json_text, pick_fields
from envcfg.report.finding_report import STYLES, said
from envcfg.report.styled import Line

_WIDEST = 24  # characters of a value; a longer one does not widen the column


def inspection_lines(inspection: Inspection) -> Iterator[Line]:
    """Yield the facts with their evidence, unused ones dimmed, then findings."""
    # A second sign of the same fact is left out; a second library is not.
    same = {(name, image_fact.value) for name, image_fact in inspection.taken().items()}
    facts = [
        image_fact
        for image_fact in inspection.facts
        if image_fact.taken
        or ".so" in image_fact.evidence
        or (image_fact.name, image_fact.value) not in same
    ]
    names = [
        image_fact.name if image_fact.taken else f"not {image_fact.name}"
        for image_fact in facts
    ]
    # One very long value must not push all evidence to the right.
    width = max(map(len, names), default=0)
    values = [
        len(image_fact.value)
        for image_fact in facts
        if len(image_fact.value) <= _WIDEST
    ]
    room = max(values, default=0)
    yield "bold", f"{inspection.image}: {inspection.metadata.form}"
    for name, fact in zip(names, facts, strict=True):
        why = f"  ({fact.why})" if fact.why else ""
        line = f"  {name:<{width}}  {fact.value:<{room}}  {fact.evidence}{why}"
        yield "" if fact.taken else "dim", line
    for name, value in sorted(inspection.metadata.labels.items()):
        # Only labels with a registered name are shown; others are often build data.
        if name.startswith("org."):
            yield "", f"  label {name}: {value[:200]}"
    if inspection.findings:
        yield "", ""
    # Findings come last, because the facts above explain them.
    for problem in inspection.findings:
        yield STYLES[problem.severity], f"{problem.severity}: {said(problem)}"
        for title, text in (("why", problem.why), ("hint", problem.fix)):
            if text:
                yield "", f"  {title}: {text}"


def fact_words(inspection: Inspection) -> str:
    """Return the facts for conditions, as options of ``wrap``.

    >>> from envcfg.image.image_record import ImageFact, Metadata
    >>> facts = (ImageFact("rocm", "6.2.4", "/x"), ImageFact("python", "3.12", "/y"))
    >>> fact_words(Inspection("i.sif", Metadata("sif"), facts))
    '--fact rocm=6.2.4'
    """
    facts_taken, unclear = sorted(inspection.taken().items()), unclear_facts(inspection)
    values = {
        name: image_fact.value
        for name, image_fact in facts_taken
        if name not in unclear
    }
    facts = usable_versions(values).items()
    return " ".join(f"--fact {shlex.quote(f'{name}={value}')}" for name, value in facts)


def inspection_json(inspection: Inspection, chain: Chain) -> str:
    """Return all facts, and the libraries loaded with NCCL and its plug-in."""
    links = [
        {"path": link.library.path, **pick_fields(link, "asked needed_by? why host?")}
        for link in chain.own
    ]
    return json_text(
        {
            **pick_fields(inspection, "image metadata facts libraries"),
            "chain": {"links": links, "missing": chain.missing},
            "findings": inspection.findings,
        }
    )
