"""Settings and mounts of a plan as shell lines, the same for host and rank part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envcfg.common.bind import STAND_IN
from envcfg.job.plan.plan import Container, Plan, ProgramStart
from envcfg.job.plan.program_start import ROLES
from envcfg.job.script.quoting import needed_names, quote, quote_word, with_defaults
from envcfg.profile.conditions import Condition
from envcfg.profile.entries import Argument, BindMount, Bundle, Export, Setting
from envcfg.profile.job_facts import Reason
from envcfg.profile.scheduler_settings import EnvironmentModule
from envcfg.profile.setting_scope import NODE, RANK
from envcfg.profile.words import parse_word, quote_comment, references

_WIDTH = 100
_COLUMN = 60  # column of the longest line with its comment on the same line
_WIDTH_OF_ROW = 128  # width of a line with its comment
_WIDTH_OF_TABLE = 200  # width of a bind with its comment: all binds are one table
_MARGIN = "  "  # indentation inside a function
Row = tuple[str, str]  # a line or several, and their comment
_TESTS = {"==": "-eq", "!=": "-ne", "<": "-lt", "<=": "-le", ">": "-gt", ">=": "-ge"}


def setting_lines(settings: Sequence[Setting], *, is_host: bool) -> str:
    """Return the lines that set or unset the variables, each with its reason.

    Args:
        is_host: whether the host part sets them, not the ranks.
    """
    # Names that are always set in the script. A reference to them needs no test.
    sure = RANK | NODE | {"ENVCFG_JOB"}
    sure |= {
        setting.name  # every case sets it, and the last case has no condition
        for setting in settings
        if not setting.cases[-1].when
        and all(case.value is not None for case in setting.cases)
    }
    return commented(_setting(setting, sure, is_host=is_host) for setting in settings)


def commented(
    rows: Iterable[Row], margin: str = _MARGIN, *, width: int = _WIDTH_OF_ROW
) -> str:
    """Return the rows as lines, each with its comment: on the same line if both are short.

    Neighbours have their comments in one column, as shfmt writes them.

    Args:
        width: the most characters of a line with its comment.
    """
    text, run = "", []
    for line, comment in (*rows, ("", "")):
        is_short = "\n" not in line and len(line) <= _COLUMN
        if comment and is_short and len(line) + len(comment) <= width:
            run.append((line, comment))
            continue
        column = max((len(short) for short, _ in run), default=0)
        text += "".join(
            f"{short.ljust(column)} # {quote_comment(why)}\n" for short, why in run
        )
        run = []
        text += f"{comment_lines(comment, margin)}{line}\n" if line else ""
    return text


def container_lines(container: Container) -> str:
    """Return the calls that give the runtime its arguments and binds, as one table."""
    # Exports come first, because hooks of the runtime read them when arguments are
    # checked.
    rows = [
        _row(export, f"envcfg_export {export.name} {quote(export.value)}")
        for export in container.exports
    ]
    for argument in container.arguments:
        line = f"envcfg_argument {quote(argument.word)}"
        if argument.if_exists is not None:
            line = f"if [ -e {quote(argument.if_exists)} ]; then {line}; fi"
        rows.append(_row(argument, line))
    # The source, and the runtime's text if it is different.
    rows += [_row(mount, _mount_call(mount)) for mount in container.binds]
    if container.stamp:
        rows.append((f"  envcfg_read_image {container.stamp}", "when envcfg read it"))
    return commented(rows, width=_WIDTH_OF_TABLE)


def _mount_call(mount: BindMount) -> str:
    source, spec = mount.bind.source, quote(mount.text)
    if mount.bind.refers:  # the source depends on variables of the job
        word = parse_word(source)
        needed = " ".join(needed_names(word))
        words = ["envcfg_bind_of", quote(str(mount.bind)), quote(needed)]
        words += [quote_word(with_defaults(word), "a bind"), spec]
        if mount.if_exists is not None:
            # "own" avoids a repetition of the source, which may be long.
            own = mount.if_exists == source
            words.append("own" if own else quote(mount.if_exists))
        return " ".join(words)
    # The text is left out if it equals the source, which is the usual bind.
    words = [quote(source)] if mount.text == source else [quote(source), spec]
    if mount.if_exists is None:
        return " ".join(["envcfg_bind", *words])
    if mount.if_exists == source == mount.text:
        return f"envcfg_bind_if {words[0]}"
    return " ".join(["envcfg_bind_if", quote(mount.if_exists), *words])


def bind_word(mount: BindMount) -> str:
    """Return the text of a bind as one word of bash, in which variables expand."""
    if not mount.bind.refers:
        return quote(mount.text)
    source = quote_word(with_defaults(parse_word(mount.bind.source)), "a bind")
    # Only the stand-in expands in bash. The rest is quoted, because paths may hold
    # blanks and dollars.
    parts = (quote(part) if part else "" for part in mount.text.split(STAND_IN))
    return source.join(parts)


def module_lines(modules: Sequence[EnvironmentModule]) -> str:
    """Return the calls that load modules, each with its reason."""
    rows = []
    for module in modules:
        own = "" if module.reason.date else " own"  # the user's module
        call = f"envcfg_module {module.action} {quote(module.name)}{own}"
        rows.append(_row(module, call))
    return commented(rows)


def folder_lines(settings: Sequence[Setting]) -> str:
    """Return the call that makes the folders named by settings; empty without any."""
    made = {each.name: each.directory for each in settings if each.directory}
    if not made:
        return ""
    lines = [f"{_MARGIN}envcfg_folders"]
    for name, inner in made.items():
        # The value is read in the job, because the setting may have been overridden
        # there.
        path = f"{name}-" if inner == "/" else f"{name}:+${name}/{inner[:-1]}"
        pair = f' {name} "${{{path}}}"'
        # Long calls are wrapped so that the script stays readable in a terminal.
        if len(lines[-1]) + len(pair) > _WIDTH:
            lines.append(f"{_MARGIN} ")
        lines[-1] += pair
    return " \\\n".join(lines) + "\n"


def option_lines(options: Sequence[Argument]) -> str:
    """Return the lines that add options of the starter, each with its reason."""
    return commented(
        _row(option, f"envcfg_option {quote(option.word)}") for option in options
    )


def agent_lines(options: Sequence[Argument]) -> str:
    """Return the lines that put options before an agent's own words, in their order."""
    # Each line puts one word in front, so the last option must be added first.
    rows = (
        _row(option, f'set -- {quote(option.word)} "$@"') for option in options[::-1]
    )
    return commented(rows)


def program_lines(plan: Plan, program: ProgramStart) -> str:
    """Return the lines that give a program its options and variables from the job."""
    text = ""
    if (
        program.counts_ranks and program.ranks
    ):  # a starter without agents does not count them
        text += f'ENVCFG_LOCAL_RANKS="${{ENVCFG_LOCAL_RANKS:-{program.ranks}}}"\n'
    options = []
    for argument in plan.agent:
        name, _, value = argument.word.partition("=")
        if name.startswith("-"):
            options.append(_filled(argument.word))
        else:
            # A fixed value is not a fact of the job, so the job may have another.
            call = "envcfg_tell" if value in {"{nodes}", "{ranks}"} else "envcfg_force"
            text += f"{call} {name} {_filled(value)}\n"
    if options:
        before = [quote(word) for word in plan.options.command[: program.place]]
        words = " \\\n  ".join(options)
        if program.place == len(plan.options.command):
            text += f'set -- "$@" \\\n  {words}\n'
        else:
            text += (
                f'shift {program.place}\nset -- {" ".join(before)} \\\n  {words} "$@"\n'
            )
    if program.others:
        words = " ".join(map(quote, program.others))
        text += f'[ "$NODE_RANK" -eq 0 ] || set -- "$@" {words}\n'
    if program.is_for_several:
        text = f'if [ "$envcfg_nodes" -gt 1 ]; then\n{text}fi\n'
    if program.port:
        text += (
            f"envcfg_server={quote(program.name)} envcfg_port={quote(program.port)} "
        )
        text += f"envcfg_path={quote(program.path)}\n"
    return text


def _filled(template: str) -> str:
    """Return a shell word for *template*, with the job's values for names in braces."""
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(
        f'"{ROLES[part]}"' if index % 2 else part and quote(part)
        for index, part in enumerate(parts)
    )


def bundle_lines(bundle: Bundle, program: str) -> str:
    """Return the lines that set a bundle completely, or report why it is not set.

    Args:
        program: the starter that gets its options, the first of ``Starter.bundled``.
    """
    inner = _MARGIN * 2
    pairs = [
        f"{name} {quote_word(value, name, frozenset())}"
        for name, value in bundle.env.items()
    ]
    # The bundle is forced only after envcfg_agrees compared it with the job's
    # values.
    body = [f"envcfg_force {pair}" for pair in pairs]
    body += [f"envcfg_network {quote(value)}" for value in bundle.network]
    body += [f"envcfg_option {quote(option)}" for option in getattr(bundle, program)]
    call = f"envcfg_agrees {quote(bundle.name)}"
    call += "".join(f" \\\n{inner}{pair}" for pair in pairs)
    # The conditions come first: a bundle for other nodes must not print a message
    # about disagreement.
    tests = f"{_test_text(bundle.when)} && " if bundle.when else ""
    text = f"{_MARGIN}if {tests}{call}; then\n"
    text += "".join(f"{inner}{line}\n" for line in body)
    return f"{reason_lines(bundle.reason, _MARGIN)}{text}{_MARGIN}fi\n"


def _row(entry: BindMount | Argument | Export | EnvironmentModule, call: str) -> Row:
    """Return the *call* for an entry, with its condition, and its reason."""
    return _guarded([(entry.when, f"{call}\n")])[:-1], reason_text(entry.reason)


def reason_text(reason: Reason) -> str:
    """Return the reason with the place of its entry, and with its source if it is weak.

    The reason of an option of this job is empty.
    """
    if not reason.date:  # the header shows the command
        return ""
    # Import late, because the list of sources is a file of its own.
    from envcfg.profile.evidence import by_users

    place = f"[{reason.place.path}:{reason.place.line}]"
    return f"{reason.why}{by_users(reason.cited)} {place}"


def _test_text(tests: Condition) -> str:
    """Return the tests that only the job can decide, in a form for both shells."""
    return " && ".join(
        f'[ "$ENVCFG_{test.fact.upper()}" {_TESTS[test.operator]} {int(test.operand)} ]'
        for test in tests
    )


def _setting(setting: Setting, sure: frozenset[str], *, is_host: bool) -> Row:
    verb = "envcfg_force" if setting.force else "envcfg_set"
    steps = []
    for case in setting.cases:
        # The host part names the owner of a value that is not the job's: the
        # profile, or an option.
        is_forced = setting.force and not case.reason.date and is_host
        owner = " 'your options'" if is_forced else ""
        if case.value is None:
            call = f"{verb} -u {setting.name}{owner}\n"
        else:
            names = references(case.value)
            value = quote_word(case.value, setting.name, names)
            call = f"{verb} {setting.name} {value}{owner}\n"
            # The variable itself is not sure inside its own value: it may extend
            # the job's value.
            unsure = needed_names(case.value, sure - {setting.name})
            if unsure and setting.optional:
                tests = " && ".join(f'[ -n "${{{name}-}}" ]' for name in unsure)
                call = f"if {tests}; then {call[:-1]}; fi\n"
            elif unsure:
                # The test comes before the assignment, so that a missing name never
                # expands to an empty string.
                call = f"{_lacks(setting.name, case.reason, unsure)} || {call}"
        steps.append((case.when, call))
    # Cases of one entry share their reason, which is printed once.
    first, *others = dict.fromkeys(case.reason for case in setting.cases)
    comments = "".join(reason_lines(reason, _MARGIN) for reason in others)
    return comments + _guarded(steps)[:-1], reason_text(first)


def _lacks(name: str, reason: Reason, unsure: Iterable[str]) -> str:
    """Return the words that end the step if a name that a value needs is not set."""
    place = f"{reason.place.path}:{reason.place.line}" if reason.date else "--set"
    pairs = "".join(f' {name} "${{{name}+set}}"' for name in unsure)
    return f"envcfg_lacks {name} {quote(place)}{pairs}"


def _guarded(steps: Sequence[tuple[Condition, str]]) -> str:
    """Return the calls as an if-chain, or as one call if there is no condition.

    A value may span lines, so only the first line of a call is indented.
    """
    if len(steps) == 1 and not steps[0][0]:
        return _MARGIN + steps[0][1]
    text = ""
    for tests, call in steps:
        word = f"{'elif' if text else 'if'} {_test_text(tests)}; then"
        text += f"{_MARGIN}{word if tests else 'else'}\n{_MARGIN}  {call}"
    return f"{text}{_MARGIN}fi\n"


def reason_lines(reason: Reason, margin: str) -> str:
    """Return the reason as comment lines, with the place of the entry."""
    return comment_lines(reason_text(reason), margin)


def comment_lines(comment: str, margin: str) -> str:
    """Return the comment, in several lines if it is long."""
    if not comment:
        return ""
    lines, line = [], f"{margin}#"
    # A reason is text of a profile. Quoting removes line ends that would start a
    # command.
    for word in quote_comment(comment).split():
        if len(line) + len(word) >= _WIDTH:
            lines.append(line)
            line = f"{margin}#"
        line += f" {word}"
    return "".join(f"{text}\n" for text in (*lines, line))
