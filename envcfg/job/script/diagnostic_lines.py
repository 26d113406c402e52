"""The lines of the rank part for diagnostics; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.common.secrets import is_secret
from envcfg.job.plan.diagnostics import is_path
from envcfg.job.plan.plan import Options, Plan
from envcfg.job.script.quoting import quote, quote_always, quote_word
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Bundle, Setting
from envcfg.profile.setting_scope import FIXED
from envcfg.profile.words import Word, format_word, parse_word, references


def setup_text(setup: str) -> str:
    """Return the commands that prepare the program's environment, or their file."""
    # bash searches PATH for a name without a slash.
    return f"./{setup}" if setup and is_path(setup) and "/" not in setup else setup


def rank_data(options: Options) -> str:
    """Return the ranks that the modules examine."""
    text = ""
    if ranks := options.report_environment:
        text += f"  envcfg_reported=' {_ranks(ranks)} '\n"
    if ranks := options.profile_rank:
        name = next(_profiler(options))
        text += f"  envcfg_profiled=' {_ranks(ranks)} '\n"
        text += f"  envcfg_last={max(ranks)}\n  envcfg_profiler={name}\n"
    return text


def profiler_lines(options: Options) -> str:
    """Return the lines that put the profiler before the program in a selected rank."""
    words = " ".join(_profiler(options))
    return f'case $envcfg_profiled in *" $RANK "*)\n  set -- {words} "$@" ;;\nesac\n'


def _profiler(options: Options) -> Iterator[str]:
    for word in options.profiler_words:
        yield quote_word(word, "--profiler", ("RANK", "ENVCFG_JOB"))


def planned_lines(settings: Sequence[Setting], bundles: Sequence[Bundle]) -> str:
    """Return the expected environment of a rank: name, value, condition."""
    rows = [
        (setting.name, case.value, case.when)
        for setting in settings
        for case in setting.cases
    ]
    rows += [
        (name, value, bundle.when)
        for bundle in bundles
        for name, value in bundle.env.items()
    ]
    lines = "".join(
        f" \\\n    {name} {_value(value)} {quote(_when(tests))}"
        for name, value, tests in rows
        if not is_secret(name, format_word(value or ()))
    )
    function = f"envcfg_plan() {{\n  printf '%s\\0'{lines}\n}}\n"
    return f"# The plan: name, value, when.\n{function}"


def _value(value: Word | None) -> str:
    return "-" if value is None else quote_always(f"={format_word(value)}")


def _when(tests: Condition) -> str:
    return ",".join(f"{test.fact}{test.operator}{test.operand}" for test in tests)


def _ranks(ranks: Sequence[int]) -> str:
    return " ".join(str(rank) for rank in ranks)


def taken_names(plan: Plan) -> list[str]:
    """Return the variables that a step takes from the job's shell, exported or not.

    A step passes on the job's values for the names of the plan, and expands the
    references in the plan's values. Therefore all values come first, then the names
    that are set, then the names in the values. Binds and exports come only with a
    container. Variables that cannot be set, and envcfg's own, are left out.
    """
    words = [b.value for setting in plan.settings for b in setting.cases if b.value]
    words += [value for bundle in plan.bundles for value in bundle.env.values()]
    words += [plan.scratch.root, plan.scratch.disk or ()] if plan.scratch else []
    names = {"MASTER_ADDR", "MASTER_PORT"}
    names |= {setting.name for setting in plan.settings}
    names |= {name for bundle in plan.bundles for name in bundle.env}
    names |= {name for word in words for name in references(word)}
    if plan.container:
        names |= {export.name for export in plan.container.exports}
        binds = (bind.bind for bind in plan.container.binds)
        sources = (parse_word(bind.source) for bind in binds if bind.refers)
        names |= {name for word in sources for name in references(word)}
    return sorted(name for name in names - FIXED if not name.startswith("ENVCFG_"))
