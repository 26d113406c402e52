"""MIOpen: its two folders, which go together."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.findings import Severity
from envcfg.lint.flow import inner_names, text_of
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.text import literal

_PAIR = ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR")


@detects("EC310")
def incomplete_miopen(job: Job) -> Iterator[Fault]:
    """One of MIOpen's two folders is set, and not the other."""
    model = job.model
    if model.is_dump:
        return
    names = inner_names(model)
    for each in model.assignments:
        off = each.name == "MIOPEN_DISABLE_CACHE" and each.exported
        if off and literal(text_of(each.value)) == "1":
            message = "{name}=1: each rank compiles its kernels anew"
            fix = "leave it out, and set " + " and ".join(_PAIR)
            yield Fault(each.at, {"name": each.name}, "note", message, fix)
    here = [name for name in _PAIR if name in names]
    if len(here) != 1 or any(
        n.startswith(("MIOPEN_USER", "MIOPEN_C")) and n not in _PAIR for n in names
    ):
        return
    lacking = next(name for name in _PAIR if name not in names)
    severity: Severity = "note" if model.opaque else "warning"
    first = next(a for a in model.assignments if a.name.endswith(here[0]))
    if model.scope != "unknown" or first.scope != "unknown":
        yield Fault(first.at, {"name": here[0], "lacking": lacking}, severity)
