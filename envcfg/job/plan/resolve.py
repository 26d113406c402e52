"""Make a plan from a profile, the facts and the user's options; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.starters.starter import Starter
from envcfg.common.errors import UsageError
from envcfg.common.findings import Finding
from envcfg.job.plan import tasks
from envcfg.job.plan.applicable_settings import (
    GIVEN,
    choose_bundles,
    choose_cases,
    choose_modules,
)
from envcfg.job.plan.command_launcher import launcher_of, recognise
from envcfg.job.plan.container import (
    check_stage,
    checked,
    choose_container,
    chosen_runtimes,
)
from envcfg.job.plan.diagnostics import check_log_folder, flight_settings, log_settings
from envcfg.job.plan.downloads import download_notes
from envcfg.job.plan.kept_caches import kept_settings
from envcfg.job.plan.network_plugin import (
    fail_without_plugin,
    leave_network_open,
    plugin_notes,
    plugin_state,
    search_host_parts,
)
from envcfg.job.plan.plan import Options, Plan
from envcfg.job.plan.plan_facts import gather_facts, wrong_architecture
from envcfg.job.plan.plan_notes import (
    first_values,
    image_notes,
    masking_notes,
    runtime_notes,
    stack_notes,
    status_notes,
    unknown_notes,
)
from envcfg.job.plan.program_file import start_as_read
from envcfg.profile.entries import Bundle, Case, Setting
from envcfg.profile.job_facts import Facts
from envcfg.profile.profile_model import Profile
from envcfg.profile.references import clashing_bundles, clashing_references
from envcfg.profile.setting_scope import INSIDE, in_order, scopes
from envcfg.profile.words import Word


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
    options, command_notes = _take_launcher(options, options.gpus or profile.gpus)
    launcher, starter = tasks.choose_launcher(profile, options)
    runtimes = chosen_runtimes(profile, options)
    # A wrong pair of runtime and starter makes every later message misleading.
    tasks.check_starter(runtimes, starter, launcher)
    # All runtimes in the list have the same kind, so the first one decides.
    entered = runtimes[0].kind if runtimes else "none"
    facts, conflicts = gather_facts(profile, options, launcher, entered)
    for finding in wrong_architecture(profile, facts, options.container):
        msg = f"{finding.subject}: {finding.message}"
        raise UsageError(msg, hint=finding.fix)
    planned = _planned(profile, options, facts)
    check_log_folder(options, INSIDE | planned.keys())
    modules, known_modules = choose_modules(profile, options, facts)
    container = choose_container(profile, options, runtimes, facts)
    bundles, broken_up = choose_bundles(profile, options, starter.bundled, facts)
    arguments = tasks.starter_options(profile, options, launcher, starter, facts)
    # The runtime enters through options of the starter, so its restrictions apply
    # to these options too.
    if runtimes and runtimes[0].option:  # it has its words among these
        arguments = tuple(checked(argument, runtimes[0]) for argument in arguments)
    # A clash can involve any two of all settings and bundles.
    _check(profile, {launcher, starter.name}, planned, bundles)
    plugin = plugin_state(profile, options, container, modules, planned)
    planned |= search_host_parts(options)
    planned, opened = leave_network_open(options, plugin, planned)
    fails = {"bound"} if options.keeps_launch_line else {"missing", "bound"}
    if plugin in fails and "NCCL_NET" not in options.settings:
        planned = fail_without_plugin(profile, facts, planned)
        facts.missed.pop("plugin", None)  # the image is known to have none
    settings = _ordered(planned)
    if options.stage:
        check_stage(profile, options, runtimes)
    # A node-local folder costs a directory and a cleanup per job.
    needs_cache = any("ENVCFG_CACHE" in setting.references for setting in settings)
    return Plan(
        profile=profile,
        profile_hash=profile_hash,
        options=options,
        facts=facts.known,
        settings=settings,
        container=container,
        launcher=launcher,
        starter=starter,
        starter_options=arguments,
        agent=tasks.agent_options(profile, options, launcher, facts),
        bundles=tuple(bundles),
        contract=tasks.has_contract(launcher, starter, arguments, options),
        ranks=tasks.ranks_per_node(launcher, starter, options),
        masks=profile.cpu_masks if _can_pin(options, launcher, starter) else None,
        modules=modules,
        known_modules=known_modules,
        scratch=profile.scratch if needs_cache or options.stage else None,
        # The order is that of the reader: profile files first, then the command,
        # then the settings.
        notes=(
            *notes,
            *command_notes,
            *conflicts,
            *unknown_notes(facts.missed),
            *opened,
            *plugin_notes(plugin, profile, options, facts, planned),
            *stack_notes(profile, facts.known, first_values(planned)),
            *broken_up,
            *masking_notes(profile, planned),
            *runtime_notes(profile, options, container),
            *image_notes(container),
            *download_notes(
                profile, options.command, options.container, planned.keys()
            ),
            *status_notes(profile),
        ),
    )


def _take_launcher(options: Options, gpus: int | None) -> tuple[Options, list[Finding]]:
    """Return the options with the launcher that their command names, and notes on it.

    Args:
        gpus: number of GPUs of a node; None if it is not known.
    """
    # A launch line of the user is final: its command is not searched for another
    # launcher.
    if options.keeps_launch_line:
        return options, []
    if options.statements:
        return start_as_read(options, gpus)
    return recognise(options, gpus)


def _can_pin(options: Options, launcher: str, starter: Starter) -> bool:
    """Return whether cores are bound: only if srun starts the ranks directly.

    A launcher that owns the node would hand one mask to all its ranks.
    """
    return (
        "cpu_masks" in starter.sections
        and not LAUNCHERS[launcher].has_node
        and not (options.keeps_launch_line and launcher_of(options.command))
    )


def _planned(profile: Profile, options: Options, facts: Facts) -> dict[str, Setting]:
    """Return the variables of the profile, of the diagnostics, and of the user."""
    planned = {
        name: setting._replace(cases=cases)
        for name, setting in profile.env.items()
        if setting and (cases := tuple(choose_cases(setting, facts)))
    }
    # No force: a value in the job's environment wins.
    planned |= {setting.name: setting for setting in flight_settings(options)}
    if options.keep_caches is not None:
        planned |= {setting.name: setting for setting in kept_settings(profile)}
    # The user's settings come last so that --set overrides a logging default.
    for name, word in {**log_settings(options), **options.settings}.items():
        known = profile.env.get(name)
        planned[name] = Setting(
            name,
            (Case(word, GIVEN),),
            # A logging variable that only serves --verify does not override the
            # job's value.
            force=name in options.settings or options.nccl_debug is not None,
            directory=known.directory if known and word is not None else None,
        )
    return planned


def _check(
    profile: Profile,
    launchers: Collection[str],
    planned: Mapping[str, Setting],
    bundles: Iterable[Bundle],
) -> None:
    # Bundles come first: a setting inside a bundle also breaks references, and the
    # bundle is the real cause.
    clashes = chain(
        (clash for _, clash in clashing_bundles(bundles, planned)),
        clashing_references(
            _words(planned), launchers, has_scratch=profile.scratch is not None
        ),
    )
    for clash in clashes:
        place = planned[clash.subject].cases[0].reason.place
        # The user typed the option in this command, so a file and line would only
        # distract.
        where = "" if place == GIVEN.place else f"{place}: "
        # Only the first clash is raised, because later clashes often follow from
        # it.
        msg = f"{where}{clash.message}"
        raise UsageError(msg, hint=clash.fix)


def _words(planned: Mapping[str, Setting]) -> dict[str, list[Word]]:
    """Return the values that each variable can take."""
    return {
        name: [case.value for case in entry.cases if case.value is not None]
        for name, entry in planned.items()
    }


def _ordered(planned: Mapping[str, Setting]) -> tuple[Setting, ...]:
    """Return the settings with their scopes, each after those that it refers to."""
    words = _words(planned)
    where = scopes(words)
    return tuple(
        planned[name]._replace(
            # A value that extends the program's own value must not be skipped
            # because the job set one.
            force=planned[name].force or name in planned[name].references,
            scope=where[name],
        )
        for name in in_order(words)
    )
