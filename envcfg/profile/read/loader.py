"""From the bytes of one profile to the model, with every problem in one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile

from envcfg import __version__, runtimes
from envcfg.findings import Finding
from envcfg.launchers import ALLOWABLE, HAVE_OPTIONS
from envcfg.profile import words
from envcfg.profile.conditions import IN_JOB, parse_comparisons
from envcfg.profile.entries import Prefix, Setting
from envcfg.profile.model import (
    Detect,
    Domain,
    Expect,
    Masks,
    Node,
    Parent,
    Profile,
    Rendezvous,
    Run,
    Scratch,
    Status,
    Visibility,
)
from envcfg.profile.read.blocks import (
    all_of,
    block,
    by_name,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.entries import (
    REASON,
    read_binds,
    read_condition,
    read_exports,
    read_image_facts,
    read_options,
    read_reason,
    read_setting,
    read_word,
)
from envcfg.profile.read.nodes import Compose, Field, read_fields
from envcfg.profile.read.scheduling import (
    read_asked,
    read_billing,
    read_bundles,
    read_modules,
    read_request,
)

VERIFIED = ("site documentation", "user repository", "inferred", "generated", "run")
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_MASK = r"0x0*[1-9a-fA-F][0-9a-fA-F]*"
_MEMORY = r"[0-9]{1,9}[KMGT]?"
_HOST_PART = r"[A-Za-z0-9_.:-]+"
_DEVICE = r"/[A-Za-z0-9_.*?/-]+"
_INTERFACE = r"[A-Za-z0-9_][A-Za-z0-9_.:-]*"


def load_profile(
    data: bytes,
    *,
    path: str,
    stem: str,
    problems: list[Finding],
    compose: Compose | None = None,
) -> Profile | None:
    """Read one profile; what is wrong is appended to *problems*.

    Args:
        data: the file's bytes.
        path: the file's name, for messages.
        stem: the name that the profile must have: the file's, without ``.yaml``.
        problems: gets every problem; the result is usable only if none was added.
        compose: as ``read_fields`` has it; None: PyYAML, which takes long to import.
    """
    if compose is None:
        from envcfg.profile.read.yaml_text import compose as compose_yaml

        compose = compose_yaml
    root = read_fields(data, path, problems, compose)
    if root is None or not _is_for_this(root):
        return None
    before = len(problems)
    keys = root.mapping(_SECTIONS.keys() | {"name"})
    if not keys and len(problems) > before:
        return None
    if not words.PROFILE_NAME.fullmatch(stem):
        message = f"the file {stem!r}.yaml has no name of a profile"
        root.problem(message, "letters, digits, and after the first also . - _")
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


def _is_for_this(root: Field) -> bool:
    """Tell whether this envcfg is new enough to know the file's other words."""
    wanted = root.peek("envcfg")
    text = _read_needed(Field(wanted.node, "", root.path, [])) if wanted else None
    tests = parse_comparisons("envcfg", text) if text else []
    number = ".".join(takewhile(str.isdigit, __version__.split(".")))
    if wanted is None or all(test.holds_for(number) is not False for test in tests):
        return True
    wanted.problem(
        f"this profile needs envcfg {text}, and this is {__version__}",
        "update envcfg, or take a profile of its time",
    )
    return False


def _read_needed(field: Field) -> str | None:
    """Read the versions of envcfg for which the profile is."""
    text = field.text()
    if text is None:
        return None
    try:
        parse_comparisons("envcfg", text)
    except ValueError as err:
        field.problem(str(err), 'write it as ">=0.2"')
        return None
    return text


def _read_parent(field: Field) -> Parent | None:
    what = "name of a profile, as in lumi-g or builtin:lumi-g"
    name = matching(words.QUALIFIED_NAME, what)(field)
    return None if name is None else Parent(name=name, place=field.place)


def _read_verb(field: Field) -> Setting | None:
    verb = read_setting("verb", field)
    if verb and verb.otherwise not in {None, ("exec",), ("run",)}:
        field.problem("the verb is exec or run, otherwise too")
    for case in verb.cases if verb else ():
        if case.value not in {("exec",), ("run",)}:
            field.problem("the verb is exec or run")
        if any(test.fact in IN_JOB for test in case.when):
            field.problem("the verb is chosen before the job: it cannot ask for nodes")
    return verb


def _read_prefix(field: Field) -> Prefix | None:
    keys = field.mapping({"words", "when", *REASON})
    when = read_condition(keys)
    if any(test.fact in IN_JOB for test in when):
        field.problem("the prefix is chosen before the job: it cannot ask for nodes")
    readers = {"words": all_of(Field.text)}
    found = read_block(field, Prefix, readers, ["words"], keys=keys, when=when)
    if found and (not found.words[0] or found.words[0].startswith("-")):
        field.problem(f"{found.words[0]!r} is no program", "as in [/host/adapt.sh]")
    return found


def _read_rendezvous(field: Field) -> Rendezvous | None:
    rendezvous = read_block(
        field,
        Rendezvous,
        {
            "suffix": matching(_HOST_PART, "part of a host's name"),
            "interface": matching(_INTERFACE, "name of an interface"),
        },
    )
    if rendezvous and rendezvous.suffix and rendezvous.interface:
        field.problem("suffix and interface exclude each other", "keep one of them")
    return rendezvous


def _read_detect(field: Field) -> Detect:
    """Read by what a system is known; it may say why, and then says all three."""
    keys = field.mapping({*Detect._fields, *REASON} - {"reason"})
    said = any(key in keys for key in REASON)
    reason = read_reason(field, keys) if said else None
    marks = {}
    for name, each in keys.pop("marks").mapping().items() if "marks" in keys else ():
        if not re.fullmatch(f"/.+|{_VARIABLE}", name):
            each.problem(f"{name!r} is no path or variable", "as in /etc/clustername")
        marks[name] = "" if each.is_null else each.text() or ""
    globs = {key: each.texts() for key, each in keys.items() if key not in REASON}
    return Detect(**globs, marks=marks, reason=reason)


def _read_expect(field: Field) -> Expect | None:
    keys = field.mapping({*_EXPECT, *REASON})
    dropped = frozenset(key for key in _EXPECT if key in keys and keys[key].is_null)
    given = {key: each for key, each in keys.items() if key not in dropped}
    return read_block(field, Expect, _EXPECT, keys=given, dropped=dropped)


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


_variable = matching(_VARIABLE, "variable name")

_EXPECT: Mapping[str, Callable[[Field], object]] = {
    "networks": Field.texts,
    "provider": Field.text,
    "interfaces": Field.texts,
    "nics": Field.integer,
    "gdr": Field.flag,
    "devices": all_of(matching(_DEVICE, "pattern of a path, as in /dev/cxi*")),
    "bandwidth": Field.integer,
}

# What null takes back of a family or a lower layer, as it does for each variable.
_BLOCKS = frozenset(
    "billing cpu_masks expect image_facts node prefix rendezvous request scratch verb "
    "visibility".split()
)

# Each key of a profile, and what reads it. A dict is laid into the profile's fields.
_SECTIONS: Mapping[str, Callable[[Field], object]] = {
    "envcfg": _read_needed,
    "summary": Field.text,
    "extends": _read_parent,
    "lifecycle": block(
        Status, {"state": one_of("active", "ends", "retired")}, ["state"]
    ),
    "verified": block(Status, {"state": one_of(*VERIFIED)}, ["state"]),
    "run": block(
        Run,
        {
            "nodes": Field.integer,
            **dict.fromkeys(
                ("envcfg", "scheduler", "runtime", "driver", "bandwidth"), Field.text
            ),
        },
        ["envcfg", "nodes"],
    ),
    "detect": _read_detect,
    "node": block(
        Node,
        {
            "gpus": Field.integer,
            "cores_per_gpu": Field.integer,
            "memory_per_gpu": matching(_MEMORY, "memory, as in 60G"),
            "nics": Field.texts,
        },
        ["gpus"],
    ),
    "nvlink": block(Domain, {"nodes": Field.integer, "segment": Field.flag}, ["nodes"]),
    "launch": _read_keys(
        {
            "launchers": all_of(one_of(*ALLOWABLE)),
            "cpu_masks": block(
                Masks,
                {"masks": all_of(matching(_MASK, "CPU mask, as in 0x00fe"))},
                ["masks"],
            ),
            **dict.fromkeys(HAVE_OPTIONS, read_options),
        }
    ),
    "visibility": block(
        Visibility,
        {"variable": _variable, "clear": all_of(_variable, may_be_empty=True)},
        ["variable", "clear"],
    ),
    "rendezvous": _read_rendezvous,
    "container": _read_keys(
        {
            "runtimes": all_of(one_of(*runtimes.NAMES)),
            "verb": _read_verb,
            "prefix": _read_prefix,
            "image_facts": read_image_facts,
            "binds": read_binds,
            "arguments": read_options,
            "exports": read_exports,
        }
    ),
    "scratch": block(
        Scratch,
        {
            "root": read_word,
            "in_memory": Field.flag,
            "disk": read_word,
            "disk_request": read_asked,
        },
        ["root"],
    ),
    "env": lambda field: {"env": by_name(read_setting)(field)},
    "bundles": lambda field: {"bundles": read_bundles(field)},
    "request": read_request,
    "modules": lambda field: {"modules": read_modules(field)},
    "billing": read_billing,
    "expect": _read_expect,
}
