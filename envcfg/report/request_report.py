"""Scripts as JSON for programs: a job with request and cost, or a converted script."""

from collections.abc import Sequence

from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import Files
from envcfg.job.request.billing import Cost, decimal_text
from envcfg.job.request.request import Request
from envcfg.lint.conversion.conversion_result import Conversion
from envcfg.profile.words import format_word
from envcfg.report.document import json_text
from envcfg.report.plan_report import profile_json


def request_json(
    plan: Plan,
    request: Request,
    cost: Cost | None,
    findings: Sequence[Finding],
    files: Files,
) -> str:
    """Return the job as JSON.

    Billed amounts are decimal numbers as text; memory is in MiB per node.
    """
    document = {
        "profile": profile_json(plan),
        "defaults": plan.options.defaults,
        "request": {
            "scheduler": request.scheduler,
            "partition": request.partition,
            "nodes": request.shape.nodes,
            "gpus_per_node": request.shape.gpus,
            "tasks_per_node": request.shape.tasks,
            "cores_per_node": request.shape.cores,
            "memory_per_node": request.shape.memory,
            "whole_nodes": request.whole_nodes,
            "seconds": request.seconds,
            "options": request.lines,
            "repeated_for_srun": [
                {
                    "name": repeat.name,
                    "value": format_word(repeat.value),
                    "why": repeat.why,
                }
                for repeat in request.repeats
            ],
        },
        "cost": cost
        and {
            "unit": cost.unit,
            "per_hour": decimal_text(cost.per_hour),
            "total": None if cost.total is None else decimal_text(cost.total),
            "decides": cost.decides and cost.decides.resource,
            "parts": [
                {
                    "what": part.resource,
                    "amount": decimal_text(part.amount),
                    "per_hour": decimal_text(part.per_hour),
                    "shares": None
                    if part.shares is None
                    else decimal_text(part.shares),
                }
                for part in cost.parts
            ],
        },
        "findings": findings,
        "script": files.script,
    }
    return json_text(document)


def conversion_json(conversion: Conversion, path: str) -> str:
    """Return the result for the script *path*, and its changes."""
    return json_text(
        {
            "from": path,
            "profile": conversion.profile,
            "lines": conversion.lines,
            "variables": conversion.variables,
            "script": conversion.script,
        }
    )
