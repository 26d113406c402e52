"""Memory that is certainly too small for the tasks, or larger than that of the job."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import whole_number
from envcfg.job.request.amounts import mebibytes, size_text
from envcfg.lint.detectors.system_limits import amount
from envcfg.lint.lint_rule import Fault, ScriptJob, detects
from envcfg.lint.resource_facts import is_helper
from envcfg.lint.system_recognition import directives, is_gpu_job

_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")
_LEAST = 64  # MiB; a smaller number has lost its unit
_LEAST_OF_GPU_TASK = 256  # MiB; the libraries of a GPU alone need more


@detects("EC658")
def too_little_memory(job: ScriptJob) -> Iterator[Fault]:
    """A number without its unit, little memory for each task, or a step with too much."""
    if not SCHEDULERS[job.model.scheduler].sizes:
        return
    requests = {name: d for name, d in directives(job).items() if name in _OPTIONS}
    for name, directive in requests.items():
        text = directive.value or ""
        if 0 < (whole_number(text) or 0) < _LEAST:
            words = {"option": f"--{name}={text}", "limit": text}
            yield Fault(directive.offset, words, "no-unit")
            return
    size = amount(mebibytes, requests["mem"].value) if "mem" in requests else None
    if size is None:
        return
    tasks = job.shape.per_node or 1
    words = {"limit": size_text(size), "tasks": f"{tasks}", "each": f"{size // tasks}"}
    if tasks > 1 and size < tasks * _LEAST_OF_GPU_TASK and is_gpu_job(job):
        yield Fault(requests["mem"].offset, words, "each")
    for step in job.model.commands:
        value = step.options.get("mem") if step.is_srun else None
        own = amount(mebibytes, value.literal) if value else None
        is_own_job = "jobid" in step.options or is_helper(step, job.model)
        if value and own and own > size and not (is_own_job or step.context.is_chosen):
            yield Fault(value.offset, words | {"memory": size_text(own)})
