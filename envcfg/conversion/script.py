"""The new script: what was there, without what envcfg does, with its line for the step."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from shlex import quote

from envcfg import __version__
from envcfg.bash.pieces import template, title
from envcfg.conversion.model import Argument, Converted, Left, Step
from envcfg.conversion.settings import Settings, refers_to
from envcfg.conversion.trace import Script, Statement
from envcfg.conversion.words import (
    UnsafeError,
    as_value,
    can_be_set,
    decoded,
    names_in,
    render,
)
from envcfg.errors import UsageError
from envcfg.lint.grammar import parse
from envcfg.lint.text import Text, literal, plain, shown
from envcfg.mark import marked
from envcfg.profile.words import quote_comment

_APART = frozenset({"--container", "--profile", "--runtime", "--launcher", "--ranks"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMENTS = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*(?:;(?!;))?[ \t]*(?:#[^\n]*)?\n?")
_BLANKS = re.compile(r"\n{3,}")
_STAND_IN = "source <(envcfg || echo exit $?)"
_STEP = "\x02"  # where the step stands, while the text is made
# Lines of others stand as they were, with what shellcheck has against them.
_DISABLED = (
    "SC1003,SC1090,SC1091,SC2016,SC2027,SC2034,SC2046,SC2068,SC2086,SC2124,SC2128,"
    "SC2154,SC2155,SC2164,SC2206,SC2207"
)
Faults = Callable[[str], Mapping[int, str]]


def convert(
    script: Script,
    step: Step,
    settings: Settings,
    *,
    profile: str | None,
    given: Sequence[str],
    flags: Collection[str],
    known: Collection[tuple[str, str | None]],
    faults: Faults,
) -> Converted:
    """Put the new script together.

    The options come first, as the image must be known before anything else is worth a
    word; then the variables, then the command. Only the command can make it fail: an option
    or a variable that cannot be written is left out, and said. The text around the step is
    last, because it keeps what the words of the new line still use.

    Args:
        script, step, settings: as they were read.
        profile: its name, where it is known.
        given: words of options that the user gave; *flags*: their names.
        known: options with values that the profile has, too.
        faults: what lint finds in a text, by offset.

    Raises:
        UsageError: the image is not named, or the command cannot be written so that it
            means the same.
    """
    left = [*step.left, *settings.left]
    arguments = [
        each
        for each in step.arguments
        if each.flag not in flags
        and (each.flag, literal(each.value or ())) not in known
    ]
    named = {*flags, *(each.flag for each in arguments)}
    if "--container" not in named:
        if any(each.flag == "--runtime" for each in step.arguments):
            msg = f"{script.source.path}: the step's image stands nowhere"
            raise UsageError(msg, hint="name it beside --from, by --container IMAGE")
        arguments.insert(0, Argument("--container", plain("none")))
    if profile and "--profile" not in flags:
        arguments.insert(0, Argument("--profile", plain(profile)))
    words = ["envcfg", "wrap"]
    used: list[Text] = []
    for each in arguments:
        said = _option(each)
        words += said
        used += [each.value or ()] if said else []
        if not said:
            why = "is not known before the job runs"
            said_as = f"{each.flag}={shown(each.value or ())}"
            left.append(Left(script.line(step.start), said_as, why))
    for name, value in {**settings.values, **step.settings}.items():
        if can_be_set(value):
            words.append(quote(f"--set={name}={as_value(value)}"))
            used.append(value)
        else:
            left.append(Left(script.line(step.start), name, "its value is not known"))
    words += [*map(quote, given), "--"]
    try:
        words += [render(word.text) for word in step.command]
    except UnsafeError:
        command = " ".join(word.shown for word in step.command)
        place = f"{script.source.path}:{script.line(step.start)}"
        msg = f"{place}: a part of {command!r} is not known to the job's shell"
        hint = "write the command so that the script's own shell expands it"
        raise UsageError(msg, hint=hint) from None
    used += [word.text for word in step.command]
    names = names_in(used)
    text, more = _cut_faults(script, step, settings, names, faults)
    line = " ".join(words)
    written = "".join(f" {decoded(each)}" for each in step.redirects)
    whole = text.replace(_STEP, f"source <({line} || echo exit $?){written}")
    directives = tuple(
        decoded(each)
        for each in script.source.chars.splitlines()
        if re.match(r"#(?:SBATCH|PBS|flux:)[ \t]", each)
    )
    left = sorted({*left, *more})
    taken = tuple(dict.fromkeys((*step.taken, *settings.taken)))
    return Converted(step, profile, tuple(words), directives, taken, tuple(left), whole)


def job_text(converted: Converted, source: str, made_by: Sequence[str]) -> str:
    """Return the whole job script, with its mark and what was left out."""
    head = [
        f"# shellcheck disable={_DISABLED} # kept lines stand as they were",
        f"# envcfg {__version__}, from {quote_comment(source)}",
        f"# made by: {quote_comment(' '.join(map(quote, made_by)))}",
    ]
    if converted.left:
        head += ["#", "# Not carried over:"]
        head += [f"#   {line}" for line in map(left_text, converted.left)]
    if converted.taken:
        head += ["#", "# Done by envcfg:"]
        head += [f"#   {quote_comment(each)}" for each in converted.taken]
    body = converted.text.strip("\n")
    return marked("job", "\n".join([*head, body, ""]))


def left_text(left: Left) -> str:
    """Return what was left out as one line."""
    first, _, rest = left.what.strip().partition("\n")
    said = quote_comment(decoded(first).strip()) + (" ..." if rest else "")
    place = f"line {left.line}: " if left.line else ""
    return f"{place}{said}: {quote_comment(left.why)}"


def _option(each: Argument) -> list[str]:
    """Return an option as words; none where its value cannot be written."""
    if each.value is None:
        return [each.flag]
    try:
        said = render(each.value, is_one=True)
    except UnsafeError:
        return []
    # No ~ is a folder behind a sign of equality.
    if said.startswith("~") or (each.flag in _APART and not said.startswith("-")):
        return [each.flag, said]
    return [f"{each.flag}={said}"]


def _cut_faults(
    script: Script,
    step: Step,
    settings: Settings,
    names: Collection[str],
    faults: Faults,
) -> tuple[str, list[Left]]:
    """Return the text that stays, with a sign for the step, and what was left out of it.

    Left out is what uses what is left out, and a statement in which lint finds a fault.
    """
    holder = _holding(script.statements, step.start)
    dropped: dict[Statement, Left] = {}
    for each in script.statements:
        text = script.source.chars[each.start : each.end]
        if each.kind == "comment" or each in {holder, *settings.gone}:
            continue
        whys = [
            why for at, why in settings.faults.items() if each.start <= at < each.end
        ]
        whys += [f"uses {name}" for name in settings.out if refers_to(text, name)]
        if whys:
            dropped[each] = Left(script.line(each.start), text, whys[0])
    while True:
        text = _needed(script, step, settings, names, dropped)
        whole = text.replace(_STEP, _STAND_IN)
        found = faults(whole)
        bad = _first_bad(script, whole, found, holder, {*dropped, *settings.gone})
        if bad is None:
            rest = [Left(0, "in the new script", why) for why in found.values()]
            return text, [*dropped.values(), *rest]
        statement, why = bad
        said = script.source.chars[statement.start : statement.end]
        dropped[statement] = Left(script.line(statement.start), said, why)


def _first_bad(
    script: Script,
    whole: str,
    found: Mapping[int, str],
    holder: Statement,
    gone: Collection[Statement],
) -> tuple[Statement, str] | None:
    """Return the first statement of the script that has a fault in the new one."""
    data = whole.encode("utf-8", "surrogateescape").decode("latin-1")
    for node in parse(data).children if found else ():
        whys = [
            why for at, why in found.items() if node.start_byte <= at < node.end_byte
        ]
        said = data[node.start_byte : node.end_byte]
        for each in script.statements if whys and node.is_named else ():
            is_same = script.source.chars[each.start : each.end] == said
            is_same = is_same and each.kind != "comment"  # a line for the scheduler
            if is_same and each != holder and each not in gone:
                return each, whys[0]
    return None


def _needed(
    script: Script,
    step: Step,
    settings: Settings,
    names: Collection[str],
    dropped: Collection[Statement],
) -> str:
    """Return the text without *dropped*, and without settings that nothing left needs."""
    gone = dict(settings.gone)
    while True:
        text = _cut(script, step, [*gone, *dropped])
        kept = {*_WORD.findall(_COMMENTS.sub("", text)), *names}
        needed = [each for each, sets in gone.items() if kept & {*sets}]
        if not needed:
            return text
        for each in needed:
            del gone[each]


def _cut(script: Script, step: Step, gone: Iterable[Statement]) -> str:
    chars = script.source.chars
    holder = _holding(script.statements, step.start)
    before = "\n".join(
        [
            "",
            title("The step"),
            "",
            template("job/has_envcfg_here").rstrip("\n"),
            "",
        ]
    )
    cuts = [(each.start, _end(chars, each.end), "") for each in gone]
    cuts += [(step.start, step.end, _STEP), (holder.start, holder.start, before)]
    if chars.startswith("#!"):
        cuts.append((0, chars.find("\n") + 1 or len(chars), ""))
    cuts = list(dict.fromkeys(cuts))
    for start, end, text in sorted(cuts, reverse=True):
        chars = chars[:start] + text + chars[end:]
    return decoded(_BLANKS.sub("\n\n", chars))


def _holding(statements: Iterable[Statement], at: int) -> Statement:
    return next(each for each in statements if each.start <= at < each.end)


def _end(chars: str, at: int) -> int:
    found = _LINE_END.match(chars, at)
    return found.end() if found else at
