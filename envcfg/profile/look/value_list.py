"""A resolved profile as a list of values, each with its place, reason and condition."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from envcfg.backends.launchers import (
    HAVE_OPTIONS,
    LAUNCHERS,
    allowed_launchers,
    starter_of,
)
from envcfg.backends.starters import STARTERS
from envcfg.common.findings import Place
from envcfg.profile.conditions import ALWAYS, Condition, Truth, judge
from envcfg.profile.entries import Setting
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Expect, Layer, Profile
from envcfg.profile.read.profile_loader import SECTIONS as READERS
from envcfg.profile.read.yaml_text import Keys, places
from envcfg.profile.scheduler_settings import Size
from envcfg.profile.words import format_word

# Fields of a profile in reading order, with their paths in the file.
SECTIONS: Mapping[str, Keys] = {
    path.rpartition(".")[2]: tuple(path.split(".")) for path in READERS
}
_MAPPINGS = {name for name, value in Profile._field_defaults.items() if value == {}}
# Sections that apply to some starters or launchers only.
_PARTICULAR = frozenset(
    name for starter in STARTERS.values() for name in starter.sections
).union(HAVE_OPTIONS)

# Fields that are shown in columns of their own, or only serve the program.
_ASIDE = frozenset(
    "reason when name option bind word place dropped others is_old profile".split()
)


class ValueState(Enum):
    """The state of a value's condition."""

    HOLDS = "holds"
    NOT = "does not hold"
    IN_JOB = "decided in the job"
    UNDECIDED = "undecided"
    PASSED = "another case holds"


class Value(NamedTuple):
    """One value."""

    section: str  # a key of `SECTIONS`
    # The entry, or the key of a block; empty if the section is a single value.
    name: str
    text: str | None  # None unsets a variable
    place: Place
    reason: Reason | None = None  # None if the profile gives none, as for its summary
    # The condition; *otherwise*: the value applies if no case does.
    when: Condition = ALWAYS
    otherwise: bool = False
    state: ValueState = ValueState.HOLDS
    missing: tuple[str, ...] = ()  # the facts that are needed and unknown

    @property
    def assignment(self) -> str:
        """The name and the value, as people write them."""
        if self.section != "env":
            return f"{self.name} {self.text or ''}".strip()
        return f"unset {self.name}" if self.text is None else f"{self.name}={self.text}"


class RemovedEntry(NamedTuple):
    """An entry of a family or lower layer that null removes; *was*: its place, if any."""

    section: str
    name: str
    place: Place
    was: Place | None


class View(NamedTuple):
    """All values of a profile; *facts* decide the conditions."""

    profile: Profile
    files: tuple[str, ...]
    values: tuple[Value, ...]
    taken_back: tuple[RemovedEntry, ...]
    facts: Mapping[str, str] = {}


def look_at(
    profile: Profile, layers: Sequence[Layer], facts: Mapping[str, str]
) -> View:
    """Return every value of *profile*, which consists of *layers*, lowest first."""
    # The highest layer comes first, because its place is the one that counts.
    places_of_layers = [
        (layer, places(layer.data, layer.path)) for layer in reversed(layers)
    ]
    if profile.kind:  # in each layer, the kind of node is laid over the rest
        kind: Keys = ("nodes", profile.kind.name)
        places_of_layers = [
            (layer, each)
            for layer, of in places_of_layers
            for each in ({k[2:]: place for k, place in of.items() if k[:2] == kind}, of)
        ]

    def place(*keys: str) -> Place:
        places_found = (
            places_of_layer[keys]
            for _, places_of_layer in places_of_layers
            if keys in places_of_layer
        )
        # A default of the model has no place in any file. The profile's first line
        # is the nearest one.
        return next(places_found, Place(layers[-1].path, 1))

    values: list[Value] = []
    for section, keys in SECTIONS.items():
        content = getattr(profile, section)
        if section in _MAPPINGS:
            for name, entry in content.items():
                if entry is not None:
                    values += _entry(section, name, entry, place(*keys, name), facts)
        elif content is not None:
            values += _block(section, content, place(*keys), facts)
    # The launcher decides which sections apply, even if the user did not choose
    # one.
    launcher = facts.get("launcher") or allowed_launchers(profile.launchers)[0]
    starter = STARTERS[starter_of(launcher, profile.launchers)]
    counted = {launcher, *starter.sections}
    # An agent owns the node and all its cores, so masks for single ranks do not
    # apply.
    if LAUNCHERS[launcher].has_node:
        counted.discard("cpu_masks")
    foreign = {  # bundles of other starters
        ("bundles", name)
        for name, bundle in profile.bundles.items()
        if bundle and not bundle.is_for(starter.bundled)
    }
    # Such values are shown, not removed: the reader looks for them and wants to
    # know why they fail.
    values = [
        value._replace(state=ValueState.NOT, missing=())
        if value.section in _PARTICULAR - counted
        or (value.section, value.name) in foreign
        else value
        for value in values
    ]
    return View(
        profile=profile,
        files=tuple(layer.path for layer in layers),
        values=tuple(values),
        taken_back=tuple(_taken_back(profile, places_of_layers)),
        facts=facts,
    )


def _taken_back(
    profile: Profile, entries: Sequence[tuple[Layer, Mapping[Keys, Place]]]
) -> Iterator[RemovedEntry]:
    for section, keys in SECTIONS.items():
        content = getattr(profile, section)
        # Fields of expect are dropped one by one; other blocks only as a whole.
        if isinstance(content, Expect):
            gone = [(*keys, name) for name in sorted(content.dropped)]
        elif section not in _MAPPINGS:
            gone = [keys] if section in profile.dropped else []
        else:
            gone = [(*keys, name) for name, entry in content.items() if entry is None]
        for row in gone:
            places_found = [
                places_of_layer[row]
                for _, places_of_layer in entries
                if row in places_of_layer
            ]
            # If no layer has the entry, the null removes nothing, and there is
            # nothing to show.
            if places_found:
                name = row[-1] if len(row) > len(keys) else ""
                yield RemovedEntry(
                    section, name, places_found[0], next(iter(places_found[1:]), None)
                )


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
    text = ", ".join(f"{key} {_text(element)}" for key, element in _fields(entry))
    reason: Reason | None = getattr(entry, "reason", None)
    yield Value(section, name, text, place, reason, when, state=state, missing=missing)


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
        for element in content:
            facts_text = ", ".join(
                f"{fact}={value_of_fact}"
                for fact, value_of_fact in element.facts.items()
            )
            yield Value(
                section,
                element.pattern,
                facts_text,
                element.reason.place,
                element.reason,
            )
    elif not hasattr(content, "_asdict"):
        yield Value(section, "", _text(content), place)
    else:
        own: Reason | None = getattr(content, "reason", None)
        when = getattr(content, "when", ALWAYS)
        state, missing = _judge(when, facts)
        # A block that consists only of a reason still needs a row.
        fields = list(_fields(content)) or [("", "see the reason")]
        for key, element in fields:
            reason = content.reason_of(key) if isinstance(content, Expect) else own
            place_of_reason = reason.place if reason else place
            yield Value(
                section,
                key,
                _text(element),
                place_of_reason,
                reason,
                when,
                state=state,
                missing=missing,
            )


def _cases(
    section: str, name: str, setting: Setting, facts: Mapping[str, str]
) -> Iterator[Value]:
    """Yield the cases in the order of ``choose_cases``: the first true one applies."""
    flags = [key for key in ("force", "directory") if getattr(setting, key)]
    held_by_all = f"  ({', '.join(flags)})" if flags else ""
    decided: ValueState | None = None
    missing: tuple[str, ...] = ()
    for case in setting.cases:
        state, lacking = _judge(case.when, facts)
        # After an undecided case, a later case that holds is undecided too.
        if decided and state is not ValueState.NOT:
            state, lacking = decided, missing
        elif state in {ValueState.HOLDS, ValueState.UNDECIDED}:
            missing = lacking
            decided = (
                ValueState.PASSED if state is ValueState.HOLDS else ValueState.UNDECIDED
            )
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
    # The fallback has no reason of its own. The last case is the nearest
    # explanation.
    if setting.otherwise is not None and setting.cases:
        reason = setting.cases[-1].reason
        yield Value(
            section,
            name,
            format_word(setting.otherwise) + held_by_all,
            reason.place,
            reason,
            otherwise=True,
            state=ValueState.PASSED
            if decided is ValueState.PASSED
            else ValueState.HOLDS,
        )


def _judge(
    when: Condition, facts: Mapping[str, str]
) -> tuple[ValueState, tuple[str, ...]]:
    truth, missing, _ = judge(when, facts)
    states = {
        Truth.YES: ValueState.HOLDS,
        Truth.NO: ValueState.NOT,
        Truth.IN_JOB: ValueState.IN_JOB,
    }
    return states.get(truth, ValueState.UNDECIDED), tuple(missing)


def _fields(content: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # any block
    """Yield the fields of a block that differ from their defaults."""
    defaults = type(content)._field_defaults
    for key, value in content._asdict().items():
        if key not in _ASIDE and (key not in defaults or value != defaults[key]):
            yield key, value


def _text(value: object) -> str:
    """Return a field's value in one line."""
    # bool comes before the others: str(True) is not the spelling of YAML.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return " ".join(f"{name}={format_word(word)}" for name, word in value.items())
    if isinstance(value, tuple) and value and isinstance(value[0], Size):
        return ", ".join(f"up to {size.nodes} nodes {size.time}" for size in value)
    if isinstance(value, tuple):
        plain = all(isinstance(element, str) for element in value)
        return ", ".join(map(str, value)) if plain else format_word(value)
    return str(value)
