"""The attempts of a job, and the next step that follows from all of them together.

The rules are data, in ``attempt_rules.yaml``: each needs facts that the attempts show.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import compress

from envcfg.log.judge.cause import FirstEnd
from envcfg.log.judge.cause_class import class_of, next_of
from envcfg.log.numbers import first_of, grouped
from envcfg.log.read.attempt_steps import order_of
from envcfg.log.read.endings import attempt_of
from envcfg.log.read.exceptions import STAMP
from envcfg.log.read.prefix import quotes_launcher
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.tables import load_table
from envcfg.log.verdict import Action, Cause, JobAttempt

_WIDE = 100  # characters by which a line is found again
_MOST = 4  # nodes to leave out; more are no sign of a bad node


def attempts_of(job: JobLog, ends: Sequence[FirstEnd | None]) -> tuple[JobAttempt, ...]:
    """Return the attempts of *job*, with the first end of each."""
    endings, starts = job.endings, job.endings.starts()
    nodes: list[set[str]] = [set() for _ in ends]
    for process in job.everyone if starts else ():
        for sighting in process.seen.values():
            nodes[attempt_of(sighting.spot, starts)].add(process.host)
    for event in endings.lines:
        hosts = (*event.who.hosts, *event.speaker.hosts)
        nodes[attempt_of(event.sighting.spot, starts)].update(hosts)
    checkpoints = {
        attempt_of(spot, starts): sign.step or sign.text
        for spot, sign in job.life.signs
        if sign.kind == "checkpoint"
    }
    steps = grouped(endings.steps.stretches, lambda s: attempt_of(s.spot, starts))
    attempts = []
    for number, end in enumerate(ends):
        own = steps.get(number, [])
        begin = next((s.time for s in own if s.time), "")
        rule, message = (end.rule, end.words) if end else (None, "")
        attempts.append(
            JobAttempt(
                first=min(
                    filter(None, (s.first for s in own)), key=order_of, default=""
                ),
                last=max((s.last for s in own), key=order_of, default=""),
                checkpoint=checkpoints.get(number, ""),
                seconds=_seconds(begin, end.sighting.text) if end else None,
                nodes=tuple(sorted(nodes[number] - {""})),
                rule=rule.id if rule else "",
                class_=class_of(rule, message) if rule and not rule.consequence else "",
                message=message,
                fingerprint=end.fingerprint if end else "",
            )
        )
    if ends[-1] and _is_bare(job, ends[-1].sighting.text[:_WIDE]):
        attempts[-1] = attempts[-1]._replace(last=None)
    return tuple(attempts)


def _is_bare(job: JobLog, line: str) -> bool:
    """Return whether only launchers and schedulers wrote the lines before *line*."""
    fronts = (
        str(tail, "utf-8", "replace").partition(line)[0] for tail in job.tails.values()
    )
    return all(
        quotes_launcher(text)
        for front in fronts
        for text in front.splitlines()
        if text.strip()
    )


def _seconds(begin: str, line: str) -> int | None:
    """Return the time from *begin* to that in *line*, if both have a date."""
    match = STAMP.search(line)
    with suppress(ValueError):
        texts = (begin, match[0] if match else "")
        first, last = (datetime.fromisoformat(t[:19].replace("_", " ")) for t in texts)
        return max(0, round((last - first).total_seconds()))
    return None


def next_by_attempts(
    attempts: Sequence[JobAttempt], cause: Cause, rules: Mapping[str, LogRule]
) -> tuple[Action | None, tuple[str, ...], str]:
    """Return the next step by the first rule with all its facts, and its words.

    The step is None, and the words are empty, if the attempts show nothing. The nodes to
    leave out come with the step.

    Args:
        attempts: of the job; the last one is the one that failed.
        cause: of its end.
        rules: of causes, by id.
    """
    data = load_table("judge/attempt_rules")
    last = attempts[-1]._replace(rule=cause.rule, class_=cause.class_)
    everyone = [*attempts[:-1], last]
    same = [own.fingerprint == last.fingerprint != "" for own in everyone]
    faults = [
        own.class_ in data["hardware"]
        and next_of(rules[own.rule], own.class_) != "fix first"
        for own in everyone
    ]
    faults = [
        f or (is_same and faults[-1]) for f, is_same in zip(faults, same, strict=True)
    ]
    is_limit = last.rule in data["time-limit"]
    limits = [
        is_limit and own.last == last.last and own.rule in data["time-limit"]
        for own in everyone
    ]
    steps = [order_of(own.last or "") for own in everyone]
    since = steps[-same[-2::-1].index(True) - 2 :] if any(same[:-1]) else []
    is_saved = last.rule in data["saved"] and not last.last
    sets = [{*own.nodes} for own in compress(everyone, faults)]
    shared = set[str]().union(*sets).intersection(*sets)
    for own, is_fault in zip(everyone, faults, strict=True):
        shared -= set() if is_fault or not own.class_ else {*own.nodes}
    nodes = tuple(sorted(shared.intersection(cause.nodes) or shared))
    facts = {
        "same-cause": bool(since),
        "no-new-step": bool(since) and max(since) == since[0] and not is_saved,
        "time-limit": is_limit,
        "cancelled": last.rule in data["cancelled"],
        # A checkpoint proves steps, also in a form that is not known.
        "no-step": last.last == "" and not (is_saved or last.checkpoint),
        "same-step": bool(last.last) and any(limits[:-1]),
        "hardware": faults[-1],
        "shared-node": 0 < len(nodes) <= _MOST
        and len({own.nodes for own in attempts if own.nodes}) > 1,
        "own-line": bool(cause.file) and not faults[-1],
    }
    words = {
        "same": _words_of(same),
        "limits": _words_of(limits),
        "failed": _words_of(faults),
        "last": f"attempt {len(attempts)}" if attempts[1:] else "the job",
        "step": f" ({last.last})" if last.last else "",
        "nodes": first_of(nodes),
    }
    for rule in data["rules"]:
        if all(facts[fact] for fact in rule["facts"]):
            action: Action | None = rule.get("next")
            own_nodes = nodes if action == "restart without" else ()
            return action, own_nodes, rule["reason"].format(**words)
    return None, (), ""


def _words_of(flags: Sequence[bool]) -> str:
    """Return ``attempt 2``, or ``attempts 1, 2 and 4``, by the attempts with a flag."""
    *rest, last = [str(n) for n, flag in enumerate(flags, 1) if flag] or ["0"]
    return f"attempts {', '.join(rest)} and {last}" if rest else f"attempt {last}"
