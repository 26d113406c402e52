"""``envcfg jobs``: the verdicts, causes and costs of many jobs, by their logs."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from envcfg.commands.formats import add_own
from envcfg.commands.printing import tell
from envcfg.common.characters import one_line
from envcfg.common.errors import UsageError
from envcfg.common.failure import STDOUT
from envcfg.log.numbers import count_of

if TYPE_CHECKING:
    from envcfg.common.safe_output import Output
    from envcfg.core.many_jobs import ReadLogs
    from envcfg.jobs.store import Store

_UNREAD = 3  # exit code: the answer is incomplete
_NAMED = 5  # unreadable files in messages


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``jobs``."""
    add_own(parser, "jobs")


def run(options: argparse.Namespace) -> int:
    """Read, select and print; return 3 if a log could not be read."""
    part, page = _check(options), _page(options)
    # The database and the rules take time, which a wrong command line does not need.
    from envcfg.core.many_jobs import add_accounting, read_logs
    from envcfg.jobs.selection import sql_condition
    from envcfg.jobs.store import Store

    where = sql_condition(options.where) if options.where is not None else ("1", [])
    store = Store(options.store or "", is_made=not options.paths)
    unreadable: Mapping[str, str] = {}
    if options.paths:
        facts = read_logs(store, options.paths, _show_progress(), part)
        unreadable = facts.skipped.unreadable
        _tell_facts(facts)
    if options.paths or options.accounting:
        for note in add_accounting(store, options.accounting, part):
            tell(note)
    store.where, store.values = where
    if options.where is not None and next(store.records(), None) is None:
        tell(f"no job with {options.where}", "envcfg jobs without --where shows all")
    if options.anonymous:
        store = _anonymous(store)
    _put(options, store, page)
    return _UNREAD if unreadable else 0


def _check(options: argparse.Namespace) -> tuple[int, int]:
    """Return the part to read; raise if the options do not fit together."""
    example = "envcfg jobs --store jobs.db logs/"
    if not options.paths and not options.store:
        msg = "no folder or log given"
        raise UsageError(msg, hint=example)
    if "" in options.paths:
        msg = "the name of a folder is empty"
        raise UsageError(msg, hint="is the variable set that it comes from?")
    if options.part is None:
        return 1, 1
    match = re.fullmatch(r"(\d{1,5})/(\d{1,5})", options.part)
    number, count = map(int, match.groups()) if match else (0, 0)
    if not 0 < number <= count:
        msg = f"--part: {options.part!r} is not I/N with I from 1 to N"
        raise UsageError(msg, hint="as in --part 1/4")
    return number, count


def _tell_facts(facts: ReadLogs) -> None:
    others, unreadable = facts.skipped.others, facts.skipped.unreadable
    old = f", {facts.files - facts.read} unchanged" if facts.files != facts.read else ""
    left_out = f"; {count_of(others, 'other file')} left out" if others else ""
    tell(f"{count_of(facts.files, 'log')}{old}{left_out}")
    for path, error in [*unreadable.items()][:_NAMED]:
        tell(f"{one_line(path)}: {error}", severity="warning")
    if unreadable:
        text = f"{count_of(len(unreadable), 'name')} could not be read"
        tell(text, "jobs with such a file are inconclusive", severity="warning")


def _show_progress() -> Callable[[int, int], None]:
    """Return a function that shows the files per second and the time left."""
    from envcfg.report.styled import is_screen

    began = time.monotonic()

    def show(done: int, total: int) -> None:
        rate = done / max(time.monotonic() - began, 0.001)
        left = (total - done) / max(rate, 0.001)
        text = (
            f"{done:,} of {total:,} files, {rate:.0f} files/s, {left / 60:.1f} min left"
        )
        sys.stderr.write(f"\r{text}\x1b[K" if done < total else "\r\x1b[K")
        sys.stderr.flush()

    return show if is_screen(sys.stderr) else lambda _done, _total: None


def _anonymous(store: Store) -> Store:
    """Return the selected jobs of *store* as a store without names."""
    from envcfg.jobs.anonymous import read_key, without_names

    hidden = type(store)()
    hidden.put([*without_names(store.records(), read_key(store.path))])
    return hidden


def _page(options: argparse.Namespace) -> Output | None:
    """Return the destination of the page, checked to be writable."""
    if options.html is None:
        return None
    from envcfg.common.safe_output import Output, check_outputs

    inputs = [*options.paths, *filter(None, (options.store, options.accounting))]
    page = Output(
        options.html, "--html", "--html jobs.html", inputs, force=options.force
    )
    check_outputs([page])
    return page


def _put(options: argparse.Namespace, store: Store, page: Output | None) -> None:
    """Write the answer to stdout, and the page."""
    if page:
        from envcfg.common.safe_output import descriptor_of, write_outputs
        from envcfg.report.jobs.jobs_html import jobs_html

        write_outputs([(page, jobs_html(store).encode())])
        if descriptor_of(page.name) == STDOUT:
            return
    if options.ids:
        _write(f"{record.id}\n" for record in store.records() if record.id)
    elif options.part or options.format != "text":
        from envcfg.report.jobs.jobs_data import data_lines

        form = "part" if options.part else options.format
        _write(data_lines(store, form, options.by))
    else:
        from envcfg.report.jobs.jobs_text import text_lines
        from envcfg.report.styled import put

        put(text_lines(store, options.by))


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line)
    sys.stdout.flush()
