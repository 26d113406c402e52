"""What is wrong in job scripts, rank wrappers and environments, and what mends them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.budget import Budget
from envcfg.characters import one_line
from envcfg.core.selection import open_catalog
from envcfg.errors import OutputError, UsageError, suggest
from envcfg.findings import Finding
from envcfg.launch.facts import check_facts
from envcfg.lint.judge import judge
from envcfg.lint.mending import Mended, ProfileOf, Texts, mend
from envcfg.lint.rule import chosen, load_rules
from envcfg.lint.source import LARGEST, Sources
from envcfg.lint.system import recognise
from envcfg.report.findings import Result

if TYPE_CHECKING:
    from envcfg.lint.model import Model
    from envcfg.lint.rule import ReadLine
    from envcfg.profile.model import Profile

    Tell = Callable[[str], object]


class Linter:
    """Knows which rules count, and for which system scripts are."""

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
    ) -> None:
        """Choose rules and system.

        Args:
            profile: the system; None: the one of which a script shows two signs, if any.
            otherwise: the system of a script that does not show its own.
            select: beginnings of the rules that count, with commas between; empty: all.
            ignore: beginnings of those that do not.
            facts: what is known of the system, such as its Slurm.
            tell: takes a note that says by which signs a system was recognised.
            read_line: envcfg's own parser, for lines of envcfg in the scripts.

        Raises:
            UsageError: there is no such rule; also ``ProfileError``.
        """
        self._rules = chosen(load_rules(), _rules(select), _rules(ignore))
        self._profile_of = _profiles(profile, otherwise, tell)
        self._read_line = read_line
        self._facts = facts or {}
        check_facts(self._facts)

    def judge(self, texts: Texts) -> Result:
        """Return what is wrong in *texts*, by path; in others, that they are none."""
        sources = Sources()
        given = [sources.add(path, data) for path, data in texts.items()]
        with _budget(texts):
            found = judge(
                given,
                sources,
                rules=self._rules,
                profile_of=self._profile_of(sources),
                read_line=self._read_line,
                facts=self._facts,
            )
        said = {path: [r.finding for r in each] for path, each in found.items()}
        others = (each.path for each in given if each.kind == "other")
        what = "not checked: it is neither a bash script nor the output of env"
        fix = "give the scripts of bash that the job runs"
        for path in others:
            said[path] = [Finding("not-a-script", "note", path, what, fix)]
        return Result(said)

    def mend(self, texts: Texts) -> Mended:
        """Return *texts* without what can be mended without a doubt.

        Of a file that is there by two names, one is mended.

        Raises:
            OutputError: one was too large to be read whole.
        """
        kept: dict[object, str] = {}
        for path, data in texts.items():
            if len(data) > LARGEST:
                msg = f"{path}: is too large to be repaired"
                raise OutputError(msg, hint=f"a script has at most {LARGEST:,} bytes")
            kept.setdefault(_identity(path), path)
        with _budget(texts):
            return mend(
                {path: texts[path] for path in kept.values()},
                rules=self._rules,
                profile_of=self._profile_of,
                facts=self._facts,
            )


def _budget(texts: Mapping[str, bytes]) -> Budget:
    """Return what reading *texts* may cost: ten times what the largest script takes."""
    what = next(iter(texts)) if len(texts) == 1 else f"{len(texts)} scripts"
    return Budget(what, seconds=30 + len(texts), megabytes=500)


def _rules(given: Sequence[str]) -> list[str]:
    names = [each.strip() for text in given for each in text.split(",") if each.strip()]
    rules = load_rules()
    known = [*rules, *(each.name for each in rules.values())]
    for name in names:
        if not any(each.startswith(name) for each in known):
            msg = f"there is no rule {name!r}"
            raise UsageError(msg, hint=suggest(name, known))
    return names


def _profiles(name: str | None, otherwise: str | None, tell: Tell) -> ProfileOf:
    """Return what says for which system a script is: the one given, or by its signs.

    Args:
        name: of the one given.
        otherwise: the one for scripts without signs.
        tell: takes a note that says by which signs a system was recognised.
    """
    catalog = open_catalog(enforce=False)

    def load(name: str) -> Profile:
        from envcfg.core.limits import as_of_today  # only of a system are there limits

        return as_of_today(catalog.load(name))

    if name is not None:
        given = load(name)
        return lambda _: lambda _: given
    last = load(otherwise) if otherwise else None
    known: dict[str, Profile] = {}
    said: set[str] = set()

    def find(sources: Sources, model: Model) -> Profile | None:
        found = recognise([each for each in sources.all if each.base in model.read])
        if found is None or found.profile not in catalog.names():
            return last
        model.is_recognised = True
        if found.profile not in known:
            known[found.profile] = load(found.profile)
        if model.path not in said:
            said.add(model.path)
            signs = ", ".join(found.signs)
            what = f"{one_line(model.path)} is for {found.profile}, by {signs}"
            tell(f"{what}; --profile says otherwise")
        return known[found.profile]

    return lambda sources: lambda model: find(sources, model)


def _identity(path: str) -> object:
    if path == "-":
        return path
    status = os.stat(path)
    return status.st_dev, status.st_ino
