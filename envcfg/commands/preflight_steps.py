"""The two steps of a preflight, in the bash that ``wrap`` writes for the same options.

``profiles probe`` uses them too, with more questions to each node.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from envcfg.backends.launchers import LAUNCHERS
from envcfg.common.characters import split_lines
from envcfg.common.errors import JobError
from envcfg.common.secrets import safe_line
from envcfg.core.step import Step
from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.job.plan.tasks import choose_launcher
from envcfg.job.script.host_part import render_script
from envcfg.log.expectations import expectations_of
from envcfg.nodes.preflight.collective_log import LiveLog
from envcfg.nodes.preflight.node_judge import wanted_gpus
from envcfg.nodes.preflight.preflight_judge import Answers
from envcfg.nodes.preflight.preflight_lines import (
    RankReader,
    collective_command,
)
from envcfg.nodes.preflight.preflight_records import Requirements
from envcfg.nodes.preflight.progress import Limits, NodeProgress, RankProgress
from envcfg.nodes.probe.node_answer import NodeAnswer, NodeReader, job_name
from envcfg.nodes.probe.probes import PREFLIGHT, Probe
from envcfg.nodes.probe.runner import ended_tasks, run_script
from envcfg.nodes.probe.slurm_job import run_command
from envcfg.profile.words import Ref, Word

_SETTLE = 3.0  # seconds for other ranks to report that their log is bad too
_SAID = 12  # lines of a step's errors that are printed


class Steps:
    """Starts the steps and reads their output."""

    def __init__(
        self,
        step: Step,
        requirements: Requirements,
        limits: Limits,
        argv: Sequence[str],
    ) -> None:
        """Prepare the steps of the job that *step* describes; *argv* made them."""
        self._step, self._wanted, self._limits = step, requirements, limits
        self._argv = argv
        self._launcher, self._starter = choose_launcher(step.profile, step.options)

    def look_at_nodes(
        self, probe: Probe = PREFLIGHT, words: Sequence[str] = ()
    ) -> tuple[Mapping[str, NodeAnswer], Mapping[str, str]]:
        """Return each node's answer, and the nodes with a task that ended too early.

        Raises:
            JobError: the step cannot start.
        """
        import time

        starter = self._starter
        # The node's checks are words, because the nodes need no configuration file.
        devices = [f"device={device}" for device in self._wanted.devices]
        for folder in dict.fromkeys(self.folders().values()):
            devices.append(f"folder={folder}")
            # Measuring a disk takes seconds, so only the probe does it.
            if probe is not PREFLIGHT:
                devices.append(f"speed={folder}")
        command = probe.command(*devices, *words)
        script = self._script(command, ranks=1, apart=True)
        # Resources of a sharing step would be taken from the user's step.
        shares = starter.looking.shares
        env = {name: os.environ[name] for name in os.environ if name not in shares}
        reader = NodeReader(self._wanted.hosts)
        progress = NodeProgress(self._wanted.hosts, self._limits, time.monotonic())
        code, errors = run_script(
            script,
            env,
            reader.feed,
            lambda now: progress.deadline(reader.answers, now),
        )
        # Without any answer, the step itself failed, and its own messages are the
        # best explanation.
        if not reader.answers and code:
            _pass_on(errors)
            msg = "no node has answered: the step could not start"
            raise JobError(msg, hint="its own messages are above")
        ended = ended_tasks(errors, starter.looking.ended)
        if ended:
            _pass_on(errors)
        return reader.answers, self._by_name(ended)

    def add(self, observations: Answers) -> Answers:
        """Return *observations* with the answers of the ranks, and NCCL's log."""
        import time

        hosts, seconds = self._wanted.hosts, self._limits.measure
        # The collective runs even on one node: a broken GPU also shows there.
        command = collective_command(len(hosts), seconds)
        script = self._script(command, ranks=self._ranks(observations))
        reader, log = RankReader(hosts), LiveLog()
        progress = RankProgress(self._limits, time.monotonic())

        # Lines of the collective have a mark; all other lines belong to NCCL's log.
        def take(line: str) -> None:
            if reader.feed(line):
                return
            log.take(f"{line}\n")
            # NCCL's own diagnostics, which --set NCCL_RUN_DIAGNOSTICS=1 asks for.
            if " NCCL DIAG " in line:
                sys.stderr.write(f"{safe_line(line.rstrip())}\n")

        expect = expectations_of(self._step.profile)
        # After a bad line, the step gets a short time: other ranks may show the
        # same fault.
        cut: float | None = None

        def deadline(now: float) -> float | None:
            nonlocal cut
            if cut is None and log.is_bad(expect._replace(ranks=reader.world), now):
                cut = now + _SETTLE
            limit = progress.deadline(reader.answers, reader.world, now)
            return limit if limit is None or cut is None else min(limit, cut)

        code, errors = run_script(script, os.environ, take, deadline)
        if code != 0:
            _pass_on(errors)
        # The number of ranks is known only after they have answered.
        expect = expect._replace(ranks=reader.world)
        return observations._replace(
            ranks=reader.answers,
            world=reader.world,
            tasks=self._by_name(ended_tasks(errors, self._starter.looking.ended)),
            code=code,
            has_ranks=True,
            log=log.report(expect),
            is_cut=cut is not None,
        )

    def _script(
        self, command: tuple[str, ...], *, ranks: int | None, apart: bool = False
    ) -> str:
        given: Options = self._step.options
        own, name = {**given.starter_args}, self._starter.own
        if apart and name:
            # The user's arguments come after, because srun takes the last value.
            own[name] = (*self._starter.looking.apart, *own.get(name, ()))
        options = given._replace(
            launcher=self._starter.name,
            ranks=ranks,
            command=command,
            starter_args=own,
            # The same settings as --nccl-debug, but the log goes to stdout, where
            # it is read.
            settings={**given.settings, "NCCL_DEBUG_FILE": None},
            nccl_debug=(),
        )
        plan = resolve(self._step.profile, self._step.profile_hash, options)
        # Masks would bind the probe itself, which must see all cores.
        return render_script(plan._replace(masks=None), self._argv)

    def _ranks(self, observations: Answers) -> int | None:
        """Return the number of ranks per node; None if only the job knows it."""
        ranks, launcher = self._step.options.ranks, LAUNCHERS[self._launcher]
        # Agents choose their number of ranks themselves, unless the user fixed it.
        if not launcher.is_whole and (ranks is not None or not launcher.is_agent):
            return ranks
        # The smallest node decides, because all nodes get the same number.
        counts = [
            wanted_gpus(answer, self._wanted)[0]
            for answer in observations.answers.values()
        ]
        return min(counts, default=0) or None

    def folders(self) -> Mapping[str, str]:
        """Return the folders that a job needs on its nodes, by their purpose."""
        scratch = self._step.profile.scratch
        folders = {
            "scratch": _expanded(scratch.root) if scratch else None,
            "TMPDIR": os.environ.get("TMPDIR") or "/tmp",  # noqa: S108  # only examined
            "shared memory": "/dev/shm",  # noqa: S108
        }
        return {name: path for name, path in folders.items() if path}

    def _by_name(self, result: Mapping[str, str]) -> dict[str, str]:
        # Nodes may report a long name, while the scheduler uses the short one.
        return {job_name(host, self._wanted.hosts): how for host, how in result.items()}


def _expanded(word: Word) -> str | None:
    """Return the value in this environment; None if a name is not set."""
    parts = [
        os.environ.get(part.name) or part.default if isinstance(part, Ref) else part
        for part in word
    ]
    return None if None in parts else "".join(part or "" for part in parts)


def _pass_on(errors: Sequence[str]) -> None:
    # Notes of envcfg were printed when the step was made.
    messages = [line for line in errors if not line.startswith("envcfg: note: ")]
    for line in messages[-_SAID:]:
        sys.stderr.write(f"{safe_line(line)}\n")


def wanted_of(step: Step) -> Requirements:
    """Return the requirements on the nodes of this job, from the profile of *step*.

    Raises:
        JobError: this is not a job.
    """
    starter = choose_launcher(step.profile, step.options)[1]
    profile, expect = step.profile, step.profile.expect
    expected = expectations_of(profile)
    return Requirements(
        hosts=_hosts_of(starter.looking.hosts),
        interfaces=(profile.node.nics if profile.node else ())
        or (expect.interfaces if expect else ()),
        # The profile's NICs are more exact than the expected interfaces.
        gpus=profile.node.gpus if profile.node else None,
        devices=expect.devices if expect else (),
        is_fast=expected.wants_fast,
        bandwidth=expect.bandwidth if expect else None,
        profile=profile.name,
        nics=dict(zip(expected.buses, expected.attached, strict=False)),
        masks=expected.masks,
    )


def _hosts_of(command: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes of the job, in order.

    Raises:
        JobError: this is not a job.
    """
    fault = "cannot ask for the nodes of this job:"
    hint = "run it in a job: in an sbatch script, or under salloc, "
    hint += "or choose --launcher local"
    code, out, err = run_command(command, fault, hint, "does the scheduler answer?")
    # Duplicates appear if the scheduler lists a host once per task.
    hosts = tuple(dict.fromkeys(out.split()))
    if code or not hosts:
        messages = split_lines(err.strip())
        why = messages[-1] if messages else f"{command[0]} names none"
        raise JobError(f"the nodes of this job are not known: {why}", hint=hint)  # noqa: EM102
    return hosts
