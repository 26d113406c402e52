"""What a scheduler says of its queues and their nodes; what cannot be read is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from envcfg.characters import whole_number
from envcfg.profile.site.model import SeenPartition, Shape, maker_of
from envcfg.profile.site.slurm import read_partitions, read_shapes
from envcfg.schedulers.model import Scheduler

_SAID = re.compile(r"^[ \t]+(\S+) = (.*)$", re.MULTILINE)
_TIME = re.compile(r"(?=.*[1-9])([0-9]{1,4}-)?[0-9]{1,5}(:[0-9]{2}){2}")


def read_qos(text: str) -> list[SeenPartition]:
    """Return the limits of a job in each QOS of Slurm.

    Args:
        text: lines of name, MaxTRES and MaxWall, divided by a bar.
    """
    rows = [line.split("|") for line in text.splitlines()]
    return [
        SeenPartition(
            name=name,
            nodes=_amount(most, r"node"),
            gpus=_amount(most, r"gres/gpu(?::[^=]*)?"),
            time=time if _TIME.fullmatch(time) else None,
        )
        for name, most, time in (row for row in rows if len(row) == 3)
    ]


def read_associations(text: str, config: str, cluster: str) -> dict[str, list[str]]:
    """Return the QOS of each account of a user of Slurm; none where any goes.

    Nothing where jobs without an association run, too.

    Args:
        text: lines of cluster, account and QOS with commas, divided by a bar.
        config: what ``scontrol show config`` says, which tells what is enforced.
        cluster: whose accounts are meant.
    """
    enforced = re.search(r"^AccountingStorageEnforce\s*=\s*(\S+)", config, re.MULTILINE)
    kinds = set(enforced[1].split(",")) if enforced else set()
    if not kinds & {"associations", "limits", "qos", "safe", "all"}:
        return {}
    found: dict[str, list[str]] = {}
    rows = [line.split("|") for line in text.splitlines()]
    for _, account, qos in (row for row in rows if len(row) == 3 and row[0] == cluster):
        named = qos.split(",") if kinds & {"qos", "all"} else []
        found.setdefault(account.lower(), []).extend(filter(None, named))
    return found


def _amount(resources: str, name: str) -> int | None:
    found = re.search(rf"(?:^|,){name}=(\d+)(?=,|$)", resources)
    return whole_number(found[1]) if found else None


def _pbs(text: str) -> Iterable[SeenPartition]:
    """Yield the queues that ``qstat -Qf`` says."""
    for block in re.split(r"^Queue: ", text, flags=re.MULTILINE)[1:]:
        said = dict(_SAID.findall(block))
        time = said.get("resources_max.walltime", "")
        yield SeenPartition(
            name=block.split(maxsplit=1)[0],
            nodes=whole_number(said.get("resources_max.nodect", "")),
            time=time if _TIME.fullmatch(time) else None,
            is_up="False" not in (said.get("enabled"), said.get("started"))
            and said.get("from_route_only") != "True",
        )


_MEMORY = re.compile(r"([0-9]{1,15})([kmgtp]?)b")


def _pbs_nodes(text: str) -> Iterable[tuple[str, Shape]]:
    """Yield the hosts that ``pbsnodes -av`` says; a host may have several vnodes."""
    found: dict[tuple[str, str], Shape] = {}
    for block in re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]:
        said = dict(_SAID.findall(block))
        there = {
            key.partition(".")[2]: value
            for key, value in said.items()
            if key.startswith("resources_available.")
        }
        memory = _MEMORY.fullmatch(there.get("mem", ""))
        key = said.get("queue", ""), there.get("host") or block.split(maxsplit=1)[0]
        before = found.get(key, Shape(1, 0, (), 0, 0))
        power = 10 * ("kmgtp".find(memory[2]) - 1 if memory and memory[2] else -2)
        found[key] = before._replace(
            gpus=before.gpus + (whole_number(there.get("ngpus", "")) or 0),
            cores=before.cores + (whole_number(there.get("ncpus", "")) or 0),
            memory=before.memory + int(int(memory[1]) * 2**power if memory else 0),
            kinds=before.kinds or tuple(filter(maker_of, there.values())),
        )
    return ((queue, shape) for (queue, _), shape in found.items() if shape.cores)


def _flux(text: str) -> Iterable[SeenPartition]:
    """Yield the queues of lines with name, seconds and nodes, divided by a bar.

    The default one has a star behind its name.
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


def _flux_nodes(text: str) -> Iterable[tuple[str, Shape]]:
    """Yield what lines say of queues, properties, nodes, cores and GPUs.

    A line that has nodes of several kinds together says nothing of any.
    """
    rows = (line.split("|") for line in text.splitlines())
    for queues, properties, *numbers in (row for row in rows if len(row) == 5):
        nodes, cores, gpus = (whole_number(each) or 0 for each in numbers)
        if nodes and cores and not (cores % nodes or gpus % nodes):
            kinds = tuple(filter(maker_of, properties.split(",")))
            shape = Shape(nodes, gpus // nodes, kinds, cores // nodes, 0)
            yield from ((queue, shape) for queue in queues.split(","))


# What reads the answer to a scheduler's question for its queues, by the scheduler's name.
READERS: Mapping[str, Callable[[str], Iterable[SeenPartition]]] = {
    "slurm": read_partitions,
    "pbs": _pbs,
    "flux": _flux,
}
_NODES: Mapping[str, Callable[[str], Iterable[tuple[str, Shape]]]] = {
    "slurm": read_shapes,
    "pbs": _pbs_nodes,
    "flux": _flux_nodes,
}


def read_site(
    scheduler: Scheduler, server: str, queues: str, nodes: str
) -> tuple[SeenPartition, ...]:
    """Return the queues of a cluster with their nodes, as its scheduler answers.

    Each text answers a command of the record, *server* that for the cluster. Nodes that are
    no queue's own are for all queues that have none; a cluster without queues has one
    without a name.
    """
    shapes = read_nodes(scheduler.name, nodes)
    others = shapes.get("", ())
    named = re.search(scheduler.default_queue or "(?!)", server, re.MULTILINE)
    defaults = ("", named[1] if named else "")
    found = list(READERS[scheduler.name](queues)) or [SeenPartition("")][: len(others)]
    return tuple(
        each._replace(
            shapes=shapes.get(each.name, others),
            is_default=each.is_default or each.name in defaults,
        )
        for each in found
    )


def read_nodes(scheduler: str, text: str) -> dict[str, tuple[Shape, ...]]:
    """Return the nodes of each queue, alike ones together; of no queue: an empty name."""
    shapes: dict[str, tuple[Shape, ...]] = {}
    for (name, shape), number in Counter(_NODES[scheduler](text)).items():
        more = shape._replace(number=number * shape.number)
        shapes[name] = (*shapes.get(name, ()), more)
    return shapes
