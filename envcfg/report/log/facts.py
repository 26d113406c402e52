"""What a log tells of the job, as short texts by name: network, plugin, versions."""

from __future__ import annotations

from typing import NamedTuple

from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import Coverage, JobReport, LogReport

_MOST_NODES = 6
_GDR = {
    "yes": "on all channels between nodes",
    "no": "not used between nodes",
    "partial": "on some channels between nodes only",
    "unknown": None,
}
_LOADED = {
    "all": "loaded by every process",
    "some": "loaded by some processes only",
    "none": "not loaded",
    "unknown": None,
}


class JobFact(NamedTuple):
    """Something that is known of the job, or should be.

    Attributes:
        name: of the fact.
        text: None where it is not known.
        odd: True where a person should look at it.
    """

    name: str
    text: str | None
    odd: bool = False


def job_facts(report: LogReport) -> list[JobFact]:
    """Return the facts of the job, in the order in which they are shown."""
    job, ended = report.job, []
    if report.cause and report.next:
        words = "; ".join(filter(None, (report.cause.message, report.cause.others)))
        ended = [JobFact("Ended by", words, odd=True)]
        ended += [JobFact("Next", report.next.words)]
    return [
        *ended,
        JobFact("Ranks", _ranks(job), odd=bool(job.ranks_missing)),
        JobFact("Nodes", _nodes(job)),
        JobFact("Network", _network(job), odd=job.network == "mixed"),
        JobFact("Provider", job.provider, odd=job.provider == "mixed"),
        JobFact("Plugin", _plugin(job), odd=job.plugin.loaded == "some"),
        JobFact("GPU RDMA", _GDR[job.gdr], odd=job.gdr in ("partial", "no")),
        JobFact("Bootstrap", ", ".join(job.interfaces.get("bootstrap", ())) or None),
        JobFact("Sockets", ", ".join(job.interfaces.get("socket", ())) or None),
        JobFact(
            "Versions",
            _versions(job),
            odd=any(len(v) > 1 for v in job.versions.values()),
        ),
        *([JobFact("Progress", said)] if (said := progress_of(job)) else []),
        JobFact("Log", _coverage(report.coverage)),
    ]


def _ranks(job: JobReport) -> str | None:
    seen = len(job.ranks_seen)
    if job.world_size is None:
        return f"{seen:,} seen, of how many is not known" if seen else None
    if not job.ranks_missing:
        return f"{job.world_size:,}, all in the log"
    missing = number_ranges(job.ranks_missing)
    return f"{seen:,} of {job.world_size:,} in the log; missing: {missing}"


def _nodes(job: JobReport) -> str | None:
    names = list(job.nodes)
    if len(names) > _MOST_NODES:
        names = [*names[: _MOST_NODES - 2], "\u2026", names[-1]]
    listed = ", ".join(names)
    if job.node_count is None:
        return listed or None
    if not listed:
        return f"{job.node_count:,}, none named"
    if job.node_count > len(job.nodes):
        return (
            f"{job.node_count:,}, of which {len(job.nodes):,} are in the log: {listed}"
        )
    return f"{job.node_count:,}: {listed}"


def _network(job: JobReport) -> str | None:
    if len(job.networks) < 2:
        return job.network
    counts = (f"{name} ({count_of(n, 'rank')})" for name, n in job.networks.items())
    return f"{job.network}: {', '.join(counts)}"


def _plugin(job: JobReport) -> str | None:
    name = " ".join(filter(None, (job.plugin.name, job.plugin.version)))
    return ", ".join(filter(None, (name, _LOADED[job.plugin.loaded]))) or None


def _versions(job: JobReport) -> str | None:
    texts = (
        f"{name} {' and '.join(found)}{' (ranks differ)' if len(found) > 1 else ''}"
        for name, found in job.versions.items()
    )
    return ", ".join(texts) or None


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


def _coverage(coverage: Coverage) -> str:
    text = (
        f"{count_of(coverage.files, 'file')}, {_size(coverage.size)},"
        f" {count_of(coverage.records, 'line')} of NCCL"
    )
    if coverage.unknown_warnings:
        text += f", {count_of(coverage.unknown_warnings, 'warning')} that no rule knows"
    return text


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
