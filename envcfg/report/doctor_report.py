"""The environment that ``envcfg doctor`` shows, as text and JSON."""

from collections.abc import Iterator, Sequence

from envcfg.core.doctor import DoctorRow
from envcfg.report.document import json_text
from envcfg.report.styled import Line

_STYLES = {"ok": "", "absent": "dim", "problem": "bold red"}


def doctor_lines(rows: Sequence[DoctorRow]) -> Iterator[Line]:
    """Yield a heading for each part, its facts below it, and the number of problems."""
    width = max(len(row.name) for row in rows)
    part = ""
    for row in rows:
        if row.part != part:
            if part:
                yield "", ""
            part = row.part
            yield "bold", part
        mark = "!" if row.state == "problem" else " "
        value = row.value or "none"
        yield _STYLES[row.state], f"{mark} {row.name:<{width}}  {value}"
        if row.hint:
            yield "", f"  {'':<{width}}  hint: {row.hint}"
    problems = sum(row.state == "problem" for row in rows)
    yield "", ""
    if problems:
        yield "bold red", f"{problems} problem{'s' * (problems > 1)}, marked by !"
    else:
        yield "bold green", "no problem"


def doctor_json(rows: Sequence[DoctorRow]) -> str:
    """Return the rows as JSON."""
    problems = sum(row.state == "problem" for row in rows)
    return json_text({"problems": problems, "facts": rows})
