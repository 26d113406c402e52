"""What a profile says of its scheduler: requests, partitions, modules, cost, bundles."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envcfg import schedulers
from envcfg.profile import scheduler
from envcfg.profile.entries import Bundle
from envcfg.profile.read import blocks, entries
from envcfg.profile.read.nodes import Field
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

_flag = blocks.matching(_FLAG, "option without its value, as in --gres")


def _read_rule(option: str, field: Field) -> scheduler.RequestRule | None:
    if not re.fullmatch(_FLAG, option):
        field.problem(f"{option!r} is not an option", "write it as --account")
    readers = {
        "rule": blocks.one_of("must", "must not", "avoid", "repeat"),
        **dict.fromkeys(("value", "default"), _plain),
        "others": blocks.all_of(_plain),
    }
    return blocks.read_block(field, scheduler.RequestRule, readers, option=option)


def _read_gpus(field: Field) -> str | None:
    unasked = scheduler.UNASKED
    return unasked if field.is_text(unasked) else _flag(field)


def read_asked(field: Field) -> dict[str, str]:
    """Read options of a request with their values."""
    found = {}
    for option, each in field.mapping().items():
        if not re.fullmatch(_FLAG, option):
            each.problem(f"{option!r} is not an option", "write it as --constraint")
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


def _read_partition(name: str, field: Field) -> scheduler.Partition | None:
    if not re.fullmatch(_PARTITION_NAME, name):
        field.problem(f"{name!r} is not a name of a partition", "as in gpu-small")
    return blocks.read_block(field, scheduler.Partition, _LIMITS, name=name)


def _read_qos(name: str, field: Field) -> scheduler.Qos | None:
    if not re.fullmatch(_PARTITION_NAME, name):
        field.problem(f"{name!r} is not a name of a QOS", "as in gpu_debug")
    readers = {**_LIMITS, "partitions": blocks.all_of(_partition_name)}
    return blocks.read_block(field, scheduler.Qos, readers, name=name)


def _read_sizes(field: Field) -> tuple[scheduler.Size, ...]:
    """Read times by size; each size is larger than the one before."""
    found: list[scheduler.Size] = []
    items = field.items()
    if not items and not field.is_null:
        field.problem("the list is empty")
    for each in items:
        keys = each.mapping({"nodes", "time"})
        if missing := [key for key in ("nodes", "time") if key not in keys]:
            each.problem(f"no {', no '.join(missing)}", "{nodes: 91, time: '2:00:00'}")
        nodes = entries.read_if_given(keys, "nodes", Field.integer)
        time = entries.read_if_given(keys, "time", _time)
        if nodes is None or time is None:
            continue
        if found and nodes <= found[-1].nodes:
            each.problem(
                f"{nodes} nodes are not more than the {found[-1].nodes} before",
                "the smallest size first",
            )
        found.append(scheduler.Size(nodes=nodes, time=time))
    return tuple(found)


def _read_bundle(name: str, field: Field) -> Bundle | None:
    """Read variables and options that only work together."""
    found = blocks.read_block(field, Bundle, _BUNDLE, name=name)
    if found and not (found.env and found.is_for([*_BUNDLE.keys() - {"env"}])):
        field.problem(
            "a bundle couples variables with options of srun, mpiexec or flux run",
            "give both, or make it plain entries of env or launch.srun",
        )
    return found


def _read_values(field: Field) -> dict[str, Word]:
    values = {}
    for name, each in field.mapping().items():
        if problem := entries.name_problem(name):
            each.problem(*problem)
        values[name] = entries.read_word(each)
        if references(values[name]):
            each.problem(
                "a bundle's values are plain: they are compared as they are written"
            )
    return values


def is_module(name: str) -> bool:
    """Tell whether a module can be called so."""
    return re.fullmatch(_MODULE, name) is not None


def _read_module(name: str, field: Field) -> scheduler.Module | None:
    keys = field.mapping({"action", "when", *entries.REASON})
    if not is_module(name):
        field.problem(f"{name!r} is not a module", "as in apptainer/1.4, or a path")
    action = (
        entries.read_if_given(keys, "action", blocks.one_of("load", "unload", "use"))
        or "load"
    )
    when = entries.read_condition(keys)
    return blocks.read_block(
        field, scheduler.Module, {}, keys=keys, name=name, action=action, when=when
    )


_time = blocks.matching(_TIME, "time limit, as in 2-00:00:00")
_partition_name = blocks.matching(
    _PARTITION_NAME, "name of a partition, as in gpu-small"
)
_LIMITS: Mapping[str, blocks.Reader] = {"time": _time, "sizes": _read_sizes}
_BUNDLE: Mapping[str, blocks.Reader] = {
    "env": _read_values,
    "network": blocks.all_of(
        blocks.matching(_NETWORK, "value of srun --network"), may_be_empty=True
    ),
    **dict.fromkeys(
        (each.bundled[0] for each in STARTERS.values() if each.bundled),
        blocks.all_of(
            blocks.matching(_OPTION, "option, as in --account"), may_be_empty=True
        ),
    ),
}
# What reads the keys of ``request`` that are not one of its blocks.
ASKING: Mapping[str, blocks.Reader] = {
    "scheduler": blocks.one_of(*schedulers.NAMES, schedulers.NONE),
    "gpus": lambda field: (
        scheduler.UNASKED if field.is_text(scheduler.UNASKED) else _flag(field)
    ),
    "gpu_type": blocks.matching(_KIND, "kind of GPU, as in a100"),
}
read_rules = blocks.by_name(_read_rule)
read_partitions = blocks.by_name(_read_partition)
read_qos = blocks.by_name(_read_qos)
read_closed = blocks.all_of(blocks.one_of("partitions", "qos"), may_be_empty=True)
read_bundles = blocks.by_name(_read_bundle)
read_modules = blocks.by_name(_read_module)
_PRICES = "per_gpu per_node per_core per_gib per_nvme_gib".split()
read_billing = blocks.block(
    scheduler.Billing,
    charge=blocks.one_of("gpus", "sum", "largest share"),
    **dict.fromkeys(_PRICES, blocks.matching(_AMOUNT, "amount, as in 0.5")),
)
