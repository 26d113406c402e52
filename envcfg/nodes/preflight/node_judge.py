"""Problems of a node, from the output of its probe; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import inf
from statistics import median_high

from envcfg.common.characters import core_numbers, whole_number
from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of, number_ranges
from envcfg.nodes.preflight.attachment import attached_nics, attachment_text
from envcfg.nodes.preflight.preflight_records import Requirements, finding
from envcfg.nodes.probe.gpu import HARDWARE_SLOWDOWN, KIB, MIB
from envcfg.nodes.probe.node_answer import NodeAnswer

_GIB = 1 << 30
_LEFT = _GIB  # free bytes that a scratch folder must have
# Free bytes that /dev/shm must have: the ranks of a node communicate through it.
_SHARED = 64 * MIB
_HELD = _GIB  # used bytes of a GPU before our ranks run: another process holds them
_BUSY = 20.0  # percent of use that only another process can cause
_SHM = "/dev/shm"  # noqa: S108  # only inspected, nothing is written there


def judge_nodes(
    requirements: Requirements,
    answers: Mapping[str, NodeAnswer],
    ended: Mapping[str, str],
) -> dict[str, list[Finding]]:
    """Return the problems of each node; *ended* are tasks that ended too early."""
    usual = _usual_networks(answers.values())
    limits = [
        node_answer.memlock
        for node_answer in answers.values()
        if node_answer.memlock is not None
    ]
    # The number of bytes that a process may lock on most nodes; -1 means no limit.
    locked = median_high([inf if limit < 0 else limit for limit in limits] or [0])
    findings: dict[str, list[Finding]] = {}
    for host in requirements.hosts:
        answer = answers.get(host)
        if answer is None or not answer.is_whole:
            # An incomplete answer would make healthy parts look missing.
            findings[host] = [_silent(host, answer, ended.get(host))]
            continue
        findings[host] = [
            *_networks(answer, requirements, usual),
            *_devices(answer),
            *_gpus(answer, requirements),
            *_health(answer),
            *_memlock(answer, requirements, locked),
            *_folders(answer),
            *_plugin(answer),
            *_attachment(answer, requirements),
            *_masks(answer, requirements),
        ]
    return findings


def not_seen(
    requirements: Requirements, answers: Mapping[str, NodeAnswer]
) -> list[str]:
    """Return the checks that could not run because the image lacks their tools."""
    node_answers = [answer for answer in answers.values() if answer.is_whole]
    unseen = []
    if requirements.gpus and any(
        node_answer.gpus and node_answer.gpus.tool == "none"
        for node_answer in node_answers
    ):
        unseen.append("the state of the GPUs: no nvidia-smi, rocm-smi or amd-smi")
    for key, check in (
        ("plugin", "the libraries of the network plugin: no ldd"),
        ("folder", "whether folders can be written: no rm"),
    ):
        rows = chain.from_iterable(answer.rows(key) for answer in node_answers)
        if any(row[0] == "unknown" for row in rows):
            unseen.append(check)
    return unseen


def _silent(host: str, answer: NodeAnswer | None, ended: str | None) -> Finding:
    if ended is not None:
        return finding("node-failed", host, how=ended)
    begun = "did not answer" if answer is None else "began to answer, and stopped"
    return finding("node-silent", host, begun=begun)


def interfaces_of(answer: NodeAnswer, requirements: Requirements) -> list[str]:
    """Return the prefixes of interface names that NCCL may use; ``=`` marks whole names.

    ``NCCL_SOCKET_IFNAME`` is read as NCCL does: a list of prefixes, of names after ``=``,
    or of excluded names after ``^``.
    """
    text = answer.variables.get("NCCL_SOCKET_IFNAME", "")
    # Exclusions do not name an interface, so the profile's list is used.
    if text and not text.startswith("^"):
        is_exact = text.startswith("=")
        names = text.removeprefix("=").split(",")
        return [f"={name}" if is_exact else name for name in names if name]
    return [f"={interface}" for interface in requirements.interfaces]


def _fits(name: str, sign: str) -> bool:
    return name == sign[1:] if sign.startswith("=") else name.startswith(sign)


def _usual_networks(answers: Iterable[NodeAnswer]) -> frozenset[str]:
    """Return the interfaces that work on most nodes."""
    node_answers = [answer for answer in answers if answer.is_whole]
    counts = Counter(
        name
        for node_answer in node_answers
        for name, state, address in node_answer.rows("network")
        if state == "up" and address != "-"
    )
    # Half of the nodes is enough: an interface of some nodes is not expected on all.
    return frozenset(
        name for name, count in counts.items() if 2 * count >= len(node_answers)
    )


def _networks(
    answer: NodeAnswer, requirements: Requirements, usual: frozenset[str]
) -> Iterator[Finding]:
    networks = {row[0]: row for row in answer.rows("network")}
    signs = interfaces_of(answer, requirements)
    names = {
        name: None
        for sign in signs
        for name in sorted({*networks, *usual})
        # A prefix also matches unused ports, so only interfaces of most nodes count.
        if _fits(name, sign) and (name in usual or sign == f"={name}")
    }
    for sign in signs:
        full_text = sign.removeprefix("=")
        if not any(_fits(name, sign) for name in {*networks, *usual}):
            names[full_text] = None
        elif not any(_fits(name, sign) for name in names):  # down on most nodes
            names |= {name: None for name in networks if _fits(name, sign)}
    for name in names:
        # An interface without an address is up and still cannot connect.
        _, state, address = networks.get(name, (name, "", ""))
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


def wanted_gpus(answer: NodeAnswer, requirements: Requirements) -> tuple[int, str]:
    """Return the expected number of GPUs and its source; 0: unknown."""
    # Slurm's count comes first, because a job may have fewer GPUs than its node.
    count_given = whole_number(answer.variables.get("SLURM_GPUS_ON_NODE"))
    if count_given is not None:
        return count_given, "Slurm"
    if answer.gpus and answer.gpus.allotted:
        return answer.gpus.allotted, "Slurm"
    return requirements.gpus or 0, f"profile {requirements.profile}"


def _gpus(answer: NodeAnswer, requirements: Requirements) -> Iterator[Finding]:
    count, source = wanted_gpus(answer, requirements)
    sample = answer.gpus
    if sample is None:
        yield finding("gpu-tool-failed", answer.host, "silent")
        return
    # Other GPUs of the node belong to other jobs.
    gpus = [gpu for gpu in sample.gpus if gpu.is_ours]
    if sample.tool != "none" and sample.is_whole and len(gpus) < count:
        more = f"; it says: {sample.problem}" if sample.problem else ""
        yield finding(
            "gpu-missing",
            answer.host,
            tool=sample.tool,
            seen=len(gpus),
            count=count,
            who=source,
            more=more,
        )
    # The tool reported an error although it lists enough GPUs.
    elif sample.problem:
        yield finding(
            "gpu-tool-failed", answer.host, tool=sample.tool, problem=sample.problem
        )
    # No rank runs yet, so memory or load is of another process.
    busy = [
        gpu.number
        for gpu in gpus
        if (gpu.memory_used or 0) > _HELD or (gpu.use or 0.0) > _BUSY
    ]
    if busy:
        many = f"{'GPU' if len(busy) == 1 else 'GPUs'} {number_ranges(busy)}"
        yield finding("gpu-in-use", answer.host, many=many)


def _health(answer: NodeAnswer) -> Iterator[Finding]:
    gpus = answer.gpus.gpus if answer.gpus else ()
    if bad := [gpu.number for gpu in gpus if gpu.uncorrected]:
        yield finding("gpu-memory-errors", answer.host, gpus=number_ranges(bad))
    if bad := [gpu.number for gpu in gpus if (gpu.throttle or 0) & HARDWARE_SLOWDOWN]:
        yield finding("gpu-held-down", answer.host, gpus=number_ranges(bad))


def _memlock(
    answer: NodeAnswer, requirements: Requirements, usual: float
) -> Iterator[Finding]:
    limit = answer.memlock
    # RDMA pins memory, but a single node does not use it.
    is_needed = requirements.is_fast and len(requirements.hosts) > 1
    if limit is None or limit < 0 or (limit >= usual and not is_needed):
        return
    rest_text = f", on other nodes {'all' if usual == inf else _size(int(usual))}"
    finding_made = finding(
        "memlock-small",
        answer.host,
        limit=_size(limit),
        others=rest_text if limit < usual else "",
        rdma="; RDMA wants no limit" if is_needed else "",
    )
    # Some networks do not count pinned memory: only less than elsewhere is an error.
    yield finding_made._replace(severity="error") if limit < usual else finding_made


def _folders(answer: NodeAnswer) -> Iterator[Finding]:
    for written, kib, path in answer.rows("folder"):
        free = None if kib == "-" else int(kib) * KIB
        least = _SHARED if path == _SHM else _LEFT
        remaining = "" if free is None else f"; {_size(free)} are left"
        if written == "no":
            yield finding("folder-unwritable", answer.host, path=path, left=remaining)
        elif free is not None and free < least:
            yield finding("folder-full", answer.host, path=path, free=_size(free))


def _plugin(answer: NodeAnswer) -> Iterator[Finding]:
    for plugin, lacks, path in answer.rows("plugin"):
        if plugin == "no":
            missing = list(dict.fromkeys(lacks.split(",")))
            # Four names are enough to recognise the missing package.
            rest = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
            names = f"{', '.join(missing[:4])}{rest}"
            yield finding("plugin-unloadable", answer.host, path=path, lacks=names)


def _attachment(answer: NodeAnswer, requirements: Requirements) -> Iterator[Finding]:
    """Yield a warning for GPUs with another NIC than in the table of the profile."""
    wanted = requirements.nics
    different = [
        gpu._replace(
            nics=(gpu.nics[0].partition(" ")[0],), number=[*wanted].index(gpu.bus)
        )
        for gpu in attached_nics(answer)
        # Two NICs at the same distance are ambiguous, and prove nothing.
        if len(gpu.nics) == 1 and not gpu.nics[0].startswith(wanted.get(gpu.bus, ""))
    ]
    if different:
        expected = dict.fromkeys(wanted[gpu.bus] for gpu in different)
        yield finding(
            "attachment-unexpected",
            answer.host,
            attached=attachment_text(different),
            profile=requirements.profile,
            expected=" and ".join(expected),
        )


def _masks(answer: NodeAnswer, requirements: Requirements) -> Iterator[Finding]:
    """Yield a warning for masks of the profile with CPUs that are far from their GPU."""
    near = [core_numbers(cpus) for _, cpus in sorted(answer.rows("near"))]
    # With another number of GPUs, it is open which mask belongs to which of them.
    if len(near) != len(requirements.masks):
        return
    far = [
        number
        for number, (cpus, mask) in enumerate(
            zip(near, requirements.masks, strict=True)
        )
        if cpus and mask & ~sum(1 << cpu for cpu in cpus)
    ]
    if far:
        yield finding(
            "masks-unexpected",
            answer.host,
            gpus=f"GPU {number_ranges(far)}",
            profile=requirements.profile,
            near=number_ranges(sorted(near[far[0]])),
            first=far[0],
        )


def _size(size: int) -> str:
    if size >= _GIB:
        return f"{size / _GIB:.1f} GiB"
    return f"{size / MIB:.0f} MiB" if size >= MIB else f"{size / 1024:.0f} KiB"


def said_of_gpus(answer: NodeAnswer, requirements: Requirements) -> str:
    """Return the GPUs of a node for a table: ``8/8``; ``-`` if no tool counts them."""
    count, _ = wanted_gpus(answer, requirements)
    if answer.gpus is None or answer.gpus.tool == "none":
        return "?" if count else "-"
    visible = sum(gpu.is_ours for gpu in answer.gpus.gpus)
    return f"{visible}/{count}" if count else count_of(visible, "GPU")
