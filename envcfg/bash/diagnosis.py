"""What a rank part holds where a job is asked to tell more of itself; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.bash.quoting import quote, quote_always, quote_word
from envcfg.launch.diagnostics import Diagnostics, is_path
from envcfg.launch.environment import is_secret
from envcfg.launch.plan import Plan, Planned, PlannedBundle
from envcfg.profile.conditions import Condition
from envcfg.profile.scope import FIXED
from envcfg.profile.words import Word, format_word, parse_word, references


def rank_modules(asked: Diagnostics, *, is_setup: bool = False) -> Iterator[str]:
    """Yield the modules for what is asked in each rank: its preparation, or the rest."""
    if is_setup:
        if asked.setup:
            yield "setup_file" if is_path(asked.setup) else "setup"
        return
    if asked.affinity:
        yield "affinity"
    if asked.reported:
        yield "report"
    if asked.profiled:
        yield "profiler"


def setup_lines(asked: Diagnostics) -> str:
    """Return what prepares the program's environment, as ``--setup`` gives it."""
    setup = asked.setup
    if setup and is_path(setup):
        path = setup if "/" in setup else f"./{setup}"  # no search on PATH
        return f"envcfg_file={quote(path)}\n"
    if setup:
        given = "# shellcheck disable=all # as it was given by --setup"
        return f"{given}\nenvcfg_setup() {{\n{setup}\n}}\n"
    return ""


def rank_data(asked: Diagnostics) -> str:
    """Return which ranks the modules are to look at."""
    text = f"envcfg_reported=' {_ranks(asked.reported)} '\n" if asked.reported else ""
    if asked.profiled:
        name = quote_word(asked.profiler[0], "--profiler", ("RANK", "ENVCFG_JOB"))
        text += f"envcfg_profiled=' {_ranks(asked.profiled)} '\n"
        text += f"envcfg_last={max(asked.profiled)}\nenvcfg_profiler={name}\n"
    return text


def profiler_lines(asked: Diagnostics) -> str:
    """Return what puts the profiler's words before the program's in a chosen rank."""
    words = " ".join(
        quote_word(word, "--profiler", ("RANK", "ENVCFG_JOB"))
        for word in asked.profiler
    )
    return f'case $envcfg_profiled in *" $RANK "*)\n  set -- {words} "$@" ;;\nesac\n'


def planned_lines(settings: Sequence[Planned], bundles: Sequence[PlannedBundle]) -> str:
    """Return the list that a rank's environment is held against: name, value, when."""
    rows = [
        (each.name, case.value, case.when) for each in settings for case in each.cases
    ]
    rows += [
        (name, value, bundle.when)
        for bundle in bundles
        for name, value in bundle.env.items()
    ]
    lines = "".join(
        f"  {name} {_value(value)} {quote(_when(tests))}\n"
        for name, value, tests in rows
        if not is_secret(name, format_word(value or ()))
    )
    return f"ENVCFG_PLANNED=( # name, value, when\n{lines})\n"


def _value(value: Word | None) -> str:
    return "-" if value is None else quote_always(f"={format_word(value)}")


def _when(tests: Condition) -> str:
    return ",".join(f"{test.fact}{test.operator}{test.operand}" for test in tests)


def _ranks(ranks: Sequence[int]) -> str:
    return " ".join(str(rank) for rank in ranks)


def taken_names(plan: Plan) -> list[str]:
    """Return the variables that a step takes from the job's shell, exported or not.

    A step hands on what the job has set for the names of the plan, and expands what the
    values of the plan refer to. So: all values first, then the names that are set, then the
    names in the values; binds and exports come only with a container. Not what nobody can
    set, and not what is envcfg's own.
    """
    words = [b.value for each in plan.settings for b in each.cases if b.value]
    words += [value for each in plan.bundles for value in each.env.values()]
    words += [plan.scratch.root, plan.scratch.disk or ()] if plan.scratch else []
    names = {"MASTER_ADDR", "MASTER_PORT"}
    names |= {each.name for each in plan.settings}
    names |= {name for each in plan.bundles for name in each.env}
    names |= {name for word in words for name in references(word)}
    if plan.container:
        names |= {each.name for each in plan.container.exports}
        binds = (each.bind for each in plan.container.binds)
        sources = (parse_word(each.source) for each in binds if each.refers)
        names |= {name for word in sources for name in references(word)}
    return sorted(each for each in names - FIXED if not each.startswith("ENVCFG_"))
