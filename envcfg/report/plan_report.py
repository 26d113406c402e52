"""A plan as lines for readers, and as JSON for programs."""

import shlex
from collections.abc import Iterator

from envcfg.backends.starters import OWN, STARTERS
from envcfg.common.secrets import shown
from envcfg.job.plan.kept_caches import kept_kinds
from envcfg.job.plan.plan import Plan
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Argument, BindMount, Case, Setting
from envcfg.profile.evidence import cited
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Rendezvous, Visibility
from envcfg.profile.words import format_word
from envcfg.report.document import json_text, pick_fields

# Every starter has its own key for the options of a bundle.
_BUNDLED = tuple(starter.bundled[0] for starter in STARTERS.values() if starter.bundled)


def plan_json(plan: Plan) -> str:
    """Return the plan as JSON."""
    bundled = plan.starter.bundled
    program = bundled[0] if bundled else ""  # the key of a bundle's options
    document = {
        "profile": profile_json(plan),
        "defaults": plan.options.defaults,
        "project_files": plan.options.project_files,
        "launcher": plan.launcher,
        "starter": plan.starter.name,
        "ranks_per_node": plan.ranks,
        "facts": {
            name: {"value": fact.value, **fact.reason._asdict()}
            for name, fact in sorted(plan.facts.items())
        },
        "command": plan.options.command,
        "container": _container(plan),
        "modules": [
            {
                "name": module.name,
                "action": module.action,
                # Modules of the user have no date, because they come from the
                # command line.
                "own": not module.reason.date,
                "when": _test_texts(module.when),
                **module.reason._asdict(),
            }
            for module in plan.modules
        ],
        "settings": [_setting(setting) for setting in plan.settings],
        "bundles": [
            {
                "name": bundle.name,
                "env": {name: format_word(value) for name, value in bundle.env.items()},
                "network": bundle.network,
                # All keys are present, so that a program need not test for them.
                **{name: [] for name in _BUNDLED},
                program: getattr(bundle, program),
                "when": _test_texts(bundle.when),
                **bundle.reason._asdict(),
            }
            for bundle in plan.bundles
        ],
        **{
            own: [
                _argument(argument)
                # Only the starter's own program has options in this plan.
                for argument in plan.starter_options
                if by == plan.starter
            ]
            for own, by in OWN.items()
        },
        "agent": [_argument(argument) for argument in plan.agent],
        "gpus_per_node": plan.profile.gpus,
        "visibility": _with_reason(plan.visibility),
        "rendezvous": _with_reason(plan.profile.rendezvous),
        "scratch": None if plan.scratch is None else format_word(plan.scratch.root),
        "cpu_masks": plan.masks.masks if plan.masks else [],
        "expect": {
            name: {"value": value, **plan.profile.expect.reason_of(name)._asdict()}
            for name, value in plan.profile.expect.said().items()
        }
        if plan.profile.expect
        else {},
        "findings": plan.notes,
    }
    return json_text(document, version=2)


def profile_json(plan: Plan) -> dict[str, object]:
    """Return the name of the profile, the digest of its files, and the kind of node."""
    profile, digest = plan.profile, plan.profile_hash
    return {
        "name": profile.name,
        "sha256": digest,
        "kind": profile.kind and profile.kind.document,
    }


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the lines of the plan: the starter first, then the settings of each rank.

    Each kind of entry has its keyword at the left, for grep. Empty parts have no line.
    """
    yield f"profile    {plan.profile.name} (sha256 {plan.profile_hash[:16]})"
    if plan.profile.kind:
        yield f"kind       {plan.profile.kind}"
    for note in plan.notes:
        # Such a note explains a difference from the built-in profile, so it belongs
        # to the head.
        if note.rule == "profile-over-built-in":
            yield f"layer      {note.subject} {note.message}"
    if plan.options.project_files:
        yield f"project    {shlex.join(plan.options.project_files)}"
    yield from (f"default    {default}" for default in plan.options.defaults)
    yield f"launcher   {plan.launcher}"
    if plan.container:
        names = " or ".join(runtime.name for runtime in plan.container.runtimes)
        yield f"container  {plan.container.image} ({names}, {plan.container.verb})"
        for argument in plan.container.arguments:
            yield f"  {argument.word}{_optional(argument)}"
        for mount in plan.container.binds:
            yield f"  {mount.bind}{_optional(mount)}"
        if plan.container.prefix:
            yield f"  before each command: {shlex.join(plan.container.prefix)}"
        for export in plan.container.exports:
            yield f"  {export.name}={export.value}{_tests(export.when)}"
    else:
        yield "container  none"
    for module in plan.modules:
        yield f"module     {module.action} {module.name}{_tests(module.when)}"
    for name, fact in sorted(plan.facts.items()):
        yield f"fact       {name}={fact.value}  ({'; '.join(_reason_lines(fact.reason))})"
    for option in plan.starter_options:
        yield f"{plan.starter.own:<10} {option.word}{_tests(option.when)}"
    for option in plan.agent:
        yield f"{plan.launcher:<10} {option.word}{_tests(option.when)}"
    # A recommendation only if the profile has such caches, and the job does not keep them.
    kinds = [kind.partition(":")[0] for kind in kept_kinds(plan.settings)]
    if kinds and plan.options.keep_caches is None:
        names = ", ".join(kinds)
        yield f"caches     {names}: they end with the job; --keep-caches DIR keeps them"
    for bundle in plan.bundles:
        yield ""
        yield f"bundle {bundle.name}{_tests(bundle.when)}"
        for name, word in bundle.env.items():
            yield f"  {name}={format_word(word)}"
        # Each starter has its own part of a bundle; other parts have no effect
        # here.
        program = plan.starter.bundled[0]
        networks = (f"--network={network}" for network in bundle.network)
        for text in (*networks, *getattr(bundle, program)):
            yield f"  {program} {text}"
        yield from (f"    {line}" for line in _reason_lines(bundle.reason))
    for setting in plan.settings:
        yield ""
        for case in setting.cases:
            yield _assignment(setting, case)
            yield from (f"    {line}" for line in _reason_lines(case.reason))


def _assignment(setting: Setting, case: Case) -> str:
    name, value = setting.name, case.value
    text = (
        f"unset {name}"
        if value is None
        else f"{name}={shown(name, format_word(value))}"
    )
    return text + _tests(case.when)


def _optional(argument: Argument | BindMount) -> str:
    suffix = f"  if {argument.if_exists} exists" if argument.if_exists else ""
    return suffix + _tests(argument.when)


def _tests(tests: Condition) -> str:
    return f"  if {', '.join(_test_texts(tests))}" if tests else ""


def _reason_lines(reason: Reason) -> list[str]:
    # Without a date, the reason is an option of this command, which has no place.
    place = f" [{reason.place.path}:{reason.place.line}]" if reason.date else ""
    return [f"{reason.why}{place}", cited(reason)]


def _container(plan: Plan) -> dict[str, object] | None:
    if plan.container is None:
        return None
    return {
        "image": plan.container.image,
        "runtimes": [runtime.name for runtime in plan.container.runtimes],
        "verb": plan.container.verb,
        "arguments": [_argument(argument) for argument in plan.container.arguments],
        "binds": [
            {
                "source": bind.bind.source,
                "target": bind.bind.target or bind.bind.source,
                "options": bind.bind.options,
                "if_exists": bind.if_exists,
                "when": _test_texts(bind.when),
            }
            for bind in plan.container.binds
        ],
        "prefix": plan.container.prefix,
        "exports": [
            {
                **pick_fields(export, "name value"),
                "when": _test_texts(export.when),
                **export.reason._asdict(),
            }
            for export in plan.container.exports
        ],
    }


def _argument(argument: Argument) -> dict[str, object]:
    return {
        "word": argument.word,
        "if_exists": argument.if_exists,
        "when": _test_texts(argument.when),
    }


def _with_reason(block: Visibility | Rendezvous | None) -> dict[str, object] | None:
    if block is None:
        return None
    fields = block._asdict()
    return {**fields.pop("reason")._asdict(), **fields}


def _test_texts(tests: Condition) -> list[str]:
    return [f"{test.fact} {test.operator} {test.operand}" for test in tests]


def _setting(setting: Setting) -> dict[str, object]:
    return {
        **pick_fields(setting, "name where=scope force"),
        "directory": setting.directory is not None,
        "branches": [
            {
                "value": None if case.value is None else format_word(case.value),
                "when": _test_texts(case.when),
                **case.reason._asdict(),
            }
            for case in setting.cases
        ],
    }
