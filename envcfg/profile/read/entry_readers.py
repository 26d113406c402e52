"""The entries of a profile: reasons, conditions, settings, mounts.

Each reader takes a ``Field`` and returns the model, or None with a problem collected.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from datetime import date
from typing import TypeVar

from envcfg.common.bind import Bind, parse_bind
from envcfg.profile import conditions, words
from envcfg.profile.entries import Argument, BindMount, Case, Export, Setting
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import NameFact
from envcfg.profile.read.yaml_nodes import Field
from envcfg.profile.setting_scope import FIXED

Item = TypeVar("Item")

REASON = ("why", "source", "date")
_MOST_GROUPS = 100  # groups of a regular expression
_BRACES = r"\{[^{}]*\}|[{}]"
# These names are read-only in bash, or bash changes them: a value would be lost.
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
    keys: Mapping[str, Field], key: str, reader: Callable[[Field], Item | None]
) -> Item | None:
    """Return the value that *reader* makes of a key; None if the key is missing."""
    return reader(keys[key]) if key in keys else None


def read_reason(field: Field, keys: Mapping[str, Field]) -> Reason | None:
    """Read why, source and date; each one missing is a problem."""
    texts = {key: keys[key].text() for key in REASON if key in keys}
    if missing := [key for key in REASON if key not in keys]:
        # All three are required: a setting without source and date cannot be
        # checked later.
        field.problem(f"no {', no '.join(missing)}", "each entry says all three")
    for key, text in texts.items():
        if text is not None and not text.strip():
            keys[key].problem(f"the {key} is empty")
    why, source, since = (texts.get(key) for key in REASON)
    # An ISO date sorts as text, and it reads the same in every country.
    if since and not _is_date(since):
        keys["date"].problem(f"{since!r} is not a date", "write it as 2026-05-19")
    if why is None or source is None or since is None:
        return None
    return Reason(why=why, source=source, date=since, place=field.place)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text  # 3.11 reads more
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
        # The problem is recorded, so the empty word is never used.
        return ()


def read_setting(name: str, field: Field) -> Setting | None:
    """Read one variable: a mapping with ``value``, or with ``cases``."""
    if problem := name_problem(name):
        field.problem(*problem)
    # An empty mapping is reported only once: mapping() may have reported a wrong
    # type already.
    before = len(field.problems)
    keys = field.mapping(
        {
            *("value", "when", "otherwise", "optional", "force", "directory", "cases"),
            *REASON,
        }
    )
    if not keys:
        if len(field.problems) == before:
            field.problem("no value", f"to drop it: {name}: null")
        return None
    if "cases" in keys:
        # The outer keys would look like defaults of the cases, which they are not.
        for stray in sorted(keys.keys() & {"value", "when", *REASON}):
            keys[stray].problem(f"{stray!r} belongs in each of the cases")
        items = keys["cases"].items()
        cases = [
            _case(child, child.mapping({"value", "when", *REASON})) for child in items
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
        optional=read_if_given(keys, "optional", Field.flag) or False,
        force=read_if_given(keys, "force", Field.flag) or False,
        directory=read_if_given(keys, "directory", _directory),
    )


def _directory(field: Field) -> str | None:
    """Read whether the value is a folder ("/"), or the folder in it that is made."""
    text = field.text()
    if text and re.fullmatch("[a-z_]+/", text):
        return text
    return "/" if field.flag() else None


def read_binds(field: Field) -> dict[str, BindMount | None]:
    """Read bind mounts, by their text."""
    mounts: dict[str, BindMount | None] = {}
    for text, child in field.mapping().items():
        try:
            bind = _bind(text)
        except words.WordError as err:
            child.problem(f"{text!r} is not a bind: {err}", err.hint)
            continue
        # The source may refer to variables, so the grammar can fail in two ways.
        except ValueError as err:
            child.problem(str(err))
            continue
        if child.is_null:
            mounts[text] = None
        elif entry := _read_optional(child, bind.source):
            mounts[text] = BindMount(bind, *entry)
    return mounts


def _bind(text: str) -> Bind:
    """Return the bind in *text*; its source may refer to variables of the job.

    Raises:
        ValueError: it is not a bind; ``WordError``: its source violates the grammar.
    """
    bind = parse_bind(text, refers="$" in text)
    begins = bind.source
    if bind.refers:
        word = words.parse_word(bind.source)
        if not words.references(word):  # only doubled dollars, or none in the source
            bind = parse_bind(text.replace("$$", "$"))
            word = (bind.source,)
        for name in words.references(word):
            # envcfg's own names change between versions, so profiles must not
            # depend on them.
            if name.startswith("ENVCFG_"):
                msg = f"{text!r} refers to {name}, which is envcfg's own"
                raise ValueError(msg)
        first = word[0]
        # A reference without a default is checked in the job, when its value is
        # known.
        begins = first if isinstance(first, str) else first.default or "/"
    if not begins.startswith("/"):
        msg = f"{text!r} is not a bind: its source is an absolute path"
        raise ValueError(msg)
    return bind


def read_options(field: Field) -> dict[str, Argument | None]:
    """Read options of the runtime, of srun or of an agent, by their text."""
    arguments: dict[str, Argument | None] = {}
    for word, child in field.mapping().items():
        # A word without a dash would be taken as the program.
        if not word.startswith("-"):
            child.problem(f"{word!r} is not an option: it begins with -")
        entry = None if child.is_null else _read_optional(child, word)
        arguments[word] = Argument(word, *entry) if entry else None
    return arguments


def read_exports(field: Field) -> dict[str, Export | None]:
    """Read the variables exported before the container starts; their values are plain
    text."""
    exports: dict[str, Export | None] = {}
    for name, child in field.mapping().items():
        if problem := name_problem(name):
            child.problem(*problem)
        if child.is_null:
            exports[name] = None
            continue
        keys = child.mapping({"value", "when", *REASON})
        reason = read_reason(child, keys)
        value = read_if_given(keys, "value", Field.text)
        when = read_condition(keys)
        if "value" not in keys:
            child.problem("no value", f"to drop it: {name}: null")
        if reason is not None and value is not None:
            exports[name] = Export(name, value, reason, when)
    return exports


def _read_optional(
    field: Field, source: str
) -> tuple[Reason, str | None, conditions.Condition] | None:
    """Read an entry that may be left out; ``if_exists: true`` means *source*."""
    keys = field.mapping({"if_exists", "when", *REASON})
    reason = read_reason(field, keys)
    path = read_if_given(keys, "if_exists", Field.text)
    # YAML's true is text here, because the readers keep every scalar as text.
    if path in {"true", "false"}:
        path = source if path == "true" else None
    elif path is not None and not path.startswith("/"):
        keys["if_exists"].problem(f"{path!r} is neither true nor an absolute path")
    when = read_condition(keys)
    return None if reason is None else (reason, path, when)


def read_image_facts(field: Field) -> tuple[NameFact, ...]:
    """Parse the patterns that find facts in names of a site's images."""
    facts_read = []
    for child in field.items():
        keys = child.mapping({"pattern", "facts", *REASON})
        reason = read_reason(child, keys)
        if missing := [key for key in ("pattern", "facts") if key not in keys]:
            child.problem(f"no {', no '.join(missing)}", "a pattern, and what it tells")
        pattern = read_if_given(keys, "pattern", Field.text) or ""
        # Facts that options choose cannot be in a file name.
        facts_allowed = [
            fact for fact in conditions.FACTS if fact not in conditions.CHOSEN
        ]
        facts = keys["facts"].mapping(facts_allowed) if "facts" in keys else {}
        texts = {name: value.text() or "" for name, value in facts.items()}
        groups = _groups(pattern, keys)
        for name, text in texts.items():
            # A brace that is not a group would appear in the fact's value.
            for stray in set(re.findall(_BRACES, text)) - groups:
                facts[name].problem(f"{stray} is not a named group of the pattern")
        if reason is not None:
            facts_read.append(NameFact(pattern=pattern, facts=texts, reason=reason))
    return tuple(facts_read)


def _groups(pattern: str, keys: Mapping[str, Field]) -> set[str]:
    """Return the named groups of a regular expression, in braces."""
    if pattern.count("(") > _MOST_GROUPS:  # the limit of Python depends on its version
        keys["pattern"].problem(f"no regular expression: more than {_MOST_GROUPS} (")
        return set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the meaning may change in a later Python
            groups = re.compile(pattern).groupindex
    except (re.error, OverflowError, Warning) as err:
        keys["pattern"].problem(f"no regular expression: {err}")
        return set()
    return {f"{{{group}}}" for group in groups}


def _case(field: Field, keys: Mapping[str, Field]) -> Case | None:
    reason, when = read_reason(field, keys), read_condition(keys)
    if "value" not in keys:
        # null is a value here, so a missing key must be an error.
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
