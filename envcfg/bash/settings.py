"""Settings and mounts of a plan as shell lines, the same for host and rank part."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.bash.quoting import quote, quote_word
from envcfg.launch.plan import Planned, PlannedBundle, PlannedMount
from envcfg.profile.conditions import Condition
from envcfg.profile.identity import NODE, RANK
from envcfg.profile.reason import Reason
from envcfg.profile.words import quote_comment

_WIDTH = 92
_TESTS = {"==": "-eq", "!=": "-ne", "<": "-lt", "<=": "-le", ">": "-gt", ">=": "-ge"}


def setting_lines(settings: Sequence[Planned], margin: str = "") -> str:
    """Return the lines that set or unset the variables, each with its reason."""
    sure = RANK | NODE | {"ENVCFG_JOB"}
    sure |= {each.name for each in settings if _always_set(each)}
    return "".join(_setting(each, margin, sure) for each in settings)


def mount_lines(function: str, mounts: Sequence[PlannedMount], margin: str) -> str:
    """Return calls of *function* with spec and, where given, the path that must exist."""
    lines = []
    for mount in mounts:
        words = [function, quote(mount.spec)]
        if mount.if_exists is not None:
            words.append(quote(mount.if_exists))
        lines.append(_reason(mount.reason, margin))
        lines.append(_guarded([(mount.tests, f"{' '.join(words)}\n")], margin))
    return "".join(lines)


def option_lines(options: Sequence[PlannedMount], margin: str) -> str:
    """Return the lines that add options to srun, each with its reason."""
    lines = []
    for option in options:
        lines.append(_reason(option.reason, margin))
        call = f"ENVCFG_SRUN+=({quote(option.spec)})\n"
        lines.append(_guarded([(option.tests, call)], margin))
    return "".join(lines)


def agent_lines(options: Sequence[PlannedMount]) -> str:
    """Return the lines that put options before an agent's own words, in their order."""
    lines = []
    for option in reversed(options):
        lines.append(_reason(option.reason, ""))
        lines.append(
            _guarded([(option.tests, f'set -- {quote(option.spec)} "$@"\n')], "")
        )
    return "".join(lines)


def bundle_lines(bundle: PlannedBundle, margin: str) -> str:
    """Return the lines that set all of a bundle, or say why nothing of it is set."""
    inner = margin + "  "
    pairs = [
        f"{name} {quote_word(value, name, frozenset())}"
        for name, value in bundle.env.items()
    ]
    body = [f"envcfg_force {pair}" for pair in pairs]
    body += [f"envcfg_network {quote(value)}" for value in bundle.network]
    body += [f"ENVCFG_SRUN+=({quote(option)})" for option in bundle.srun]
    call = f"envcfg_agrees {quote(bundle.name)}"
    call += "".join(f" \\\n{inner}{pair}" for pair in pairs)
    tests = f"{_test_text(bundle.tests)} && " if bundle.tests else ""
    text = f"{margin}if {tests}{call}; then\n"
    text += "".join(f"{inner}{line}\n" for line in body)
    return f"{_reason(bundle.reason, margin)}{text}{margin}fi\n"


def _test_text(tests: Condition) -> str:
    """Return the tests that only the job can decide, in a form for both shells."""
    return " && ".join(
        f'[ "$ENVCFG_{test.fact.upper()}" {_TESTS[test.operator]} {int(test.operand)} ]'
        for test in tests
    )


def _setting(setting: Planned, margin: str, sure: frozenset[str]) -> str:
    force = "force_" if setting.force else ""
    steps = []
    for branch in setting.branches:
        if branch.value is None:
            call = f"envcfg_{force}unset {setting.name}\n"
        else:
            verb = "envcfg_force" if setting.force else "envcfg_set"
            value = quote_word(branch.value, setting.name, sure - {setting.name})
            call = f"{verb} {setting.name} {value}\n"
        steps.append((branch.tests, call))
    reasons = dict.fromkeys(branch.reason for branch in setting.branches)
    comments = "".join(_reason(each, margin) for each in reasons)
    return comments + _guarded(steps, margin)


def _always_set(setting: Planned) -> bool:
    *_, last = setting.branches
    return not last.tests and all(each.value is not None for each in setting.branches)


def _guarded(steps: Sequence[tuple[Condition, str]], margin: str) -> str:
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


def _reason(reason: Reason, margin: str) -> str:
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
