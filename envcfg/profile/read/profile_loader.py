"""Parse the bytes of one profile into the model; one run reports every problem."""

import re
from collections.abc import Callable, Mapping
from itertools import takewhile

from envcfg import __version__
from envcfg.backends import runtimes
from envcfg.backends.launchers import ALLOWABLE, HAVE_OPTIONS
from envcfg.common.characters import Texts
from envcfg.common.findings import Finding
from envcfg.profile import profile_model, words
from envcfg.profile.conditions import IN_JOB, parse_comparisons
from envcfg.profile.entries import Prefix, Setting
from envcfg.profile.read import entry_readers, scheduling
from envcfg.profile.read.block_readers import (
    Reader,
    all_of,
    block,
    by_name,
    keys_of,
    matching,
    one_of,
    read_block,
)
from envcfg.profile.read.entry_readers import REASON
from envcfg.profile.read.yaml_nodes import Compose, Field, read_fields
from envcfg.profile.scheduler_settings import Asking

VERIFIED = ("site documentation", "user repository", "inferred", "generated", "run")
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_MASK = r"0x0*[1-9a-fA-F][0-9a-fA-F]*"
_MEMORY = r"[0-9]{1,9}[KMGT]?"
_PROXY = r"(?:https?|socks[45h]*)://[A-Za-z0-9.-]+:[0-9]{1,5}"
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
) -> profile_model.Profile | None:
    """Parse one profile; problems are appended to *problems*.

    Args:
        stem: the required name of the profile: the file name without ``.yaml``.
        problems: receives every problem; the result is usable only if none was added.
        compose: as in ``read_fields``; None: PyYAML, whose import is slow.
    """
    if compose is None:
        from envcfg.profile.read.yaml_text import compose as compose_yaml

        compose = compose_yaml
    # The version is tested before the keys: a newer file may have keys that would
    # only be reported as unknown.
    root = read_fields(data, path, problems, compose)
    if root is None or not _is_for_this(root):
        return None
    before = len(problems)
    keys = root.mapping({"name", *_TOP_KEYS})
    # The top is not a mapping, or has only unknown keys. More messages would not
    # help.
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
    keys.pop("name", None)
    return _read_sections(keys, stem)


def _read_sections(keys: Mapping[str, Field], name: str) -> profile_model.Profile:
    """Read the sections of a profile, or of a kind of node."""
    fields_read: dict[str, object] = {}
    for key in keys:
        # null removes a block of a lower layer, so it is not passed to the reader.
        if keys[key].is_null and key in _BLOCKS:
            fields_read[key] = None
        elif key in _GROUPS:
            fields_read |= _read_group(keys[key], key)
        else:
            fields_read[key] = SECTIONS[key](keys[key])
    dropped = frozenset(key for key in fields_read if fields_read[key] is None)
    return profile_model.Profile(name=name, dropped=dropped, **fields_read)  # type: ignore[arg-type]


def _read_kind(name: str, field: Field) -> profile_model.NodeKind | None:
    """Read a kind of node: the signs that select it, and the sections that differ."""
    if not words.KIND_NAME.fullmatch(name):
        hint = "letters, digits, and after the first also _ + -"
        field.problem(f"{name!r} is not a name of a kind of node", hint)
    keys = field.mapping({"select", *_TOP_KEYS} - SAME_FOR_KINDS)
    signs = keys.pop("select").mapping(_SIGNS) if "select" in keys else {}
    selected = {sign: _SIGNS[sign](child) for sign, child in signs.items()}
    return profile_model.NodeKind(_read_sections(keys, name), **selected)


def _read_group(field: Field, group: str) -> dict[str, object]:
    """Read the sections of a group; ``request`` also has its own keys."""
    begin = f"{group}."
    readers = {
        path.removeprefix(begin): section
        for path, section in SECTIONS.items()
        if path.startswith(begin)
    }
    own = {*keys_of(Asking), *REASON} if group in SECTIONS else set()
    keys = field.mapping(readers.keys() | own)
    fields_read: dict[str, object] = {}
    if keys.keys() & own:
        fields_read[group] = read_block(field, Asking, scheduling.ASKING, keys=keys)
    for key, child in keys.items():
        if key in readers:
            is_dropped = child.is_null and key in _BLOCKS
            fields_read[key] = None if is_dropped else readers[key](child)
    return fields_read


def _is_for_this(root: Field) -> bool:
    """Return whether this envcfg is new enough for the file."""
    # peek() does not report problems: the key is read again with the others.
    field = root.peek("envcfg")
    text = _read_needed(Field(field.node, "", root.path, [])) if field else None
    tests = parse_comparisons("envcfg", text) if text else []
    # A version such as 1.0.dev3 counts as 1.0, so that developers can use new
    # profiles.
    number = ".".join(takewhile(str.isdigit, __version__.split(".")))
    # An imprecise comparison is None, which counts as true.
    if field is None or all(test.holds_for(number) is not False for test in tests):
        return True
    field.problem(
        f"this profile needs envcfg {text}, and this is {__version__}",
        "update envcfg, or use a profile that is as old",
    )
    return False


def _read_needed(field: Field) -> str | None:
    """Read the versions of envcfg that the profile supports."""
    text = field.text()
    if text is None:
        return None
    try:
        parse_comparisons("envcfg", text)
    except ValueError as err:
        field.problem(str(err), 'write it as ">=0.2"')
        return None
    return text


def _read_parent(field: Field) -> profile_model.Parent | None:
    message = "name of a profile, as in lumi-g or builtin:lumi-g"
    name = matching(words.QUALIFIED_NAME, message)(field)
    return None if name is None else profile_model.Parent(name=name, place=field.place)


def _read_verb(field: Field) -> Setting | None:
    verb = entry_readers.read_setting("verb", field)
    if verb and verb.otherwise not in {None, ("exec",), ("run",)}:
        field.problem("the verb is exec or run, also in otherwise")
    for case in verb.cases if verb else ():
        if case.value not in {("exec",), ("run",)}:
            field.problem("the verb is exec or run")
        # The verb is part of the command line, which is written before the number
        # of nodes is known.
        if any(test.fact in IN_JOB for test in case.when):
            field.problem("the verb is chosen before the job: it cannot ask for nodes")
    return verb


def _read_prefix(field: Field) -> Prefix | None:
    keys = field.mapping({"words", "when", *REASON})
    when = entry_readers.read_condition(keys)
    if any(test.fact in IN_JOB for test in when):
        field.problem("the prefix is chosen before the job: it cannot ask for nodes")
    readers = {"words": all_of(Field.text)}
    prefix = read_block(field, Prefix, readers, keys=keys, when=when)
    # A word with a dash would become an option of the container runtime.
    if prefix and (not prefix.words[0] or prefix.words[0].startswith("-")):
        field.problem(f"{prefix.words[0]!r} is not a program", "as in [/host/adapt.sh]")
    return prefix


def _read_rendezvous(field: Field) -> profile_model.Rendezvous | None:
    readers = {
        "suffix": matching(_HOST_PART, "part of a host's name"),
        "interface": matching(_INTERFACE, "name of an interface"),
    }
    rendezvous = read_block(field, profile_model.Rendezvous, readers)
    if rendezvous and rendezvous.suffix and rendezvous.interface:
        field.problem("suffix and interface exclude each other", "keep one of them")
    return rendezvous


def _read_detect(field: Field) -> profile_model.Detect:
    """Parse the signs of a system; why, source and date are optional together."""
    # Names such as a cluster's explain themselves, so the reason is optional here.
    keys = field.mapping({*profile_model.Detect._fields, *REASON} - {"reason"})
    has_reason = any(key in keys for key in REASON)
    reason = entry_readers.read_reason(field, keys) if has_reason else None
    marks = {}
    for name, child in keys.pop("marks").mapping().items() if "marks" in keys else ():
        if not re.fullmatch(f"/.+|{_VARIABLE}", name):
            child.problem(
                f"{name!r} is not a path or variable", "as in /etc/clustername"
            )
        # null means that the file must only exist.
        marks[name] = "" if child.is_null else child.text() or ""
    globs = {key: child.texts() for key, child in keys.items() if key not in REASON}
    return profile_model.Detect(**globs, marks=marks, reason=reason)


def _read_expect(field: Field) -> profile_model.Expect | None:
    # These two fields are computed by merging and have no key in files.
    own = set(keys_of(profile_model.Expect)) - {"dropped", "others"}
    keys = field.mapping({*own, *REASON})
    dropped = frozenset(key for key in own if key in keys and keys[key].is_null)
    fields = {key: child for key, child in keys.items() if key not in dropped}
    readers = {
        "devices": all_of(matching(_DEVICE, "pattern of a path, as in /dev/cxi*"))
    }
    return read_block(
        field, profile_model.Expect, readers, keys=fields, dropped=dropped
    )


def _read_attachment(field: Field) -> profile_model.Attachment | None:
    readers = {"buses": all_of(matching("[0-9a-f]{2}", "a PCI bus, as in c1"))}
    attachment = read_block(field, profile_model.Attachment, readers)
    # One NIC without its bus cannot be matched with a GPU.
    if (
        attachment
        and attachment.buses
        and len(attachment.buses) != len(attachment.nics)
    ):
        many = f"{len(attachment.buses)} buses for {len(attachment.nics)} GPUs"
        field.problem(many, "one NIC and one bus for each GPU")
        return None
    return attachment


_variable = matching(_VARIABLE, "variable name")

# Sections that describe the whole system.
SAME_FOR_KINDS = frozenset("name envcfg extends detect lifecycle nodes".split())
_SIGN = all_of(matching(r"[A-Za-z0-9_.*?[\]+:-]+", "name or glob"))
_SIGNS: Mapping[str, Callable[[Field], Texts | None]] = dict.fromkeys(
    ("partitions", "constraints", "gres", "hosts"), _SIGN
)
# null removes these blocks of a family or lower layer, as it does for a variable.
_BLOCKS = frozenset(
    "attachment billing cpu_masks expect home image_facts internet node prefix rendezvous "
    "request scratch slurm verb visibility".split()
)
# The keys of a profile that hold sections.
_GROUPS = ("request", "launch", "container")
# Readers of the sections, by path from the top, in reading order. The last part of
# the path is the field of the profile.
SECTIONS: Mapping[str, Reader] = {
    "envcfg": _read_needed,
    "summary": Field.text,
    "extends": _read_parent,
    "lifecycle": block(profile_model.Status, state=one_of("active", "ends", "retired")),
    "verified": block(profile_model.Status, state=one_of(*VERIFIED)),
    "detect": _read_detect,
    "node": block(
        profile_model.NodeShape,
        memory_per_gpu=matching(_MEMORY, "memory, as in 60G"),
        memory_limit=matching(_MEMORY, "memory, as in 480G"),
        architecture=one_of("x86_64", "aarch64"),
    ),
    "nvlink": block(profile_model.Domain),
    "internet": block(
        profile_model.Internet, proxy=matching(_PROXY, "proxy, as in http://HOST:PORT")
    ),
    "home": block(profile_model.Home),
    "slurm": block(
        profile_model.SlurmVersion,
        version=matching(r"2\d\.\d\d(\.\d+)?", "version of Slurm, as in 24.05.8"),
    ),
    "attachment": _read_attachment,
    "request": block(Asking, **scheduling.ASKING),
    "request.rules": scheduling.read_rules,
    "request.partitions": scheduling.read_partitions,
    "request.qos": scheduling.read_qos,
    "request.closed": scheduling.read_closed,
    "modules": scheduling.read_modules,
    "billing": scheduling.read_billing,
    "launch.launchers": all_of(one_of(*ALLOWABLE)),
    "launch.cpu_masks": block(
        profile_model.Masks, masks=all_of(matching(_MASK, "CPU mask, as in 0x00fe"))
    ),
    **{f"launch.{name}": entry_readers.read_options for name in HAVE_OPTIONS},
    "visibility": block(
        profile_model.Visibility,
        variable=_variable,
        numbers=_variable,
        clear=all_of(_variable, may_be_empty=True),
    ),
    "rendezvous": _read_rendezvous,
    "scratch": block(profile_model.Scratch, disk_request=scheduling.read_asked),
    "container.runtimes": all_of(one_of(*runtimes.NAMES)),
    "container.verb": _read_verb,
    "container.prefix": _read_prefix,
    "container.image_facts": entry_readers.read_image_facts,
    "container.binds": entry_readers.read_binds,
    "container.arguments": entry_readers.read_options,
    "container.exports": entry_readers.read_exports,
    "env": by_name(entry_readers.read_setting),
    "bundles": scheduling.read_bundles,
    "expect": _read_expect,
    "nodes": by_name(_read_kind),
}
_TOP_KEYS = frozenset(path.partition(".")[0] for path in SECTIONS)
