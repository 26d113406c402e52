"""envcfg for programs: what its commands do, as functions that return records.

What is the same for the commands is the same here: profiles are found in the same folders,
images are read, conditions decided. Nothing is printed, and nothing ends the process: what
a command says on stderr is in the records, and what it refuses is an ``EnvcfgError`` with a
``message`` and a ``hint``. ``as_json`` returns what the command's ``--json`` would print.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from envcfg.errors import EnvcfgError, UsageError

if TYPE_CHECKING:
    from envcfg.launch.plan import Plan
    from envcfg.log.expectations import Expectations
    from envcfg.log.verdict import LogReport
    from envcfg.profile.look.view import View
    from envcfg.report.findings import Result

__all__ = [
    "EnvcfgError",
    "UsageError",
    "as_json",
    "check_log",
    "lint",
    "load_profile",
    "make_plan",
    "profile_names",
    "render",
]

Path = str | os.PathLike[str]
_MADE_BY = ("envcfg.api.render",)


def profile_names() -> list[str]:
    """Return the names of all profiles that there are here, sorted.

    Raises:
        UsageError: the current folder is gone.
    """
    from envcfg.commands.options.selection import open_catalog

    return sorted(open_catalog(enforce=False).names())


def load_profile(name: Path, *, facts: Mapping[str, str] | None = None) -> View:
    """Return every value of a profile, with its reason and where it stands.

    Args:
        name: of a profile, or the path of a file.
        facts: what conditions may ask for (``rocm`` to ``6.2.4``).

    Raises:
        ProfileError: there is none, or something is wrong in it; ``findings`` say what.
        UsageError: for a fact that cannot be.
    """
    from envcfg.commands.options.selection import open_catalog
    from envcfg.commands.profiles.facts import known_facts
    from envcfg.profile.look.view import look_at

    catalog = open_catalog()
    known = os.fspath(name)
    profile = catalog.load(known)
    return look_at(profile, catalog.layers(known), known_facts(profile, facts or {}))


def make_plan(
    command: Sequence[str] = (),
    *,
    container: Path | None,
    profile: Path | None = None,
    launcher: str | None = None,
    ranks: int | None = None,
    settings: Mapping[str, str | None] | None = None,
    facts: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Plan:
    """Return what one job will do, as ``envcfg wrap`` would make it.

    Args:
        command: the program and its arguments; empty: a script of several steps.
        container: image file or URI; None: no container.
        profile: the system, by name or file; None: the one that is detected here.
        launcher: who starts the ranks; None: as the command shows.
        ranks: processes per node; None: as the job says.
        settings: variables and their values, in which ``${NAME}`` refers to a variable;
            None takes one away.
        facts: what conditions ask for, such as ``{"rocm": "6.2.4"}``.
        options: further words of ``envcfg wrap``, such as ``["--nccl-debug"]``.

    Returns:
        The plan; its ``notes`` are what the command would say on stderr.

    Raises:
        UsageError: something cannot be right; also ``ProfileError``.
    """
    from envcfg.commands.options.option import add_options
    from envcfg.commands.options.step import STEP, read_step
    from envcfg.commands.planning import plan_step
    from envcfg.parser import Parser

    given = {
        "container": "none" if container is None else os.fspath(container),
        "profile": None if profile is None else os.fspath(profile),
        "launcher": launcher,
        "ranks": None if ranks is None else str(ranks),
    }
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    for name, value in (settings or {}).items():
        words.append(f"--unset={name}" if value is None else f"--set={name}={value}")
    words += [f"--fact={name}={value}" for name, value in (facts or {}).items()]
    parser = Parser(prog="envcfg.api.make_plan", add_help=False, allow_abbrev=False)
    add_options(parser, STEP)
    read = parser.parse_args([*words, *options])
    step = read_step(read, tuple(command) or None, 'make_plan(["python", "train.py"])')
    return plan_step(step)


def render(plan: Plan, made_by: Sequence[str] = _MADE_BY) -> str:
    """Return the bash of *plan*, which can be sourced, run or submitted.

    Args:
        plan: of ``make_plan``.
        made_by: the words of a command that makes it again, for its header.

    Raises:
        UsageError: a part of it is too long to be started.
    """
    from envcfg.bash.host import render_script

    return render_script(plan, made_by)


def check_log(
    *files: Path,
    profile: Path | None = None,
    expect: Expectations | None = None,
) -> LogReport:
    """Return what the log of a job says of its network, for every rank.

    Args:
        files: of one job or several; folders and patterns, too.
        profile: the system, whose ``expect`` the log must show.
        expect: the same, said by you (``envcfg.log.expectations.Expectations``); it takes
            the place of the profile's.

    Raises:
        UsageError: no file is given; also ``ProfileError``.
        OutputError: one cannot be read.
    """
    from envcfg.commands.options.selection import open_catalog
    from envcfg.log.expectations import Expectations, expectations_of
    from envcfg.log.files import check_files
    from envcfg.log.rulebook import Rulebook, load_rules
    from envcfg.log.source import expand

    if not files:
        msg = "no log given"
        raise UsageError(msg, hint='check_log("slurm-123.out")')
    wanted = expect or Expectations()
    if profile is not None and expect is None:
        wanted = expectations_of(open_catalog().load(os.fspath(profile)))
    names = expand([os.fspath(each) for each in files])
    return check_files(names, Rulebook(load_rules()), wanted)


def lint(
    *files: Path,
    profile: Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Result:
    """Return what is wrong in job scripts and environments, by file.

    Args:
        files: scripts, outputs of env, folders.
        profile: the system; None: the one of which a script shows two signs, if any.
        select: beginnings of the rules that count; empty: all.
        ignore: beginnings of those that do not.

    Raises:
        UsageError: there is no such rule; also ``ProfileError``.
        OutputError: a file cannot be read.
    """
    from envcfg.commands.lint import find_faults

    names = [os.fspath(each) for each in files]
    system = None if profile is None else os.fspath(profile)
    return find_faults(names, profile=system, select=select, ignore=ignore)


def as_json(record: Plan | LogReport | Result | View) -> dict[str, Any]:
    """Return a record as the ``--json`` of its command has it; docs/ has the schemas.

    Raises:
        TypeError: it is no record of this module.
    """
    import json

    from envcfg.launch.plan import Plan
    from envcfg.log.verdict import LogReport
    from envcfg.profile.look.view import View
    from envcfg.report.findings import Result

    if isinstance(record, Plan):
        from envcfg.report.plan import plan_json

        text = plan_json(record)
    elif isinstance(record, LogReport):
        from envcfg.report.log.json import log_json

        text = log_json(record)
    elif isinstance(record, View):
        from envcfg.report.profile.view import view_json

        text = view_json(record)
    else:
        from envcfg.report.findings import write_findings

        text = write_findings(_checked(record, Result), "json")
    document: dict[str, Any] = json.loads(text)
    return document


def _checked(record: object, kind: type[Result]) -> Result:
    if isinstance(record, kind):
        return record
    msg = f"{type(record).__name__} is no record of envcfg.api"
    raise TypeError(msg)
