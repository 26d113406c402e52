"""What a profile says of its scheduler: requests, partitions, modules, cost, bundles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from envcfg import schedulers
from envcfg.profile.model import Bundle
from envcfg.profile.read.blocks import (
    all_of,
    block,
    by_name,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.entries import (
    name_problem,
    read_condition,
    read_if_given,
    read_word,
)
from envcfg.profile.read.nodes import Field
from envcfg.profile.scheduler import Asking, Billing, Module, Partition, RequestRule
from envcfg.profile.words import Word, is_plain, references

_FLAG = r"--?[A-Za-z][A-Za-z0-9_-]*"
_OPTION = r"--?[A-Za-z][A-Za-z0-9_-]*(=\S*)?"
_NETWORK = r"[A-Za-z_]+(=[A-Za-z0-9_]+)?"
_PARTITION_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_KIND = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_MODULE = r"[A-Za-z0-9_/][A-Za-z0-9_./+:@~=-]*"
_TIME = r"([0-9]+-)?[0-9]{1,3}(:[0-9]{2}){0,2}"
_AMOUNT = r"[0-9]{1,9}(\.[0-9]{1,9})?"

_flag = matching(_FLAG, "option without its value, as in --gres")
_option = matching(_OPTION, "option, as in --account")
_kind = matching(_KIND, "kind of GPU, as in a100")
_amount = matching(_AMOUNT, "amount, as in 0.5")


def read_request(field: Field) -> dict[str, object]:
    """Read how nodes are asked for, with the rules on options and the partitions."""
    keys = field.mapping({*_REQUEST, "why", "source", "date", "rules", "partitions"})
    found: dict[str, object] = {}
    if keys.keys() - {"rules", "partitions"}:
        found["request"] = read_block(field, Asking, _REQUEST, ["scheduler"], keys=keys)
    if "rules" in keys:
        found["rules"] = by_name(_read_rule)(keys["rules"])
    if "partitions" in keys:
        found["partitions"] = by_name(_read_partition)(keys["partitions"])
    return found


def _read_rule(option: str, field: Field) -> RequestRule | None:
    if not re.fullmatch(_FLAG, option):
        field.problem(f"{option!r} is no option", "write it as --account")
    readers = {
        "rule": one_of("must", "must not", "avoid", "repeat"),
        "value": _plain,
    }
    return read_block(field, RequestRule, readers, ["rule"], option=option)


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
    return read_block(field, Partition, _PARTITION, name=name)


def read_bundle(name: str, field: Field) -> Bundle | None:
    """Read variables and options that only work together."""
    keys = field.mapping({*_BUNDLE, "why", "source", "date", "when"})
    when = read_condition(keys)
    found = read_block(field, Bundle, _BUNDLE, keys=keys, name=name, when=when)
    if found and not (found.env and (found.network or found.srun)):
        field.problem(
            "a bundle couples variables with options of srun",
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
    keys = field.mapping({"action", "when", "why", "source", "date"})
    if not is_module(name):
        field.problem(f"{name!r} is no module", "as in apptainer/1.4, or a path")
    action = read_if_given(keys, "action", one_of("load", "unload", "use")) or "load"
    when = read_condition(keys)
    return read_block(field, Module, {}, keys=keys, name=name, action=action, when=when)


_PARTITION: Mapping[str, Callable[[Field], object]] = {
    "nodes": Field.integer,
    "time": matching(_TIME, "time limit, as in 2-00:00:00"),
    "exclusive": Field.flag,
    "gpus": Field.integer,
}
_REQUEST = {
    "scheduler": one_of(*schedulers.NAMES, schedulers.NONE),
    "gpus": _flag,
    "gpu_type": _kind,
}
_BUNDLE = {
    "env": _read_values,
    "network": all_of(matching(_NETWORK, "value of srun --network"), may_be_empty=True),
    "srun": all_of(_option, may_be_empty=True),
}
read_bundles = by_name(read_bundle)
read_modules = by_name(_read_module)
read_billing = block(
    Billing,
    {
        "unit": Field.text,
        "charge": one_of("gpus", "sum", "largest share"),
        "per_gpu": _amount,
        "per_node": _amount,
        "per_core": _amount,
        "per_gib": _amount,
        "per_nvme_gib": _amount,
        "cores_per_share": Field.integer,
        "memory_per_share": Field.integer,
        "whole_shares": Field.flag,
        "whole_nodes": Field.texts,
    },
    ["unit", "charge"],
)
