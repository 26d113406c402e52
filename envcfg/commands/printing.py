"""What commands write: findings to stderr, text to stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterable
from stat import S_ISFIFO
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.commands import texts
from envcfg.core.option import Option, switch
from envcfg.errors import EXIT_USAGE
from envcfg.failure import STDOUT, failing_script, put_stream, stream_descriptor
from envcfg.findings import Finding
from envcfg.interrupts import Held

if TYPE_CHECKING:
    from envcfg.safe_output import Output


# The options of commands that write a script.
OUTPUT = (
    Option(
        "--output",
        "write the script to FILE, executable; -: standard output",
        metavar="FILE",
        short="-o",
    ),
    switch("--force", "with -o: replace a file that envcfg did not write"),
)


def say(findings: Iterable[Finding]) -> None:
    """Write *findings* to stderr."""
    for finding in findings:
        sys.stderr.write("\n".join(finding.lines()) + "\n")


def tell(text: str, hint: str | None = None, *, severity: str = "note") -> None:
    """Write to stderr what is not a finding, and what to do about it."""
    sys.stderr.write(f"envcfg: {severity}: {text}\n")
    if hint:
        sys.stderr.write(f"  hint: {hint}\n")


def next_step(options: argparse.Namespace, code: int) -> str | None:
    """Return what comes after a command; None where nothing is to be said."""
    import shlex

    given = vars(options)
    name = ".".join(filter(None, (options.command_name, given.get("action"))))
    rows = texts()[name].get("next", {})
    row = next((rows[each] for each in rows if given.get(each)), rows.get("usual"))
    if row is None or code not in {0, 1, 3} or given.get("values") is not None:
        return None
    done, *found = [row] if isinstance(row, str) else row
    firsts = (
        (each, value[0] if isinstance(value, list) and value else value)
        for each, value in given.items()
    )
    shown = {each: one_line(shlex.quote(str(value))) for each, value in firsts}
    text = found[0] if code and found else done
    return str(text.format(look=texts()["look"], **shown))


def say_next(options: argparse.Namespace, code: int) -> None:
    """Write it to stderr, but not where ``ENVCFG_QUIET`` is set."""
    if not os.environ.get("ENVCFG_QUIET") and (text := next_step(options, code)):
        sys.stdout.flush()
        sys.stderr.write(f"envcfg: next: {text}\n")


def write(text: str) -> None:
    """Write *text* to stdout, byte for byte as the arguments were given.

    It is the last that a command does: a signal comes before it, or is ignored.
    """
    sys.stdout.flush()
    data = text.encode("utf-8", "surrogateescape")
    with Held() as held:
        put_stream(STDOUT, data)
        held.finish()


def check_script(options: argparse.Namespace, inputs: Collection[str]) -> None:
    """See that the script can be written; *inputs* are files that it is made from.

    Raises:
        EnvcfgError: it cannot, or must not.
    """
    if options.output is not None:
        from envcfg.safe_output import check_outputs

        check_outputs([_output(options, inputs)])


def put_script(
    options: argparse.Namespace,
    text: str,
    inputs: Collection[str],
    *,
    is_sourced: bool = False,
) -> None:
    """Write a script to the file of ``--output``, or to stdout.

    Args:
        is_sourced: shells source what this command prints. Where it goes into a pipe, a
            script that fails says that the step is in the file.

    Raises:
        EnvcfgError: as ``check_script``.
    """
    if wants_script(options):
        write(text)
        return
    from envcfg.safe_output import write_outputs

    data = text.encode("utf-8", "surrogateescape")
    # What is set may be a secret, and stands in the script.
    private = any(word is not None for _, word in options.changes)
    write_outputs([(_output(options, inputs), data)], mode=0o777, private=private)
    stdout = stream_descriptor(STDOUT) if is_sourced else None
    if stdout is not None and S_ISFIFO(os.fstat(stdout).st_mode):
        import shlex

        name = one_line(options.output)
        run = f"bash {shlex.quote(name)}"
        said = f"envcfg: error: {name} is written, and nothing is run"
        hint = f"  hint: run it: {run}, or leave out -o"
        write(failing_script([said, hint], EXIT_USAGE))
        return
    with Held() as held:
        held.finish()


def wants_script(options: argparse.Namespace) -> bool:
    """Tell whether a script is to stand on stdout, by the options of ``--output``."""
    if not options.output:
        return True
    from envcfg.safe_output import descriptor_of

    return descriptor_of(options.output) == STDOUT


def _output(options: argparse.Namespace, inputs: Collection[str]) -> Output:
    from envcfg.safe_output import Output

    return Output(options.output, "--output", "-o job.sh", inputs, force=options.force)
