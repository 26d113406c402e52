"""From a job script to the short one that replaces it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg import runtimes
from envcfg.budget import Budget
from envcfg.characters import one_line
from envcfg.conversion.model import Converted, Left, Step
from envcfg.conversion.script import convert, job_text
from envcfg.conversion.settings import read_settings
from envcfg.conversion.step import find_step
from envcfg.conversion.trace import Script, read_script
from envcfg.core.option import write_options
from envcfg.core.selection import open_catalog
from envcfg.core.step_options import STEP
from envcfg.errors import OutputError, UsageError
from envcfg.launch.container import named_runtimes
from envcfg.launch.plan import Options
from envcfg.launch.recognise import recognise
from envcfg.launch.resolve import resolve
from envcfg.lint import system
from envcfg.lint.judge import judge
from envcfg.lint.mending import mend
from envcfg.lint.rule import load_rules
from envcfg.lint.source import Sources, read_files
from envcfg.lint.text import literal
from envcfg.mark import has_mark
from envcfg.profile.words import format_word

if TYPE_CHECKING:
    from envcfg.profile.catalog import Catalog
    from envcfg.profile.model import Profile

# Their values are read, not joined to those of the script.
_SINGLE = frozenset(
    each.flag for each in STEP["what to run, and where"] if each.kind == "one"
)
# What bash runs as its own.
_SHELLS = frozenset({"bash", "sh", "dash", "ash", "ksh"})
_MARK = b"\xef\xbb\xbf"  # by which editors begin a file


Tell = Callable[[str, "str | None"], object]


class Conversion(NamedTuple):
    """A script that replaces another one.

    Attributes:
        converted: what it is made of, and what could not be carried over.
        script: its text.
    """

    converted: Converted
    script: str


def convert_file(
    path: str,
    values: Mapping[str, Any],
    *,
    made_by: Sequence[str],
    tell: Tell = lambda _text, _hint: None,
) -> Conversion:
    """Return the short script that replaces a job script.

    Args:
        path: of the one that there is.
        values: of the options ``STEP``, by name, which go before what the script says.
        made_by: the command line that makes it again, for its header.
        tell: takes a note on the system that it is for, and a hint.

    Raises:
        UsageError: it is no script of bash, or nothing can be made of it.
        OutputError: it cannot be read, or a part of it cannot be carried over.
    """
    with Budget(path, seconds=30, megabytes=500):
        text = _mended(path)
        sources = Sources()
        source = sources.add(path, text)
        script = read_script(source, sources)
        for why, at in script.model.unread.items():
            line = script.line(max(at - source.base, 0))
            msg = f"{path}:{line}: this part cannot be carried over: {why}"
            raise OutputError(msg, hint="make the script simpler")
        catalog = open_catalog()
        name = values["profile"] or _recognised(script, catalog, tell)
        profile = catalog.load(name) if name else None
        find = _faults(profile, path)
        step = find_step(script, pins=bool(profile and profile.cpu_masks))
        settings = read_settings(script, _covered(profile), find(source.chars))
        step = _accepted(step, script, profile)
        converted = convert(
            script,
            step,
            settings,
            profile=name,
            given=list(write_options(STEP, values)),
            flags=_given(values),
            known=_known(profile),
            faults=lambda text: find(
                text.encode("utf-8", "surrogateescape").decode("latin-1")
            ),
        )
    return Conversion(converted, job_text(converted, path, made_by))


def _mended(path: str) -> bytes:
    """Return a script without the faults that are mended without a doubt."""
    texts = read_files([path])
    if list(texts) != [path]:
        msg = f"{path} is a folder"
        raise UsageError(msg, hint="name one script")
    if has_mark(texts[path]):
        msg = f"{path} was made by envcfg, and --from replaces scripts of others"
        raise UsageError(msg, hint="its head has the command that makes it again")
    if b"\0" in texts[path]:
        msg = f"{path} is no text: it has NUL bytes"
        raise UsageError(
            msg, hint="name the script itself, not a program or an archive"
        )
    mended = mend(texts, rules=list(load_rules()), profile_of=lambda _: lambda _: None)
    text = mended.texts[path].removeprefix(_MARK).replace(b"\r\n", b"\n")
    _check_shell(path, text)
    return text


def _check_shell(path: str, text: bytes) -> None:
    """Refuse a script in another language: what stays of it is run by bash."""
    first = text.partition(b"\n")[0].decode("utf-8", "replace")
    words = [each.rpartition("/")[2] for each in first.removeprefix("#!").split()]
    names = [each for each in words if each != "env" and each[:1] != "-"]
    if first.startswith("#!") and names and names[0] not in _SHELLS:
        msg = f"{path} is written for {names[0]}, and --from reads bash"
        raise UsageError(msg, hint="name a script of bash or sh")


def _recognised(script: Script, catalog: Catalog, tell: Tell) -> str | None:
    read = [each for each in script.sources.all if each.base in script.model.read]
    found = system.recognise(read)
    path = one_line(script.source.path)
    if found is None or found.profile not in catalog.names():
        what = "its system is not recognised, so that the job detects it"
        tell(f"{path}: {what}", "--profile NAME says which it is")
        return None
    said = f"is for {found.profile}, by {', '.join(found.signs)}"
    tell(f"{path} {said}; --profile says otherwise", None)
    return found.profile


def _covered(profile: Profile | None) -> Mapping[str, str]:
    """Return what the profile sets for certain, whatever the job."""
    if profile is None:
        return {}
    plan = resolve(profile, "", Options())
    return {
        each.name: format_word(each.branches[0].value)
        for each in plan.settings
        if len(each.branches) == 1
        and each.branches[0].value is not None
        and not each.branches[0].tests
    }


def _known(profile: Profile | None) -> Collection[tuple[str, str]]:
    """Return options of ``wrap`` that say what the profile has already."""
    if profile is None:
        return ()

    first = named_runtimes(profile)[0]
    same = [
        each for each in runtimes.NAMES if runtimes.runtime(each).kind == first.kind
    ]
    found = {("--runtime", each) for each in same}
    plan = resolve(profile, "", Options(container="image.sif", runtime=same[0]))
    words = plan.container.arguments if plan.container else ()
    return found | {("--runtime-arg", each.word) for each in words}


def _accepted(step: Step, script: Script, profile: Profile | None) -> Step:
    """Return *step* without the options that envcfg refuses, which are named.

    Raises:
        UsageError: the command is one that envcfg does not understand.
    """
    recognise(Options(command=tuple(each.literal or "1" for each in step.command)))
    kept, left = [], []
    for each in step.arguments:
        value = literal(each.value or ())
        try:
            if profile and value and each.flag == "--srun-arg":
                resolve(profile, "", Options(starter_args={"srun": (value,)}))
        except UsageError as err:
            left.append(Left(script.line(step.start), f"srun {value}", err.message))
            continue
        kept.append(each)
    return step._replace(arguments=tuple(kept), left=(*step.left, *left))


def _faults(profile: Profile | None, path: str) -> Callable[[str], Mapping[int, str]]:
    """Return what says which errors and warnings lint finds in a text, by offset."""

    def find(chars: str) -> Mapping[int, str]:
        sources = Sources()
        given = [sources.add(path, chars.encode("latin-1"))]
        found = judge(
            given, sources, rules=list(load_rules()), profile_of=lambda _: profile
        )
        return {
            each.at: f"{each.finding.rule}: {each.finding.message}"
            for each in found.get(path, ())
            if each.finding.severity != "note"
        }

    return find


def _given(values: Mapping[str, object]) -> set[str]:
    return {
        each.flag
        for options in STEP.values()
        for each in options
        if each.flag in _SINGLE and values[each.name] != each.default
    }
