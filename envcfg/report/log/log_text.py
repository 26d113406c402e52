"""The answer on a log as text: a sentence, the ranks, findings, open questions."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from envcfg.common.characters import text_width
from envcfg.common.findings import Finding
from envcfg.log.bugs import Bugs
from envcfg.log.numbers import count_of, grouped, number_ranges
from envcfg.log.read.process_facts import clip
from envcfg.log.verdict import WORST_FIRST, JobReport, JobRow, LogReport, RankReport
from envcfg.report.styled import wrapped

# One cell per rank; letters distinguish verdicts without colours.
CELLS = {"ok": "=", "degraded": "d", "broken": "B", "inconclusive": "?"}
MISSING = "."
_STYLES = {
    "ok": "green",
    "degraded": "yellow",
    "broken": "red bold",
    "inconclusive": "cyan",
}
_FIRST = 160  # characters of the first line
_NODES = 24  # above this number, equal nodes are folded
_NAME = 32  # characters of a job's name in a table
Line = tuple[str, str]  # a text and its style


def log_lines(report: LogReport, bugs: Bugs | None = None) -> Iterator[Line]:
    """Yield the lines of the report, each with its style.

    Args:
        report: the answer on a log.
        bugs: collects bugs; one section may then be missing.
    """
    bugs = bugs or Bugs()
    # Lists of jobs and mails show the first line alone.
    first, *rest = textwrap.wrap(report.summary, _FIRST, break_on_hyphens=False) or [""]
    yield first, _STYLES[report.verdict]
    for line in rest:
        yield f"  {line}", _STYLES[report.verdict]
    # Each section runs separately: a bug in one must not hide the others.
    for part, section in _SECTIONS.items():
        yield from bugs.attempt(part, lambda: list(section(report)), [])  # noqa: B023


def _all_jobs(report: LogReport) -> Iterator[Line]:
    if report.jobs:
        yield from _jobs(report.jobs)
        yield "", ""


def _fact_lines(report: LogReport) -> Iterator[Line]:
    yield from (("  " + line, "") for line in _facts(report))


def _ranks(report: LogReport) -> Iterator[Line]:
    if report.ranks:
        yield "", ""
        yield from _picture(report)


def _causes(report: LogReport) -> Iterator[Line]:
    # Causes come before their effects, because only causes can be repaired.
    for finding in report.findings:
        if finding.cause:
            yield "", ""
            yield from _finding(finding)


def _effects(report: LogReport) -> Iterator[Line]:
    following = [finding for finding in report.findings if not finding.cause]
    if following:
        yield "", ""
        yield "follows from the above", "bold"
    for finding in following:
        where = f" ({finding.evidence})" if finding.evidence else ""
        yield f"  {finding.rule}: {finding.message}{where}", ""


def _unknowns(report: LogReport) -> Iterator[Line]:
    if report.unknowns:
        yield "", ""
        yield "what the log does not show", "bold"
    for message, remedy in report.unknowns:
        yield from ((line, "") for line in wrapped(message, "  - ", "    "))
        yield from (
            (line, "dim") for line in wrapped(remedy, "    to find out: ", "      ")
        )


def _next(report: LogReport) -> Iterator[Line]:
    yield "", ""
    if report.next.fingerprint:
        yield f"fingerprint: {report.next.fingerprint}", "dim"
    yield f"next: {report.next.words}", "bold"


# The sections of the report in order, with names for messages about bugs.
_SECTIONS: Mapping[str, Callable[[LogReport], Iterator[Line]]] = {
    "the table of jobs": _all_jobs,
    "the table of facts": _fact_lines,
    "the picture of the ranks": _ranks,
    "the findings": _causes,
    "the list of consequences": _effects,
    "the list of open questions": _unknowns,
    "the line on the next step": _next,
}


def _jobs(jobs: Sequence[JobRow]) -> Iterator[Line]:
    """Yield one line per job, worst first."""
    ordered = sorted(jobs, key=lambda job_row: WORST_FIRST.index(job_row.verdict))
    # A long summary is cut, because the table needs one line per job.
    room = text_width()
    wide = min(_NAME, max(len(job_row.name) for job_row in ordered))
    for name, verdict, summary in ordered:
        yield clip(f"  {clip(name, wide):<{wide}}  {summary}", room), _STYLES[verdict]


def _facts(report: LogReport) -> Iterator[str]:
    job = report.job
    if job.networks:
        names = ", ".join(
            # The number of ranks matters only if they use different networks.
            f"{name} ({count})" if len(job.networks) > 1 else name
            for name, count in job.networks.items()
        )
        provider = f" over {job.provider}" if job.provider else ""
        yield f"network     {names}{provider}; GPU RDMA: {job.gdr}"
    if job.plugin.name or job.plugin.loaded != "unknown":
        name = " ".join(part for part in (job.plugin.name, job.plugin.version) if part)
        yield f"plugin      {name or 'name unknown'}; loaded by: {job.plugin.loaded}"
    for use, interfaces in job.interfaces.items():
        if interfaces:
            # The list is limited: a node may have many interfaces.
            yield f"{use:<11} {', '.join(interfaces[:8])}"
    if progress := progress_of(job):
        yield f"progress    {progress}"
    if job.versions:
        versions = (
            f"{lib} {', '.join(version)}" for lib, version in job.versions.items()
        )
        yield f"versions    {'; '.join(versions)}"


def progress_of(job: JobReport) -> str | None:
    """Return the progress of the program and its end; None if no line shows it."""
    if job.progress is None:
        return None
    step, steps, time, checkpoint, ended = job.progress
    parts = []
    if step is not None:
        # Step 0 means that lines show progress without a number; parts are of epochs.
        last = f"{'epoch' if '.' in step else 'step'} {step}" if step else "it goes on"
        of = f" of {steps}" if steps else ""
        parts.append(f"last seen at {last}{of}{f' ({time})' if time else ''}")
    if checkpoint:
        parts.append(f"last checkpoint: {checkpoint}")
    parts.append(f"ended: {ended}" if ended else "no line says that it ended")
    return "; ".join(parts)


def _picture(report: LogReport) -> Iterator[Line]:
    """Yield one line per node, with a cell per rank; equal nodes are folded."""
    hosts = grouped(report.ranks, lambda rank: rank.host)
    rows = [(host, _cells(ranks), ranks) for host, ranks in hosts.items()]
    folded: dict[str, list[tuple[str, Sequence[RankReport]]]] = {}
    for host, cells, ranks in rows:
        # Below the limit, the host is part of the key, so that nothing is folded.
        key = cells if len(rows) > _NODES else f"{cells} {host}"
        folded.setdefault(key, []).append((host, ranks))
    wide = max(len(_hosts([host for host, _ in group])) for group in folded.values())
    for group in folded.values():
        ranks = [rank for _, members in group for rank in members]
        cells = _cells(group[0][1])
        name = _hosts([host for host, _ in group])
        worst = min((rank.verdict for rank in ranks), key=WORST_FIRST.index)
        use = _uses(ranks)
        numbers = number_ranges(sorted(rank.rank for rank in ranks))
        yield f"  {name:<{wide}}  {cells}  {numbers}: {use}", _STYLES[worst]
    # Missing ranks come last: they belong to no known node.
    if report.job.ranks_missing:
        many = count_of(len(report.job.ranks_missing), "rank")
        numbers = number_ranges(report.job.ranks_missing)
        yield f"  {'not in the log':<{wide}}  {MISSING}  {numbers}: {many}", "dim"
    present = [
        verdict for verdict in CELLS if any(e.verdict == verdict for e in report.ranks)
    ]
    legend = "  ".join(f"{CELLS[verdict]} {verdict}" for verdict in present)
    yield f"  one cell per rank: {legend}", "dim"


_BAD = ("broken", "degraded")


def _cells(ranks: Sequence[RankReport]) -> str:
    # The line must fit in a terminal, so 64 cells are the most.
    return "".join(CELLS[rank.verdict] for rank in ranks[:64]) + (
        "+" if len(ranks) > 64 else ""
    )


def _hosts(hosts: Sequence[str]) -> str:
    first = hosts[0] or "(host not named)"
    return first if len(hosts) == 1 else f"{count_of(len(hosts), 'node')}, {first} ..."


def _uses(ranks: Sequence[RankReport]) -> str:
    """Return the network or problem of most of *ranks*."""
    used = []
    for rank in ranks:
        provider = f" over {rank.provider}" if rank.provider else ""
        network = f"{rank.network or 'network not shown'}{provider}"
        # For a bad rank, the reason is more useful than the network.
        used.append(rank.reason if rank.verdict in _BAD else network)
    uses = Counter(used).most_common(2)
    use = "; ".join(text for text, _ in uses)
    shares = {
        rank_report.gdr for rank_report in ranks if rank_report.verdict not in _BAD
    } - {"unknown"}
    return f"{use}, GPU RDMA" if shares == {"yes"} else use


def _finding(finding: Finding) -> Iterator[Line]:
    style = {"error": "red bold", "warning": "yellow", "note": "bold"}[finding.severity]
    # The reason of a finding already contains its number.
    count = f" ({finding.count} times)" if finding.count > 1 and not finding.why else ""
    head = f"{finding.severity}: {finding.subject}: {finding.message}{count}"
    head += f"  [{finding.rule}]"
    yield from ((line, style) for line in wrapped(head, "", "  "))
    if finding.evidence:
        yield f"  {finding.evidence}: {finding.evidence.text}", ""
    for title, text in (("why", finding.why), ("fix", finding.fix)):
        if text:
            yield from ((line, "") for line in wrapped(text, f"  {title}: ", "    "))
    # A source of envcfg itself gives the reader nothing to look up.
    if finding.source and finding.source != "envcfg":
        yield from (
            (line, "dim") for line in wrapped(finding.source, "  source: ", "    ")
        )
