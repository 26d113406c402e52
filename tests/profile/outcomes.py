"""What a profile makes of a job, found by running its bash with fakes.

The job is a usual one: it says how many GPUs a node has, all optional paths are there, and
it owns whole nodes. Of its ranks the first and the last are run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from images import IMAGE, IMAGES, Stack, stacks

from envcfg.backends.launchers import USUAL, starter_of
from envcfg.job.plan.plan import Options, Plan
from envcfg.job.plan.resolve import resolve
from envcfg.job.script.host_part import render_script
from envcfg.profile.entries import BindMount
from envcfg.profile.profile_model import Profile
from support import ROOT, environment, zero_separated

FAKES = ROOT / "tests/fakes"
NODES = (1, 4)
GPUS = 4  # of a node, where the profile does not tell
MASKING = (
    "ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL"
).split()

# Stands in for python and for the program: as torchrun it starts two ranks, as the program
# it writes down its environment.
PROGRAM = r"""#!/bin/sh
node=${SLURM_NODEID-${PALS_NODEID-0}}
if [ "$1" != -m ]; then
  exec env -0 >"$OUT/${RANK-none${SLURM_PROCID-}${FLUX_TASK_RANK-}}.env"
fi
printf '%s\0' python3 >"$OUT/agent$node"
while [ "$1" != --no-python ]; do
  printf '%s\0' "$1" >>"$OUT/agent$node"
  shift
done
shift
for i in 0 1; do
  GROUP_RANK=$node RANK=$((2 * node + i)) LOCAL_RANK=$i "$@" || exit
done
"""

Environ = Mapping[str, str]


class Case(NamedTuple):
    """A way to run a job, in words."""

    launcher: str
    nodes: int
    stack: str


class Outcome(NamedTuple):
    """What a job came to.

    Attributes:
        lines: what srun or flux, the runtime and torchrun were given.
        job: the environment of the batch script.
        ranks: the environment of each rank that was run, by rank.
        bare: that of rank 0 where the same launcher starts it without envcfg.
    """

    lines: tuple[str, ...]
    job: Environ
    ranks: Mapping[int, Environ]
    bare: Environ


def launchers(profile: Profile) -> tuple[str, ...]:
    """Return the launchers that the profile allows, its own first."""
    return tuple(profile.launchers or USUAL)


def plan(profile: Profile, launcher: str, stack: Stack, folder: Path) -> Plan:
    """Return the plan of a job in *folder*, where the program and all images are."""
    options = Options(
        container=f"{folder}/{stack.image}",
        launcher=launcher,
        facts=stack.facts,
        command=(f"{folder}/python3", "train.py"),
        ranks=2 if starter_of(launcher, profile.launchers) == "local" else None,
    )
    return resolve(profile, "0", options)


def outcomes(profile: Profile, folder: Path) -> Iterator[tuple[Case, Plan, Outcome]]:
    """Run the jobs: on every launcher, on the first one also with what may be stated."""
    _write_program(folder)
    (folder / "status").write_text(f"Cpus_allowed:\t{','.join(['ffffffff'] * 16)}\n")
    for image in (IMAGE, *IMAGES):
        (folder / image).touch()
    for launcher in launchers(profile):
        known: list[tuple[Plan, list[Outcome]]] = []
        for stack in stacks(profile):
            if known and launcher != launchers(profile)[0]:
                break
            made = plan(profile, launcher, stack, folder)
            essence = made._replace(facts={}, notes=())
            found = [done for other, done in known if other == essence]
            numbers = [1] if made.starter.name == "local" else NODES
            done = (
                found[0] if found else [run(made, nodes, folder) for nodes in numbers]
            )
            known.append((essence, done))
            for nodes, outcome in zip(numbers, done, strict=True):
                yield Case(launcher, nodes, stack.label), made, outcome


def run(made: Plan, nodes: int, folder: Path) -> Outcome:
    """Run the script of a plan in a job of so many *nodes*."""
    gpus = made.profile.gpus or GPUS
    tasks = {"torchrun": 1, "local": 2}.get(made.launcher, gpus)
    env = {
        "LC_ALL": "C.UTF-8",
        "PATH": f"{FAKES}:{os.environ['PATH']}",
        "HOME": "/home/me",
        "USER": "me",
        "FAKE_NODES": str(nodes),
        "FAKE_TASKS": str(tasks),
        "FAKE_ONLY": f"0 {nodes * tasks - 1}",
        **dict.fromkeys(MASKING, ",".join(map(str, range(gpus)))),
    }
    if made.starter.name == "flux":
        env["FLUX_URI"] = "local:///tmp/flux-AbCdEf/local-0"
    elif made.starter.name == "pbs":
        (folder / "nodes").write_text("".join(f"node{n + 1}\n" for n in range(nodes)))
        (folder / "hostname").write_text("node1\n")
        env |= {"PBS_JOBID": "4321.pbs", "PBS_NODEFILE": f"{folder}/nodes"}
    elif made.starter.name == "srun":
        nodelist = "node1" if nodes == 1 else f"node[1-{nodes}]"
        env |= {
            "FAKE_NODELIST": nodelist,
            "SLURMD_NODENAME": "node1",
            "SLURM_GPUS_PER_NODE": str(gpus),
            "SLURM_JOB_ID": "4321",
            "SLURM_JOB_NODELIST": nodelist,
            "SLURM_NNODES": str(nodes),
        }
    script = render_script(_at(made, folder / "root"), ["envcfg"])
    script = script.replace("/proc/self/status", f"{folder}/status")
    if (
        made.profile.rendezvous and made.profile.rendezvous.interface
    ):  # whose address is asked for on the first node: this one
        script = script.replace("/proc/sys/kernel/hostname", f"{folder}/hostname")
    job, notes = _execute(f"set -euo pipefail\n{script}", env, folder)
    return Outcome(
        lines=tuple(_lines(notes, folder)),
        job=job,
        ranks={int(each.stem): _text(each) for each in notes.glob("[0-9]*.env")},
        bare=_bare(
            made.starter.name,
            tuple(env.items()),
            by_torchrun=made.launcher == "torchrun",
        ),
    )


@lru_cache(maxsize=64)
def _bare(
    starter: str, env: tuple[tuple[str, str], ...], *, by_torchrun: bool
) -> Environ:
    """Return the environment of rank 0 where it is started without envcfg."""
    start = {
        "srun": "srun",
        "flux": 'flux run -N "$FAKE_NODES" -n $((FAKE_NODES * FAKE_TASKS))',
        "pbs": 'mpiexec -n $((FAKE_NODES * FAKE_TASKS)) -ppn "$FAKE_TASKS"',
        "local": "",
    }[starter]
    agent = "./python3 -m x --no-python" if by_torchrun else ""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_program(folder)
        _, notes = _execute(
            f"{start} {agent} ./python3", {**dict(env), "FAKE_ONLY": "0"}, folder
        )
        return _text(min(notes.glob("*.env")))


def _write_program(folder: Path) -> None:
    program = folder / "python3"
    program.write_text(PROGRAM)
    program.chmod(0o755)


def _execute(script: str, env: Environ, folder: Path) -> tuple[Environ, Path]:
    notes = folder / f"notes{len(list(folder.glob('notes*')))}"
    notes.mkdir()
    job = {**env, "FAKE_NOTES": str(notes), "OUT": str(notes)}
    done = subprocess.run(
        ["bash", "-c", script], env=job, cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return job, notes


def _at(made: Plan, root: Path) -> Plan:
    """Return a plan whose paths on the host are below *root*, where they are made."""

    def there(path: str | None) -> str | None:
        if path is None:
            return None
        Path(f"{root}{path}").mkdir(parents=True, exist_ok=True)
        return f"{root}{path}"

    def below(mount: BindMount) -> BindMount:
        bind = mount.bind._replace(source=str(there(mount.bind.source)))
        path = there(mount.if_exists)
        return mount._replace(bind=bind, text=f"{root}{mount.text}", if_exists=path)

    assert made.container
    binds = tuple(map(below, made.container.binds))
    words = tuple(
        each._replace(if_exists=there(each.if_exists))
        for each in made.container.arguments
    )
    return made._replace(
        container=made.container._replace(binds=binds, arguments=words)
    )


def _text(path: Path) -> Environ:
    pairs = environment(path).items()
    return {name.decode(): value.decode() for name, value in pairs}


def _lines(notes: Path, folder: Path) -> Iterator[str]:
    """Yield what the launcher, the runtime and torchrun were given, each as a line."""
    for program in ("srun", "flux-run", "mpiexec", "runtime", "agent0"):
        words = [word.decode() for word in zero_separated(notes / program)]
        if not words:
            continue
        if program == "srun":  # the call that removes the caches comes after the step
            end = words.index("--overlap") if "--overlap" in words else len(words)
            words = ["srun", *words[:end]]
        elif program == "flux-run":
            words = ["flux", "run", *words]
        elif program == "mpiexec":  # as with srun
            again = [n for n, word in enumerate(words) if word == "--np"][1:2]
            words = ["mpiexec", *(words[: again[0]] if again else words)]
        elif program == "runtime":  # as many times as ranks were run
            many = words.count(words[0])
            assert words == words[: len(words) // many] * many
            words = words[: len(words) // many]
        last = len(words) - 1 if program == "runtime" else len(words)
        text = "".join(
            f" \\\n    {word}" if word.startswith("-") or at == last else f" {word}"
            for at, word in enumerate(map(shlex.quote, words))
        )
        line = normal(text.strip(), folder)
        flat = line.replace(" \\\n   ", "")
        yield flat if len(flat) < 88 else line


def normal(text: str, folder: Path) -> str:
    """Return *text* without what differs from one run to the next."""
    text = text.replace(f"{folder}/root", "").replace(str(folder), "/home/me")
    cache, host = rf"envcfg-{os.getuid()}-(\w+)-\d+\.0-", re.escape(os.uname().nodename)
    text = re.sub(r"(rdzv-id=local-|127\.0\.0\.1:)\d+", r"\1PORT", text)
    pbs = r"(rdzv-id=4321\.)\d\d+(\s+(?:\\\s+)?--rdzv-endpoint=[^:]+:)\d+"
    text = re.sub(pbs, r"\1PID\2PORT", text)  # of the step's shell
    text = re.sub(rf"{cache}{host}\b", r"envcfg-UID-\1-PID.0-HOST", text)
    return re.sub(cache, r"envcfg-UID-\1-PID.0-", text)
