"""Debugging: what helps to find a fault, and is left on."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.lint.flow import inner_name, text_of
from envcfg.lint.rule import Edit, Fault, Job, detects
from envcfg.lint.text import literal

_DEBUG = {
    "CUDA_LAUNCH_BLOCKING": ("1",),
    "HIP_LAUNCH_BLOCKING": ("1",),
    "AMD_SERIALIZE_KERNEL": ("1", "2", "3"),
    "AMD_SERIALIZE_COPY": ("1", "2", "3"),
    "TORCH_DISTRIBUTED_DEBUG": ("DETAIL",),
    "NCCL_DEBUG": ("TRACE", "trace"),
    "RCCL_KERNEL_COLL_TRACE_ENABLE": ("1",),
    "FI_LOG_LEVEL": ("debug", "trace"),
}
_SLOW = ("BLOCKING", "KERNEL", "COPY", "TORCH_DISTRIBUTED_DEBUG")


@detects("EC737")
def debug_left_on(job: Job) -> Iterator[Fault]:
    """What helps to find a fault, and slows every run."""
    for each in job.model.assignments:
        if each.value is None or each.context.conditions:
            continue
        if not (each.exported or each.how == "env" or each.command is not None):
            continue
        name = inner_name(each.name)
        value = literal(text_of(each.value))
        if value is not None and value in _DEBUG.get(name, ()):
            severity = None if name.endswith(_SLOW) else "note"
            yield Fault(each.at, {"name": name, "value": value}, severity)  # type: ignore[arg-type]
        elif name == "NCCL_DEBUG_SUBSYS" and value:
            parts = set(value.upper().split(","))
            if not any(p.startswith("^") for p in parts) and not parts & {"NET", "ALL"}:
                message = "{value} hides why a network plugin was not loaded"
                edit = Edit(each.value_at, each.value_at + len(value), "INIT,ENV,NET")
                fix = "INIT,ENV,NET"
                yield Fault(each.at, {"value": value}, "note", message, fix, edit)
