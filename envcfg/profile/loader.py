"""From the bytes of one profile to the model, with every problem in one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from envcfg.errors import Problem
from envcfg.profile import words
from envcfg.profile.conditions import IN_JOB
from envcfg.profile.entries import (
    REASON,
    read_env,
    read_image_facts,
    read_mounts,
    read_reason,
    read_setting,
    read_word,
)
from envcfg.profile.model import (
    Detect,
    Expect,
    Masks,
    Node,
    Parent,
    Profile,
    Rendezvous,
    Scratch,
    Setting,
    Status,
    Visibility,
)
from envcfg.profile.nodes import Field, read_fields

Block = TypeVar("Block")

LAUNCHERS = ("srun", "torchrun", "local")
RUNTIMES = ("apptainer", "singularity")
_MASK = re.compile(r"0x[0-9a-fA-F]*[1-9a-fA-F][0-9a-fA-F]*")
_HOST_PART = re.compile(r"[A-Za-z0-9_.:-]+")


def load_profile(
    data: bytes, *, path: str, stem: str, problems: list[Problem]
) -> Profile | None:
    """Read one profile; what is wrong is appended to *problems*.

    Args:
        data: the file's bytes.
        path: the file's name, for messages.
        stem: the name that the profile must have: the file's, without ``.yaml``.
        problems: gets every problem; the result is usable only if none was added.
    """
    root = read_fields(data, path, problems)
    if root is None:
        return None
    before = len(problems)
    keys = root.mapping(_SECTIONS.keys() | {"name"})
    if not keys and len(problems) > before:
        return None
    if "name" not in keys:
        root.problem("a profile needs a name", f"add 'name: {stem}' at the top")
    elif (text := keys["name"].text()) is not None and text != stem:
        keys["name"].problem(
            f"the file is {stem}.yaml, the name {text!r}", "they must agree"
        )
    given: dict[str, object] = {}
    for key in (key for key in keys if key != "name"):
        if keys[key].is_null and key in _BLOCKS:
            given[key] = None
            continue
        value = _SECTIONS[key](keys[key])
        given |= value if isinstance(value, dict) else {key: value}
    dropped = frozenset(key for key in given if given[key] is None)
    return Profile(name=stem, dropped=dropped, **given)  # type: ignore[arg-type]


def _block(
    build: Callable[..., Block],
    readers: Mapping[str, Callable[[Field], object]],
    required: Sequence[str] = (),
) -> Callable[[Field], Block | None]:
    """Return a reader for a block of plain keys that carries one reason."""

    def read(field: Field) -> Block | None:
        keys = field.mapping({*readers, *REASON})
        reason = read_reason(field, keys)
        for key in required:
            if key not in keys:
                field.problem(f"no {key}", f"this block needs {', '.join(required)}")
        values = {key: readers[key](keys[key]) for key in keys if key in readers}
        values = {key: value for key, value in values.items() if value is not None}
        if reason is None or any(key not in values for key in required):
            return None
        return build(reason=reason, **values)

    return read


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[Field], str | None]:
    def read(field: Field) -> str | None:
        text = field.text()
        if text is not None and not pattern.fullmatch(text):
            field.problem(f"{text!r} is no {what}")
            return None
        return text

    return read


def _all_of(
    read: Callable[[Field], str | None],
) -> Callable[[Field], tuple[str, ...] | None]:
    """Return a reader for a list with at least one entry, each as *read* takes it."""

    def read_all(field: Field) -> tuple[str, ...] | None:
        items = field.items()
        if not items and not field.is_null:
            field.problem("the list is empty")
        texts = [read(item) for item in items]
        return tuple(text for text in texts if text is not None) or None

    return read_all


def _one_of(*known: str) -> Callable[[Field], str | None]:
    return lambda field: field.one_of(known)


def _read_parent(field: Field) -> Parent | None:
    name = field.text()
    return None if name is None else Parent(name=name, place=field.place)


def _read_verb(field: Field) -> Setting | None:
    verb = read_setting("verb", field)
    for case in verb.cases if verb else ():
        if case.value not in {("exec",), ("run",)}:
            field.problem("the verb is exec or run")
        if any(test.fact in IN_JOB for test in case.when):
            field.problem("the verb is chosen before the job: it cannot ask for nodes")
    return verb


def _read_rendezvous(field: Field) -> Rendezvous | None:
    rendezvous = _RENDEZVOUS(field)
    if rendezvous and rendezvous.suffix and rendezvous.interface:
        field.problem("suffix and interface exclude each other", "keep one of them")
    return rendezvous


def _read_keys(
    readers: Mapping[str, Callable[[Field], object]],
) -> Callable[[Field], dict[str, object]]:
    """Return a reader for a section whose keys are fields of the profile."""

    def read(field: Field) -> dict[str, object]:
        keys = field.mapping(readers)
        return {
            key: None if each.is_null and key in _BLOCKS else readers[key](each)
            for key, each in keys.items()
        }

    return read


_variable = _matching(words.NAME, "variable name")
_host_part = _matching(_HOST_PART, "part of a host or interface name")
_RENDEZVOUS = _block(Rendezvous, {"suffix": _host_part, "interface": _host_part})

# What null takes back of a family or a lower layer, as it does for each variable.
_BLOCKS = frozenset(
    "cpu_masks expect image_facts node rendezvous scratch verb visibility".split()
)

# Each key of a profile, and what reads it. A dict is laid into the profile's fields.
_SECTIONS: Mapping[str, Callable[[Field], object]] = {
    "summary": Field.text,
    "extends": _read_parent,
    "lifecycle": _block(
        Status, {"state": _one_of("active", "ends", "retired")}, ["state"]
    ),
    "verified": _block(
        Status,
        {"state": _one_of("site documentation", "user repository", "inferred", "run")},
        ["state"],
    ),
    "detect": lambda field: Detect(
        **{
            key: each.texts()
            for key, each in field.mapping({"clusters", "hosts"}).items()
        }
    ),
    "node": _block(
        Node,
        {
            "gpus": Field.integer,
            "cores_per_gpu": Field.integer,
            "memory_per_gpu": Field.text,
            "nics": Field.texts,
        },
        ["gpus"],
    ),
    "launch": _read_keys(
        {
            "launchers": _all_of(_one_of(*LAUNCHERS)),
            "cpu_masks": _block(
                Masks,
                {"masks": _all_of(_matching(_MASK, "CPU mask, as in 0x00fe"))},
                ["masks"],
            ),
        }
    ),
    "visibility": _block(
        Visibility,
        {
            "variable": _variable,
            "clear": _all_of(_variable),
        },
        ["variable", "clear"],
    ),
    "rendezvous": _read_rendezvous,
    "container": _read_keys(
        {
            "runtimes": _all_of(_one_of(*RUNTIMES)),
            "verb": _read_verb,
            "image_facts": read_image_facts,
            "binds": read_mounts,
            "arguments": read_mounts,
        }
    ),
    "scratch": _block(Scratch, {"root": read_word, "in_memory": Field.flag}, ["root"]),
    "env": lambda field: {"env": read_env(field)},
    "expect": _block(
        Expect,
        {
            "networks": Field.texts,
            "provider": Field.text,
            "interfaces": Field.texts,
            "nics": Field.integer,
            "gdr": Field.flag,
        },
    ),
}
