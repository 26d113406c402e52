"""What commands write: findings to stderr, text to stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from envcfg.findings import Finding


def say(findings: Iterable[Finding]) -> None:
    """Write *findings* to stderr."""
    for finding in findings:
        sys.stderr.write("\n".join(finding.lines()) + "\n")


def write(text: str) -> None:
    """Write *text* to stdout, byte for byte as the arguments were given."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
