"""From a job script to one that starts its steps by envcfg."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

from envcfg.budget import Budget
from envcfg.characters import one_line
from envcfg.conversion.model import Changed, Conversion, Known, refuse
from envcfg.core.option import write_options
from envcfg.core.selection import open_catalog
from envcfg.core.step_options import STEP
from envcfg.errors import OutputError, UsageError
from envcfg.launch.plan import Options
from envcfg.launch.resolve import resolve
from envcfg.profile.words import format_word
from envcfg.provenance import has_mark, marked
from envcfg.starters import OWN

if TYPE_CHECKING:
    from envcfg.conversion.lines import LaunchLine
    from envcfg.conversion.rewrite import Edit
    from envcfg.lint.model import Model
    from envcfg.lint.source import Source, Sources
    from envcfg.profile.catalog import Catalog
    from envcfg.profile.model import Profile

# Of sh the rules are others, and a script for it is read by another shell somewhere.
_SHELL = "bash"
# In these modes a function is not what a program is: traps run in it, or envcfg does not.
_MODES = re.compile(
    r"^[^#\n]*\b(?:set[ \t]+-(?:[A-Za-z]*T|o[ \t]+(?:posix|functrace))"
    r"|shopt[ \t]+-s[ \t]+extdebug)\b",
    re.MULTILINE,
)
Tell = Callable[[str, "str | None"], object]


def convert_file(
    path: str,
    values: Mapping[str, Any],
    *,
    made_by: Sequence[str],
    drop_known: bool = False,
    tell: Tell = lambda _text, _hint: None,
) -> Conversion:
    """Return the script that starts the steps of a job script by envcfg.

    Args:
        path: of the one that there is.
        values: of the options ``STEP``, by name, for each step.
        made_by: the command line that makes it again, for its header.
        drop_known: leave out exports that are as the profile has them.
        tell: takes a note on the system that it is for, and a hint.

    Raises:
        UsageError: it is not a script of bash, or a step cannot be moved.
        OutputError: it cannot be read.
    """
    from envcfg.conversion.lines import find_lines
    from envcfg.conversion.nodes import iter_lines, read_text
    from envcfg.conversion.rewrite import apply_edits, edits, head_line
    from envcfg.lint.detectors.system import ADMISSION
    from envcfg.lint.judge import judge_model
    from envcfg.lint.reading import read_models
    from envcfg.lint.source import Sources

    with Budget(path, seconds=30, megabytes=500):
        data = _read(path)
        sources = Sources()
        source = sources.add(path, data)
        models = read_models([source], sources)
        for model in models:
            _check_read(model, source, sources)
        catalog = open_catalog()
        name = values["profile"] or _recognised(source, sources, models, catalog, tell)
        profile = catalog.load(name) if name else None
        for remark in judge_model(models[0], sources, ADMISSION, profile):
            found = remark.finding
            if found.place and found.severity != "note":
                tell(f"{path}:{found.place.line}: {found.message}", found.fix)
        text = read_text(source.chars)
        if text.unclear:
            number = sources.line_number(source.base + text.unclear[0])
            refuse("unclear", path=path, number=number)
        if mode := _MODES.search(source.chars):
            number = sources.line_number(source.base + mode.end() - 1)
            refuse("mode", path=path, number=number, mode=mode[0].strip())
        lines = find_lines(source, sources, models, text)
        for line in lines:
            _check_line(line, path, profile, values)
        wrap = ["envcfg", "wrap", *write_options(STEP, {**values, "profile": name})]
        rows = list(iter_lines(source.chars))
        known = tuple(
            _known(models[0], source, sources, rows, profile, drop_known=drop_known)
        )
        changes = edits(lines, text.body, wrap)
        made = apply_edits(source.chars, [*changes, *_dropped(known, rows)])
    first, _, rest = made.partition("\n")
    if not first.startswith("#!"):
        first, rest = "# A job script, changed by envcfg", made
    script = marked("converted", head_line(made_by) + _decoded(rest), first=first)
    return Conversion(name, tuple(_changed(lines, source.chars)), known, script)


def _read(path: str) -> bytes:
    """Return a script that bash reads as it stands."""
    from envcfg.lint.source import LARGEST, read_files

    texts = read_files([path])
    if list(texts) != [path]:
        refuse("folder", path=path)
    data = texts[path]
    if has_mark(data) or b"\nwith_envcfg()" in data:
        refuse("own", path=path)
    if b"\0" in data or b"\1" in data:
        refuse("no-text", path=path)
    if b"\r\n" in data or data.startswith(b"\xef\xbb\xbf"):
        refuse("windows", path=path)
    if len(data) > LARGEST:
        refuse("large", path=path, most=LARGEST)
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    words = [each.rpartition("/")[2] for each in first.removeprefix("#!").split()]
    names = [each for each in words if each != "env" and each[:1] != "-"]
    if first.startswith("#!") and names[:1] != [_SHELL]:
        refuse("shell-of-script", path=path, shell=(names or [first])[0])
    return data


def _check_read(model: Model, source: Source, sources: Sources) -> None:
    for why, at in model.unread.items():
        line = sources.line_number(max(at, source.base))
        msg = f"{source.path}:{line}: this part cannot be read: {why}"
        raise OutputError(msg, hint="make the script simpler")


def _recognised(
    source: Source,
    sources: Sources,
    models: Sequence[Model],
    catalog: Catalog,
    tell: Tell,
) -> str | None:
    from envcfg.lint.system import recognise

    bases = {base for model in models for base in model.read}
    found = recognise([each for each in sources.all if each.base in bases])
    path = one_line(source.path)
    if found is None or found.profile not in catalog.names():
        what = "its system is not recognised, so that the job detects it"
        tell(f"{path}: {what}", "--profile NAME says which it is")
        return None
    tell(f"{path} is for {found.profile}, by {', '.join(found.signs)}", None)
    return found.profile


def _check_line(
    line: LaunchLine, path: str, profile: Profile | None, values: Mapping[str, Any]
) -> None:
    """See that wrap will take a launch line, as far as its words are known by now.

    Raises:
        UsageError: it will not; the job would end there.
    """
    from envcfg.core.launch_line import take_line
    from envcfg.launch.line import OptionError

    known = [
        each.shown for each in takewhile(lambda each: not each.is_loose, line.words)
    ]
    is_known = all(each.literal is not None for each in line.words)
    try:
        values, command, _ = take_line(values, known)
        if profile and is_known:
            resolve(
                profile,
                "",
                Options(
                    launcher=values["launcher"],
                    starter_args={own: values[f"{own}_arg"] for own in OWN},
                    command=command,
                    as_said=True,
                ),
            )
    except UsageError as err:
        if not (is_known or isinstance(err, OptionError)):
            return
        msg = f"{path}:{line.line}: this cannot be moved: {err.message}"
        raise UsageError(msg, hint=err.hint) from err


def _known(
    model: Model,
    source: Source,
    sources: Sources,
    rows: Sequence[str],
    profile: Profile | None,
    *,
    drop_known: bool,
) -> list[Known]:
    """Return the variables that the script exports at its top, and the profile sets."""
    covered = _covered(profile)
    found = []
    for each in model.assignments:
        if each.name not in covered or not each.exported or each.command is not None:
            continue
        if not source.base <= each.at < source.base + len(source.chars) or each.unit:
            continue
        value = _literal(each.value)
        line = sources.line_number(each.at)
        same = value == covered[each.name]
        whole = rows[line - 1].strip()
        alone = whole in {
            f"export {each.name}={quoted}"
            for quoted in (value, f'"{value}"', f"'{value}'")
        }
        gone = drop_known and same and alone
        found.append(Known(line, each.name, value or "", covered[each.name], gone))
    return found


def _literal(value: object) -> str | None:
    from envcfg.lint.text import literal

    return literal(value) if isinstance(value, tuple) else None


def _covered(profile: Profile | None) -> Mapping[str, str]:
    """Return what the profile sets for certain, whatever the job."""
    if profile is None:
        return {}
    plan = resolve(profile, "", Options())
    return {
        each.name: format_word(each.cases[0].value)
        for each in plan.settings
        if len(each.cases) == 1
        and each.cases[0].value is not None
        and not each.cases[0].when
    }


def _dropped(known: Sequence[Known], rows: Sequence[str]) -> list[Edit]:
    from envcfg.conversion.rewrite import Edit

    starts = [0, *accumulate(map(len, rows))]
    return [
        Edit(starts[each.line - 1], starts[each.line], "")
        for each in known
        if each.is_removed
    ]


def _changed(lines: Sequence[LaunchLine], chars: str) -> list[Changed]:
    from envcfg.conversion.rewrite import line_text

    return [
        Changed(
            each.line,
            _decoded(chars[each.written.start : each.written.end]),
            _decoded(line_text(each, chars)),
        )
        for each in lines
    ]


def _decoded(chars: str) -> str:
    """Return the characters of a source, which are bytes, as arguments have them."""
    return chars.encode("latin-1").decode("utf-8", "surrogateescape")
