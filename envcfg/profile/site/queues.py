"""What a scheduler says of its queues and their limits; what cannot be read is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from envcfg.characters import whole_number
from envcfg.profile.site.model import SeenPartition
from envcfg.profile.site.slurm import read_partitions

_SAID = re.compile(r"^\s+(\S+) = (.*)$", re.MULTILINE)
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


def _slurm(text: str) -> list[SeenPartition]:
    return read_partitions(text, {})


def _pbs(text: str) -> Iterable[SeenPartition]:
    """Yield the queues that ``qstat -Qf`` says."""
    for block in re.split(r"^Queue: ", text, flags=re.MULTILINE)[1:]:
        said = dict(_SAID.findall(block))
        time = said.get("resources_max.walltime", "")
        yield SeenPartition(
            name=block.split(maxsplit=1)[0],
            nodes=whole_number(said.get("resources_max.nodect", "")),
            time=time if _TIME.fullmatch(time) else None,
        )


def _flux(text: str) -> Iterable[SeenPartition]:
    """Yield the queues of lines with name, seconds and nodes, divided by a bar."""
    for name, time, nodes in re.findall(
        r"^([^|\n]+)\|([^|\n]*)\|(.*)$", text, re.MULTILINE
    ):
        seconds = whole_number(time.partition(".")[0]) or 0
        hours, minutes = divmod(seconds // 60, 60)
        yield SeenPartition(
            name=name,
            nodes=whole_number(nodes.partition(".")[0]),
            time=f"{hours}:{minutes:02}:{seconds % 60:02}" if seconds else None,
        )


# What reads the answer to a scheduler's question for its queues, by the scheduler's name.
READERS: Mapping[str, Callable[[str], Iterable[SeenPartition]]] = {
    "slurm": _slurm,
    "pbs": _pbs,
    "flux": _flux,
}
