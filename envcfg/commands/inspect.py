"""``envcfg inspect``: the contents of an image, and whether its libraries would load."""

import argparse
import sys

from envcfg.commands.formats import add_own, check_format, put_result
from envcfg.commands.option_arguments import add_defaults, use_defaults
from envcfg.common.errors import UsageError
from envcfg.common.findings import exit_code


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    add_own(parser, "inspect")
    add_defaults(parser, "profile", "container")


def run(options: argparse.Namespace) -> int:
    """Inspect the image, and print the facts."""
    use_defaults(options, *(["container"] if options.image else []))
    default = getattr(options, "container", "none")
    options.image = options.image or (None if default == "none" else default)
    _check(options)
    from envcfg.core.inspection import inspect

    inspected = inspect(
        options.image, profile=options.profile, writable=options.allow_writable
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
    elif options.image is None:
        msg = "no image is named"
        hint = "envcfg inspect IMAGE"
    elif options.facts and (options.json or options.format):
        msg = "--facts and --json or --format both write to stdout"
        hint = "leave one out"
    if msg:
        raise UsageError(msg, hint=hint)
    check_format(options)
