"""The lines of a step's output about its health, each only when something changes."""

import re
from collections.abc import Iterator, Sequence

from envcfg.log.numbers import count_of, first_of, grouped, ranks_of
from envcfg.nodes.monitor.outliers import UNKNOWN, NodeFinding
from envcfg.nodes.monitor.rank_marks import describe_cores
from envcfg.nodes.monitor.step_health import StepHealth

_BUSY = 50.0  # percent of use on the average, from which a GPU counts as busy
_MOST_LINES = 16  # at one time
_REPEATS = 3  # times that a finding on a node is printed, unless it lasts
_LONG = 60  # looks in a row, after which frequent changes are over
_MOST_IN_ALL = 100  # lines of a step
_LOOKS = 4  # in a row that show a finding: a mean takes three to follow a change
# These need several samples anyway. A tool may answer late once, or its answer be torn.
_FEW_LOOKS = dict.fromkeys(
    UNKNOWN | {"gpu-idle", "gpu-memory-errors", "link-down"}, 1
) | {
    "gpu-tool-waits": _LOOKS,
    "gpu-tool-fails": 2,
}
_OF_PHASES = frozenset(
    {"loader-slow", "rank-waits", "rank-on-cpu", "gpu-unlike", "node-slow"}
)
_OF_GPUS = frozenset({"gpu-idle", "gpu-unknown", "gpu-unlike", "gpu-memory-errors"})

# Reserves of a job whose GPUs may all be busy.
_OF_CORES = frozenset({"cores-shared", "cores-far"})

# The rule, the node, and more words; that of a summary has no rule.
_Key = tuple[object, ...]


class HealthLog:
    """The findings that were printed, and those that may last."""

    def __init__(self) -> None:
        """Begin without a line."""
        self._keys: set[_Key] = set()
        self._ages: dict[_Key, int] = {}
        self._counts: dict[_Key, int] = {}
        self._rest = _MOST_IN_ALL
        self._was_good = False

    def lines(
        self, health: StepHealth, network: str, *, is_due: bool = True
    ) -> Iterator[str]:
        """Yield the new lines; *network* is the verdict on it, and the time of a step.

        Before it is due, a finding only grows older.
        """
        by_key: dict[_Key, NodeFinding] = {f.key: f for f in health.findings}
        is_good = all(f.kind in _OF_CORES for f in health.findings)
        summary = _summary(health, network) if is_good else ""
        # Its numbers change all the time.
        state = ("", re.sub(r"\d+ %| \(lowest.*?\)|, \S+ s per step", "", summary))
        keys: list[_Key] = [*by_key, state]
        self._ages = {key: self._ages.get(key, 0) + 1 for key in keys}
        lasting = {key for key, f in by_key.items() if self._lasts(f, key)}
        # After idle GPUs the mean takes some looks to rise.
        is_unsteady = max(self._counts.values(), default=0) >= _REPEATS
        looks = _LONG if is_unsteady else _LOOKS
        if summary and (not self._counts or self._ages[state] >= looks):
            lasting.add(state)
            self._was_good = not health.is_starting
            if is_unsteady:  # the changes are over
                self._counts = {state: 0}
        # A new finding may be gone at the next look, so the state is open until then.
        if not (is_due and lasting) or self._rest < 0:
            return
        fresh = self._printable(lasting - self._keys)
        self._keys = lasting & self._keys | fresh
        lines = [*_finding_lines([by_key[key] for key in by_key if key in fresh])]
        lines += [summary] if state in fresh else []
        lines += self._notes(fresh)
        yield from lines[: self._rest]
        self._rest -= len(lines)
        if self._rest < 0:
            yield f"note: {_MOST_IN_ALL} lines about the nodes are printed, the rest is not"

    def _lasts(self, finding: NodeFinding, key: _Key) -> bool:
        # A job that ran well may evaluate its model, or write a checkpoint.
        has_phases = self._was_good and finding.kind in _OF_PHASES
        looks = 2 * _LOOKS if has_phases else _LOOKS
        return self._ages[key] >= _FEW_LOOKS.get(finding.kind, looks)

    def _printable(self, keys: set[_Key]) -> set[_Key]:
        """Return those of *keys* that may be printed again for their node."""
        fresh = {
            key
            for key in keys
            if self._counts.get(_topic(key), 0) < _REPEATS or self._ages[key] >= _LONG
        }
        for topic in {_topic(key) for key in fresh}:
            self._counts[topic] = self._counts.get(topic, 0) + 1
        return fresh

    def _notes(self, keys: set[_Key]) -> Iterator[str]:
        """Yield notes on those of *keys* that are printed again only if they last."""
        last = {topic for key in keys if self._counts[topic := _topic(key)] == _REPEATS}
        for kind, topics in grouped(sorted(last), lambda topic: topic[0]).items():
            names = first_of({f"{node}" for _, node, *_ in topics})
            what = f"{names}: {kind}" if kind else "the use of the GPUs"
            yield f"note: {what} changes often, and is printed again only if it lasts"


def _topic(key: _Key) -> _Key:
    """Return the part of a key that all values of the same finding share."""
    # A value at its limit changes all the time, and so may the GPUs that wait.
    return key[:2]


def _finding_lines(findings: Sequence[NodeFinding]) -> Iterator[str]:
    """Yield a line for all nodes with the same message, in at most ``_MOST_LINES``."""
    groups = grouped(findings, lambda f: f.finding._replace(subject="", fix=None))
    for count, (finding, some) in enumerate(groups.items()):
        if count == _MOST_LINES:
            rest = [f.node for group in list(groups.values())[count:] for f in group]
            yield f"note: {count_of(len(rest), 'more finding')} on {first_of({*rest})}"
            return
        names = first_of([f.node for f in some])
        ranks = sorted({rank for f in some for rank in f.ranks})
        # Messages about ranks name them already.
        more = f", {ranks_of(ranks)}" if ranks and finding.rule in _OF_GPUS else ""
        word = "unknown" if some[0].is_unknown else finding.severity
        yield f"{word}: {names}: {finding.message}{more}  [{finding.rule}]"


def _summary(health: StepHealth, network: str) -> str:
    """Return the line of a step without findings; empty if an answer is missing."""
    if not health.is_whole:
        return ""
    if health.is_shared:
        return "unknown: several steps run on the nodes: GPUs are not checked"
    if health.use is None:
        tools = sorted({view.tool for view in health.nodes if view.gpus and view.tool})
        if tools:
            reason = f"{', '.join(tools)} does not show their use, as with MIG"
        elif health.has_request:
            reason = "the nodes have no tool that shows them"
        else:
            return ""
        return f"note: GPUs are not checked: {reason}"
    if health.is_starting:
        return "note: no GPU has computed so far, and the log shows no step"
    gpus = count_of(health.gpus, "GPU")
    gpus = f"all {gpus}" if health.gpus > 1 else "the GPU"
    # A mean over all GPUs would hide one that hardly computes.
    use, host, number = min(
        (gpu.use, view.host, gpu.number)
        for view in health.nodes
        for gpu in view.gpus
        if gpu.use is not None
    )
    network = ", ".join(filter(None, [describe_cores(health.nodes), network]))
    if use >= _BUSY:
        return f"{gpus} busy, {network}"
    lowest = f" (lowest: {host}, GPU {number}, {use:.0f} %)" if health.gpus > 1 else ""
    return f"{gpus} in use, {health.use:.0f} % of the time{lowest}, {network}"
