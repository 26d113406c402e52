"""The entries of a profile: reasons, conditions, settings, mounts.

Each reader takes a ``Field`` and returns the model, or None with a problem collected.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from datetime import date
from typing import TypeVar

from envcfg.bind import Bind, parse_bind
from envcfg.profile import conditions, words
from envcfg.profile.entries import Argument, Case, Export, Mount, Setting
from envcfg.profile.facts import Reason
from envcfg.profile.model import NameFact
from envcfg.profile.read.nodes import Field
from envcfg.profile.scope import FIXED

Item = TypeVar("Item")

REASON = ("why", "source", "date")
_BRACES = r"\{[^{}]*\}|[{}]"
# Read-only in bash, or given a meaning or a new value by it: they would not arrive.
SHELL_OWN = frozenset(
    "BASHOPTS BASHPID BASH_VERSINFO COMP_WORDBREAKS DIRSTACK EPOCHREALTIME EPOCHSECONDS "
    "EUID FUNCNAME GROUPS HISTCMD IFS LINENO OPTARG OPTIND PPID PS4 RANDOM SECONDS "
    "SHELLOPTS SHLVL SRANDOM UID _".split()
)


def name_problem(name: str) -> tuple[str, str] | None:
    """Return message and hint if *name* cannot be set by a profile, else None."""
    if not words.is_name(name):
        return (
            f"{name!r} is not a variable name",
            "letters, digits and _, no digit first",
        )
    if name in SHELL_OWN:
        return f"{name} belongs to the shell and cannot be set", "choose another name"
    if name in FIXED:
        return f"{name} is each rank's own and cannot be set", "the rank part needs it"
    if name.startswith("ENVCFG_"):
        return f"{name}: ENVCFG_ is envcfg's own prefix", "choose another name"
    return None


def read_if_given(
    keys: Mapping[str, Field], key: str, read: Callable[[Field], Item | None]
) -> Item | None:
    """Return what *read* makes of a key, or None where the key is not given."""
    return read(keys[key]) if key in keys else None


def read_reason(field: Field, keys: Mapping[str, Field]) -> Reason | None:
    """Read why, source and date; each one missing is a problem."""
    texts = {key: keys[key].text() for key in REASON if key in keys}
    if missing := [key for key in REASON if key not in keys]:
        field.problem(f"no {', no '.join(missing)}", "each entry says all three")
    for key, text in texts.items():
        if text is not None and not text.strip():
            keys[key].problem(f"the {key} is empty")
    why, source, since = (texts.get(key) for key in REASON)
    if since and not _is_date(since):
        keys["date"].problem(f"{since!r} is not a date", "write it as 2026-05-19")
    if why is None or source is None or since is None:
        return None
    return Reason(why=why, source=source, date=since, place=field.place)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text  # it takes other forms, too
    except ValueError:
        return False


def read_word(field: Field) -> words.Word:
    """Read a value in the grammar of ``words``."""
    text = field.text()
    if text is None:
        return ()
    try:
        return words.parse_word(text)
    except words.WordError as err:
        field.problem(f"{err} (character {err.offset + 1} of the value)", err.hint)
        return ()


def read_setting(name: str, field: Field) -> Setting | None:
    """Read one variable: a mapping with ``value``, or with ``cases``."""
    if problem := name_problem(name):
        field.problem(*problem)
    before = len(field.problems)
    keys = field.mapping(
        {"value", "when", "otherwise", "force", "directory", "cases", *REASON}
    )
    if not keys:
        if len(field.problems) == before:
            field.problem("no value", f"to drop it: {name}: null")
        return None
    if "cases" in keys:
        for stray in sorted(keys.keys() & {"value", "when", *REASON}):
            keys[stray].problem(f"{stray!r} belongs in each of the cases")
        items = keys["cases"].items()
        cases = [
            _case(each, each.mapping({"value", "when", *REASON})) for each in items
        ]
        if not cases:
            keys["cases"].problem(
                "no cases", "a setting has a value, or cases with values"
            )
    else:
        cases = [_case(field, keys)]
    otherwise = keys.get("otherwise")
    return Setting(
        name=name,
        cases=tuple(case for case in cases if case is not None),
        otherwise=read_word(otherwise) if otherwise and not otherwise.is_null else None,
        force=read_if_given(keys, "force", Field.flag) or False,
        directory=read_if_given(keys, "directory", Field.flag) or False,
    )


def read_binds(field: Field) -> dict[str, Mount | None]:
    """Read bind mounts, by their text."""
    found: dict[str, Mount | None] = {}
    for text, each in field.mapping().items():
        try:
            bind = _bind(text)
        except words.WordError as err:
            each.problem(f"{text!r} is not a bind: {err}", err.hint)
            continue
        except ValueError as err:
            each.problem(str(err))
            continue
        if each.is_null:
            found[text] = None
        elif entry := _read_optional(each, bind.source):
            found[text] = Mount(bind, *entry)
    return found


def _bind(text: str) -> Bind:
    """Return the bind that *text* means; its source may refer to variables of the job.

    Raises:
        ValueError: it is none; ``WordError``: its source does not follow the grammar.
    """
    bind = parse_bind(text, refers="$" in text)
    begins = bind.source
    if bind.refers:
        word = words.parse_word(bind.source)
        if not words.references(word):  # a dollar or two, and perhaps not in the source
            bind = parse_bind(text.replace("$$", "$"))
            word = (bind.source,)
        for name in words.references(word):
            if name.startswith("ENVCFG_"):
                msg = f"{text!r} refers to {name}, which is envcfg's own"
                raise ValueError(msg)
        first = word[0]
        begins = first if isinstance(first, str) else first.default or "/"
    if not begins.startswith("/"):
        msg = f"{text!r} is not a bind: its source is an absolute path"
        raise ValueError(msg)
    return bind


def read_options(field: Field) -> dict[str, Argument | None]:
    """Read options of the runtime, of srun or of an agent, by their text."""
    found: dict[str, Argument | None] = {}
    for word, each in field.mapping().items():
        if not word.startswith("-"):
            each.problem(f"{word!r} is not an option: it begins with -")
        entry = None if each.is_null else _read_optional(each, word)
        found[word] = Argument(word, *entry) if entry else None
    return found


def read_exports(field: Field) -> dict[str, Export | None]:
    """Read the variables that are there before the container; their values are plain."""
    found: dict[str, Export | None] = {}
    for name, each in field.mapping().items():
        if problem := name_problem(name):
            each.problem(*problem)
        if each.is_null:
            found[name] = None
            continue
        keys = each.mapping({"value", "when", *REASON})
        reason = read_reason(each, keys)
        value = read_if_given(keys, "value", Field.text)
        when = read_condition(keys)
        if "value" not in keys:
            each.problem("no value", f"to drop it: {name}: null")
        if reason is not None and value is not None:
            found[name] = Export(name, value, reason, when)
    return found


def _read_optional(
    field: Field, source: str
) -> tuple[Reason, str | None, conditions.Condition] | None:
    """Read an entry that may be left out; ``if_exists: true`` means *source*."""
    keys = field.mapping({"if_exists", "when", *REASON})
    reason = read_reason(field, keys)
    path = read_if_given(keys, "if_exists", Field.text)
    if path in {"true", "false"}:
        path = source if path == "true" else None
    elif path is not None and not path.startswith("/"):
        keys["if_exists"].problem(f"{path!r} is neither true nor an absolute path")
    when = read_condition(keys)
    return None if reason is None else (reason, path, when)


def read_image_facts(field: Field) -> tuple[NameFact, ...]:
    """Read what the file names of a site's images tell."""
    found = []
    for each in field.items():
        keys = each.mapping({"pattern", "facts", *REASON})
        reason = read_reason(each, keys)
        if missing := [key for key in ("pattern", "facts") if key not in keys]:
            each.problem(f"no {', no '.join(missing)}", "a pattern, and what it tells")
        pattern = read_if_given(keys, "pattern", Field.text) or ""
        told = [each for each in conditions.FACTS if each not in conditions.CHOSEN]
        facts = keys["facts"].mapping(told) if "facts" in keys else {}
        texts = {name: value.text() or "" for name, value in facts.items()}
        groups = _groups(pattern, keys)
        for name, text in texts.items():
            for stray in set(re.findall(_BRACES, text)) - groups:
                facts[name].problem(f"{stray} is not a named group of the pattern")
        if reason is not None:
            found.append(NameFact(pattern=pattern, facts=texts, reason=reason))
    return tuple(found)


def _groups(pattern: str, keys: Mapping[str, Field]) -> set[str]:
    """Return the named groups of a regular expression, in braces."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it may mean something else some day
            groups = re.compile(pattern).groupindex
    except (re.error, OverflowError, RecursionError, Warning) as err:
        keys["pattern"].problem(f"no regular expression: {err}")
        return set()
    return {f"{{{group}}}" for group in groups}


def _case(field: Field, keys: Mapping[str, Field]) -> Case | None:
    reason, when = read_reason(field, keys), read_condition(keys)
    if "value" not in keys:
        field.problem("no value", "'value: null' unsets the variable")
        return None
    value = None if keys["value"].is_null else read_word(keys["value"])
    return None if reason is None else Case(value=value, when=when, reason=reason)


def read_condition(keys: Mapping[str, Field]) -> conditions.Condition:
    """Read ``when``; without it the entry always applies."""
    return read_tests(keys["when"]) if "when" in keys else conditions.ALWAYS


def read_tests(when: Field) -> conditions.Condition:
    """Read the tests on all facts of a condition."""
    tests: list[conditions.Test] = []
    for fact, field in when.mapping(conditions.FACTS).items():
        text = field.text()
        if text is None:
            continue
        try:
            tests += conditions.parse_tests(fact, text)
        except ValueError as err:
            field.problem(str(err))
    return tuple(tests)
