"""``envcfg inspect``: the contents of an image, and whether its libraries would load."""

import argparse
import sys

from envcfg.commands.formats import STRICT, check_format, format_option, put_result
from envcfg.commands.option_arguments import add_defaults, add_option, use_defaults
from envcfg.common.errors import UsageError
from envcfg.common.findings import exit_code
from envcfg.core.option import Option


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    parser.add_argument(
        "image", metavar="IMAGE", nargs="?", help="file, folder or name"
    )
    facts = "print only --fact options for wrap and job"
    add_option(parser, Option("--json", "the full report, as JSON", kind="switch"))
    add_option(parser, Option("--facts", facts, kind="switch"))
    add_option(parser, format_option("print only the problems"))
    add_option(parser, STRICT)
    binds = "lay this system's binds over the image (default: $ENVCFG_PROFILE, or none)"
    hosts = "take the libraries of the host from here (default: those of this machine)"
    add_option(parser, Option("--profile", binds, "NAME|FILE"))
    add_option(parser, Option("--host-file", hosts, "FILE"))
    host = "describe this machine, not an image, as JSON"
    output = "with --host: write to FILE; -: stdout"
    force = "with -o: replace a file that envcfg did not write"
    add_option(parser, Option("--host", host, kind="switch"))
    add_option(parser, Option("--output", output, "FILE", short="-o"))
    add_option(parser, Option("--force", force, kind="switch"))
    add_defaults(parser, "profile", "container")


def run(options: argparse.Namespace) -> int:
    """Inspect the image or this machine, and print the facts."""
    if not options.host:
        use_defaults(options, *(["container"] if options.image else []))
        default = getattr(options, "container", "none")
        options.image = options.image or (None if default == "none" else default)
    _check(options)
    if options.host:
        from envcfg.common.safe_output import Output, check_outputs, write_outputs
        from envcfg.image.host_libraries import read_host
        from envcfg.report.image_report import host_json

        name = "-" if options.output is None else options.output
        output = Output(name, "--output", "-o host.json", force=options.force)
        check_outputs([output])
        write_outputs([(output, host_json(read_host()).encode())])
        return 0
    from envcfg.core.inspection import inspect, read_host_file

    host = read_host_file(options.host_file) if options.host_file is not None else None
    inspected = inspect(
        options.image,
        profile=options.profile,
        host=host,
        writable=options.allow_writable,
    )
    findings = inspected.inspection.findings
    if options.format:
        from envcfg.common.findings import Result

        result = Result({options.image: findings})
        return put_result(result, options.format, strict=options.strict)
    if options.json:
        from envcfg.report.image_report import inspection_json

        sys.stdout.write(inspection_json(*inspected))
    else:
        from envcfg.report.image_report import fact_words, inspection_lines
        from envcfg.report.styled import put

        inspection = inspected.inspection
        put(
            [("", fact_words(inspection))]
            if options.facts
            else inspection_lines(inspection)
        )
    sys.stdout.flush()
    return exit_code(findings)


def _check(options: argparse.Namespace) -> None:
    """Raise ``UsageError`` if options exclude each other."""
    msg = hint = ""
    if options.command:
        msg, hint = "envcfg inspect takes no command", "envcfg inspect IMAGE"
    elif options.host and options.image:
        msg = "--host looks at this machine, not at an image"
        hint = "leave out one of them"
    elif not options.host and options.image is None:
        msg = "no image is named"
        hint = "envcfg inspect IMAGE, or --host for this machine"
    elif (options.output is not None or options.force) and not options.host:
        msg = "-o and --force belong to --host"
        hint = "an image goes to stdout: envcfg inspect --json IMAGE"
    elif options.facts and (options.json or options.format):
        msg = "--facts and --json or --format both write to stdout"
        hint = "leave one out"
    if msg:
        raise UsageError(msg, hint=hint)
    check_format(options)
