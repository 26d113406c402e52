"""The text of a new profile: valid, with comments on the values to fill in."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from envcfg.common.datafile import load_yaml
from envcfg.profile.folders import built_in_folder
from envcfg.profile.profile_model import Profile
from envcfg.profile.words import format_word, quote_comment

SCHEMA = f"{built_in_folder()}/schema.json"
_ORDER = (
    *("detect", "launch", "node", "request", "billing", "modules"),
    *("scratch", "container", "expect", "env", "nodes"),
)


def starter(
    name: str,
    family: str,
    resolved: Profile,
    today: str,
    *,
    why: str | None = None,
    host: str | None = None,
    sections: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a new profile.

    Args:
        family: the name of the extended profile.
        today: the date in the form of ISO 8601.
        why: the reason for the family, if the machine was asked.
        host: the host's name.
        sections: the machine's facts, by section, as YAML.
    """
    template = load_yaml("profile/draft.yaml")
    comment = (
        template["read"].format(family=family, why=quote_comment(why)) if why else ""
    )
    label = quote_comment(host).replace('"', "") if host else None
    head = template["head"].format(
        schema=SCHEMA,
        name=name,
        family=family,
        today=today,
        read=comment,
        summary=f"as {label} showed it" if label else "to be described in one line",
        source=f"asked: {label}" if label else "to be named",
    )
    texts = [
        sections.get(section) or template[section].format(name=name, today=today)
        for section in _ORDER
        if section in sections or section in template
    ]
    lines = "".join(f"#   {quote_comment(line)}\n" for line in _inherited(resolved))
    inherited = (
        f"#\n# {family} sets, and envcfg profiles show {family} says why:\n{lines}"
    )
    return "\n".join([head, *texts]) + (inherited if lines else "")


def _inherited(profile: Profile) -> Iterator[str]:
    for name, setting in profile.env.items():
        for case in setting.cases if setting else ():
            value = "unset" if case.value is None else format_word(case.value)
            yield f"{name}: {value}{'  # in some cases' if case.when else ''}"
    for bundle in profile.bundles.values():
        for name, word in bundle.env.items() if bundle else ():
            yield f"{name}: {format_word(word)}  # in the bundle {bundle and bundle.name}"
