"""Settings and mounts of a plan as shell lines, the same for host and rank part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envcfg.bash.quoting import needed_names, quote, quote_word, with_defaults
from envcfg.bind import STAND_IN
from envcfg.launch.plan import Planned, PlannedMount
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Argument, Bundle, Export
from envcfg.profile.facts import Reason
from envcfg.profile.scheduler import Module
from envcfg.profile.scope import NODE, RANK
from envcfg.profile.words import parse_word, quote_comment, references

_WIDTH = 92
_MARGIN = "  "  # before each line of a function
_TESTS = {"==": "-eq", "!=": "-ne", "<": "-lt", "<=": "-le", ">": "-gt", ">=": "-ge"}


def setting_lines(settings: Sequence[Planned], verb: str) -> str:
    """Return the lines that set or unset the variables, each with its reason.

    Args:
        verb: how the functions begin that do it, ``envcfg`` or ``envcfg_in``.
    """
    sure = RANK | NODE | {"ENVCFG_JOB"}
    sure |= {
        each.name  # it is always set
        for each in settings
        if not each.cases[-1].when
        and all(case.value is not None for case in each.cases)
    }
    return "".join(_setting(each, verb, sure) for each in settings)


def mount_lines(mounts: Sequence[PlannedMount]) -> str:
    """Return the calls that mount: source and, where it differs, the runtime's text."""
    text = ""
    for mount in mounts:
        source = mount.bind.source
        if mount.bind.refers:  # variables of the job tell it
            word = parse_word(source)
            needed = " ".join(needed_names(word))
            words = ["envcfg_bind_of", quote(str(mount.bind)), quote(needed)]
            words += [quote_word(with_defaults(word), "a bind"), quote(mount.text)]
            if mount.if_exists is not None:
                own = mount.if_exists == source
                words.append("own" if own else quote(mount.if_exists))
        else:
            words = ["envcfg_bind"]
            if mount.if_exists is not None:
                words = ["envcfg_bind_if", quote(mount.if_exists)]
            words.append(quote(source))
            if mount.text != source:
                words.append(quote(mount.text))
        text += _call(mount, " ".join(words))
    return text


def bind_word(mount: PlannedMount) -> str:
    """Return the text of a bind as one word of bash, in which variables expand."""
    if not mount.bind.refers:
        return quote(mount.text)
    source = quote_word(with_defaults(parse_word(mount.bind.source)), "a bind")
    parts = (quote(part) if part else "" for part in mount.text.split(STAND_IN))
    return source.join(parts)


def argument_lines(arguments: Sequence[Argument]) -> str:
    """Return the calls that give the runtime its arguments."""
    text = ""
    for each in arguments:
        words = ["envcfg_argument", quote(each.word)]
        if each.if_exists is not None:
            words.append(quote(each.if_exists))
        text += _call(each, " ".join(words))
    return text


def export_lines(exports: Sequence[Export]) -> str:
    """Return the calls that export what hooks of the runtime read."""
    return "".join(
        _call(each, f"envcfg_export {each.name} {quote(each.value)}")
        for each in exports
    )


def module_lines(modules: Sequence[Module]) -> str:
    """Return the calls that load modules, each with its reason."""
    text = ""
    for each in modules:
        own = "" if each.reason.date else " own"  # not the profile's
        call = f"envcfg_module {each.action} {quote(each.name)}{own}"
        text += _call(each, call)
    return text


def folder_lines(settings: Sequence[Planned]) -> str:
    """Return the call that makes the folders which the settings name; maybe none."""
    names = [each.name for each in settings if each.directory]
    if not names:
        return ""
    pairs = [f'{name} "${{{name}-}}"' for name in names]
    joined = f" \\\n{_MARGIN}  ".join(pairs)
    return f"{_MARGIN}envcfg_folders {joined}\n"


def option_lines(own: str, options: Sequence[Argument]) -> str:
    """Return the lines that add options of the starter *own*, each with its reason."""
    return "".join(
        _call(each, f"ENVCFG_{own.upper()}+=({quote(each.word)})") for each in options
    )


def agent_lines(options: Sequence[Argument]) -> str:
    """Return the lines that put options before an agent's own words, in their order."""
    words = ((each, quote(each.word)) for each in reversed(options))
    return "".join(_call(each, f'set -- {word} "$@"', "") for each, word in words)


def bundle_lines(bundle: Bundle, program: str) -> str:
    """Return the lines that set all of a bundle, or say why nothing of it is set.

    Args:
        program: who gets its options, the first of ``Starter.bundled``.
    """
    inner = _MARGIN * 2
    pairs = [
        f"{name} {quote_word(value, name, frozenset())}"
        for name, value in bundle.env.items()
    ]
    body = [f"envcfg_force {pair}" for pair in pairs]
    body += [f"envcfg_network {quote(value)}" for value in bundle.network]
    array = f"ENVCFG_{program.upper()}"
    body += [f"{array}+=({quote(option)})" for option in getattr(bundle, program)]
    call = f"envcfg_agrees {quote(bundle.name)}"
    call += "".join(f" \\\n{inner}{pair}" for pair in pairs)
    tests = f"{_test_text(bundle.when)} && " if bundle.when else ""
    text = f"{_MARGIN}if {tests}{call}; then\n"
    text += "".join(f"{inner}{line}\n" for line in body)
    return f"{reason_lines(bundle.reason, _MARGIN)}{text}{_MARGIN}fi\n"


def _call(
    entry: PlannedMount | Argument | Export | Module,
    call: str,
    margin: str = _MARGIN,
) -> str:
    """Return the *call* that does what an entry says, with its reason and its condition."""
    guarded = _guarded([(entry.when, f"{call}\n")], margin)
    return f"{reason_lines(entry.reason, margin)}{guarded}"


def _test_text(tests: Condition) -> str:
    """Return the tests that only the job can decide, in a form for both shells."""
    return " && ".join(
        f'[ "$ENVCFG_{test.fact.upper()}" {_TESTS[test.operator]} {int(test.operand)} ]'
        for test in tests
    )


def _setting(setting: Planned, verb: str, sure: frozenset[str]) -> str:
    how = "force" if setting.force else "set"
    steps = []
    for case in setting.cases:
        # The host part says whose value is not the job's: the profile's, or an option's.
        asked = setting.force and not case.reason.date and verb == "envcfg"
        whose = " 'your options'" if asked else ""
        if case.value is None:
            call = f"{verb}_{how} -u {setting.name}{whose}\n"
        else:
            names = references(case.value)
            value = quote_word(case.value, setting.name, names)
            call = f"{verb}_{how} {setting.name} {value}{whose}\n"
            unsure = needed_names(case.value, sure - {setting.name})
            if unsure:
                call = f"{verb}_{_lacks(setting.name, case.reason, unsure)} || {call}"
        steps.append((case.when, call))
    reasons = dict.fromkeys(case.reason for case in setting.cases)
    comments = "".join(reason_lines(each, _MARGIN) for each in reasons)
    return comments + _guarded(steps)


def _lacks(name: str, reason: Reason, unsure: Iterable[str]) -> str:
    """Return the words that end the step where a name is not set that a value needs."""
    place = f"{reason.place.path}:{reason.place.line}" if reason.date else "--set"
    pairs = "".join(f' {each} "${{{each}+set}}"' for each in unsure)
    return f"lacks {name} {quote(place)}{pairs}"


def _guarded(steps: Sequence[tuple[Condition, str]], margin: str = _MARGIN) -> str:
    """Return the calls as an if-chain, or as one call where nothing is to be tested.

    A value may span lines, so the lines of a call are never indented but at its start.
    """
    if len(steps) == 1 and not steps[0][0]:
        return margin + steps[0][1]
    text = ""
    for tests, call in steps:
        word = f"{'elif' if text else 'if'} {_test_text(tests)}; then"
        text += f"{margin}{word if tests else 'else'}\n{margin}  {call}"
    return f"{text}{margin}fi\n"


def reason_lines(reason: Reason, margin: str) -> str:
    """Return the reason as comment lines, with the place where it can be questioned."""
    if not reason.date:  # given for this job: the header shows the command
        return ""
    words = quote_comment(f"{reason.why} [{reason.place.path}:{reason.place.line}]")
    lines, line = [], f"{margin}#"
    for word in words.split():
        if len(line) + len(word) >= _WIDTH:
            lines.append(line)
            line = f"{margin}#"
        line += f" {word}"
    return "".join(f"{each}\n" for each in (*lines, line))
