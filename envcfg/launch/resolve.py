"""From a profile, the facts and the user's options to a plan; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from envcfg.errors import UsageError
from envcfg.findings import Finding
from envcfg.launch import tasks
from envcfg.launch.choose import (
    GIVEN,
    choose_bundles,
    choose_cases,
    choose_modules,
)
from envcfg.launch.container import (
    check_stage,
    checked,
    choose_container,
    chosen_runtimes,
)
from envcfg.launch.diagnostics import check_log_folder, flight_settings, log_settings
from envcfg.launch.facts import gather_facts
from envcfg.launch.nested import look_inside
from envcfg.launch.notes import (
    first_values,
    image_notes,
    lifecycle_notes,
    masking_notes,
    runtime_notes,
    stack_notes,
    unknown_notes,
)
from envcfg.launch.plan import Options, Place, Plan, Planned
from envcfg.launch.recognise import launcher_of, recognise
from envcfg.launchers import LAUNCHERS
from envcfg.profile.entries import Bundle, Case
from envcfg.profile.model import Profile
from envcfg.profile.references import clashing_bundles, clashing_references
from envcfg.profile.scope import INSIDE, in_order, scopes
from envcfg.profile.words import Word, references
from envcfg.starters import STARTERS


def resolve(
    profile: Profile,
    profile_hash: str,
    options: Options,
    notes: Iterable[Finding] = (),
) -> Plan:
    """Make the plan of one job; *notes* are those on the profile's files.

    Raises:
        UsageError: if profile and options cannot go together.
    """
    inside: list[Finding] = []
    recognised: list[Finding] = []
    if not options.as_said:
        options, inside = look_inside(options)
        options, recognised = recognise(options)
    launcher, starter = tasks.choose_launcher(profile, options)
    can_pin = (
        "cpu_masks" in STARTERS[starter].sections
        and not LAUNCHERS[launcher].has_node
        and not (options.as_said and launcher_of(options.command))
    )
    named = chosen_runtimes(profile, options)
    tasks.check_starter(named, starter, launcher)
    entered = named[0].kind if named else "none"
    facts, conflicts = gather_facts(profile, options, launcher, entered)
    planned = {
        name: Planned(name, made, setting.force, setting.directory)
        for name, setting in profile.env.items()
        if setting and (made := tuple(choose_cases(setting, facts)))
    }
    for name, (value, reason) in flight_settings(options.diagnostics).items():
        # no force: what the job's environment says of it wins
        planned[name] = Planned(name=name, cases=(Case(value, reason),))
    said = log_settings(options.diagnostics)
    for name, word in {**said, **options.settings}.items():
        known = profile.env.get(name)
        planned[name] = Planned(
            name=name,
            cases=(Case(word, GIVEN),),
            # What is only to be verified leaves to the job what it says of it.
            force=name in options.settings or options.diagnostics.nccl,
            directory=known is not None and known.directory and word is not None,
        )
    check_log_folder(options.diagnostics, INSIDE | planned.keys())
    modules, known_modules = choose_modules(profile, options, facts)
    container = choose_container(profile, options, named, facts)
    bundles: list[Bundle] = []
    broken_up: list[Finding] = []
    if "bundles" in STARTERS[starter].sections:
        keys = STARTERS[starter].bundled
        bundles, broken_up = choose_bundles(profile, options, keys, facts)
    started = tasks.starter_options(profile, options, launcher, starter, facts)
    if named and named[0].option:  # it has its words among these
        started = tuple(checked(each, named[0]) for each in started)
    _check(profile, {launcher, starter}, planned, bundles)
    settings, handed_on = _ordered(planned)
    if options.diagnostics.stage:
        check_stage(profile, options, named)
    needs_cache = any("ENVCFG_CACHE" in _refs(each) for each in settings)
    return Plan(
        profile=profile.name,
        profile_hash=profile_hash,
        run=profile.run,
        launcher=launcher,
        starter=starter,
        container=container,
        settings=settings,
        bundles=tuple(bundles),
        started=started,
        agent=tasks.agent_options(profile, options, launcher, facts),
        contract=tasks.has_contract(launcher, starter, started),
        handed_on=handed_on,
        facts=facts.known,
        command=options.command,
        diagnostics=options.diagnostics,
        has_mode=options.has_mode,
        local_rank_at=options.local_rank_at,
        local_rank_option=options.local_rank_option,
        ranks=tasks.ranks_per_node(launcher, options),
        gpus=profile.node.gpus if profile.node else None,
        masks=profile.cpu_masks if can_pin else None,
        visibility=None if options.as_said else profile.visibility,
        rendezvous=profile.rendezvous,
        modules=modules,
        known_modules=known_modules,
        scratch=profile.scratch if needs_cache or options.diagnostics.stage else None,
        expect=profile.expect,
        as_said=options.as_said,
        place=Place(
            clusters=profile.detect.clusters if profile.detect else (),
            allowed=options.allowed,
        ),
        notes=(
            *notes,
            *inside,
            *recognised,
            *conflicts,
            *unknown_notes(facts.missed),
            *stack_notes(profile, facts.known, first_values(planned)),
            *broken_up,
            *masking_notes(profile, planned),
            *runtime_notes(profile, options, container),
            *image_notes(container),
            *lifecycle_notes(profile),
        ),
    )


def _check(
    profile: Profile,
    launchers: Collection[str],
    planned: Mapping[str, Planned],
    bundles: Iterable[Bundle],
) -> None:
    clashes = chain(
        (clash for _, clash in clashing_bundles(bundles, planned)),
        clashing_references(
            _words(planned), launchers, has_scratch=profile.scratch is not None
        ),
    )
    for clash in clashes:
        place = planned[clash.subject].cases[0].reason.place
        where = "" if place == GIVEN.place else f"{place}: "
        msg = f"{where}{clash.message}"
        raise UsageError(msg, hint=clash.fix)


def _words(planned: Mapping[str, Planned]) -> dict[str, list[Word]]:
    """Return the values that each variable can take."""
    return {
        name: [case.value for case in each.cases if case.value is not None]
        for name, each in planned.items()
    }


def _ordered(
    planned: Mapping[str, Planned],
) -> tuple[tuple[Planned, ...], tuple[str, ...]]:
    """Return the settings in order and scope, and what the rank part needs handed on."""
    words = _words(planned)
    where = scopes(words)
    settings = tuple(
        planned[name]._replace(
            # What extends the program's own value is not a rival of the job's.
            force=planned[name].force or name in _refs(planned[name]),
            scope=where[name],
        )
        for name in in_order(words)
    )
    wanted = (ref for each in settings if each.scope != "host" for ref in _refs(each))
    outside = [ref for ref in wanted if ref not in planned and ref not in INSIDE]
    return settings, tuple(dict.fromkeys(outside))


def _refs(setting: Planned) -> list[str]:
    return [
        ref
        for case in setting.cases
        if case.value is not None
        for ref in references(case.value)
    ]
