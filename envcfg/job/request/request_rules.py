"""The rules of a profile on the options of a request; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from shlex import quote
from typing import NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.datafile import load_yaml
from envcfg.common.findings import Finding, finding_in
from envcfg.job.plan.plan import Plan
from envcfg.job.request.queue_limits import is_closed, known_queues
from envcfg.job.request.shape import UserRequest, may_ask, refused
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import RequestRule


class Line(NamedTuple):
    """One option of the request, by Slurm's name, with its reason; value None: it has
    none."""

    option: str
    value: str | None
    why: str
    source: str = ""


# Slurm's names of the options of envcfg job. All other options go through
# --request-arg.
_FLAGS = frozenset(
    "--account --partition --qos --constraint --nodes --time --exclusive --array "
    "--job-name --output --requeue --signal --gpus-per-node --gpus".split()
)
_INSTEAD = "job/request/instead.yaml"


# Options that select a queue, or a part of one.
_QUEUES = ("--partition", "--qos", "--constraint")


def option_in(profile: Profile, option: str) -> str:
    """Return the name of Slurm's *option* in the rules of *profile*."""
    scheduler = SCHEDULERS.get(profile.request.scheduler) if profile.request else None
    return scheduler.rule_names.get(option, option) if scheduler else option


def taken_from_rules(
    profile: Profile, request: UserRequest
) -> tuple[dict[str, str], list[Finding]]:
    """Return required values that the user left out and the profile can supply.

    A value with a wildcard is a pattern, and the value of an account is an example.
    """
    from_profile: dict[str, str] = {}
    findings = []
    known_by = SCHEDULERS.get(profile.request.scheduler) if profile.request else None
    if known_by is None:
        return from_profile, []
    # A queue option that the scheduler lacks cannot be filled in.
    queues = [queue for queue in _QUEUES if queue not in known_by.lacks]
    for option in (*queues, *known_by.resources):
        name = option_in(profile, option)
        rule = profile.rules.get(name)
        is_given = option in request.other_options or _in_extra(request, name)
        # A value that the user gave, even by --request-arg, is never replaced.
        if is_given or rule is None or rule.rule != "must":
            continue
        value = rule.default or (rule.value if _is_value(rule) else None)
        if value is None:
            continue
        # The choice of a queue changes price and limits, so it is reported.
        # Resources are not.
        from_profile[option] = value
        if option in queues:
            choices = [*map(quote, rule.others), *known_queues(profile, option)]
            choices = [choice for choice in choices if choice != value]
            words = {"why": rule.reason.why, "option": option}
            words["others"] = f": {', '.join(choices)}" if choices else ""
            subject = f"{option}={value}"
            finding = finding_in("job/request", "taken-from-profile", subject, **words)
            findings.append(finding._replace(source=rule.reason.source))
    return from_profile, findings


def with_disk(
    names: Mapping[str, str], profile: Profile, plan: Plan, request: UserRequest
) -> dict[str, str]:
    """Return the values with those that ask for the node's disk, if the job uses it.

    The job uses the disk for its caches, or because of ``--nvme``. Constraints are
    combined.
    """
    # An option for the disk is ignored if the user gave the same option by
    # --request-arg.
    disk_options = profile.scratch.disk_request if profile.scratch else {}
    options = dict(names)
    # The disk may be billed, so it is requested only if something uses it.
    if not (plan.scratch or request.nvme):
        return options
    for option, value in disk_options.items():
        own = options.get(option)
        if own is None and not _in_extra(request, option):
            options[option] = value
        # Slurm gives "&" precedence over "|", so a constraint with "|" needs
        # parentheses.
        elif own and option == "--constraint" and value not in re.split("[&()]", own):
            options[option] = f"({own})&{value}" if "|" in own else f"{own}&{value}"
    return options


def _fitting(profile: Profile, option: str, rule: RequestRule) -> list[str]:
    queues = list(known_queues(profile, option))
    # A pattern of the rule excludes queues that exist but are not allowed.
    if rule.value and not _is_value(rule):
        queues = [name for name in queues if fnmatchcase(name, rule.value)]
    return queues


def _is_value(rule: RequestRule) -> bool:
    # The bracket is part of fnmatch's patterns, and no name of a queue holds one.
    return rule.value is not None and not any(c in rule.value for c in "*?[")


def _in_extra(request: UserRequest, option: str) -> bool:
    return any(word.partition("=")[0] == option for word in request.extra)


def check_lines(
    profile: Profile, lines: Sequence[Line], request: UserRequest
) -> Iterator[Finding]:
    """Yield the violations in *lines*: missing, wrong or forbidden options."""
    values = {option_in(profile, line.option): line.value for line in lines}
    for _, finding in check_rules(profile, values):
        yield finding
    yield from _check_asked(profile, request)


def check_rules(
    profile: Profile, values: Mapping[str, str | None]
) -> Iterator[tuple[str, Finding]]:
    """Yield the violations of options with these *values*, by option.

    Args:
        values: by the names that the rules have.
    """
    # The user's own associations come first, because they are exact. Rules are only
    # patterns.
    yield from _check_own(profile, values)
    ours = {option_in(profile, flag): flag for flag in _FLAGS}
    for option, rule in profile.rules.items():
        if rule is None:
            continue
        value = values.get(option)
        reason = rule.reason
        words = {"option": option, "value": value, "why": reason.why}
        # The order of the tests is: missing, different, forbidden. One option gets
        # one finding.
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
    """Yield an account or QOS that this user may not use, if the scheduler reports them."""
    if profile.own is None:
        return
    qos, reason = profile.own.qos, profile.own.reason
    # Slurm stores accounts in lower case, and compares them so.
    account = (values.get("--account") or "").lower()
    if account and account not in qos:
        words = {"account": account, "own": ", ".join(qos)}
        yield "--account", refused("foreign-account", reason, **words)
    name = values.get("--qos")
    # An account without a list may use any QOS of the user.
    mine = qos.get(account) or [
        account_qos for several in qos.values() for account_qos in several
    ]
    if name and mine and name not in mine:
        words = {"qos": name, "own": ", ".join(dict.fromkeys(mine))}
        yield "--qos", refused("foreign-qos", reason, **words)


def _how_to_give(
    profile: Profile, option: str, flag: str | None, rule: RequestRule
) -> str:
    """Return the hint for an option that must be given.

    Existing names come first, because the user can copy them. If others are possible,
    the pattern is added. Otherwise the hint shows the rule's own value: a pattern to
    fill in, or an example.
    """
    if flag and (fitting := _fitting(profile, flag, rule)):
        hint = f"give one of: {', '.join(fitting)}"
        is_open = rule.value and not _is_value(rule) and not is_closed(profile, flag)
        return f"{hint}, or another like {rule.value}" if is_open else hint
    name = f"{flag} " if flag else f"--request-arg={option}="
    if not rule.value:
        return f"give {name}..."
    return f"give your own, as in {name}{rule.value.replace('*', 'NAME')}"


def _check_asked(profile: Profile, request: UserRequest) -> Iterator[Finding]:
    """Yield envcfg's own options that the system does not allow."""
    for resource, flag, value in (
        ("memory", "--mem-per-gpu", request.mem_per_gpu),
        ("cores", "--cpus-per-gpu", request.cpus_per_gpu),
    ):
        if value is not None and not may_ask(profile, resource):
            rule = profile.rules["--mem" if resource == "memory" else "--cpus-per-task"]
            why = f": {rule.reason.why}" if rule else ""
            reason = rule.reason if rule else None
            yield refused("forbidden", reason, option=flag, why=why)
    is_billed = profile.billing and profile.billing.per_nvme_gib
    # Disk is possible if the site bills it or names an option for it.
    can_ask = is_billed or (profile.scratch and profile.scratch.disk_request)
    if request.nvme and not can_ask:
        yield refused("no-disk", profile=profile.name)


def check_extra(
    profile: Profile, request: UserRequest, refusals: list[Finding]
) -> list[Finding]:
    """Judge the options that go to the scheduler unchanged.

    Impossible options are added to *refusals*; discouraged options are returned.
    """
    findings = []
    # --exclusive may come from envcfg itself, and the site may still discourage it.
    avoided = [("--exclusive", None)] if request.exclusive else []
    words = [word.partition("=") for word in request.extra]
    for option, value in [*((o, v) for o, _, v in words), *avoided]:
        rule = profile.rules.get(option)
        instead = option if option in _FLAGS else load_yaml(_INSTEAD).get(option)
        # An option given twice would have two values, and the scheduler takes one
        # of them.
        if instead and (option, value) not in avoided:
            refusals.append(refused("given-already", option=option, instead=instead))
        elif rule and rule.rule == "avoid":
            texts = {"option": option, "why": rule.reason.why}
            finding = finding_in("job/request", "option-discouraged", option, **texts)
            findings.append(finding._replace(source=rule.reason.source))
    return findings
