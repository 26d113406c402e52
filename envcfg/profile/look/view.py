"""A resolved profile as a list of values, each with its place, reason and condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from envcfg.findings import Place
from envcfg.launchers import HAVE_OPTIONS, LAUNCHERS, allowed_launchers, starter_of
from envcfg.profile.conditions import ALWAYS, Condition, Truth, judge
from envcfg.profile.entries import Setting
from envcfg.profile.facts import Reason
from envcfg.profile.model import Expect, Layer, Profile
from envcfg.profile.read.yaml_text import Keys, places
from envcfg.profile.scheduler import Size
from envcfg.profile.words import format_word
from envcfg.starters import STARTERS

# Fields of a profile, in the order in which people read them, and where a file has them.
SECTIONS: Mapping[str, Keys] = {
    path.rpartition(".")[2]: tuple(path.split("."))
    for path in (
        *"envcfg summary extends lifecycle verified run detect node nvlink request".split(),
        *"request.rules request.partitions request.qos request.closed".split(),
        *"modules billing launch.launchers launch.cpu_masks".split(),
        *(f"launch.{name}" for name in HAVE_OPTIONS),
        *"visibility rendezvous scratch container.runtimes container.verb".split(),
        *"container.prefix container.image_facts container.binds".split(),
        *"container.arguments container.exports env bundles expect".split(),
    )
}
_MAPPINGS = frozenset(
    "rules partitions qos modules binds arguments exports env bundles".split()
).union(HAVE_OPTIONS)
# Sections that count with some starters or launchers only.
_PARTICULAR = frozenset(
    name for each in STARTERS.values() for name in each.sections
).union(HAVE_OPTIONS)

_ASIDE = frozenset(
    "reason when name option bind word place dropped others is_old".split()
)


class State(Enum):
    """What is known of a value's condition."""

    HOLDS = "holds"
    NOT = "does not hold"
    IN_JOB = "decided in the job"
    UNDECIDED = "undecided"
    PASSED = "another case holds"


class Value(NamedTuple):
    """One value.

    Attributes:
        section: a key of :data:`SECTIONS`.
        name: the entry, or the key of a block; empty where the section is one value.
        text: None takes a variable away.
        when: what must hold; *otherwise*: it is for where no case does.
        missing: the facts that are needed and not known.
        place: where it stands.
        reason: None where the profile gives none, as for its summary.
    """

    section: str
    name: str
    text: str | None
    place: Place
    reason: Reason | None = None
    when: Condition = ALWAYS
    otherwise: bool = False
    state: State = State.HOLDS
    missing: tuple[str, ...] = ()


class TakenBack(NamedTuple):
    """What null drops of a family or a lower layer; *was*: where it stood, if anywhere."""

    section: str
    name: str
    place: Place
    was: Place | None


class View(NamedTuple):
    """All that a profile says; *facts* are what conditions were held against."""

    profile: Profile
    files: tuple[str, ...]
    values: tuple[Value, ...]
    taken_back: tuple[TakenBack, ...]
    facts: Mapping[str, str] = {}


def look_at(
    profile: Profile, layers: Sequence[Layer], facts: Mapping[str, str]
) -> View:
    """Return every value of *profile*, which is made of *layers*, lowest first."""
    known = [(layer, places(layer.data, layer.path)) for layer in reversed(layers)]

    def place(*keys: str) -> Place:
        found = (each[keys] for _, each in known if keys in each)
        return next(found, Place(layers[-1].path, 1))

    values: list[Value] = []
    for section, keys in SECTIONS.items():
        content = getattr(profile, section)
        if section in _MAPPINGS:
            for name, entry in content.items():
                if entry is not None:
                    values += _entry(section, name, entry, place(*keys, name), facts)
        elif content is not None:
            values += _block(section, content, place(*keys), facts)
    launcher = facts.get("launcher") or allowed_launchers(profile.launchers)[0]
    starter = STARTERS[starter_of(launcher, profile.launchers)]
    counted = {launcher, *starter.sections}
    if LAUNCHERS[launcher].has_node:
        counted.discard("cpu_masks")
    others = {  # bundles that are for other starters
        ("bundles", name)
        for name, bundle in profile.bundles.items()
        if bundle and not bundle.is_for(starter.bundled)
    }
    values = [
        each._replace(state=State.NOT, missing=())
        if each.section in _PARTICULAR - counted or (each.section, each.name) in others
        else each
        for each in values
    ]
    return View(
        profile=profile,
        files=tuple(layer.path for layer in layers),
        values=tuple(values),
        taken_back=tuple(_taken_back(profile, known)),
        facts=facts,
    )


def _taken_back(
    profile: Profile, known: Sequence[tuple[Layer, Mapping[Keys, Place]]]
) -> Iterator[TakenBack]:
    for section, keys in SECTIONS.items():
        content = getattr(profile, section)
        if isinstance(content, Expect):
            gone = [(*keys, name) for name in sorted(content.dropped)]
        elif section not in _MAPPINGS:
            gone = [keys] if section in profile.dropped else []
        else:
            gone = [(*keys, name) for name, each in content.items() if each is None]
        for each in gone:
            found = [at[each] for _, at in known if each in at]
            if found:
                name = each[-1] if len(each) > len(keys) else ""
                yield TakenBack(section, name, found[0], next(iter(found[1:]), None))


def _entry(
    section: str,
    name: str,
    entry: Any,  # noqa: ANN401  # one of the model's entries, all of them named tuples
    place: Place,
    facts: Mapping[str, str],
) -> Iterator[Value]:
    if isinstance(entry, Setting):
        yield from _cases(section, name, entry, facts)
        return
    when = getattr(entry, "when", ALWAYS)
    state, missing = _judge(when, facts)
    said = ", ".join(f"{key} {_text(each)}" for key, each in _given(entry))
    yield Value(
        section, name, said, place, entry.reason, when, state=state, missing=missing
    )


def _block(
    section: str,
    content: Any,  # noqa: ANN401  # one of the model's blocks
    place: Place,
    facts: Mapping[str, str],
) -> Iterator[Value]:
    if isinstance(content, Setting):
        yield from _cases(section, "", content, facts)
    elif isinstance(content, str):
        yield Value(section, "", content, place)
    elif section == "extends":
        yield Value(section, "", content.name, content.place)
    elif section == "image_facts":
        for each in content:
            told = ", ".join(f"{fact}={made}" for fact, made in each.facts.items())
            yield Value(section, each.pattern, told, each.reason.place, each.reason)
    elif not hasattr(content, "_asdict"):
        yield Value(section, "", _text(content), place)
    else:
        own: Reason | None = getattr(content, "reason", None)
        when = getattr(content, "when", ALWAYS)
        state, missing = _judge(when, facts)
        fields = list(_given(content)) or [("", "as the reason says")]
        for key, each in fields:
            reason = content.reason_of(key) if isinstance(content, Expect) else own
            at = reason.place if reason else place
            yield Value(
                section,
                key,
                _text(each),
                at,
                reason,
                when,
                state=state,
                missing=missing,
            )


def _cases(
    section: str, name: str, setting: Setting, facts: Mapping[str, str]
) -> Iterator[Value]:
    """Yield the cases as ``choose_cases`` takes them: the first that holds applies."""
    flags = [key for key in ("force", "directory") if getattr(setting, key)]
    held_by_all = f"  ({', '.join(flags)})" if flags else ""
    decided: State | None = None
    missing: tuple[str, ...] = ()
    for case in setting.cases:
        state, lacking = _judge(case.when, facts)
        if decided and state is not State.NOT:
            state, lacking = decided, missing
        elif state in {State.HOLDS, State.UNDECIDED}:
            missing = lacking
            decided = State.PASSED if state is State.HOLDS else State.UNDECIDED
        yield Value(
            section,
            name,
            None if case.value is None else format_word(case.value) + held_by_all,
            case.reason.place,
            case.reason,
            case.when,
            state=state,
            missing=lacking,
        )
    if setting.otherwise is not None and setting.cases:
        reason = setting.cases[-1].reason
        yield Value(
            section,
            name,
            format_word(setting.otherwise) + held_by_all,
            reason.place,
            reason,
            otherwise=True,
            state=State.PASSED if decided is State.PASSED else State.HOLDS,
        )


def _judge(when: Condition, facts: Mapping[str, str]) -> tuple[State, tuple[str, ...]]:
    truth, missing, _ = judge(when, facts)
    states = {Truth.YES: State.HOLDS, Truth.NO: State.NOT, Truth.IN_JOB: State.IN_JOB}
    return states.get(truth, State.UNDECIDED), tuple(missing)


def _given(content: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # any block
    """Yield the fields of a block that say something."""
    defaults = type(content)._field_defaults
    for key, value in content._asdict().items():
        if key not in _ASIDE and (key not in defaults or value != defaults[key]):
            yield key, value


def _text(value: object) -> str:
    """Return a field's value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return " ".join(f"{name}={format_word(word)}" for name, word in value.items())
    if isinstance(value, tuple) and value and isinstance(value[0], Size):
        return ", ".join(f"up to {each.nodes} nodes {each.time}" for each in value)
    if isinstance(value, tuple):
        plain = all(isinstance(each, str) for each in value)
        return ", ".join(map(str, value)) if plain else format_word(value)
    return str(value)
