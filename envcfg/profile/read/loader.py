"""From the bytes of one profile to the model, with every problem in one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from envcfg import __version__, runtimes
from envcfg.findings import Finding
from envcfg.launchers import ALLOWABLE, HAVE_OPTIONS
from envcfg.profile import model, words
from envcfg.profile.conditions import IN_JOB, parse_comparisons
from envcfg.profile.entries import Prefix, Setting
from envcfg.profile.read import entries, scheduling
from envcfg.profile.read.blocks import (
    Reader,
    all_of,
    block,
    by_name,
    keys_of,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.entries import REASON
from envcfg.profile.read.nodes import Compose, Field, read_fields
from envcfg.profile.scheduler import Asking

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
) -> model.Profile | None:
    """Read one profile; what is wrong is appended to *problems*.

    Args:
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
    keys = root.mapping({"name", *(path.partition(".")[0] for path in SECTIONS)})
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
        elif key in _GROUPS:
            given |= _read_group(keys[key], key)
        else:
            given[key] = SECTIONS[key](keys[key])
    dropped = frozenset(key for key in given if given[key] is None)
    return model.Profile(name=stem, dropped=dropped, **given)  # type: ignore[arg-type]


def _read_group(field: Field, group: str) -> dict[str, object]:
    """Read the sections of a group; ``request`` has keys of its own besides."""
    begin = f"{group}."
    readers = {
        path.removeprefix(begin): read
        for path, read in SECTIONS.items()
        if path.startswith(begin)
    }
    own = {*keys_of(Asking), *REASON} if group in SECTIONS else set()
    keys = field.mapping(readers.keys() | own)
    found: dict[str, object] = {}
    if keys.keys() & own:
        found[group] = read_block(field, Asking, scheduling.ASKING, keys=keys)
    for key, each in keys.items():
        if key in readers:
            is_dropped = each.is_null and key in _BLOCKS
            found[key] = None if is_dropped else readers[key](each)
    return found


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
        "update envcfg, or use a profile that is as old",
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


def _read_parent(field: Field) -> model.Parent | None:
    what = "name of a profile, as in lumi-g or builtin:lumi-g"
    name = matching(words.QUALIFIED_NAME, what)(field)
    return None if name is None else model.Parent(name=name, place=field.place)


def _read_verb(field: Field) -> Setting | None:
    verb = entries.read_setting("verb", field)
    if verb and verb.otherwise not in {None, ("exec",), ("run",)}:
        field.problem("the verb is exec or run, also in otherwise")
    for case in verb.cases if verb else ():
        if case.value not in {("exec",), ("run",)}:
            field.problem("the verb is exec or run")
        if any(test.fact in IN_JOB for test in case.when):
            field.problem("the verb is chosen before the job: it cannot ask for nodes")
    return verb


def _read_prefix(field: Field) -> Prefix | None:
    keys = field.mapping({"words", "when", *REASON})
    when = entries.read_condition(keys)
    if any(test.fact in IN_JOB for test in when):
        field.problem("the prefix is chosen before the job: it cannot ask for nodes")
    readers = {"words": all_of(Field.text)}
    found = read_block(field, Prefix, readers, keys=keys, when=when)
    if found and (not found.words[0] or found.words[0].startswith("-")):
        field.problem(f"{found.words[0]!r} is not a program", "as in [/host/adapt.sh]")
    return found


def _read_rendezvous(field: Field) -> model.Rendezvous | None:
    readers = {
        "suffix": matching(_HOST_PART, "part of a host's name"),
        "interface": matching(_INTERFACE, "name of an interface"),
    }
    rendezvous = read_block(field, model.Rendezvous, readers)
    if rendezvous and rendezvous.suffix and rendezvous.interface:
        field.problem("suffix and interface exclude each other", "keep one of them")
    return rendezvous


def _read_detect(field: Field) -> model.Detect:
    """Read by what a system is known; it may say why, and then says all three."""
    keys = field.mapping({*model.Detect._fields, *REASON} - {"reason"})
    said = any(key in keys for key in REASON)
    reason = entries.read_reason(field, keys) if said else None
    marks = {}
    for name, each in keys.pop("marks").mapping().items() if "marks" in keys else ():
        if not re.fullmatch(f"/.+|{_VARIABLE}", name):
            each.problem(
                f"{name!r} is not a path or variable", "as in /etc/clustername"
            )
        marks[name] = "" if each.is_null else each.text() or ""
    globs = {key: each.texts() for key, each in keys.items() if key not in REASON}
    return model.Detect(**globs, marks=marks, reason=reason)


def _read_expect(field: Field) -> model.Expect | None:
    own = set(keys_of(model.Expect)) - {"dropped", "others"}
    keys = field.mapping({*own, *REASON})
    dropped = frozenset(key for key in own if key in keys and keys[key].is_null)
    given = {key: each for key, each in keys.items() if key not in dropped}
    readers = {
        "devices": all_of(matching(_DEVICE, "pattern of a path, as in /dev/cxi*"))
    }
    return read_block(field, model.Expect, readers, keys=given, dropped=dropped)


_variable = matching(_VARIABLE, "variable name")

# What null takes back of a family or a lower layer, as it does for each variable.
_BLOCKS = frozenset(
    "billing cpu_masks expect image_facts node prefix rendezvous request scratch verb "
    "visibility".split()
)
# The keys of a profile that hold sections.
_GROUPS = ("request", "launch", "container")
# What reads each section of a profile, by its way from the top, in the order in which
# people read them. The last part of the way is the profile's field.
SECTIONS: Mapping[str, Reader] = {
    "envcfg": _read_needed,
    "summary": Field.text,
    "extends": _read_parent,
    "lifecycle": block(model.Status, state=one_of("active", "ends", "retired")),
    "verified": block(model.Status, state=one_of(*VERIFIED)),
    "run": block(model.Run),
    "detect": _read_detect,
    "node": block(model.Node, memory_per_gpu=matching(_MEMORY, "memory, as in 60G")),
    "nvlink": block(model.Domain),
    "request": block(Asking, **scheduling.ASKING),
    "request.rules": scheduling.read_rules,
    "request.partitions": scheduling.read_partitions,
    "request.qos": scheduling.read_qos,
    "request.closed": scheduling.read_closed,
    "modules": scheduling.read_modules,
    "billing": scheduling.read_billing,
    "launch.launchers": all_of(one_of(*ALLOWABLE)),
    "launch.cpu_masks": block(
        model.Masks, masks=all_of(matching(_MASK, "CPU mask, as in 0x00fe"))
    ),
    **{f"launch.{name}": entries.read_options for name in HAVE_OPTIONS},
    "visibility": block(
        model.Visibility,
        variable=_variable,
        clear=all_of(_variable, may_be_empty=True),
    ),
    "rendezvous": _read_rendezvous,
    "scratch": block(model.Scratch, disk_request=scheduling.read_asked),
    "container.runtimes": all_of(one_of(*runtimes.NAMES)),
    "container.verb": _read_verb,
    "container.prefix": _read_prefix,
    "container.image_facts": entries.read_image_facts,
    "container.binds": entries.read_binds,
    "container.arguments": entries.read_options,
    "container.exports": entries.read_exports,
    "env": by_name(entries.read_setting),
    "bundles": scheduling.read_bundles,
    "expect": _read_expect,
}
