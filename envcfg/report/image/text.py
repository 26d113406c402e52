"""What was read of an image, for people."""

import shlex
from collections.abc import Iterator

from envcfg.image.facts import unclear_facts
from envcfg.image.record import ImageFact, Inspection
from envcfg.profile.conditions import usable_versions
from envcfg.report.styled import Line

_WIDEST = 24  # characters of a value, beyond which the others do not move
_STYLES = {"error": "red", "warning": "yellow", "note": ""}


def inspection_lines(found: Inspection) -> Iterator[Line]:
    """Yield the facts with their evidence, those that do not count dim, then findings."""
    facts = [each for each in found.facts if not _says_it_again(each, found)]
    names = [_name(each) for each in facts]
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
    for each_ in found.findings:
        said = f"{each_.subject}: {each_.message}" if each_.subject else each_.message
        yield _STYLES[each_.severity], f"{each_.severity}: {said}"
        for title, text in (("why", each_.why), ("hint", each_.fix)):
            if text:
                yield "", f"  {title}: {text}"


def fact_words(found: Inspection) -> str:
    """Return the facts that conditions ask for, as options of ``wrap``.

    >>> from envcfg.image.record import Metadata
    >>> facts = (ImageFact("rocm", "6.2.4", "/x"), ImageFact("python", "3.12", "/y"))
    >>> fact_words(Inspection("i.sif", Metadata("sif"), facts))
    '--fact rocm=6.2.4'
    """
    unclear = unclear_facts(found)
    values = {
        name: each.value
        for name, each in sorted(found.taken().items())
        if name not in unclear
    }
    facts = usable_versions(values).items()
    return " ".join(f"--fact {shlex.quote(f'{name}={value}')}" for name, value in facts)


def _says_it_again(each: ImageFact, found: Inspection) -> bool:
    """Tell whether it is only a second sign of one thing; a second library is not."""
    taken = found.taken().get(each.name)
    is_same = taken is not None and taken.value == each.value
    return is_same and not each.taken and ".so" not in each.evidence


def _name(each: ImageFact) -> str:
    return each.name if each.taken else f"not {each.name}"
