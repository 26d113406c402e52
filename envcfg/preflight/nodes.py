"""What is wrong with a node, by what its probe has said; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from statistics import median_high

from envcfg.characters import whole_number
from envcfg.findings import Finding, Severity
from envcfg.log.numbers import count_of, number_ranges
from envcfg.preflight.records import NodeAnswer, Wanted
from envcfg.probe.gpu import KIB, MIB

_GIB = 1 << 30
_LEFT = _GIB  # free in a folder for scratch
_SHARED = 64 * MIB  # and in /dev/shm, where the ranks of a node meet
_HELD = _GIB  # of a GPU's memory, before any rank of ours runs
_BUSY = 20.0  # percent that such a GPU is used
_SHM = "/dev/shm"  # noqa: S108  # it is looked at, nothing is put there


def judge_nodes(
    wanted: Wanted, answers: Mapping[str, NodeAnswer], ended: Mapping[str, str]
) -> dict[str, list[Finding]]:
    """Return what is wrong with each node of the job.

    Args:
        wanted: what nodes should have.
        answers: by host.
        ended: nodes whose task has ended before its time, with what is known of that.
    """
    usual = _usual_networks(answers.values())
    limits = [each.memlock for each in answers.values() if each.memlock is not None]
    # How many bytes a process may lock on most nodes.
    locked = median_high([inf if each < 0 else each for each in limits] or [0])
    found: dict[str, list[Finding]] = {}
    for host in wanted.hosts:
        answer = answers.get(host)
        if answer is None or not answer.is_whole:
            found[host] = [_silent(host, answer, ended.get(host))]
            continue
        found[host] = [
            *_networks(answer, wanted, usual),
            *_devices(answer),
            *_gpus(answer, wanted),
            *_health(answer),
            *_memlock(answer, wanted, locked),
            *_folders(answer),
            *_plugin(answer),
        ]
    return found


def not_seen(wanted: Wanted, answers: Mapping[str, NodeAnswer]) -> list[str]:
    """Return what nobody could look at, as the image lacks what tells."""
    whole = [each for each in answers.values() if each.is_whole]
    unseen = []
    if wanted.gpus and any(each.gpus and each.gpus.tool == "none" for each in whole):
        unseen.append("the state of the GPUs: no nvidia-smi, rocm-smi or amd-smi")
    if any(row[0] == "unknown" for each in whole for row in each.rows("plugin")):
        unseen.append("the libraries of the network plugin: no ldd")
    if any(row[0] == "unknown" for each in whole for row in each.rows("folder")):
        unseen.append("whether folders can be written: no rm")
    return unseen


def _silent(host: str, answer: NodeAnswer | None, ended: str | None) -> Finding:
    if ended is not None:
        said = f"its task has ended before it answered: {ended}"
        fix = "srun -w NODE true tells more"
        return Finding("node-failed", "error", host, said, fix)
    begun = "did not answer" if answer is None else "began to answer, and stopped"
    said = f"{begun}; it hangs, or could not start a container"
    fix = "leave it out, and tell the site"
    return Finding("node-silent", "error", host, said, fix)


def interfaces_of(answer: NodeAnswer, wanted: Wanted) -> list[str]:
    """Return the beginnings of names that NCCL may use here; ``=`` marks whole names.

    ``NCCL_SOCKET_IFNAME`` as NCCL reads it: a list of beginnings, of names after ``=``,
    of what is not wanted after ``^``.
    """
    said = answer.variables.get("NCCL_SOCKET_IFNAME", "")
    if said and not said.startswith("^"):
        is_exact = said.startswith("=")
        names = said.removeprefix("=").split(",")
        return [f"={each}" if is_exact else each for each in names if each]
    return [f"={each}" for each in wanted.interfaces]


def _fits(name: str, sign: str) -> bool:
    return name == sign[1:] if sign.startswith("=") else name.startswith(sign)


def _usual_networks(answers: Iterable[NodeAnswer]) -> frozenset[str]:
    """Return the interfaces that work on most nodes."""
    whole = [each for each in answers if each.is_whole]
    counts = Counter(
        name
        for each in whole
        for name, state, address in each.rows("network")
        if state == "up" and address != "-"
    )
    return frozenset(name for name, count in counts.items() if 2 * count >= len(whole))


def _networks(
    answer: NodeAnswer, wanted: Wanted, usual: frozenset[str]
) -> Iterator[Finding]:
    here = {row[0]: row for row in answer.rows("network")}
    signs = interfaces_of(answer, wanted)
    names = {
        name: None
        for sign in signs
        for name in sorted({*here, *usual})
        if _fits(name, sign) and (name in usual or sign == f"={name}")
    }
    for sign in signs:
        whole = sign.removeprefix("=")
        if not any(_fits(name, sign) for name in {*here, *usual}):
            names[whole] = None
        elif not any(_fits(name, sign) for name in names):  # down on most nodes
            names |= {name: None for name in here if _fits(name, sign)}
    for name in names:
        network = here.get(name)
        if network is None:
            said = f"has no interface {name}"
        elif network[1] != "up":
            said = f"interface {name} is down"
        elif network[2] == "-":
            said = f"interface {name} has no address"
        else:
            continue
        fix = "leave the node out, or correct NCCL_SOCKET_IFNAME if it means another"
        yield Finding("interface-down", "error", answer.host, said, fix)


def _devices(answer: NodeAnswer) -> Iterator[Finding]:
    for count, pattern in answer.rows("device"):
        if not int(count):
            said = f"has no {pattern} in the container"
            fix = "does the runtime bind it? else leave the node out, and tell the site"
            yield Finding("device-missing", "error", answer.host, said, fix)


def wanted_gpus(answer: NodeAnswer, wanted: Wanted) -> tuple[int, str]:
    """Return how many GPUs the node should show, and who says so; 0: nobody does."""
    given = whole_number(answer.variables.get("SLURM_GPUS_ON_NODE"))
    if given is not None:
        return given, "Slurm"
    if answer.gpus and answer.gpus.allotted:
        return answer.gpus.allotted, "Slurm"
    return wanted.gpus or 0, f"profile {wanted.profile}"


def _gpus(answer: NodeAnswer, wanted: Wanted) -> Iterator[Finding]:
    count, who = wanted_gpus(answer, wanted)
    sample = answer.gpus
    if sample is None:
        said = "the tool of the GPUs did not answer"
        yield Finding(
            "gpu-tool-failed", "error", answer.host, said, "leave the node out"
        )
        return
    seen = [each for each in sample.gpus if each.is_ours]
    if sample.tool != "none" and len(seen) < count:
        more = f"; it says: {sample.problem}" if sample.problem else ""
        said = f"{sample.tool} shows {len(seen)} of {count} GPUs ({who}){more}"
        fix = "leave the node out, and tell the site"
        yield Finding("gpu-missing", "error", answer.host, said, fix)
    elif sample.problem:
        said = f"{sample.tool} says: {sample.problem}"
        yield Finding("gpu-tool-failed", "warning", answer.host, said, "ask the site")
    held = [
        each.number
        for each in seen
        if (each.memory_used or 0) > _HELD or (each.use or 0.0) > _BUSY
    ]
    if held:
        many = f"{'GPU' if len(held) == 1 else 'GPUs'} {number_ranges(held)}"
        said = f"{many} in use before the job: somebody's process is left there"
        fix = "leave the node out, or tell the site"
        yield Finding("gpu-in-use", "warning", answer.host, said, fix)


def _health(answer: NodeAnswer) -> Iterator[Finding]:
    rows = [(int(gpu), what, said) for gpu, what, said in answer.rows("health")]
    errors = [
        gpu for gpu, what, said in rows if what == "total" and (whole_number(said) or 0)
    ]
    if errors:
        said = f"GPU {number_ranges(sorted(set(errors)))} has had memory errors (ECC)"
        fix = "leave the node out, and tell the site: uncorrected ones end programs"
        yield Finding("gpu-memory-errors", "error", answer.host, said, fix)
    held = [gpu for gpu, _, said in rows if said == "Active"]
    if held:
        said = (
            f"the hardware holds down the clocks of GPU {number_ranges(sorted(held))}"
        )
        fix = "power or cooling: leave the node out, and tell the site"
        yield Finding("gpu-held-down", "warning", answer.host, said, fix)


def _memlock(answer: NodeAnswer, wanted: Wanted, usual: float) -> Iterator[Finding]:
    limit = answer.memlock
    is_needed = wanted.is_fast and len(wanted.hosts) > 1
    if limit is None or limit < 0 or (limit >= usual and not is_needed):
        return
    # Not each network counts what it pins: less than elsewhere is an error, little is not.
    severity: Severity = "error" if limit < usual else "warning"
    said = f"a process may lock {_size(limit)} of memory"
    if limit < usual:
        said += f", on other nodes {'all' if usual == inf else _size(int(usual))}"
    if is_needed:
        said += "; RDMA wants no limit"
    fix = "ulimit -l unlimited in the job, if it may; else tell the site"
    yield Finding("memlock-small", severity, answer.host, said, fix)


def _folders(answer: NodeAnswer) -> Iterator[Finding]:
    for written, kib, path in answer.rows("folder"):
        free = None if kib == "-" else int(kib) * KIB
        least = _SHARED if path == _SHM else _LEFT
        left = "" if free is None else f"; {_size(free)} are left"
        if written == "no":
            said = f"{path} takes no file of 1 MiB{left}"
            fix = "clear it, name another (TMPDIR), or leave the node out"
            yield Finding("folder-unwritable", "error", answer.host, said, fix)
        elif free is not None and free < least:
            said = f"{path} has {_size(free)} left"
            fix = "clear it, or name another (TMPDIR)"
            yield Finding("folder-full", "warning", answer.host, said, fix)


def _plugin(answer: NodeAnswer) -> Iterator[Finding]:
    for known, lacks, path in answer.rows("plugin"):
        if known != "no":
            continue
        missing = list(dict.fromkeys(lacks.split(",")))
        more = len(missing) - 4
        rest = f" and {more} more" if more > 0 else ""
        said = (
            f"the plugin {path} lacks {', '.join(missing[:4])}{rest}: it will not load"
        )
        fix = "bind what it needs, or mend LD_LIBRARY_PATH"
        yield Finding("plugin-unloadable", "error", answer.host, said, fix)


def _size(size: int) -> str:
    if size >= _GIB:
        return f"{size / _GIB:.1f} GiB"
    return f"{size / MIB:.0f} MiB" if size >= MIB else f"{size / 1024:.0f} KiB"


def said_of_gpus(answer: NodeAnswer, wanted: Wanted) -> str:
    """Return the GPUs of a node for a table: ``8/8``, ``-`` where nobody counts them."""
    count, _ = wanted_gpus(answer, wanted)
    if answer.gpus is None or answer.gpus.tool == "none":
        return "?" if count else "-"
    seen = sum(each.is_ours for each in answer.gpus.gpus)
    return f"{seen}/{count}" if count else count_of(seen, "GPU")
