"""Errors of lint in a script that is converted, and exports that a conversion must not
keep.

An export of a rank's variable in the batch script gives all ranks the same value: the
converted job would start with a wrong identity, or use one GPU of each node.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.conversion.conversion_result import refuse
from envcfg.lint.detectors.system_limits import ADMISSION
from envcfg.lint.lint_rule import load_rules
from envcfg.lint.model_builder import read_models
from envcfg.lint.rule_runner import judge_model
from envcfg.lint.script_model import text_of
from envcfg.lint.script_source import Sources
from envcfg.lint.traced_text import holes
from envcfg.profile.setting_scope import CHOICE, INSIDE

if TYPE_CHECKING:
    from envcfg.common.findings import Finding
    from envcfg.lint.rule_runner import Remark
    from envcfg.lint.script_model import Assignment, Model
    from envcfg.lint.script_source import Source
    from envcfg.profile.profile_model import Profile

_NAMES = INSIDE | CHOICE


class WrongExport(NamedTuple):
    """An export that lint reports as an error."""

    line: int
    name: str
    message: str
    is_removable: bool  # True if nothing else needs its line


def wrong_exports(
    model: Model, source: Source, sources: Sources, remarks: Sequence[Remark]
) -> list[WrongExport]:
    """Return the exports of ranks' variables that have an error of lint on their line.

    Args:
        remarks: all findings of lint on the script.

    Raises:
        UsageError: the ranks are jobs of an array.
    """
    messages = {
        sources.line_number(remark.offset): remark.finding.message
        for remark in remarks
        if remark.finding.severity == "error" and _is_in(remark.offset, source)
    }
    exports = []
    for assignment in exports_of(model, source, _NAMES):
        line = sources.line_number(assignment.offset)
        origins = {hole.name for hole in holes(text_of(assignment.value))}
        if assignment.name == "RANK" and any("ARRAY" in name for name in origins):
            refuse("array", path=source.path, number=line, name=assignment.name)
        if line in messages:
            removable = _is_removable(assignment, line, model, sources)
            exports.append(
                WrongExport(line, assignment.name, messages[line], removable)
            )
    return exports


def exports_of(
    model: Model, source: Source, names: Container[str]
) -> Iterator[Assignment]:
    """Yield the exports of *names* that the text of *source* makes for all commands."""
    for assignment in model.assignments:
        is_export = assignment.exported and assignment.command is None
        if is_export and assignment.name in names and _is_in(assignment.offset, source):
            yield assignment


def _is_in(offset: int, source: Source) -> bool:
    return source.base <= offset < source.base + len(source.chars)


def require_removable(
    exports: Sequence[WrongExport], path: str, *, drop_known: bool
) -> None:
    """Check that the conversion may remove all wrong exports.

    Raises:
        UsageError: the user did not ask for it, or other text needs one of the lines.
    """
    remaining = [
        export for export in exports if not (drop_known and export.is_removable)
    ]
    if remaining:
        names = "; ".join(
            f"{export.name} in line {export.line} ({export.message})"
            for export in remaining
        )
        case = "export-in-use" if drop_known else "wrong-export"
        refuse(case, path=path, names=names)


def remaining_errors(path: str, script: str, profile: Profile | None) -> list[Finding]:
    """Return the errors of lint in a converted script.

    Errors about its acceptance by the system are left out: they are reported with the
    lines of the old script. So are errors in envcfg's own lines: their second file is
    written later.
    """
    sources = Sources()
    source = sources.add(path, script.encode("utf-8", "surrogateescape"))
    (model, *_) = read_models([source], sources)
    rules = [rule for rule in load_rules() if rule not in {*ADMISSION, "EC742"}]
    remarks = judge_model(model, sources, rules, profile)
    return [remark.finding for remark in remarks if remark.finding.severity == "error"]


def _is_removable(
    assignment: Assignment, line: int, model: Model, sources: Sources
) -> bool:
    context = assignment.context
    # Without its only command, a branch or function would be an error of syntax.
    if context.conditions or context.function or context.loop or assignment.unit:
        return False
    if any(hole.name == assignment.name for hole in model.expansions):
        return False
    text = sources.line(assignment.offset).strip()
    others = [
        other
        for other in model.assignments
        if other is not assignment and sources.line_number(other.offset) == line
    ]
    commands = [
        command
        for command in model.commands
        if sources.line_number(command.offset) == line
        and not command.substitution
        and command.name != "export"
    ]
    return (
        text.startswith(f"export {assignment.name}=")
        and not text.endswith("\\")
        and not others
        and not commands
    )
