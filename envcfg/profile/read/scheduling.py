"""The scheduler section of a profile: requests, partitions, modules, cost, bundles."""

import re
from collections.abc import Mapping
from typing import TypeVar

from envcfg.backends import schedulers
from envcfg.backends.starters import STARTERS
from envcfg.profile.entries import Bundle
from envcfg.profile.read import entry_readers
from envcfg.profile.read.block_readers import (
    Reader,
    all_of,
    block,
    by_name,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.yaml_nodes import Field
from envcfg.profile.scheduler_settings import (
    UNASKED,
    Billing,
    EnvironmentModule,
    Partition,
    Qos,
    RequestRule,
    Size,
)
from envcfg.profile.words import Word, is_plain, references

_Queue = TypeVar("_Queue", Partition, Qos)

_FLAG = r"--?[A-Za-z][A-Za-z0-9_-]*"
_OPTION = r"--?[A-Za-z][A-Za-z0-9_-]*(=\S*)?"
_NETWORK = r"[A-Za-z_]+(=[A-Za-z0-9_]+)?"
_PARTITION_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+:-]*"
_KIND = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_MODULE = r"[A-Za-z0-9_/][A-Za-z0-9_./+:@~=-]*"
_TIME = r"([0-9]+-)?[0-9]{1,3}(:[0-9]{2}){0,2}"
_AMOUNT = r"[0-9]{1,9}(\.[0-9]{1,9})?"

# A total or a number per task would be read as the number of each node.
_gpu_option = matching(
    rf"(?!--gpus(?:-per-task)?$){_FLAG}",
    "option that counts GPUs of a node, as in --gres",
)


def _read_rule(option: str, field: Field) -> RequestRule | None:
    if not re.fullmatch(_FLAG, option):
        field.problem(f"{option!r} is not an option", "write it as --account")
    readers = {
        "rule": one_of("must", "must not", "avoid", "repeat"),
        **dict.fromkeys(("value", "default"), _plain),
        "others": all_of(_plain),
    }
    return read_block(field, RequestRule, readers, option=option)


def _read_gpus(field: Field) -> str | None:
    return UNASKED if field.is_text(UNASKED) else _gpu_option(field)


def read_asked(field: Field) -> dict[str, str]:
    """Read options of a request with their values."""
    rules_read = {}
    for option, child in field.mapping().items():
        if not re.fullmatch(_FLAG, option):
            child.problem(f"{option!r} is not an option", "write it as --constraint")
        rules_read[option] = _plain(child) or ""
    return rules_read


def _plain(field: Field) -> str | None:
    text = field.text()
    if text is not None and not is_plain(text):
        field.problem(
            f"{text!r} holds what a line of a job script cannot",
            "no space, no quote, no #, no \\, nothing unseen",
        )
        return None
    return text


def _read_partition(name: str, field: Field) -> Partition | None:
    if not re.fullmatch(_PARTITION_NAME, name):
        field.problem(f"{name!r} is not a name of a partition", "as in gpu-small")
    partition = read_block(field, Partition, _LIMITS, name=name)
    return _check_largest(field, partition)


def _read_qos(name: str, field: Field) -> Qos | None:
    if not re.fullmatch(_PARTITION_NAME, name):
        field.problem(f"{name!r} is not a name of a QOS", "as in gpu_debug")
    readers = {**_LIMITS, "partitions": all_of(_partition_name)}
    qos = read_block(field, Qos, readers, name=name)
    return _check_largest(field, qos)


def _check_largest(field: Field, queue: _Queue | None) -> _Queue | None:
    """Report sizes that give larger jobs neither a refusal nor a limit of time."""
    if queue is None or not queue.sizes or queue.time:
        return queue
    largest = queue.sizes[-1].nodes
    if queue.nodes != largest:
        nodes = "no nodes" if queue.nodes is None else f"nodes: {queue.nodes}"
        field.problem(
            f"{nodes}, but sizes end at {largest}: larger jobs have no limit of time",
            f"nodes: {largest}, or time: the longest of larger jobs",
        )
    return queue


def _read_sizes(field: Field) -> tuple[Size, ...]:
    """Read times by size; each size is larger than the previous one."""
    sizes: list[Size] = []
    items = field.items()
    if not items and not field.is_null:
        field.problem("the list is empty")
    for child in items:
        keys = child.mapping({"nodes", "time"})
        if missing := [key for key in ("nodes", "time") if key not in keys]:
            child.problem(f"no {', no '.join(missing)}", "{nodes: 91, time: '2:00:00'}")
        nodes = entry_readers.read_if_given(keys, "nodes", Field.integer)
        time = entry_readers.read_if_given(keys, "time", _time)
        if nodes is None or time is None:
            continue
        # A job gets the time of the first size that is large enough, so the order
        # matters.
        if sizes and nodes <= sizes[-1].nodes:
            child.problem(
                f"{nodes} nodes are not more than the {sizes[-1].nodes} before",
                "the smallest size first",
            )
        sizes.append(Size(nodes=nodes, time=time))
    return tuple(sizes)


def _read_bundle(name: str, field: Field) -> Bundle | None:
    """Read variables and options that only work together."""
    bundle = read_block(field, Bundle, _BUNDLE, name=name)
    if bundle and not (bundle.env and bundle.is_for([*_BUNDLE.keys() - {"env"}])):
        field.problem(
            "a bundle couples variables with options of srun, mpiexec or flux run",
            "give both, or make it plain entries of env or launch.srun",
        )
    return bundle


def _read_values(field: Field) -> dict[str, Word]:
    values = {}
    for name, child in field.mapping().items():
        if problem := entry_readers.name_problem(name):
            child.problem(*problem)
        values[name] = entry_readers.read_word(child)
        if references(values[name]):
            child.problem(
                "a bundle's values are plain: they are compared as they are written"
            )
    return values


def is_module(name: str) -> bool:
    """Return whether the text is a possible name of a module."""
    return re.fullmatch(_MODULE, name) is not None


def _read_module(name: str, field: Field) -> EnvironmentModule | None:
    keys = field.mapping({"action", "when", *entry_readers.REASON})
    if not is_module(name):
        field.problem(f"{name!r} is not a module", "as in apptainer/1.4, or a path")
    action = (
        entry_readers.read_if_given(keys, "action", one_of("load", "unload", "use"))
        or "load"
    )
    when = entry_readers.read_condition(keys)
    return read_block(
        field,
        EnvironmentModule,
        {},
        keys=keys,
        name=name,
        action=action,
        when=when,
    )


_time = matching(_TIME, "time limit, as in 2-00:00:00")
_partition_name = matching(_PARTITION_NAME, "name of a partition, as in gpu-small")
_LIMITS: Mapping[str, Reader] = {"time": _time, "sizes": _read_sizes}
_BUNDLE: Mapping[str, Reader] = {
    "env": _read_values,
    "network": all_of(matching(_NETWORK, "value of srun --network"), may_be_empty=True),
    **dict.fromkeys(
        (starter.bundled[0] for starter in STARTERS.values() if starter.bundled),
        all_of(
            matching(_OPTION, "option, as in --account"),
            may_be_empty=True,
        ),
    ),
}
# Readers for the keys of ``request`` that are not blocks.
ASKING: Mapping[str, Reader] = {
    "scheduler": one_of(*schedulers.NAMES, schedulers.NONE),
    "gpus": _read_gpus,
    "gpu_type": matching(_KIND, "kind of GPU, as in a100"),
}
read_rules = by_name(_read_rule)
read_partitions = by_name(_read_partition)
read_qos = by_name(_read_qos)
read_closed = all_of(one_of("partitions", "qos"), may_be_empty=True)
read_bundles = by_name(_read_bundle)
read_modules = by_name(_read_module)
_PRICES = "per_gpu per_node per_core per_gib per_nvme_gib".split()
read_billing = block(
    Billing,
    charge=one_of("gpus", "sum", "largest share"),
    **dict.fromkeys(_PRICES, matching(_AMOUNT, "amount, as in 0.5")),
)
