"""The kinds of nodes of a system, and the one that a job's options select; pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from envcfg.common.errors import UsageError, suggest
from envcfg.common.findings import Finding
from envcfg.profile.profile_model import ChosenKind, NodeKind, Profile

# The field of a kind that an option of the request selects by.
_SELECTED_BY = {
    "--partition": "partitions",
    "--constraint": "constraints",
    **dict.fromkeys(("--gres", "--gpus", "--gpus-per-node", "--gpus-per-task"), "gres"),
}
# The option of a job that selects by each field, with *value* and number of GPUs.
_OPTIONS = {
    "partitions": "--partition {value}",
    "constraints": "--constraint {value}",
    "gres": "--gpus-per-node {value}:{gpus}",
}
# A type precedes the number, as in `gpu:a100:4`, `gres/gpu:a100=4` and `a100:4`.
GPU_TYPE = r"[A-Za-z_][\w.-]*"
_GRES = r"(?:(?:gres[:/])?gpu[:/=])?"
_GRES_TYPE = rf"{_GRES}({GPU_TYPE})(?:[:=].*)?"
# The number of GPUs on a node, as in `gpu:4`, `gpu:a100:4` and `4`.
_GPUS = rf"{_GRES}(?:{GPU_TYPE}[:=])?([0-9]{{1,9}})"
# Both are "and" outside brackets.
_AND = r"[&,](?![^\[(]*[\])])"
DEFAULT = "the default"


class KindSign(NamedTuple):
    """One option or variable of a job that may select a kind of node."""

    text: str  # in messages, such as `--partition gpu_a100`
    option: str  # its name
    field: str  # the field of a kind that has its values; `name`: the kind's name
    values: tuple[str, ...]  # alternatives: the job may get any of them


class KindConflictError(UsageError):
    """Options of a job that select different kinds of nodes."""

    def __init__(self, chosen: ChosenKind, message: str, hint: str) -> None:
        """Begin with the kind that the first of the options has chosen."""
        super().__init__(message, hint=hint)
        self.chosen = chosen


def read_signs(options: Iterable[tuple[str, str | None]]) -> list[KindSign]:
    """Return the signs in options of a request, by Slurm's names and with dashes."""
    return [
        KindSign(f"{option} {value}", option, _SELECTED_BY[option], values)
        for option, value in options
        if value and option in _SELECTED_BY
        for values in _split_value(_SELECTED_BY[option], value)
    ]


def read_gpus(options: Iterable[tuple[str, str | None]]) -> int | None:
    """Return the GPUs that options of a request name for each node."""
    parts = [
        part
        for option, value in options
        if option in ("--gpus-per-node", "--gres")
        for part in (value or "").split(",")
        if option != "--gres" or "gpu" in part
    ]
    matches = (re.fullmatch(_GPUS, part) for part in parts)
    return max((int(match[1]) for match in matches if match), default=None)


def _split_value(field: str, value: str) -> Iterator[tuple[str, ...]]:
    """Yield the demands in a value, each as its alternatives."""
    if field == "partitions":
        yield tuple(value.split(","))
    elif field == "gres":
        for part in value.split(","):
            if match := re.fullmatch(_GRES_TYPE, part):
                yield (match[1],)
    else:
        # An alternative outside brackets concerns the whole text.
        is_whole = "|" in re.sub(r"[\[(][^\])]*[\])]", "", value)
        for demand in [value] if is_whole else re.split(_AND, value):
            yield tuple(re.findall(r"[\w.:-]+", demand))


def with_kinds(profile: Profile) -> Profile:
    """Return *profile* with complete profiles of its kinds, and the first one chosen."""
    kinds = {
        name: kind._replace(
            profile=kind.profile.over(profile)._replace(name=profile.name, nodes={})
        )
        for name, kind in profile.nodes.items()
        if kind
    }
    profile = profile._replace(nodes=kinds)
    return (
        lay_kind(profile, ChosenKind(next(iter(kinds)), DEFAULT)) if kinds else profile
    )


def lay_kind(profile: Profile, chosen: ChosenKind) -> Profile:
    """Return the profile of a kind of *profile*, which ``with_kinds`` returned.

    Raises:
        UsageError: there is no such kind.
    """
    kind = profile.nodes.get(chosen.name)
    if kind is None:
        msg = f"profile {profile.name} has no kind of node {chosen.name!r}"
        hint = suggest(chosen.name, profile.nodes)
        if not profile.nodes:
            hint = f"--profile {profile.name}; a path begins with ./ or ends in .yaml"
        raise UsageError(msg, hint=hint)
    return kind.profile._replace(nodes=profile.nodes, kind=chosen)


def all_kinds(profile: Profile) -> list[Profile]:
    """Return *profile* with each of its kinds; without kinds, only *profile*."""
    names = [name for name, kind in profile.nodes.items() if kind]
    kinds = [lay_kind(profile, ChosenKind(name, "/")) for name in names]
    return kinds or [profile]


def choose_kind(
    profile: Profile, signs: Sequence[KindSign], gpus: int | None = None
) -> Profile:
    """Return *profile* with the kind of node that a job gets.

    Signs that no kind names are ignored: other checks know partitions and features.

    Args:
        profile: as ``with_kinds`` returns it.
        signs: the options of the job, or its variables.
        gpus: the GPUs that the job requests on each node; None: unknown.

    Raises:
        UsageError: the signs contradict each other, or select no single kind.
    """
    has = {name: kind.profile.gpus or 0 for name, kind in profile.nodes.items() if kind}
    if not has:
        return profile
    left, reason, is_split, default = [*has], DEFAULT, False, next(iter(has))
    last: KindSign | None = None
    for sign in signs:
        names = {selected(profile, sign.field, value) for value in sign.values} - {()}
        # A job with two partitions may start on the nodes of either.
        is_split = is_split or len(names) > 1
        rest = [name for name in left if any(name in group for group in names)]
        if names and last and not rest:
            raise _contradiction(last, left, sign, names)
        if names and len(rest) < len(left):
            left, last, reason = rest, sign, sign.option
    # The request is refused later if even the largest node has too few GPUs.
    fitting = [name for name in left if has[name] >= (gpus or 0)]
    fitting = fitting or [max(left, key=lambda name: has[name])]
    if len(left) == 1 or (
        len(fitting) == 1 and _is_reached(profile, fitting[0], default, signs)
    ):
        reason = reason if len(left) == 1 else "--gpus-per-node"
        return lay_kind(profile, ChosenKind(fitting[0], reason))
    if default in fitting and not is_split:
        return lay_kind(profile, ChosenKind(default, DEFAULT))
    raise _undecided(profile, fitting, gpus)


def check_reached(profile: Profile, signs: Sequence[KindSign]) -> None:
    """Refuse a request with *signs* that gets other nodes than those of *profile*'s kind.

    Raises:
        UsageError: the user chose the kind by its name, and the options another one.
    """
    kind = profile.kind and profile.nodes[profile.kind.name]
    if not (
        profile.kind and kind and (kind.partitions or kind.constraints or kind.gres)
    ):
        return
    reached, name = choose_kind(profile, signs).kind, profile.kind.name
    if reached and reached.name != name:
        msg = f"the request gets nodes of kind {reached.name}, not of kind {name}"
        raise UsageError(msg, hint=_deciding_option(profile, name, None))


def choose_profile(profiles: Sequence[Profile], signs: Iterable[KindSign]) -> list[str]:
    """Return the names of *profiles*, all of one cluster, that the signs of a job allow.

    Each profile counts as a kind of node, with the signs of its own kinds.
    """
    nodes: dict[str, NodeKind | None] = {}
    for profile in profiles:
        kinds = [kind for kind in profile.nodes.values() if kind]
        signs_of_kinds = {
            field: tuple(sign for kind in kinds for sign in getattr(kind, field) or ())
            for field in NodeKind._fields[1:]
        }
        own = NodeKind(profile, **signs_of_kinds)
        own = own._replace(partitions=(*(own.partitions or ()), *profile.partitions))
        nodes[profile.name] = own
    cluster, left = profiles[0]._replace(nodes=nodes), [*nodes]
    for sign in signs:
        names = {
            name for each in sign.values for name in selected(cluster, sign.field, each)
        }
        left = [name for name in left if name in names or not names]
    return left


def selected(profile: Profile, field: str, value: str) -> tuple[str, ...]:
    """Return the kinds that *value* selects by a field, or by their own name."""
    return tuple(
        name
        for name, kind in profile.nodes.items()
        if kind
        and any(
            fnmatchcase(value, glob)
            for glob in ((name,) if field == "name" else getattr(kind, field) or ())
        )
    )


def _is_reached(
    profile: Profile, name: str, default: str, signs: Iterable[KindSign]
) -> bool:
    """Return whether a job with the default's partition can get the kind *name*."""
    own, others = (
        set((kind and kind.partitions) or ())
        for kind in (profile.nodes[name], profile.nodes[default])
    )
    is_named = any(sign.field == "partitions" for sign in signs)
    return is_named or not own or bool(own & others)


def _contradiction(
    first: KindSign,
    names: Sequence[str],
    second: KindSign,
    others: Iterable[Iterable[str]],
) -> KindConflictError:
    other_names = sorted({name for group in others for name in group})
    msg = (
        f"{first.text} selects nodes of kind {' or '.join(names)}, "
        f"but {second.text} those of kind {' or '.join(other_names)}"
    )
    hint = f"change {first.option} or {second.option}"
    conflict = Finding("request-refused", "error", second.option, msg, hint)
    return KindConflictError(ChosenKind(names[0], first.option, conflict), msg, hint)


def _undecided(profile: Profile, names: Sequence[str], gpus: int | None) -> UsageError:
    """Return the error for a job that could get several kinds of nodes."""
    amount = f" with {gpus} GPUs or more" if gpus else ""
    msg = (
        f"profile {profile.name} has several kinds of nodes{amount}: {', '.join(names)}"
    )
    if len(names) == 1:
        msg = f"only nodes of kind {names[0]} have {gpus} GPUs or more"
    hints = [
        _deciding_option(profile, name, gpus) or f"--profile {profile.name}/{name}"
        for name in names
    ]
    return UsageError(msg, hint=" or ".join(hints))


def _deciding_option(profile: Profile, name: str, gpus: int | None) -> str | None:
    """Return an option that selects only the kind *name*, if there is one."""
    kind = profile.nodes[name]
    count = gpus or (kind and kind.profile.gpus) or 1
    for field, option in _OPTIONS.items():
        for value in getattr(kind, field, None) or ():
            is_plain = not set(value) & set("*?[")
            if is_plain and selected(profile, field, value) == (name,):
                return option.format(value=value, gpus=count)
    return None
