"""Scripts as JSON for programs: a job with request and cost, or a converted script."""

from collections.abc import Sequence

from envcfg.common.findings import Finding
from envcfg.job.plan.plan import Plan
from envcfg.job.plan.script_files import Files
from envcfg.job.request.billing import Cost, decimal_text
from envcfg.job.request.request import Request
from envcfg.lint.conversion.conversion_result import Conversion
from envcfg.profile.words import format_word
from envcfg.report.document import json_text, pick_fields
from envcfg.report.plan_report import profile_json

_SHAPE = """
    nodes gpus_per_node=gpus tasks_per_node=tasks cores_per_node=cores
    memory_per_node=memory
"""


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
            **pick_fields(request, "scheduler partition"),
            **pick_fields(request.shape, _SHAPE),
            **pick_fields(request, "whole_nodes seconds options=lines"),
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
            **pick_fields(conversion, "profile lines variables script"),
        }
    )
