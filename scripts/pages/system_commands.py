"""Commands for the page of a system, as envcfg accepts them: one GPU, one and two nodes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from envcfg.api import make_job
from envcfg.common.errors import EnvcfgError
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import RequestRule
from scripts.pages.markdown import code, text

_PROGRAM = ["python", "train.py"]
_IMAGE = Path("pytorch.sif")
_SIZES: Mapping[str, Mapping[str, int]] = {
    "one GPU": {"gpus": 1},
    "one node": {"nodes": 1},
    "two nodes": {"nodes": 2},
}
_ACCOUNTS = ("--account", "--bank", "-P")


def commands_part(profile: Profile) -> Iterator[str]:
    """Yield the part of a system's page that users copy from, as Markdown."""
    for size, numbers in _SIZES.items():
        command, refusal = _accepted(profile, numbers)
        if command:
            yield from (f"For {size}:", "", "```console", f"$ {command}", "```", "")
        else:
            yield from (f"For {size}: not possible; {text(refusal)}.", "")
    if rule := _account_rule(profile):
        yield f"Give your own account in place of {code(_account(rule))}."


def _accepted(profile: Profile, numbers: Mapping[str, int]) -> tuple[str, str]:
    """Return the first command that is not refused; else the first refusal."""
    queues = [queue for queue in profile.partitions.values() if queue]
    names = [queue.name for queue in queues if "*" not in queue.name]
    shared = [queue.name for queue in queues if queue.exclusive is False]
    # A GPU costs least where nodes are shared; else envcfg chooses.
    first = [name for name in names if name in shared] if "gpus" in numbers else []
    classes = [name for name in profile.qos if "*" not in name]
    refusals = []
    for partition, qos in product((*first, None, *names), (None, *classes)):
        options = {**numbers, "time": "1:00:00", "partition": partition, "qos": qos}
        if rule := _account_rule(profile):
            if rule.option == "-P":
                options["request_arg"] = f"{rule.option}={_account(rule)}"
            else:
                options["account"] = _account(rule)
        given = {name: value for name, value in options.items() if value}
        try:
            make_job(_PROGRAM, container=_IMAGE, profile=profile.name, **given)
        except EnvcfgError as err:
            refusals.append(str(err))
        else:
            return _line(profile, given), ""
    return "", refusals[0]


def _line(profile: Profile, given: Mapping[str, str | int]) -> str:
    words = ["envcfg", "job", "--profile", profile.name]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        words += (
            [f"{option}={value}"] if name == "request_arg" else [option, str(value)]
        )
    words += ["--container", str(_IMAGE), "-o", "job.sh", "--", *_PROGRAM]
    return shlex.join(words)


def _account_rule(profile: Profile) -> RequestRule | None:
    """Return the rule that demands an account; None if the system needs none."""
    wanted = (rule for rule in profile.rules.values() if rule and rule.rule == "must")
    return next((rule for rule in wanted if rule.option in _ACCOUNTS), None)


def _account(rule: RequestRule) -> str:
    """Return an account of the form that the system demands."""
    return re.sub(r"(?:\[0-9\])?\*", "1234", rule.value or "my-account")
