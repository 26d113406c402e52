"""Scripts as JSON for programs: a job's with request and cost, one with steps changed."""

from collections.abc import Sequence

from envcfg.conversion.model import Conversion
from envcfg.findings import Finding
from envcfg.launch.plan import Plan
from envcfg.profile.words import format_word
from envcfg.report.document import json_text
from envcfg.request.billing import Cost, decimal_text
from envcfg.request.request import Request


def request_json(
    plan: Plan,
    request: Request,
    cost: Cost | None,
    findings: Sequence[Finding],
    script: str,
) -> str:
    """Return all of it as JSON; ``schema_version`` counts incompatible changes.

    Amounts of billed units are decimal numbers in texts, memory is in MiB per node.
    """
    document = {
        "schema_version": 1,
        "profile": {"name": plan.profile, "sha256": plan.profile_hash},
        "defaults": plan.defaults,
        "request": {
            "scheduler": request.scheduler,
            "partition": request.partition,
            "nodes": request.shape.nodes,
            "gpus_per_node": request.shape.gpus,
            "tasks_per_node": request.shape.tasks,
            "cores_per_node": request.shape.cores,
            "memory_per_node": request.shape.memory,
            "whole_nodes": request.whole,
            "seconds": request.seconds,
            "options": request.lines,
            "repeated_for_srun": [
                {"name": each.name, "value": format_word(each.value), "why": each.why}
                for each in request.repeats
            ],
        },
        "cost": cost
        and {
            "unit": cost.unit,
            "per_hour": decimal_text(cost.per_hour),
            "total": None if cost.total is None else decimal_text(cost.total),
            "decides": cost.decides and cost.decides.what,
            "parts": [
                {
                    "what": part.what,
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
        "script": script,
    }
    return json_text(document)


def conversion_json(made: Conversion, path: str) -> str:
    """Return what was made of the script *path*, and what was changed in it."""
    return json_text(
        {
            "schema_version": 1,
            "from": path,
            "profile": made.profile,
            "lines": [each._asdict() for each in made.lines],
            "variables": [each._asdict() for each in made.variables],
            "script": made.script,
        }
    )
