"""The verdict on a log as JSON for programs, as docs/check-log.schema.json says."""

from __future__ import annotations

from collections.abc import Mapping

from envcfg.characters import without_surrogates
from envcfg.log.verdict import LogReport

SCHEMA_VERSION = 1


def log_json(report: LogReport) -> str:
    r"""Return the report as JSON; ``schema_version`` counts incompatible changes.

    It is plain ASCII. Bytes of the log that are no UTF-8 are written as ``\xNN``: half a
    surrogate pair stops strict readers.
    """
    import json

    interfaces = {
        use: report.job.interfaces.get(use, ()) for use in ("bootstrap", "socket")
    }
    report = report._replace(job=report.job._replace(interfaces=interfaces))
    document = {"schema_version": SCHEMA_VERSION, **report._asdict()}
    return json.dumps(_plain(document), indent=2, ensure_ascii=True) + "\n"


def _plain(value: object) -> object:
    """Return *value* made of what JSON has, all the way down."""
    if isinstance(value, str):
        return without_surrogates(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {without_surrogates(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
