"""A script whose steps envcfg starts, and what was changed in it, as JSON for programs."""

from envcfg.conversion.model import Conversion
from envcfg.report.document import json_text


def conversion_json(made: Conversion, path: str) -> str:
    """Return what was made of the file *path*."""
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
