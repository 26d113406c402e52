"""``envcfg wrap``: from a container and a command to the bash that runs them."""

from __future__ import annotations

import argparse
import sys

from envcfg.bash.host import render_job_part, render_script
from envcfg.bash.launch_line import render_launch_line
from envcfg.commands.options import add_table, made_by, read_step
from envcfg.commands.printing import (
    OUTPUT,
    check_script,
    put_script,
    say,
    tell,
    wants_script,
    write,
)
from envcfg.core.option import Option, Table, no_default, switch
from envcfg.core.step import plan_step
from envcfg.core.step_options import STEP
from envcfg.errors import UsageError

OPTIONS: Table = {
    "from a script": (
        Option("--from", metavar="SCRIPT", dest="script", spares="--container"),
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
        *OUTPUT,
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wrap``."""
    add_table(parser, OPTIONS)
    parser.set_defaults(wants_script=_wants_script)


def _wants_script(options: argparse.Namespace) -> bool:
    """Tell whether bash is to stand on stdout: a script that fails, where all fails."""
    return not options.json and options.what != "plan" and wants_script(options)


def run(options: argparse.Namespace) -> int:
    """Print or write what was asked for."""
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
    say(plan.notes)
    made = made_by(options.argv, step)
    if options.json:
        from envcfg.report.plan import plan_json

        write(plan_json(plan))
    elif options.what == "plan":
        from envcfg.report.plan import plan_text, print_table

        if sys.stdout.isatty():
            print_table(plan)
        else:
            write(plan_text(plan))
    elif options.what == "exec-line":
        write(render_launch_line(plan) + "\n")
    elif options.what == "job":
        write(render_job_part(plan, made))
    else:
        put_script(options, render_script(plan, made), step.inputs, is_sourced=True)
    return 0


def _convert(options: argparse.Namespace) -> int:
    """Print or write the script that replaces another one; say what is not in it."""
    if options.command is not None:
        msg = "--from takes the command from the script, and one stands behind --"
        raise UsageError(msg, hint="leave out one of them")
    if options.what != "script":
        msg = f"--from makes a script, so it excludes --print {options.what}"
        raise UsageError(msg, hint="--json has what it is made of")
    if not options.script:
        msg = "--from is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    from envcfg.core.conversion import convert_file

    check_script(options, [options.script])
    made = convert_file(
        options.script,
        vars(options),
        made_by=options.argv,
        drop_known=options.drop_known,
        tell=tell,
    )
    for each in made.variables:
        what = f"stays, and overrides the profile's {each.profile}"
        if each.is_removed:
            what = "is left out, as the profile sets it"
        elif each.value == each.profile:
            what = "is as the profile has it; --drop-known leaves the line out"
        tell(f"{options.script}:{each.line}: {each.name}={each.value}: {what}")
    if options.json:
        from envcfg.report.request import conversion_json

        write(conversion_json(made, options.script))
    else:
        put_script(options, made.script, [options.script], is_sourced=True)
    return 0
