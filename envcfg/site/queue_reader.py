"""The queues and nodes of a scheduler; unreadable parts are left out."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from envcfg.backends.schedulers.scheduler import Scheduler
from envcfg.common.characters import whole_number
from envcfg.site.machine_facts import NodeGroup, SeenPartition, maker_of
from envcfg.site.slurm_answers import bar_rows, read_partitions, read_shapes

_SAID = re.compile(r"^[ \t]+(\S+) = (.*)$", re.MULTILINE)
# A time of zero is not a limit but a missing value.
_TIME = re.compile(r"(?=.*[1-9])([0-9]{1,4}-)?[0-9]{1,5}(:[0-9]{2}){2}")


def read_qos(text: str) -> list[SeenPartition]:
    """Return the limits of a job in each QOS of Slurm.

    Args:
        text: lines of name, MaxTRES and MaxWall, separated by a bar.
    """
    return [
        SeenPartition(
            name=name,
            nodes=_amount(most, r"node"),
            gpus=_amount(most, r"gres/gpu(?::[^=]*)?"),
            time=time if _TIME.fullmatch(time) else None,
        )
        for name, most, time in bar_rows(text, 3)
    ]


def read_associations(text: str, config: str, cluster: str) -> dict[str, list[str]]:
    """Return the QOS of each account of a Slurm user; empty lists allow any QOS.

    The result is empty if jobs without an association may run.

    Args:
        text: lines of cluster, account and QOS with commas, separated by a bar.
        config: the output of ``scontrol show config``, which names the enforced limits.
        cluster: the cluster of the accounts.
    """
    enforced = re.search(r"^AccountingStorageEnforce\s*=\s*(\S+)", config, re.MULTILINE)
    kinds = set(enforced[1].split(",")) if enforced else set()
    # Without enforcement, the lists are only informative.
    if not kinds & {"associations", "limits", "qos", "safe", "all"}:
        return {}
    accounts: dict[str, list[str]] = {}
    mine = (row for row in bar_rows(text, 3) if row[0] == cluster)
    for _, account, qos in mine:
        names = qos.split(",") if kinds & {"qos", "all"} else []
        # Slurm compares accounts in lower case.
        accounts.setdefault(account.lower(), []).extend(filter(None, names))
    return accounts


def _amount(resources: str, name: str) -> int | None:
    match = re.search(rf"(?:^|,){name}=(\d+)(?=,|$)", resources)
    return whole_number(match[1]) if match else None


def _pbs(text: str) -> Iterable[SeenPartition]:
    """Yield the queues in the output of ``qstat -Qf``."""
    for block in re.split(r"^Queue: ", text, flags=re.MULTILINE)[1:]:
        values = dict(_SAID.findall(block))
        time = values.get("resources_max.walltime", "")
        yield SeenPartition(
            name=block.split(maxsplit=1)[0],
            nodes=whole_number(values.get("resources_max.nodect", "")),
            time=time if _TIME.fullmatch(time) else None,
            # A routing queue passes jobs on, so users cannot submit to it directly
            # if it is closed.
            is_up="False" not in (values.get("enabled"), values.get("started"))
            and values.get("from_route_only") != "True",
        )


_MEMORY = re.compile(r"([0-9]{1,15})([kmgtp]?)b")


def _pbs_nodes(text: str) -> Iterable[tuple[str, NodeGroup]]:
    """Yield the hosts in the output of ``pbsnodes -av``, each with all its vnodes."""
    shapes: dict[tuple[str, str], NodeGroup] = {}
    for block in re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]:
        values = dict(_SAID.findall(block))
        amounts_found = {
            key.partition(".")[2]: value
            for key, value in values.items()
            if key.startswith("resources_available.")
        }
        memory = _MEMORY.fullmatch(amounts_found.get("mem", ""))
        key = (
            # The vnodes of a host are added up: a job sees the host.
            values.get("queue", ""),
            amounts_found.get("host") or block.split(maxsplit=1)[0],
        )
        before = shapes.get(key, NodeGroup(1, 0, (), 0, 0))
        # PBS counts in KiB steps; the shape counts in MiB.
        power = 10 * ("kmgtp".find(memory[2]) - 1 if memory and memory[2] else -2)
        shapes[key] = before._replace(
            gpus=before.gpus + (whole_number(amounts_found.get("ngpus", "")) or 0),
            cores=before.cores + (whole_number(amounts_found.get("ncpus", "")) or 0),
            memory=before.memory + int(int(memory[1]) * 2**power if memory else 0),
            kinds=before.kinds or tuple(filter(maker_of, amounts_found.values())),
        )
    # A host without cores is a storage or service node.
    return ((queue, shape) for (queue, _), shape in shapes.items() if shape.cores)


def _flux(text: str) -> Iterable[SeenPartition]:
    """Yield the queues from lines with name, seconds and nodes, separated by a bar.

    The default queue has a star after its name.
    """
    for name, time, nodes in re.findall(
        r"^([^|\n]+)\|([^|\n]*)\|(.*)$", text, re.MULTILINE
    ):
        seconds = whole_number(time.partition(".")[0]) or 0
        hours, minutes = divmod(seconds // 60, 60)
        yield SeenPartition(
            name=name.removesuffix("*"),
            is_default=name.endswith("*"),
            nodes=whole_number(nodes.partition(".")[0]),
            time=f"{hours}:{minutes:02}:{seconds % 60:02}" if seconds else None,
        )


def _flux_nodes(text: str) -> Iterable[tuple[str, NodeGroup]]:
    """Yield queues, properties, nodes, cores and GPUs from the lines.

    A line with nodes of several kinds is skipped, because its sums fit none of them.
    """
    for queues, properties, *numbers in bar_rows(text, 5):
        nodes, cores, gpus = (whole_number(number) or 0 for number in numbers)
        # Sums that do not divide evenly belong to a mixture of nodes.
        if nodes and cores and not (cores % nodes or gpus % nodes):
            kinds = tuple(filter(maker_of, properties.split(",")))
            shape = NodeGroup(nodes, gpus // nodes, kinds, cores // nodes, 0)
            yield from ((queue, shape) for queue in queues.split(","))


# Readers for the answer to a scheduler's question about queues, by scheduler.
READERS: Mapping[str, Callable[[str], Iterable[SeenPartition]]] = {
    "slurm": read_partitions,
    "pbs": _pbs,
    "flux": _flux,
}
_NODES: Mapping[str, Callable[[str], Iterable[tuple[str, NodeGroup]]]] = {
    "slurm": read_shapes,
    "pbs": _pbs_nodes,
    "flux": _flux_nodes,
}


def read_queues(scheduler: Scheduler, text: str) -> list[SeenPartition]:
    """Return the queues in the scheduler's answer; none if it cannot list its queues."""
    return list(READERS[scheduler.name](text)) if scheduler.queues else []


def read_site(
    scheduler: Scheduler, server: str, queues: str, nodes: str
) -> tuple[SeenPartition, ...]:
    """Return the queues of a cluster with their nodes, from the scheduler's answers.

    Each text answers one command of the record; *server* answers the one for the
    cluster. Nodes without a queue belong to all queues without nodes. A cluster without
    queues gets one queue without a name.
    """
    shapes = read_nodes(scheduler.name, nodes)
    shapes_unnamed = shapes.get("", ())
    # "(?!)" never matches: some schedulers have no default queue in this answer.
    match = re.search(scheduler.default_queue or "(?!)", server, re.MULTILINE)
    defaults = ("", match[1] if match else "")
    # Without queues and nodes, the slice leaves no queue at all.
    seen_partitions = (
        read_queues(scheduler, queues) or [SeenPartition("")][: len(shapes_unnamed)]
    )
    return tuple(
        seen_partition._replace(
            shapes=shapes.get(seen_partition.name, shapes_unnamed),
            is_default=seen_partition.is_default or seen_partition.name in defaults,
        )
        for seen_partition in seen_partitions
    )


def read_nodes(scheduler: str, text: str) -> dict[str, tuple[NodeGroup, ...]]:
    """Return the nodes of each queue, equal ones together; no queue: an empty name."""
    shapes: dict[str, dict[NodeGroup, NodeGroup]] = {}
    rows = _NODES[scheduler](text) if scheduler in _NODES else ()
    for (name, shape), number in Counter(rows).items():
        groups = shapes.setdefault(name, {})
        before = groups.get(shape.same, shape._replace(number=0))
        every = {*before.features, *before.partly, *shape.features}
        common = tuple(f for f in before.features if f in shape.features)
        groups[shape.same] = shape._replace(
            number=before.number + number * shape.number,
            features=common,
            partly=tuple(sorted(every - {*common})),
        )
    return {name: tuple(groups.values()) for name, groups in shapes.items()}
