"""Faults in job scripts, rank wrappers and environments, and their fixes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from envcfg.common.budget import Budget
from envcfg.common.characters import one_line
from envcfg.common.errors import EnvcfgError, OutputError, UsageError, suggest
from envcfg.common.findings import Finding, Result
from envcfg.common.provenance import is_untouched
from envcfg.common.safe_output import Output, check_outputs
from envcfg.core.program_reading import read_program
from envcfg.core.selection import find_system, load_default, open_catalog, select_kind
from envcfg.job.plan.plan_facts import check_facts
from envcfg.lint.fixes import FixResult, ProfileOf, Texts, mend
from envcfg.lint.lint_rule import Known, chosen, load_rules
from envcfg.lint.model_builder import read_models
from envcfg.lint.rule_runner import Remark, judge
from envcfg.lint.script_source import LARGEST, Source, Sources, has_stray_nul
from envcfg.lint.system_recognition import node_options_of, recognise
from envcfg.profile.words import with_kind

if TYPE_CHECKING:
    from envcfg.lint.lint_rule import ReadLine
    from envcfg.lint.script_model import Model
    from envcfg.profile.catalog import Catalog, Policy
    from envcfg.profile.profile_model import Profile

    Tell = Callable[[str], object]


_UNKNOWN = (
    "no system is recognised, so nothing was compared with its limits and GPUs; name it "
    "by --profile NAME (envcfg profiles list; envcfg profiles show here reads this cluster)"
)


class Linter:
    """The rules that apply, and the system of each script."""

    def __init__(
        self,
        *,
        profile: str | None = None,
        otherwise: str | None = None,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        facts: Mapping[str, str] | None = None,
        tell: Tell = lambda _: None,
        read_line: ReadLine | None = None,
        policy: Policy = "leave out",
        writable: bool = False,
    ) -> None:
        """Choose rules and system.

        Args:
            profile: the system; None: recognised from two signs in each script.
            otherwise: the system of a script without signs; None: that of this machine.
            select: prefixes of the rules that apply, separated by commas; empty: all.
            ignore: prefixes of the rules that do not apply.
            facts: known facts of the system, such as its Slurm.
            tell: receives a note with the signs of a recognised system, or that there
                are none.
            read_line: envcfg's own parser, for lines of envcfg in scripts.
            policy: the treatment of profiles that other users may have written; a named
                one is refused.
            writable: members of the user's groups may write the profiles.

        Raises:
            UsageError: a rule does not exist; also ``ProfileError``.
        """
        self._rules = chosen(load_rules(), _rules(select), _rules(ignore))
        catalog = open_catalog(
            policy="refuse" if profile is not None else policy, writable=writable
        )
        self._profile_of = _profiles(catalog, profile, otherwise, tell)
        self._known = Known(read_line, facts or {}, read_program)
        check_facts(facts or {})

    def judge(
        self,
        texts: Texts,
        *,
        marks_repairs: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Result:
        """Return the faults of *texts*, by path; a file that is not a script is a fault.

        Args:
            texts: the bytes of each file, by path.
            marks_repairs: mark and count the faults that ``--fix`` repairs.
            environment: the variables of the submission, if the scripts are submitted
                now: only they can replace a missing option.
        """
        sources = Sources()
        inputs = [
            sources.add(path, _without_modules(data)) for path, data in texts.items()
        ]
        with _budget(texts):
            models = read_models(inputs, sources)
            remarks = judge(
                inputs,
                sources,
                models,
                rules=self._rules,
                profile_of=self._profile_of(sources),
                known=self._known._replace(environment=environment),
            )
        repaired = self._repaired(texts, remarks) if marks_repairs else set()
        findings = {
            path: [_marked(r.finding) if r in repaired else r.finding for r in group]
            for path, group in remarks.items()
        }
        for source in inputs:
            if source.kind not in {"script", "dump"}:
                findings[source.path] = [_unread(source)]
        undecided = sorted({rule for model in models for rule in model.undecided})
        return Result(findings, repairs=len(repaired), undecided=undecided)

    def _repaired(
        self, texts: Texts, remarks: Mapping[str, Sequence[Remark]]
    ) -> set[Remark]:
        """Return the remarks with faults that ``--fix`` repairs."""
        edited = {
            path: [remark for remark in group if remark.is_safe]
            for path, group in remarks.items()
        }
        is_cut = any(len(data) > LARGEST for data in texts.values())
        if is_cut or not any(edited.values()):
            return set()
        repairs = self.mend(texts).rules
        try:
            check_outputs([repair_output(path) for path in repairs])
        except EnvcfgError:
            return set()  # --fix writes all files, or none
        return {
            remark
            for path, counts in repairs.items()
            for rule, count in counts.items()
            for same in ([r for r in edited[path] if r.finding.rule == rule],)
            # If only some faults of a rule are repaired, it is unknown which.
            if count >= len(same)
            for remark in same
        }

    def mend(self, texts: Texts) -> FixResult:
        """Return *texts* with all certain faults fixed.

        If a file has two names, it is repaired once.

        Raises:
            OutputError: a file is too large to be read completely.
        """
        originals: dict[object, str] = {}
        for path, data in texts.items():
            # The reader cuts a larger file, and a repair would lose its end.
            if len(data) > LARGEST:
                msg = f"{path}: is too large to be repaired"
                raise OutputError(msg, hint=f"a script has at most {LARGEST:,} bytes")
            originals.setdefault(_identity(path), path)
        with _budget(texts):
            return mend(
                {path: texts[path] for path in originals.values()},
                rules=self._rules,
                profile_of=self._profile_of,
                known=self._known,
            )


def repair_output(path: str) -> Output:
    """Return the output to which ``--fix`` writes a repaired file."""
    return Output(path, "--fix", "envcfg lint --fix job.sh", force=True, is_edit=True)


def _marked(finding: Finding) -> Finding:
    return finding._replace(fix=f"{finding.fix} (lint --fix does this)")


def _without_modules(data: bytes) -> bytes:
    """Return a script of envcfg without the modules that are the same in many scripts.

    They are tested, and reading them takes most of the time. A script with two files
    has one line in their place. All offsets stay as they are.
    """
    modules = re.search(rb"(?ms)^# --- core .*(?=^# --- end )", data)
    if modules is None or not is_untouched(data):
        return data
    blank = re.sub(rb"[^\n]", b" ", modules[0])
    line = b'eval "$ENVCFG_TEXT"'
    return data[: modules.start()] + line + blank[len(line) :] + data[modules.end() :]


_CONTENTS = {
    "other": "it is neither a bash script nor the output of env",
    "log": "it is the log of a job",
    "empty": "it is empty",
}


def _unread(source: Source) -> Finding:
    """Return the finding that gives the reason why a file was not checked."""
    if has_stray_nul(source.chars):
        message = (
            "it holds a NUL byte, so it was not checked: no shell reads it as meant"
        )
        redirection = "" if source.path == "-" else f" <{shlex.quote(source.path)}"
        fix = f"tr -d '\\0'{redirection} >new.sh, and check that file"
        return Finding("nul-in-script", "error", source.path, message, fix)
    # A folder may contain any files, so an unchecked file is only a note.
    fix = "give the scripts of bash that the job runs"
    if source.kind == "log":
        fix = f"envcfg check-log {shlex.quote(source.path)}"
    message = f"not checked: {_CONTENTS[source.kind]}"
    return Finding("not-a-script", "note", source.path, message, fix)


def _budget(texts: Mapping[str, bytes]) -> Budget:
    """Return the limits for reading *texts*: ten times the largest script's need."""
    subject = next(iter(texts)) if len(texts) == 1 else f"{len(texts)} scripts"
    return Budget(subject, seconds=30 + len(texts), megabytes=500)


def _rules(selectors: Sequence[str]) -> list[str]:
    names = [
        part.strip() for text in selectors for part in text.split(",") if part.strip()
    ]
    rules = load_rules()
    known = [*rules, *(rule.name for rule in rules.values())]
    for name in names:
        if not any(candidate.startswith(name) for candidate in known):
            msg = f"there is no rule {name!r}"
            raise UsageError(msg, hint=suggest(name, known))
    return names


def _profiles(
    catalog: Catalog, name: str | None, otherwise: str | None, tell: Tell
) -> ProfileOf:
    """Return the function that gives a script its profile: the named or the recognised one.

    Args:
        name: the given profile.
        otherwise: the one for scripts without signs; None: that of this machine.
        tell: receives a note with the signs of a recognised system, or that there are
            none.
    """

    # A folder may hold hundreds of scripts of one system.
    @cache
    def limited(name: str) -> Profile:
        from envcfg.site.current_limits import (
            as_of_today,  # only a known system has limits
        )

        return as_of_today(catalog.load(name))

    def load(name: str, model: Model) -> Profile | None:
        """Return the profile with the kind of node that the script's directives select."""
        from envcfg.profile.node_kinds import KindConflictError

        try:
            profile = select_kind(catalog.load(name), name, node_options_of(model))
        except KindConflictError as err:
            # The kind of the first option is compared, and a rule reports the other.
            kind = limited(with_kind(name, err.chosen.name))
            return kind._replace(kind=err.chosen)
        except UsageError as err:
            tell(one_line(f"{model.path}: not compared with {name}: {err.message}"))
            return None
        return limited(with_kind(name, profile.kind_name))

    # With a named profile, no script is searched for signs.
    if name is not None:
        catalog.load(name)
        return lambda _: lambda model: load(name, model)
    last, notes = load_default(catalog, otherwise) if otherwise else (None, [])
    here = cache(find_system)
    reported: set[str | None] = set()

    def report(notes: Iterable[Finding]) -> None:
        for note in notes:
            if note.subject not in reported:
                reported.add(note.subject)
                tell(one_line(f"{note.subject}: {note.message}"))

    report(notes)

    def find(sources: Sources, model: Model) -> Profile | None:
        profile, signs = recognise(
            [source for source in sources.all if source.base in model.read]
        )
        if profile not in catalog.names():
            if otherwise and last is not None:
                return load(otherwise, model)
            if model.scope != "batch":
                return None
            try:
                name = here()(node_options_of(model))
            except UsageError as err:  # several profiles of one cluster
                tell(one_line(f"{model.path}: {err.message}; {err.hint}"))
                return None
            # One note is enough, even for a folder of scripts.
            if None not in reported:
                reported.add(None)
                text = f"no sign of a system: checked for {name}, as on this machine"
                tell(f"{one_line(model.path)}: {text if name else _UNKNOWN}")
            return load(name, model) if name else None
        model.is_recognised = True
        report(catalog.ignored.values())
        if model.path not in reported:
            reported.add(model.path)
            path = one_line(model.path)
            message = f"{path} seems to be for {profile} ({', '.join(signs)})"
            tell(f"{message}; --profile chooses another system")
        return load(profile, model)

    return lambda sources: lambda model: find(sources, model)


# Two paths may be links to one file, which must not be written twice.
def _identity(path: str) -> object:
    if path == "-":
        return path
    status = os.stat(path)
    return status.st_dev, status.st_ino
