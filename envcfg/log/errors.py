"""Errors in their order: of several, the first in time is the cause."""

from __future__ import annotations

from collections.abc import Iterable

from envcfg.log.job import Job, Occurrence


def first_errors(job: Job, *, warned: bool) -> list[Occurrence]:
    """Return the errors that no other explains, the first in time first.

    That is the first of each node, unless lines tell their time: then one that came later
    than another may follow from it. What ended the program is a cause where nothing else
    is.

    Args:
        job: what the log said.
        warned: a warning that no rule knows is a cause, too.
    """
    firsts = list({id(o): o for o in job.first_errors.values()}.values())
    if not firsts and not warned:
        firsts = list({id(o): o for o in job.first_ends.values()}.values())
    firsts = in_order(firsts)
    if firsts and all(each.time for each in firsts):
        return [each for each in firsts if each.time[:19] == firsts[0].time[:19]]
    return firsts


def in_order(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Return *occurrences* as they came: by time where all tell it, else as they stand."""
    given = sorted(occurrences, key=lambda each: each.order)
    if all(each.time for each in given):
        return sorted(given, key=lambda each: (each.time[:10], each.time[11:23]))
    return given
