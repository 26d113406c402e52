"""``envcfg monitor``: the state of a running job's nodes, GPUs and network."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.commands.formats import add_own, check_format, put_result
from envcfg.commands.job_target import find_job, job_name, no_answer
from envcfg.commands.option_arguments import add_defaults, use_defaults
from envcfg.commands.printing import say
from envcfg.common.characters import one_line
from envcfg.common.errors import JobError
from envcfg.common.interrupts import raise_signals
from envcfg.core.option import within

if TYPE_CHECKING:
    from envcfg.common.child_process import ChildProcess
    from envcfg.nodes.monitor.outliers import ExpectedNodes
    from envcfg.profile.profile_model import Profile
    from envcfg.report.monitor_report import Show

_LOOKS = 2  # rates and idle GPUs need two looks
_END_SECONDS = 5.0  # until Slurm reports an end that was already observed


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``monitor``."""
    add_own(
        parser,
        "monitor",
        seconds=within(0.2, 86400, "seconds"),
        percent=within(0, 100, "percent"),
    )
    add_defaults(parser, "profile")


def run(options: argparse.Namespace) -> int:
    """Watch the job; return 0 when the job, or the single look, is over."""
    check_format(options)
    name = job_name(options.job, "monitor")
    use_defaults(options)
    requirements = _wanted(options.profile, writable=options.allow_writable)
    from envcfg.nodes.probe.probes import MONITOR
    from envcfg.nodes.probe.slurm_job import lost_nodes, start_step
    from envcfg.report.monitor_report import showing

    job, hosts, is_part = find_job(name, options.nodes, "monitor")
    requirements = requirements._replace(asked_gpus=job.gpus)
    raise_signals()  # an interruption must end the step and restore the cursor
    left, errors = hosts, list[str]()
    writer = showing(
        job, requirements.interfaces, as_json=options.json, once=options.once
    )
    with writer as show:
        # srun ends a step with a node that it cannot reach; the others are asked again.
        while left:
            with start_step(
                MONITOR, job.id, left, is_part=is_part, more=options.srun_arg
            ) as step:
                code = _watch(step, hosts, requirements, options, show)
            if code is not None:
                return code
            errors, lost = step.errors, lost_nodes(step.errors, left)
            left = [host for host in left if host not in lost] if lost else []
            is_part = True
    return _after_end(name, errors)


def _watch(
    step: ChildProcess,
    hosts: Sequence[str],
    requirements: ExpectedNodes,
    options: argparse.Namespace,
    show: Show,
) -> int | None:
    """Show the answers of *step* until it ends; return the exit code of a single look."""
    from envcfg.common.findings import Result
    from envcfg.nodes.monitor.node_board import PATIENCE, Board, rounds
    from envcfg.nodes.monitor.outliers import by_host, find_marks

    is_once = options.once or options.format is not None
    board, looks = Board(hosts, idle_below=options.gpus_idle_below), 0
    for now in rounds(step, board, options.interval):
        if not board.has_any():
            raise no_answer(step.errors, "no node has answered")
        looks += 1
        if is_once and looks < _LOOKS:
            continue
        nodes = board.views(now, PATIENCE + options.interval)
        findings = find_marks(nodes, requirements, idle_below=options.gpus_idle_below)
        if options.format is not None:
            result = Result(by_host(nodes, findings), "node")
            return put_result(result, options.format, strict=options.strict)
        show(nodes, findings)
        if options.once:
            return 0
    return None


def _wanted(name: str | None, *, writable: bool) -> ExpectedNodes:
    """Return the profile's requirements on a node; empty without a profile."""
    from envcfg.core.selection import open_catalog, overlays, possible_kinds
    from envcfg.nodes.monitor.outliers import ExpectedNodes
    from envcfg.profile.detect import detect
    from envcfg.site.machine import this_machine

    catalog = open_catalog(writable=writable)
    if name is None:
        answers = detect(catalog, this_machine()).matches
        if len(answers) != 1:  # an unclear profile must not prevent a look at the job
            return ExpectedNodes()
        name = answers[0].name
    profile = catalog.load(name)
    say(overlays(catalog))
    kinds = {_required_of(kind) for kind in possible_kinds(profile, name)}
    # Nodes of another kind must not be marked.
    return kinds.pop() if len(kinds) == 1 else ExpectedNodes(profile=profile.name)


def _required_of(profile: Profile) -> ExpectedNodes:
    from envcfg.nodes.monitor.outliers import ExpectedNodes

    node, expect = profile.node, profile.expect
    return ExpectedNodes(
        whole_gpus=node.gpus if node else None,
        interfaces=(node.nics if node else ()) or (expect.interfaces if expect else ()),
        profile=profile.name,
    )


def _after_end(name: str, errors: Sequence[str]) -> int:
    """Report that the job has ended, if it has; return 0.

    Raises:
        JobError: the job continues, and something else ended the step.
    """
    from envcfg.nodes.probe.slurm_job import ask_job

    deadline = time.monotonic() + _END_SECONDS
    while True:
        try:
            state = ask_job(name, "monitor").state
        except JobError:  # some sites forget a job directly after its end
            state = "unknown to Slurm"
        is_over = state not in ("RUNNING", "COMPLETING")
        if is_over or time.monotonic() >= deadline:
            break
        time.sleep(0.5)
    if state == "RUNNING":
        raise no_answer(errors, f"the step in job {name} has ended, the job goes on")
    sys.stderr.write(f"envcfg: job {one_line(name)} has ended: {one_line(state)}\n")
    return 0
