"""Convert a job script to one that starts its steps by envcfg."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

from envcfg.backends.starters import OWN
from envcfg.common.budget import Budget
from envcfg.common.characters import one_line
from envcfg.common.errors import OutputError, UsageError
from envcfg.common.provenance import has_mark, marked
from envcfg.core.option import write_options
from envcfg.core.selection import open_catalog, select_kind
from envcfg.core.step_options import STEP
from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.lint.conversion.conversion_result import (
    ChangedLine,
    Conversion,
    DoubleSetting,
    refuse,
)
from envcfg.profile.words import format_word, with_kind

if TYPE_CHECKING:
    from envcfg.core.wrong_exports import WrongExport
    from envcfg.job.plan.script_files import MachineryPlace
    from envcfg.lint.conversion.launch_lines import LaunchLine
    from envcfg.lint.conversion.rewrite import ConvertedLine
    from envcfg.lint.conversion.syntax_nodes import Text
    from envcfg.lint.lint_rule import Edit
    from envcfg.lint.script_model import Model
    from envcfg.lint.script_source import Source, Sources
    from envcfg.profile.catalog import Catalog
    from envcfg.profile.profile_model import Profile

_SHELLS = frozenset({"bash", "sh"})
# In these modes a function differs from a program: traps run in it, or envcfg does
# not work.
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
    named_lines: Sequence[int] = (),
    place: MachineryPlace | None = None,
    tell: Tell = lambda _text, _hint: None,
) -> Conversion:
    """Return the script that starts the steps of a job script by envcfg.

    Args:
        path: the existing script.
        values: the options ``STEP``, by name, for each step.
        made_by: the command line that repeats the conversion, for the header.
        drop_known: remove exports with the same value as in the profile.
        named_lines: the lines with the launch lines; none: all that are recognised.
        place: of the machinery's files; None: it is in the script.
        tell: receives a note on the target system, and a hint.

    Raises:
        UsageError: it is not a script of bash, or a step cannot be moved.
        OutputError: it cannot be read.
    """
    from envcfg.lint.conversion.directive_options import write_directive_options
    from envcfg.lint.conversion.launch_lines import find_lines
    from envcfg.lint.conversion.line_shape import decoded
    from envcfg.lint.conversion.rewrite import (
        apply_edits,
        edits,
        head_line,
        render_functions,
    )
    from envcfg.lint.conversion.syntax_nodes import iter_lines
    from envcfg.lint.model_builder import read_models
    from envcfg.lint.script_source import Sources
    from envcfg.lint.system_recognition import node_options_of

    # Scripts may be hostile. The budget stops expansions without end.
    with Budget(path, seconds=30, megabytes=500):
        data = _read_script(path)
        sources = Sources()
        source = sources.add(path, data)
        models = read_models([source], sources)
        _check_read(models, source, sources)
        chars, options = write_directive_options(source, models[0])
        for offset, words in options.items():
            number = sources.line_number(offset)
            tell(
                f"{path}:{number}: the line now has {words}, as a directive says",
                None,
            )
        if options:
            sources = Sources()
            source = sources.add(path, chars.encode("latin-1"))
            models = read_models([source], sources)
        catalog = open_catalog(writable=bool(values["allow_writable"]))
        name = values["profile"] or _recognised(source, sources, models, catalog, tell)
        profile = None
        if name:
            own = node_options_of(models[0])
            profile = select_kind(catalog.load(name), name, own)
            name = with_kind(name, profile.kind_name)
        wrong = _judge(models[0], source, sources, profile, tell, drop_known=drop_known)
        # The text is read a second time, because the edits need exact positions.
        text = _read_positions(source, sources)
        variants = find_lines(source, sources, models, text, named_lines)
        for line in variants:
            # All lines are checked before any is changed: all or nothing.
            _check_line(line, path, profile, values, tell)
        lines = list({line.written.start: line for line in variants}.values())
        values = {**values, "profile": name}
        added: dict[int, tuple[str, ...]] = {}
        steps, machineries, needs_envcfg = _steps(
            variants, path, values if name else None, place, tell, added
        )
        functions = render_functions(
            lines,
            steps,
            ["envcfg", "wrap", *write_options(STEP, values)],
            needs_envcfg=needs_envcfg,
        )
        rows = list(iter_lines(source.chars))
        known_exports = tuple(
            _double_settings(
                models[0], source, sources, rows, profile, wrong, drop_known=drop_known
            )
        )
        functions = functions.encode("utf-8", "surrogateescape").decode("latin-1")
        changes = edits(lines, text.body, functions)
        changes += _dropped(known_exports, rows)
        new_text = decoded(apply_edits(source.chars, changes))
    # A script without an interpreter line keeps its first line as text.
    first, _, rest = new_text.partition("\n")
    if not first.startswith("#!"):
        first, rest = "# A job script, changed by envcfg", new_text
    elif by_bash := _for_bash(first):
        # The functions are for bash, and sh is another shell on some systems.
        tell(
            f"{path}:1: {first} becomes {by_bash}, because the functions need bash",
            None,
        )
        first = by_bash
    script = marked("converted", head_line(made_by) + rest, first=first)
    _tell_remaining(path, script, profile, tell)
    changed = tuple(_changed(lines, source.chars, added))
    return Conversion(name, changed, known_exports, script, machineries)


def _steps(
    variants: Sequence[LaunchLine],
    path: str,
    values: Mapping[str, Any] | None,
    place: MachineryPlace | None,
    tell: Tell,
    added: dict[int, tuple[str, ...]],
) -> tuple[list[ConvertedLine], tuple[str, ...], bool]:
    """Return the lines that need no envcfg in the job, and the files that they need.

    Args:
        values: the options of each step; None if the system is not known.
        place: of the files; None: the script holds the machinery itself.
        added: receives the options that each line gets, by its start.
    """
    from envcfg.core.converted_step import convert_step
    from envcfg.lint.conversion.line_shape import shape_of
    from envcfg.lint.conversion.rewrite import ConvertedLine

    steps: list[ConvertedLine] = []
    machineries: list[str] = []
    is_open = not values
    for line in variants if values else ():
        shape = shape_of(line)
        step = convert_step(shape, values or {}, place) if shape else None
        if shape is None or step is None:
            is_open = True
            message = f"{path}:{line.line}: the job needs envcfg, because"
            tell(f"{message} only the job knows the words of this line", None)
            continue
        options = (*added.get(line.written.start, ()), *step.added)
        added[line.written.start] = tuple(dict.fromkeys(options))
        for note in step.notes:
            tell(f"{path}:{line.line}: {note.subject}: {note.message}", note.fix)
        converted = ConvertedLine(shape, step.body, step.modules, line.line)
        if all(converted[:3] != other[:3] for other in steps):
            steps.append(converted)
        machineries.append(step.machinery)
    return steps, tuple(dict.fromkeys(filter(None, machineries))), is_open


def _read_script(path: str) -> bytes:
    """Return a script that bash reads unchanged."""
    from envcfg.lint.script_source import LARGEST, read_files

    texts = read_files([path])
    if list(texts) != [path]:
        refuse("folder", path=path)
    data = texts[path]
    # A converted script must not be converted again: its steps would run inside
    # each other.
    if has_mark(data) or b"\nwith_envcfg()" in data:
        refuse("own", path=path)
    # Both bytes are used as marks by the reader.
    if b"\0" in data or b"\1" in data:
        refuse("no-text", path=path)
    if b"\r\n" in data or data.startswith(b"\xef\xbb\xbf"):
        # bash would take the carriage return as part of each line's last word.
        refuse("windows", path=path)
    if len(data) > LARGEST:
        refuse("large", path=path, most=LARGEST)
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    words = [part.rpartition("/")[2] for part in first.removeprefix("#!").split()]
    names = [word for word in words if word != "env" and word[:1] != "-"]
    # The path of env may precede the shell, and options may follow it.
    if first.startswith("#!") and not _SHELLS.intersection(names[:1]):
        refuse("shell-of-script", path=path, shell=(names or [first])[0])
    return data


def _for_bash(first: str) -> str | None:
    """Return the first line of a script for sh with bash; None if it has another shell."""
    changed = re.sub(
        r"^(#!\s*(?:\S*/env\s+(?:-\S+\s+)*)?(?:\S*/)?)sh\b", r"\1bash", first
    )
    return changed if changed != first else None


def _judge(
    model: Model,
    source: Source,
    sources: Sources,
    profile: Profile | None,
    tell: Tell,
    *,
    drop_known: bool,
) -> list[WrongExport]:
    """Return the exports to remove; tell why the system would refuse the job.

    Raises:
        UsageError: a wrong export may not be removed.
    """
    from envcfg.core.wrong_exports import require_removable, wrong_exports
    from envcfg.lint.detectors.system_limits import ADMISSION
    from envcfg.lint.lint_rule import load_rules
    from envcfg.lint.rule_runner import judge_model

    remarks = judge_model(model, sources, load_rules(), profile)
    for remark in remarks:
        finding = remark.finding
        is_told = finding.rule in ADMISSION and finding.severity != "note"
        if finding.place and is_told:
            line = finding.place.line
            tell(f"{source.path}:{line}: {finding.message}", finding.fix)
    wrong = wrong_exports(model, source, sources, remarks)
    require_removable(wrong, source.path, drop_known=drop_known)
    return wrong


def _tell_remaining(
    path: str, script: str, profile: Profile | None, tell: Tell
) -> None:
    from envcfg.core.wrong_exports import remaining_errors

    for finding in remaining_errors(path, script, profile):
        number = finding.place.line if finding.place else 0
        tell(f"{path}: line {number} of the new script: {finding.message}", finding.fix)


def _read_positions(source: Source, sources: Sources) -> Text:
    """Return the commands of a script with their positions.

    Raises:
        UsageError: a part is unclear, or a mode of bash makes functions unlike programs.
    """
    from envcfg.lint.conversion.syntax_nodes import read_text

    text = read_text(source.chars)
    if text.unclear:
        number = sources.line_number(source.base + text.unclear[0])
        refuse("unclear", path=source.path, number=number)
    if mode := _MODES.search(source.chars):
        number = sources.line_number(source.base + mode.end() - 1)
        refuse("mode", path=source.path, number=number, mode=mode[0].strip())
    return text


def _check_read(models: Sequence[Model], source: Source, sources: Sources) -> None:
    # Every part must be readable: an unread line could start a step without envcfg.
    for why, offset in (item for model in models for item in model.unread.items()):
        line = sources.line_number(max(offset, source.base))
        msg = f"{source.path}:{line}: this part cannot be read: {why}"
        raise OutputError(msg, hint="make the script simpler")


def _recognised(
    source: Source,
    sources: Sources,
    models: Sequence[Model],
    catalog: Catalog,
    tell: Tell,
) -> str | None:
    from envcfg.lint.system_recognition import recognise

    # The system is named only if its profile exists here.
    bases = {base for model in models for base in model.read}
    name, signs = recognise([source for source in sources.all if source.base in bases])
    path = one_line(source.path)
    if name not in catalog.names():
        message = "its system is unknown: the job detects it, for which it needs envcfg"
        tell(
            f"{path}: {message}", "--profile NAME says which it is, and needs no envcfg"
        )
        return None
    tell(f"{path} is for {name}, by {', '.join(signs)}", None)
    return name


def _check_line(
    line: LaunchLine,
    path: str,
    profile: Profile | None,
    values: Mapping[str, Any],
    tell: Tell,
) -> None:
    """Check that wrap will accept a launch line, as far as its words are known.

    Raises:
        UsageError: wrap would reject it, and the job would end there.
    """
    from envcfg.core.launch_line_options import take_line
    from envcfg.job.plan.launch_line import CertainError, begins_line, whole_words

    # After a word that may expand to several, the positions of all others are
    # unknown.
    settings = [
        word.shown for word in takewhile(lambda word: not word.is_loose, line.words)
    ]
    is_known = all(word.literal is not None for word in line.words)
    # The program of each part is certain, even if unknown words come before it.
    parts = [
        [word.shown for word in takewhile(lambda word: not word.is_loose, words)]
        for words in (line.words[n:] for n in sorted(line.programs) if n >= 0)
    ]
    if any(part and whole_words(part) for part in parts):
        message = f"{path}:{line.line}: the image decides the program, so envcfg adds"
        tell(
            f"{message} variables, and no binds",
            "write exec in place of run, and it adds both",
        )
    try:
        for part in parts if not is_known else ():
            if part and begins_line(part[0]):
                _check_part(part)
        values, command, _ = take_line(values, settings)
        if profile and is_known:
            resolve(
                profile,
                "",
                Options(
                    launcher=values["launcher"],
                    starter_args={own: values[f"{own}_arg"] for own in OWN},
                    command=command,
                    keeps_launch_line=True,
                ),
            )
    except UsageError as err:
        # With unknown words, only some errors are certain.
        if not (is_known or isinstance(err, CertainError)):
            return
        msg = f"{path}:{line.line}: this cannot be moved: {err.message}"
        raise UsageError(msg, hint=err.hint) from err


def _check_part(words: Sequence[str]) -> None:
    """Check the part of a launch line that begins with its runtime.

    Raises:
        CertainError: no words that follow could make it right.
    """
    from envcfg.job.plan.launch_line import CertainError, read_line

    try:
        read_line(words)
    except UsageError as err:
        if isinstance(err, CertainError):
            raise


def _double_settings(
    model: Model,
    source: Source,
    sources: Sources,
    rows: Sequence[str],
    profile: Profile | None,
    wrong: Sequence[WrongExport],
    *,
    drop_known: bool,
) -> list[DoubleSetting]:
    """Return the variables that the script exports at its top and the profile also sets.

    The *wrong* exports, which are removed too, come after them.
    """
    from envcfg.core.wrong_exports import exports_of

    covered = _covered(profile)
    removed_lines = {export.line for export in wrong}
    known_faults = []
    for assignment in exports_of(model, source, covered):
        line = sources.line_number(assignment.offset)
        # Those in a text within the script, such as that of bash -c, are left alone.
        if assignment.unit or line in removed_lines:
            continue
        value = _literal(assignment.value)
        same = value == covered[assignment.name]
        row = rows[line - 1].strip()
        # Other commands on the same line would be lost with it.
        alone = row in {
            f"export {assignment.name}={quoted}"
            for quoted in (value, f'"{value}"', f"'{value}'")
        }
        gone = drop_known and same and alone
        known_faults.append(
            DoubleSetting(
                line, assignment.name, value or "", covered[assignment.name], gone
            )
        )
    return known_faults + [
        DoubleSetting(export.line, export.name, "", "", True) for export in wrong
    ]


def _literal(value: object) -> str | None:
    from envcfg.lint.traced_text import literal

    return literal(value) if isinstance(value, tuple) else None


def _covered(profile: Profile | None) -> Mapping[str, str]:
    """Return the profile's unconditional settings."""
    if profile is None:
        return {}
    plan = resolve(profile, "", Options())
    return {
        setting.name: format_word(setting.cases[0].value)
        for setting in plan.settings
        # If the profile sets a value only under a condition, the script keeps its own.
        if len(setting.cases) == 1
        and setting.cases[0].value is not None
        and not setting.cases[0].when
    }


def _dropped(entries: Sequence[DoubleSetting], rows: Sequence[str]) -> list[Edit]:
    from envcfg.lint.lint_rule import Edit

    starts = [0, *accumulate(map(len, rows))]
    return [
        # Whole lines are removed, including their ends.
        Edit(starts[setting.line - 1], starts[setting.line], "")
        for setting in entries
        if setting.is_removed
    ]


def _changed(
    lines: Sequence[LaunchLine], chars: str, added: Mapping[int, tuple[str, ...]]
) -> list[ChangedLine]:
    from envcfg.lint.conversion.line_shape import decoded
    from envcfg.lint.conversion.rewrite import line_text

    return [
        ChangedLine(
            line.line,
            decoded(chars[line.written.start : line.written.end]),
            decoded(line_text(line, chars)),
            added.get(line.written.start),
        )
        for line in lines
    ]
