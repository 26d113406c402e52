"""``envcfg wrap``: write the bash that runs a command in a container."""

from __future__ import annotations

import argparse
import sys

from envcfg.commands.option_arguments import add_table, made_by, read_step
from envcfg.commands.printing import (
    OUTPUT,
    check_script,
    machinery_place,
    put_script,
    save_machinery,
    say_notes,
    tell,
    wants_script,
    write,
)
from envcfg.common.characters import one_line
from envcfg.common.errors import UsageError
from envcfg.core.option import Option, Table, no_default, number_of, switch
from envcfg.core.step import plan_step
from envcfg.core.step_options import STEP
from envcfg.job.plan.script_files import Files
from envcfg.job.script.host_part import render_files, render_job_part
from envcfg.job.script.launch_line import render_launch_line

OPTIONS: Table = {
    "from a script": (
        Option("--from", metavar="SCRIPT", dest="script", spares="--container"),
        Option("--line", metavar="N", kind="many", read=number_of("lines")),
        switch("--drop-known"),
        switch("--launch-line", spares="--container"),
    ),
    **STEP,
    "what to print": (
        Option(
            "--print",
            "default: script",
            choices=("script", "job", "plan", "exec-line"),
            default="script",
            dest="what",
        ),
        no_default(STEP),
        switch("--json", "the plan as JSON"),
        switch("--inline"),
        *OUTPUT,
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wrap``."""
    add_table(parser, OPTIONS)
    parser.set_defaults(wants_script=_wants_script)


def _wants_script(options: argparse.Namespace) -> bool:
    """Return whether bash goes to stdout; after an error, that is a script that fails."""
    return not options.json and options.what != "plan" and wants_script(options)


def run(options: argparse.Namespace) -> int:
    """Print or write the script or plan."""
    if options.output is not None and (options.json or options.what != "script"):
        msg = "-o writes the script, so it excludes --json and --print"
        raise UsageError(msg, hint="redirect stdout to a file instead")
    if options.script is not None:
        return _convert(options)
    if options.launch_line and not options.command:
        msg = "--launch-line, but no launch line stands behind --"
        raise UsageError(
            msg, hint="as in -- srun singularity exec x.sif python train.py"
        )
    example = "envcfg wrap --container pytorch.sif -- python train.py"
    step = read_step(options, example, is_line=options.launch_line)
    check_script(options, step.inputs)
    plan = plan_step(step)
    say_notes(plan.notes, about=step.profile_and_image, verbose=options.verbose)
    origin = made_by(options.argv, step)
    if options.json:
        from envcfg.report.plan_report import plan_json

        write(plan_json(plan))
    elif options.what == "plan":
        from envcfg.report.plan_report import plan_lines
        from envcfg.report.styled import put

        put(("", line) for line in plan_lines(plan))
        sys.stdout.flush()
    elif options.what == "exec-line":
        write(render_launch_line(plan) + "\n")
    elif options.what == "job":
        write(render_job_part(plan, origin))
    else:
        place = None if options.inline else machinery_place(options, origin)
        files = render_files(plan, origin, place)
        put_script(options, files, step.inputs, is_sourced=True)
    return 0


def _convert(options: argparse.Namespace) -> int:
    """Print or write the converted script; list the parts that are not in it."""
    if options.command is not None:
        msg = "--from takes the command from the script, and one stands behind --"
        raise UsageError(msg, hint="leave out one of them")
    if options.what != "script":
        msg = f"--from makes a script, so it excludes --print {options.what}"
        raise UsageError(msg, hint="--json has what it is made of")
    if not options.script:
        msg = "--from is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    from envcfg.core.script_conversion import convert_file

    check_script(options, [options.script])
    place = None if options.inline else machinery_place(options, options.argv)
    conversion = convert_file(
        options.script,
        vars(options),
        made_by=options.argv,
        drop_known=options.drop_known,
        named_lines=options.line,
        place=place,
        tell=tell,
    )
    for line in conversion.lines:
        if line.added:
            options_added = " ".join(line.added)
            where = f"{options.script}:{line.line}"
            tell(f"{where}: added to the line if the job allows it: {options_added}")
    for variable in conversion.variables:
        effect = f"stays, and overrides the profile's {variable.profile}"
        if variable.is_removed:
            effect = "is left out, as the profile sets it"
            if not variable.profile:
                effect = "is left out, as each rank gets its own value"
        elif variable.value == variable.profile:
            effect = "is as the profile has it; --drop-known leaves the line out"
        setting = "=".join(filter(None, (variable.name, variable.value)))
        tell(f"{options.script}:{variable.line}: {setting}: {effect}")
    if options.json:
        from envcfg.report.request_report import conversion_json

        write(conversion_json(conversion, options.script))
    else:
        for text in conversion.machineries:
            save_machinery(
                options, Files("", text), f"{one_line(options.output)} needs"
            )
        put_script(
            options, Files(conversion.script, ""), [options.script], is_sourced=True
        )
    return 0
