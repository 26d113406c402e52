"""The verdict on a log as JSON for programs, as docs/check-log.schema.json says."""

from __future__ import annotations

from envcfg.log.verdict import LogReport
from envcfg.report.document import json_text

SCHEMA_VERSION = 1


def log_json(report: LogReport) -> str:
    """Return the report as JSON; ``schema_version`` counts incompatible changes."""
    interfaces = {
        use: report.job.interfaces.get(use, ()) for use in ("bootstrap", "socket")
    }
    report = report._replace(job=report.job._replace(interfaces=interfaces))
    return json_text({"schema_version": SCHEMA_VERSION, **report._asdict()})
