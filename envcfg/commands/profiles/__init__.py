"""``envcfg profiles``: the actions that only read profiles."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from envcfg.backends.launchers import LAUNCHERS
from envcfg.commands import add_command
from envcfg.commands.arguments.parser import Parser
from envcfg.commands.formats import add_format, put_result
from envcfg.commands.printing import say, tell
from envcfg.commands.profiles import new, probe
from envcfg.common.characters import one_line
from envcfg.common.errors import ProfileError, UsageError
from envcfg.core.option_values import read_pair
from envcfg.core.selection import detect_system, files_of_others, open_catalog
from envcfg.profile.catalog import Catalog
from envcfg.report.styled import put
from envcfg.site.machine import job_kind, scheduler_here


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``profiles``, each with its options."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", prog="envcfg profiles", parser_class=Parser
    )
    for name, (add, _) in ACTIONS.items():
        add_command(actions, name, add, path="profiles.")


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    if options.action is None:
        msg = "no action given"
        raise UsageError(msg, hint=f"envcfg profiles {'|'.join(ACTIONS)}")
    # The output of new is used later, so files of others are left out; the other
    # actions only show them.
    catalog = open_catalog(policy="leave out" if options.action == "new" else "show")
    code = ACTIONS[options.action][1](options, catalog)
    sys.stdout.flush()
    say(files_of_others(catalog))
    return code


def _add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option of actions with JSON output."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def _list(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print the usable profiles, and the problems of the others."""
    from shutil import get_terminal_size

    from envcfg.profile.look.survey import survey
    from envcfg.report.profile.profile_list import list_json, list_lines

    summaries, problems = survey(catalog)
    if options.json:
        sys.stdout.write(list_json(summaries, problems))
    else:
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        put(list_lines(summaries, width))
    if not problems:
        return 0
    sys.stdout.flush()
    sys.stderr.write("\n".join(ProfileError(problems).lines()) + "\n")
    return 1


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME|FILE", help="profile")
    _add_facts(parser)


def _show(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print the profile."""
    from envcfg.core.profiles import show
    from envcfg.report.profile.profile_view import view_json, view_lines

    view = show(catalog, options.name, **_facts_of(options))
    if options.json:
        sys.stdout.write(view_json(view))
    else:
        put(view_lines(view))
    return 0


def _add_facts(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide conditions."""
    parser.add_argument(
        "--fact",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=read_pair,
        help="state what a condition asks for, as in rocm=6.2.4; may be repeated",
    )
    parser.add_argument(
        "--launcher",
        metavar="NAME",
        choices=LAUNCHERS,
        help=f"who starts the ranks: {', '.join(LAUNCHERS)}",
    )
    parser.add_argument(
        "--container", metavar="IMAGE", help="image file or URI; none: no container"
    )
    _add_json(parser)


def _facts_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the facts of the options, for ``core.profiles.show``."""
    return {
        "facts": dict(options.fact),
        "image": options.container,
        "launcher": options.launcher,
    }


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="A", help="profile, or file of one")
    parser.add_argument("new", metavar="B", help="the same")
    _add_facts(parser)


def _diff(options: argparse.Namespace, catalog: Catalog) -> int:
    """Print the differences."""
    from envcfg.core.profiles import compare
    from envcfg.report.document import json_text
    from envcfg.report.profile.profile_view import diff_lines

    compared = compare(catalog, options.old, options.new, **_facts_of(options))
    if options.json:
        sys.stdout.write(json_text(compared))
    else:
        put(diff_lines(*compared))
    return int(bool(compared.differences))


def _add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="profile, or folder of profiles"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="warnings fail too; notes name limits that end within 60 days",
    )
    add_format(parser)


def _validate(options: argparse.Namespace, catalog: Catalog) -> int:
    """Check every file, and print its problems."""
    from envcfg.core.profiles import validate

    result = validate(catalog, options.files, aging=options.strict)
    return put_result(result, options.format, strict=options.strict)


def _detect(options: argparse.Namespace, catalog: Catalog) -> int:
    """Ask every profile, and print the answers."""
    from envcfg.report.profile.profile_list import detect_json, detect_lines

    detected = detect_system(catalog)
    answers, broken = detected.detection.matches, detected.detection.broken
    if options.json:
        sys.stdout.write(detect_json(*detected))
    else:
        put(detect_lines(*detected))
        if choice := os.environ.get("ENVCFG_PROFILE"):
            put([("yellow", f"ENVCFG_PROFILE={choice} goes before this")])
    sys.stdout.flush()
    if len(answers) > 1:
        hint = "choose one with --profile or ENVCFG_PROFILE"
        tell("more than one profile fits", hint, severity="error")
    elif not answers and not os.environ.get("ENVCFG_PROFILE"):
        hint = "choose one with --profile; envcfg profiles list shows all"
        if job := job_kind():
            then = f"wrap asks for one in a {job} job"
        elif scheduler := scheduler_here():
            then = f"wrap and job read this cluster from {scheduler.title}"
            hint = (
                "envcfg profiles show here reads it now; or choose one with --profile"
            )
        else:
            then = "workstation will be used"
        tell(f"no profile fits; {then}", hint)
    for path in map(one_line, broken):
        hint = f"envcfg profiles validate {path} says what is wrong"
        tell(f"{path}: cannot be used, and was not asked", hint, severity="warning")
    return {0: 3, 1: 0}.get(len(answers), 2)


# By name, in the order of the help: the function for its options, and the action.
ACTIONS: Mapping[str, tuple[Callable[[Any], None], Callable[..., int]]] = {
    "list": (_add_json, _list),
    "show": (_add_show, _show),
    "validate": (_add_validate, _validate),
    "diff": (_add_diff, _diff),
    "new": (new.add_options, new.run),
    "detect": (_add_json, _detect),
    "probe": (probe.add_options, probe.run),
}
