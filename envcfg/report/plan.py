"""A plan as a table for people and as JSON for programs."""

import shlex
from collections.abc import Iterator

from envcfg.characters import one_line
from envcfg.launch.plan import Plan, Planned, PlannedMount
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Argument, Case
from envcfg.profile.evidence import cited
from envcfg.profile.facts import Reason
from envcfg.profile.model import Rendezvous, Visibility
from envcfg.profile.words import format_word
from envcfg.report.document import json_text
from envcfg.report.styled import make_console
from envcfg.starters import OWN, STARTERS

_BUNDLED = tuple(each.bundled[0] for each in STARTERS.values() if each.bundled)


def plan_json(plan: Plan) -> str:
    """Return the plan as JSON; ``schema_version`` counts incompatible changes."""
    bundled = STARTERS[plan.starter].bundled
    program = bundled[0] if bundled else ""  # who gets a bundle's options
    document = {
        "schema_version": 2,
        "profile": {"name": plan.profile, "sha256": plan.profile_hash},
        "run": plan.run and str(plan.run),
        "defaults": plan.defaults,
        "launcher": plan.launcher,
        "starter": plan.starter,
        "ranks_per_node": plan.ranks,
        "facts": {
            name: {"value": fact.value, **fact.reason._asdict()}
            for name, fact in sorted(plan.facts.items())
        },
        "command": list(plan.command),
        "container": _container(plan),
        "modules": [
            {
                "name": each.name,
                "action": each.action,
                "own": not each.reason.date,
                "when": _test_texts(each.when),
                **each.reason._asdict(),
            }
            for each in plan.modules
        ],
        "settings": [_setting(each) for each in plan.settings],
        "bundles": [
            {
                "name": each.name,
                "env": {name: format_word(value) for name, value in each.env.items()},
                "network": list(each.network),
                **{name: [] for name in _BUNDLED},
                program: list(getattr(each, program)),
                "when": _test_texts(each.when),
                **each.reason._asdict(),
            }
            for each in plan.bundles
        ],
        **{
            own: [_argument(each) for each in plan.started if by.name == plan.starter]
            for own, by in OWN.items()
        },
        "agent": [_argument(each) for each in plan.agent],
        "gpus_per_node": plan.gpus,
        "visibility": _with_reason(plan.visibility),
        "rendezvous": _with_reason(plan.rendezvous),
        "scratch": None if plan.scratch is None else format_word(plan.scratch.root),
        "cpu_masks": list(plan.masks.masks) if plan.masks else [],
        "expect": {
            name: {"value": value, **plan.expect.reason_of(name)._asdict()}
            for name, value in plan.expect.said().items()
        }
        if plan.expect
        else {},
        "findings": plan.notes,
    }
    return json_text(document)


def plan_text(plan: Plan) -> str:
    """Return the plan as plain lines."""
    return "".join(f"{one_line(line)}\n" for line in _lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    """Yield the plan by line: what starts the ranks first, then what each of them gets.

    Each kind of entry has its word at the left, so that one may grep for it; what is empty
    has no line.
    """
    yield f"profile    {plan.profile} (sha256 {plan.profile_hash[:16]})"
    if plan.run:
        yield f"run        {plan.run}"
    for note in plan.notes:
        if note.rule == "profile-over-built-in":
            yield f"layer      {note.subject} {note.message}"
    yield from (f"default    {each}" for each in plan.defaults)
    yield f"launcher   {plan.launcher}"
    if plan.container:
        names = " or ".join(plan.container.runtimes)
        yield f"container  {plan.container.image} ({names}, {plan.container.verb})"
        for each in plan.container.arguments:
            yield f"  {each.word}{_optional(each)}"
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
    for option in plan.started:
        yield f"{STARTERS[plan.starter].own:<10} {option.word}{_tests(option.when)}"
    for option in plan.agent:
        yield f"{plan.launcher:<10} {option.word}{_tests(option.when)}"
    for bundle in plan.bundles:
        yield ""
        yield f"bundle {bundle.name}{_tests(bundle.when)}"
        for name, word in bundle.env.items():
            yield f"  {name}={format_word(word)}"
        program = STARTERS[plan.starter].bundled[0]
        networks = (f"--network={each}" for each in bundle.network)
        for text in (*networks, *getattr(bundle, program)):
            yield f"  {program} {text}"
        yield from (f"    {line}" for line in _reason_lines(bundle.reason))
    for setting in plan.settings:
        yield ""
        for case in setting.cases:
            yield _assignment(setting, case)
            yield from (f"    {line}" for line in _reason_lines(case.reason))


def print_table(plan: Plan) -> None:
    """Print the plan as a table, for a terminal."""
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    lines = plan_text(plan).splitlines()
    head = lines[: lines.index("")] if "" in lines else lines
    console.print(Text("\n".join(head)))
    table = Table(show_lines=True)
    for title in ("setting", "where", "reasons and sources"):
        table.add_column(title, overflow="fold")  # nothing is cut off
    for setting in plan.settings:
        for case in setting.cases:
            table.add_row(
                Text(one_line(_assignment(setting, case))),
                setting.scope,
                Text("\n".join(map(one_line, _reason_lines(case.reason)))),
            )
    console.print(table)


def _assignment(setting: Planned, case: Case) -> str:
    name, value = setting.name, case.value
    said = f"unset {name}" if value is None else f"{name}={format_word(value)}"
    return said + _tests(case.when)


def _optional(each: Argument | PlannedMount) -> str:
    there = f"  if {each.if_exists} exists" if each.if_exists else ""
    return there + _tests(each.when)


def _tests(tests: Condition) -> str:
    return f"  if {', '.join(_test_texts(tests))}" if tests else ""


def _reason_lines(reason: Reason) -> list[str]:
    place = f" [{reason.place.path}:{reason.place.line}]" if reason.date else ""
    return [f"{reason.why}{place}", cited(reason)]


def _container(plan: Plan) -> dict[str, object] | None:
    if plan.container is None:
        return None
    return {
        "image": plan.container.image,
        "runtimes": list(plan.container.runtimes),
        "verb": plan.container.verb,
        "arguments": [_argument(each) for each in plan.container.arguments],
        "binds": [
            {
                "source": each.bind.source,
                "target": each.bind.target or each.bind.source,
                "options": list(each.bind.options),
                "if_exists": each.if_exists,
                "when": _test_texts(each.when),
            }
            for each in plan.container.binds
        ],
        "prefix": list(plan.container.prefix),
        "exports": [
            {
                "name": each.name,
                "value": each.value,
                "when": _test_texts(each.when),
                **each.reason._asdict(),
            }
            for each in plan.container.exports
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


def _setting(setting: Planned) -> dict[str, object]:
    return {
        "name": setting.name,
        "where": setting.scope,
        "force": setting.force,
        "directory": setting.directory,
        "branches": [
            {
                "value": None if case.value is None else format_word(case.value),
                "when": _test_texts(case.when),
                **case.reason._asdict(),
            }
            for case in setting.cases
        ],
    }
