"""The answer on a log as text: a sentence, a picture, findings, open questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from envcfg.characters import text_width
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, grouped, number_ranges
from envcfg.log.verdict import WORST_FIRST, JobReport, JobRow, LogReport, RankReport
from envcfg.report.styled import wrapped

# One cell per rank; letters tell verdicts apart where there are no colours.
CELLS = {"ok": "=", "degraded": "d", "broken": "B", "inconclusive": "?"}
MISSING = "."
_STYLES = {
    "ok": "green",
    "degraded": "yellow",
    "broken": "red bold",
    "inconclusive": "cyan",
}
_NODES = 24  # more are folded into those that look the same
_NAME = 32  # characters of a job's name in a table


def log_lines(report: LogReport) -> Iterator[tuple[str, str]]:
    """Yield the lines of the report, each with its style."""
    yield report.summary, _STYLES[report.verdict]
    if report.jobs:
        yield from _jobs(report.jobs)
        yield "", ""
    yield from (("  " + line, "") for line in _facts(report))
    if report.ranks:
        yield "", ""
        yield from _picture(report)
    causes = [each for each in report.findings if each.cause]
    following = [each for each in report.findings if not each.cause]
    for finding in causes:
        yield "", ""
        yield from _finding(finding)
    if following:
        yield "", ""
        yield "follows from the above", "bold"
        for finding in following:
            where = f" ({finding.evidence})" if finding.evidence else ""
            yield f"  {finding.rule}: {finding.message}{where}", ""
    if report.unknowns:
        yield "", ""
        yield "what the log does not show", "bold"
        for what, remedy in report.unknowns:
            yield from ((line, "") for line in wrapped(what, "  - ", "    "))
            yield from (
                (line, "dim") for line in wrapped(remedy, "    to find out: ", "      ")
            )
    if report.next:
        yield "", ""
        yield f"fingerprint: {report.next.fingerprint}", "dim"
        yield f"next: {report.next.words}", "bold"


def _jobs(jobs: Sequence[JobRow]) -> Iterator[tuple[str, str]]:
    """Yield a line per job, the worst first."""
    ordered = sorted(jobs, key=lambda each: WORST_FIRST.index(each.verdict))
    room = text_width()
    wide = min(_NAME, max(len(each.name) for each in ordered))
    for name, verdict, summary in ordered:
        yield _cut(f"  {_cut(name, wide):<{wide}}  {summary}", room), _STYLES[verdict]


def _cut(text: str, wide: int) -> str:
    return text if len(text) <= wide else text[: wide - 3] + "..."


def _facts(report: LogReport) -> Iterator[str]:
    job = report.job
    if job.networks:
        names = ", ".join(
            f"{name} ({count})" if len(job.networks) > 1 else name
            for name, count in job.networks.items()
        )
        provider = f" over {job.provider}" if job.provider else ""
        yield f"network     {names}{provider}; GPU RDMA: {job.gdr}"
    if job.plugin.name or job.plugin.loaded != "unknown":
        name = " ".join(each for each in (job.plugin.name, job.plugin.version) if each)
        yield f"plugin      {name or 'none named'}; loaded by: {job.plugin.loaded}"
    for use, interfaces in job.interfaces.items():
        if interfaces:
            yield f"{use:<11} {', '.join(interfaces[:8])}"
    if said := progress_of(job):
        yield f"progress    {said}"
    if job.versions:
        versions = (f"{lib} {', '.join(found)}" for lib, found in job.versions.items())
        yield f"versions    {'; '.join(versions)}"


def progress_of(job: JobReport) -> str | None:
    """Return how far the program came, and how it ended; None where no line tells."""
    if job.progress is None:
        return None
    step, steps, time, checkpoint, ended = job.progress
    said = []
    if step is not None:
        number = f"step {step}" if step else "it goes on"
        of = f" of {steps}" if steps else ""
        said.append(f"last seen at {number}{of}{f' ({time})' if time else ''}")
    if checkpoint:
        said.append(f"last checkpoint: {checkpoint}")
    said.append(f"ended: {ended}" if ended else "no line says that it ended")
    return "; ".join(said)


def _picture(report: LogReport) -> Iterator[tuple[str, str]]:
    """Yield one line per node: a cell per rank; nodes that look the same are folded."""
    hosts = grouped(report.ranks, lambda rank: rank.host)
    rows = [(host, _cells(ranks), ranks) for host, ranks in hosts.items()]
    folded: dict[str, list[tuple[str, Sequence[RankReport]]]] = {}
    for host, cells, ranks in rows:
        key = cells if len(rows) > _NODES else f"{cells} {host}"
        folded.setdefault(key, []).append((host, ranks))
    wide = max(len(_hosts([host for host, _ in group])) for group in folded.values())
    for group in folded.values():
        ranks = [rank for _, members in group for rank in members]
        cells = _cells(group[0][1])
        name = _hosts([host for host, _ in group])
        worst = min((each.verdict for each in ranks), key=WORST_FIRST.index)
        use = _uses(ranks)
        numbers = number_ranges(sorted(each.rank for each in ranks))
        yield f"  {name:<{wide}}  {cells}  {numbers}: {use}", _STYLES[worst]
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
    return "".join(CELLS[each.verdict] for each in ranks[:64]) + (
        "+" if len(ranks) > 64 else ""
    )


def _hosts(hosts: Sequence[str]) -> str:
    first = hosts[0] or "(host not named)"
    return first if len(hosts) == 1 else f"{count_of(len(hosts), 'node')}, {first} ..."


def _uses(ranks: Sequence[RankReport]) -> str:
    """Say what most of *ranks* use, or suffer from."""
    used = []
    for each in ranks:
        provider = f" over {each.provider}" if each.provider else ""
        network = f"{each.network or 'network not shown'}{provider}"
        used.append(each.reason if each.verdict in _BAD else network)
    what = Counter(used).most_common(2)
    use = "; ".join(text for text, _ in what)
    shares = {each.gdr for each in ranks if each.verdict not in _BAD} - {"unknown"}
    return f"{use}, GPU RDMA" if shares == {"yes"} else use


def _finding(finding: Finding) -> Iterator[tuple[str, str]]:
    style = {"error": "red bold", "warning": "yellow", "note": "bold"}[finding.severity]
    count = f" ({finding.count} times)" if finding.count > 1 and not finding.why else ""
    head = f"{finding.severity}: {finding.subject}: {finding.message}{count}"
    head += f"  [{finding.rule}]"
    yield from ((line, style) for line in wrapped(head, "", "  "))
    if finding.evidence:
        yield f"  {finding.evidence}: {finding.evidence.text}", ""
    for title, text in (("why", finding.why), ("fix", finding.fix)):
        if text:
            yield from ((line, "") for line in wrapped(text, f"  {title}: ", "    "))
    if finding.source and finding.source != "envcfg":
        yield from (
            (line, "dim") for line in wrapped(finding.source, "  source: ", "    ")
        )
