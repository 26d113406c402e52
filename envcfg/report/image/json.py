"""What was read of an image or a host, for programs: docs/inspect.schema.json."""

from envcfg.image.chain import Chain
from envcfg.image.host import SCHEMA_VERSION as HOST_VERSION
from envcfg.image.host import Host
from envcfg.image.record import Inspection
from envcfg.report.document import json_text


def inspection_json(found: Inspection, chain: Chain) -> str:
    """Return all that was read, and what is loaded with NCCL and its plug-in."""
    links = [
        {
            "path": link.library.path,
            "asked": link.asked,
            "needed_by": link.needed_by or None,
            "why": link.why,
            "host": link.host or None,
        }
        for link in chain.own
    ]
    return json_text(
        {
            "schema_version": 1,
            "image": found.image,
            "metadata": found.metadata,
            "facts": found.facts,
            "libraries": found.libraries,
            "chain": {"links": links, "missing": chain.missing},
            "findings": found.findings,
        }
    )


def host_json(host: Host) -> str:
    """Return the record of a machine, as ``parse_host`` reads it."""
    return json_text({"schema_version": HOST_VERSION, **host._asdict()})
