"""What is wrong with a node, by what its probe has said; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from statistics import median_high

from envcfg.characters import whole_number
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, number_ranges
from envcfg.preflight.records import NodeAnswer, Wanted, finding
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
    """Return what is wrong with each node; *ended* before its time are tasks of some."""
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
        return finding("node-failed", host, how=ended)
    begun = "did not answer" if answer is None else "began to answer, and stopped"
    return finding("node-silent", host, begun=begun)


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
        _, state, address = here.get(name, (name, "", ""))
        which = "" if state else "absent"
        if state == "up":
            which = "bare"
            if address != "-":
                continue
        yield finding("interface-down", answer.host, which, name=name)


def _devices(answer: NodeAnswer) -> Iterator[Finding]:
    for count, pattern in answer.rows("device"):
        if not int(count):
            yield finding("device-missing", answer.host, pattern=pattern)


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
        yield finding("gpu-tool-failed", answer.host, "silent")
        return
    seen = [each for each in sample.gpus if each.is_ours]
    if sample.tool != "none" and len(seen) < count:
        more = f"; it says: {sample.problem}" if sample.problem else ""
        words = {"tool": sample.tool, "seen": len(seen), "count": count, "who": who}
        yield finding("gpu-missing", answer.host, more=more, **words)
    elif sample.problem:
        words = {"tool": sample.tool, "problem": sample.problem}
        yield finding("gpu-tool-failed", answer.host, **words)
    held = [
        each.number
        for each in seen
        if (each.memory_used or 0) > _HELD or (each.use or 0.0) > _BUSY
    ]
    if held:
        many = f"{'GPU' if len(held) == 1 else 'GPUs'} {number_ranges(held)}"
        yield finding("gpu-in-use", answer.host, many=many)


def _health(answer: NodeAnswer) -> Iterator[Finding]:
    rows = [(int(gpu), what, said) for gpu, what, said in answer.rows("health")]
    if errors := {g for g, what, n in rows if what == "total" and whole_number(n)}:
        gpus = number_ranges(sorted(errors))
        yield finding("gpu-memory-errors", answer.host, gpus=gpus)
    if held := sorted(gpu for gpu, _, said in rows if said == "Active"):
        yield finding("gpu-held-down", answer.host, gpus=number_ranges(held))


def _memlock(answer: NodeAnswer, wanted: Wanted, usual: float) -> Iterator[Finding]:
    limit = answer.memlock
    is_needed = wanted.is_fast and len(wanted.hosts) > 1
    if limit is None or limit < 0 or (limit >= usual and not is_needed):
        return
    others = f", on other nodes {'all' if usual == inf else _size(int(usual))}"
    words = {
        "limit": _size(limit),
        "others": others if limit < usual else "",
        "rdma": "; RDMA wants no limit" if is_needed else "",
    }
    found = finding("memlock-small", answer.host, **words)
    # Not each network counts what it pins: less than elsewhere is an error, little is not.
    yield found._replace(severity="error") if limit < usual else found


def _folders(answer: NodeAnswer) -> Iterator[Finding]:
    for written, kib, path in answer.rows("folder"):
        free = None if kib == "-" else int(kib) * KIB
        least = _SHARED if path == _SHM else _LEFT
        left = "" if free is None else f"; {_size(free)} are left"
        if written == "no":
            yield finding("folder-unwritable", answer.host, path=path, left=left)
        elif free is not None and free < least:
            yield finding("folder-full", answer.host, path=path, free=_size(free))


def _plugin(answer: NodeAnswer) -> Iterator[Finding]:
    for known, lacks, path in answer.rows("plugin"):
        if known == "no":
            missing = list(dict.fromkeys(lacks.split(",")))
            rest = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
            words = {"path": path, "lacks": f"{', '.join(missing[:4])}{rest}"}
            yield finding("plugin-unloadable", answer.host, **words)


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
