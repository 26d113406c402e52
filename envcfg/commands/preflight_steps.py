"""The two steps of a preflight, in the bash that ``wrap`` makes for the same options.

``profiles probe`` takes them, too, and asks each node for more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from envcfg.bash.host import render_script
from envcfg.characters import one_line
from envcfg.core.step import Step
from envcfg.errors import JobError
from envcfg.launch.diagnostics import Diagnostics
from envcfg.launch.plan import Options
from envcfg.launch.resolve import resolve
from envcfg.launch.tasks import choose_launcher
from envcfg.launchers import LAUNCHERS
from envcfg.log.expectations import expectations_of
from envcfg.preflight.judge import Seen
from envcfg.preflight.lines import NodeReader, RankReader, collective_command
from envcfg.preflight.log import LiveLog
from envcfg.preflight.node_list import job_name
from envcfg.preflight.nodes import wanted_gpus
from envcfg.preflight.progress import Limits, NodeProgress, RankProgress
from envcfg.preflight.records import NodeAnswer, Wanted
from envcfg.probe.probes import PREFLIGHT, Probe
from envcfg.probe.runner import StepEnd, ended_tasks, run_script
from envcfg.probe.slurm import run_command
from envcfg.profile.words import Ref, Word
from envcfg.starters import STARTERS

_SETTLE = 3.0  # seconds that other ranks have to say that their log is bad, too
_SAID = 12  # lines of a step's errors that are passed on
# Of NCCL 2.31 and newer; older ones read neither (user guide, "Diagnostics").
_DIAGNOSTICS = ("NCCL_RUN_DIAGNOSTICS", "NCCL_RUN_RAS_DIAGNOSTICS")


class Steps:
    """Starts the steps and reads what they say."""

    def __init__(
        self, step: Step, wanted: Wanted, limits: Limits, argv: Sequence[str]
    ) -> None:
        """Prepare the steps of the job that *step* describes; *argv* made them."""
        self._step, self._wanted, self._limits = step, wanted, limits
        self._argv = argv
        self._launcher, name = choose_launcher(step.profile, step.options)
        self._starter = STARTERS[name]

    def look_at_nodes(
        self, probe: Probe = PREFLIGHT, words: Sequence[str] = ()
    ) -> tuple[Mapping[str, NodeAnswer], Mapping[str, str]]:
        """Return what each node says of itself, and whose task has ended too early.

        Raises:
            JobError: the step cannot start.
        """
        import time

        starter = self._starter
        devices = [f"device={each}" for each in self._wanted.devices]
        for folder in dict.fromkeys(self.folders().values()):
            devices.append(f"folder={folder}")
            if probe is not PREFLIGHT:
                devices.append(f"speed={folder}")
        command = probe.command(*devices, *words)
        script = self._script(command, ranks=1, apart=True)
        shares = starter.looking.shares
        env = {name: os.environ[name] for name in os.environ if name not in shares}
        reader = NodeReader(self._wanted.hosts)
        progress = NodeProgress(self._wanted.hosts, self._limits, time.monotonic())
        end = run_script(
            script,
            env,
            reader.feed,
            lambda now: progress.deadline(reader.answers, now),
        )
        if not reader.answers and end.code:
            _pass_on(end)
            msg = "no node has answered: the step could not start"
            raise JobError(msg, hint="its own messages are above")
        ended = ended_tasks(end.errors, starter.looking.ended)
        if ended:
            _pass_on(end)
        return reader.answers, self._by_name(ended)

    def add(self, seen: Seen, *, diagnostics: bool) -> Seen:
        """Return *seen* with what the ranks say, and NCCL's log."""
        import time

        hosts, seconds = self._wanted.hosts, self._limits.measure
        command = collective_command(len(hosts), seconds)
        settings = dict.fromkeys(_DIAGNOSTICS if diagnostics else (), ("1",))
        script = self._script(command, ranks=self._ranks(seen), settings=settings)
        reader, log = RankReader(hosts), LiveLog()
        progress = RankProgress(self._limits, time.monotonic())

        def take(line: str) -> None:
            if reader.feed(line):
                return
            log.take(line)
            if " NCCL DIAG " in line:
                sys.stderr.write(f"{one_line(line.rstrip())}\n")

        expect = expectations_of(self._step.profile)
        cut: float | None = None

        def deadline(now: float) -> float | None:
            nonlocal cut
            if cut is None and log.is_bad(expect._replace(ranks=reader.world), now):
                cut = now + _SETTLE
            limit = progress.deadline(reader.answers, reader.world, now)
            return limit if limit is None or cut is None else min(limit, cut)

        end = run_script(script, os.environ, take, deadline)
        if end.code != 0:
            _pass_on(end)
        expect = expect._replace(ranks=reader.world)
        return seen._replace(
            ranks=reader.answers,
            world=reader.world,
            tasks=self._by_name(ended_tasks(end.errors, self._starter.looking.ended)),
            code=end.code,
            has_ranks=True,
            log=log.report(expect),
            is_cut=cut is not None,
        )

    def _script(
        self,
        command: tuple[str, ...],
        *,
        ranks: int | None,
        settings: Mapping[str, Word] = {},
        apart: bool = False,
    ) -> str:
        given: Options = self._step.options
        own, name = {**given.starter_args}, self._starter.own
        if apart and name:
            own[name] = (*self._starter.looking.apart, *own.get(name, ()))
        options = given._replace(
            launcher=self._starter.name,
            ranks=ranks,
            command=command,
            starter_args=own,
            # As --nccl-debug; the log goes to stdout, where it is read.
            settings={**given.settings, **settings, "NCCL_DEBUG_FILE": None},
            diagnostics=Diagnostics(nccl=True, setup=given.diagnostics.setup),
        )
        plan = resolve(self._step.profile, self._step.profile_hash, options)
        return render_script(plan._replace(masks=None), self._argv)

    def _ranks(self, seen: Seen) -> int | None:
        """Return how many ranks a node has; None lets the job say it."""
        given, known = self._step.options.ranks, LAUNCHERS[self._launcher]
        if not known.is_whole and (given is not None or not known.is_agent):
            return given
        counts = [wanted_gpus(each, self._wanted)[0] for each in seen.answers.values()]
        return min(counts, default=0) or None

    def folders(self) -> Mapping[str, str]:
        """Return the folders that a job needs on its nodes, by what they are for."""
        scratch = self._step.profile.scratch
        found = {
            "scratch": _expanded(scratch.root) if scratch else None,
            "TMPDIR": os.environ.get("TMPDIR") or "/tmp",  # noqa: S108  # looked at only
            "shared memory": "/dev/shm",  # noqa: S108
        }
        return {name: path for name, path in found.items() if path}

    def _by_name(self, found: Mapping[str, str]) -> dict[str, str]:
        return {job_name(host, self._wanted.hosts): how for host, how in found.items()}


def _expanded(word: Word) -> str | None:
    """Return what a value comes to in this environment; None where a name is not set."""
    parts = [
        os.environ.get(each.name) or each.default if isinstance(each, Ref) else each
        for each in word
    ]
    return None if None in parts else "".join(part or "" for part in parts)


def _pass_on(end: StepEnd) -> None:
    said = [line for line in end.errors if not line.startswith("envcfg: note: ")]
    for line in said[-_SAID:]:
        sys.stderr.write(f"{one_line(line)}\n")


def wanted_of(step: Step) -> Wanted:
    """Return what the nodes of this job should have, by the profile of *step*.

    Raises:
        JobError: this is not a job.
    """
    starter = STARTERS[choose_launcher(step.profile, step.options)[1]]
    profile, expect = step.profile, step.profile.expect
    return Wanted(
        hosts=_hosts_of(starter.looking.hosts),
        interfaces=(profile.node.nics if profile.node else ())
        or (expect.interfaces if expect else ()),
        gpus=profile.node.gpus if profile.node else None,
        devices=expect.devices if expect else (),
        is_fast=expectations_of(profile).wants_fast,
        bandwidth=expect.bandwidth if expect else None,
        profile=profile.name,
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
    hosts = tuple(dict.fromkeys(out.split()))
    if code or not hosts:
        said = err.strip().splitlines()
        why = said[-1] if said else f"{command[0]} names none"
        raise JobError(f"the nodes of this job are not known: {why}", hint=hint)  # noqa: EM102
    return hosts
