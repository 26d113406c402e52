"""What a profile says of its scheduler: requests, partitions, modules, cost, bundles."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envcfg import schedulers
from envcfg.profile.entries import Bundle
from envcfg.profile.read.blocks import (
    Reader,
    all_of,
    block,
    by_name,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.entries import (
    REASON,
    name_problem,
    read_condition,
    read_if_given,
    read_word,
)
from envcfg.profile.read.nodes import Field
from envcfg.profile.scheduler import (
    UNASKED,
    Billing,
    Module,
    Partition,
    Qos,
    RequestRule,
    Size,
)
from envcfg.profile.words import Word, is_plain, references
from envcfg.starters import STARTERS

_FLAG = r"--?[A-Za-z][A-Za-z0-9_-]*"
_OPTION = r"--?[A-Za-z][A-Za-z0-9_-]*(=\S*)?"
_NETWORK = r"[A-Za-z_]+(=[A-Za-z0-9_]+)?"
_PARTITION_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_KIND = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_MODULE = r"[A-Za-z0-9_/][A-Za-z0-9_./+:@~=-]*"
_TIME = r"([0-9]+-)?[0-9]{1,3}(:[0-9]{2}){0,2}"
_AMOUNT = r"[0-9]{1,9}(\.[0-9]{1,9})?"

_flag = matching(_FLAG, "option without its value, as in --gres")


def _read_rule(option: str, field: Field) -> RequestRule | None:
    if not re.fullmatch(_FLAG, option):
        field.problem(f"{option!r} is no option", "write it as --account")
    readers = {
        "rule": one_of("must", "must not", "avoid", "repeat"),
        **dict.fromkeys(("value", "default"), _plain),
        "others": all_of(_plain),
    }
    return read_block(field, RequestRule, readers, option=option)


def read_asked(field: Field) -> dict[str, str]:
    """Read options of a request with their values."""
    found = {}
    for option, each in field.mapping().items():
        if not re.fullmatch(_FLAG, option):
            each.problem(f"{option!r} is no option", "write it as --constraint")
        found[option] = _plain(each) or ""
    return found


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
        field.problem(f"{name!r} is no name of a partition", "as in gpu-small")
    return read_block(field, Partition, _LIMITS, name=name)


def _read_qos(name: str, field: Field) -> Qos | None:
    if not re.fullmatch(_PARTITION_NAME, name):
        field.problem(f"{name!r} is no name of a QOS", "as in gpu_debug")
    readers = {**_LIMITS, "partitions": all_of(_partition_name)}
    return read_block(field, Qos, readers, name=name)


def _read_sizes(field: Field) -> tuple[Size, ...]:
    """Read times by size; each size is larger than the one before."""
    found: list[Size] = []
    items = field.items()
    if not items and not field.is_null:
        field.problem("the list is empty")
    for each in items:
        keys = each.mapping({"nodes", "time"})
        if missing := [key for key in ("nodes", "time") if key not in keys]:
            each.problem(f"no {', no '.join(missing)}", "{nodes: 91, time: '2:00:00'}")
        nodes = read_if_given(keys, "nodes", Field.integer)
        time = read_if_given(keys, "time", _time)
        if nodes is None or time is None:
            continue
        if found and nodes <= found[-1].nodes:
            each.problem(
                f"{nodes} nodes are not more than the {found[-1].nodes} before",
                "the smallest size first",
            )
        found.append(Size(nodes=nodes, time=time))
    return tuple(found)


def _read_bundle(name: str, field: Field) -> Bundle | None:
    """Read variables and options that only work together."""
    found = read_block(field, Bundle, _BUNDLE, name=name)
    if found and not (found.env and found.is_for([*_BUNDLE.keys() - {"env"}])):
        field.problem(
            "a bundle couples variables with options of srun, mpiexec or flux run",
            "give both, or make it plain entries of env or launch.srun",
        )
    return found


def _read_values(field: Field) -> dict[str, Word]:
    values = {}
    for name, each in field.mapping().items():
        if problem := name_problem(name):
            each.problem(*problem)
        values[name] = read_word(each)
        if references(values[name]):
            each.problem("a bundle's values are plain: they are compared as they stand")
    return values


def is_module(name: str) -> bool:
    """Tell whether a module can be called so."""
    return re.fullmatch(_MODULE, name) is not None


def _read_module(name: str, field: Field) -> Module | None:
    keys = field.mapping({"action", "when", *REASON})
    if not is_module(name):
        field.problem(f"{name!r} is no module", "as in apptainer/1.4, or a path")
    action = read_if_given(keys, "action", one_of("load", "unload", "use")) or "load"
    when = read_condition(keys)
    return read_block(field, Module, {}, keys=keys, name=name, action=action, when=when)


_time = matching(_TIME, "time limit, as in 2-00:00:00")
_partition_name = matching(_PARTITION_NAME, "name of a partition, as in gpu-small")
_LIMITS: Mapping[str, Reader] = {"time": _time, "sizes": _read_sizes}
_BUNDLE: Mapping[str, Reader] = {
    "env": _read_values,
    "network": all_of(matching(_NETWORK, "value of srun --network"), may_be_empty=True),
    **dict.fromkeys(
        (each.bundled[0] for each in STARTERS.values() if each.bundled),
        all_of(matching(_OPTION, "option, as in --account"), may_be_empty=True),
    ),
}
# What reads the keys of ``request`` that are of its own block.
ASKING: Mapping[str, Reader] = {
    "scheduler": one_of(*schedulers.NAMES, schedulers.NONE),
    "gpus": lambda field: UNASKED if field.is_text(UNASKED) else _flag(field),
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
