"""What a detection found, as text and JSON."""

from collections.abc import Iterator

from envcfg.profile.detect import Detection, Machine
from envcfg.report.document import json_text
from envcfg.report.styled import Line


def detect_lines(detection: Detection, machine: Machine) -> Iterator[Line]:
    """Yield what is known of the machine, what fits and what does not."""
    yield "", f"cluster     {machine.cluster or '(none named)'}"
    yield "", f"host        {machine.host}"
    yield "", f"interfaces  {', '.join(machine.interfaces) or '(none)'}"
    yield "", ""
    for each in detection.found:
        yield "bold green", f"fits        {each.name}: {each.why}"
    if not detection.found:
        yield "bold yellow", "fits        none"
    for each in detection.others:
        state = "less sure" if each.evidence else "not"
        yield "dim", f"{state:<10}  {each.name}: {each.why}"


def detect_json(detection: Detection, machine: Machine) -> str:
    """Return the answers as JSON; *profile* is null where none or several fit."""
    found = detection.found
    document = {
        "schema_version": 1,
        "profile": found[0].name if len(found) == 1 else None,
        "cluster": machine.cluster,
        "host": machine.host,
        "interfaces": list(machine.interfaces),
        "found": [each._asdict() for each in found],
        "others": [each._asdict() for each in detection.others],
    }
    return json_text(document)
