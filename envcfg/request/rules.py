"""What a profile's rules say of the options of a request; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from shlex import quote
from typing import NamedTuple

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.launch.plan import Plan
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import RequestRule
from envcfg.request.limits import is_closed, known_queues
from envcfg.request.shape import Asked, may_ask, refused
from envcfg.schedulers import SCHEDULERS


class Line(NamedTuple):
    """One option of the request, by Slurm's name, and why; value None: it takes none."""

    option: str
    value: str | None
    why: str
    source: str = ""


# Options of envcfg job by the scheduler's names; the others go by --request-arg.
_FLAGS = frozenset(
    "--account --partition --qos --constraint --nodes --time --exclusive --array "
    "--job-name --output --requeue --signal --gpus-per-node --gpus".split()
)
_INSTEAD = {
    "--gres": "--gpus-per-node",
    "--ntasks": "--ranks",
    "--ntasks-per-node": "--ranks",
    "--cpus-per-task": "--cpus-per-gpu",
    "--mem": "--mem-per-gpu",
    "--mem-per-cpu": "--mem-per-gpu",
    "--cpus-per-gpu": "--cpus-per-gpu",
    "--mem-per-gpu": "--mem-per-gpu",
    # by letter, and by PBS' names of resources
    "-A": "--account",
    "-J": "--array",
    "-N": "--job-name",
    "-j": "--log",
    "-l": "--request-arg=--NAME=VALUE",
    "-o": "--log",
    "-q": "--partition",
    "--ncpus": "--cpus-per-gpu",
    "--ngpus": "--gpus-per-node",
    "--place": "--exclusive",
    "--select": "--nodes",
    "--walltime": "--time",
}


# Options that name a queue, or a part of one.
_QUEUES = ("--partition", "--qos", "--constraint")


def option_in(profile: Profile, option: str) -> str:
    """Return the name of Slurm's *option* in the rules of *profile*."""
    known = SCHEDULERS.get(profile.request.scheduler) if profile.request else None
    return known.rule_names.get(option, option) if known else option


def taken_from_rules(
    profile: Profile, asked: Asked
) -> tuple[dict[str, str], list[Finding]]:
    """Return the values that must be given, were not, and that the profile has.

    A value with a wildcard is a pattern, and one of an account is an example.
    """
    taken: dict[str, str] = {}
    findings = []
    known_by = SCHEDULERS.get(profile.request.scheduler) if profile.request else None
    if known_by is None:
        return taken, []
    queues = [each for each in _QUEUES if each not in known_by.lacks]
    for option in (*queues, *known_by.resources):
        name = option_in(profile, option)
        rule = profile.rules.get(name)
        given = option in asked.named or _in_extra(asked, name)
        if given or rule is None or rule.rule != "must":
            continue
        value = rule.default or (rule.value if _is_value(rule) else None)
        if value is None:
            continue
        taken[option] = value
        if option in queues:
            others = [*map(quote, rule.others), *known_queues(profile, option)]
            others = [each for each in others if each != value]
            words = {"why": rule.reason.why, "option": option}
            words["others"] = f": {', '.join(others)}" if others else ""
            subject = f"{option}={value}"
            found = finding_in("request", "taken-from-profile", subject, **words)
            findings.append(found._replace(source=rule.reason.source))
    return taken, findings


def with_disk(
    named: Mapping[str, str], profile: Profile, plan: Plan, asked: Asked
) -> dict[str, str]:
    """Return the values with those that ask for the node's disk, if the job uses it.

    It does where caches go there, or where ``--nvme`` says so. Constraints hold together.
    """
    wanted = profile.scratch.disk_request if profile.scratch else {}
    found = dict(named)
    if not (plan.scratch or asked.nvme):
        return found
    for option, value in wanted.items():
        own = found.get(option)
        if own is None and not _in_extra(asked, option):
            found[option] = value
        elif own and option == "--constraint" and value not in re.split("[&()]", own):
            found[option] = f"({own})&{value}" if "|" in own else f"{own}&{value}"
    return found


def _fitting(profile: Profile, option: str, rule: RequestRule) -> list[str]:
    known = list(known_queues(profile, option))
    if rule.value and not _is_value(rule):
        known = [name for name in known if fnmatchcase(name, rule.value)]
    return known


def _is_value(rule: RequestRule) -> bool:
    return rule.value is not None and not any(c in rule.value for c in "*?[")


def _in_extra(asked: Asked, option: str) -> bool:
    return any(word.partition("=")[0] == option for word in asked.extra)


def check_lines(
    profile: Profile, lines: Sequence[Line], asked: Asked
) -> Iterator[Finding]:
    """Yield what the rules have against *lines*: what is missing, wrong or forbidden."""
    values = {option_in(profile, line.option): line.value for line in lines}
    for _, finding in check_rules(profile, values):
        yield finding
    yield from _check_asked(profile, asked)


def check_rules(
    profile: Profile, values: Mapping[str, str | None]
) -> Iterator[tuple[str, Finding]]:
    """Yield what the rules have against options with their *values*, by option.

    Args:
        values: by the names that the rules have.
    """
    yield from _check_own(profile, values)
    ours = {option_in(profile, flag): flag for flag in _FLAGS}
    for option, rule in profile.rules.items():
        if rule is None:
            continue
        value = values.get(option)
        reason = rule.reason
        words = {"option": option, "value": value, "why": reason.why}
        if rule.rule == "must" and option not in values:
            flag = ours.get(option)
            words |= {"option": flag or option}
            fix = _how_to_give(profile, option, flag, rule)
            yield option, refused("missing", reason, fix=fix, **words)
        elif rule.rule == "must" and rule.value and not _is_value(rule):
            if not fnmatchcase(value or "", rule.value):
                yield option, refused("unlike", reason, pattern=rule.value, **words)
        elif rule.rule == "must not" and option in values:
            if rule.value is None:
                why = f": {reason.why}"
                yield option, refused("forbidden", reason, option=option, why=why)
            elif value is not None and fnmatchcase(value, rule.value):
                yield option, refused("forbidden-value", reason, **words)


def _check_own(
    profile: Profile, values: Mapping[str, str | None]
) -> Iterator[tuple[str, Finding]]:
    """Yield the account or QOS that this user may not name, where the scheduler says."""
    if profile.own is None:
        return
    qos, reason = profile.own.qos, profile.own.reason
    account = (values.get("--account") or "").lower()
    if account and account not in qos:
        words = {"account": account, "own": ", ".join(qos)}
        yield "--account", refused("foreign-account", reason, **words)
    name = values.get("--qos")
    mine = qos.get(account) or [each for several in qos.values() for each in several]
    if name and mine and name not in mine:
        words = {"qos": name, "own": ", ".join(dict.fromkeys(mine))}
        yield "--qos", refused("foreign-qos", reason, **words)


def _how_to_give(
    profile: Profile, option: str, flag: str | None, rule: RequestRule
) -> str:
    """Return the hint for an option that must be given.

    What the profile knows to exist is named, as that can be copied. Where there may be
    others, the pattern that they fit goes with it. Else the rule's own value is all there
    is: a pattern to fill in, or the example of what only the user can know.
    """
    if flag and (fitting := _fitting(profile, flag, rule)):
        hint = f"give one of: {', '.join(fitting)}"
        is_open = rule.value and not _is_value(rule) and not is_closed(profile, flag)
        return f"{hint}, or another like {rule.value}" if is_open else hint
    name = f"{flag} " if flag else f"--request-arg={option}="
    if not rule.value:
        return f"give {name}..."
    return f"give your own, as in {name}{rule.value.replace('*', 'NAME')}"


def _check_asked(profile: Profile, asked: Asked) -> Iterator[Finding]:
    """Yield what is asked for by options of ours, and the system does not let one ask."""
    for what, flag, given in (
        ("memory", "--mem-per-gpu", asked.memory_per_gpu),
        ("cores", "--cpus-per-gpu", asked.cpus_per_gpu),
    ):
        if given is not None and not may_ask(profile, what):
            rule = profile.rules["--mem" if what == "memory" else "--cpus-per-task"]
            why = f": {rule.reason.why}" if rule else ""
            reason = rule.reason if rule else None
            yield refused("forbidden", reason, option=flag, why=why)
    is_billed = profile.billing and profile.billing.per_nvme_gib
    can_ask = is_billed or (profile.scratch and profile.scratch.disk_request)
    if asked.nvme and not can_ask:
        yield refused("no-disk", profile=profile.name)


def check_extra(
    profile: Profile, asked: Asked, refusals: list[Finding]
) -> list[Finding]:
    """Judge the options that go to the scheduler as they stand.

    What cannot be is added to *refusals*; what is discouraged is returned.
    """
    findings = []
    avoided = [("--exclusive", None)] if asked.exclusive else []
    words = [word.partition("=") for word in asked.extra]
    for option, value in [*((o, v) for o, _, v in words), *avoided]:
        rule = profile.rules.get(option)
        instead = option if option in _FLAGS else _INSTEAD.get(option)
        if instead and (option, value) not in avoided:
            refusals.append(refused("given-already", option=option, instead=instead))
        elif rule and rule.rule == "avoid":
            said = {"option": option, "why": rule.reason.why}
            found = finding_in("request", "option-discouraged", option, **said)
            findings.append(found._replace(source=rule.reason.source))
    return findings
