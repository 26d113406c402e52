"""What commands write: findings to stderr, text to stdout."""

from __future__ import annotations

import argparse
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


def add_output_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of commands that write a script."""
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write the script to FILE, executable"
    )
    group.add_argument(
        "--force",
        action="store_true",
        help="with -o: replace a file that envcfg did not write",
    )


def put_script(options: argparse.Namespace, text: str) -> None:
    """Write a script to the file of ``--output``, or to stdout.

    Raises:
        UsageError: if the file is not ours to replace.
    """
    if not options.output:
        write(text)
        return
    from envcfg.launch.output import write_script

    data = text.encode("utf-8", "surrogateescape")
    write_script(options.output, data, force=options.force)
