"""Commands that need the internet, by their words; pure.

``pip install``, ``wget`` or a model by its name at a hub fail or hang on compute nodes
without a way to the internet. All are data: ``knowledge/downloads.yaml``.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from envcfg.common.datafile import load_kept_file
from envcfg.common.findings import Finding
from envcfg.profile.profile_model import Profile

_URL = r"(?:https?|ftp|ssh|git)://(?!localhost|127\.|\$)|git@"
_IMAGE = r"(?:docker|oras|library|shub)://"
_HUB_NAME = r"[A-Za-z][\w-]*/[\w.-]+"
# Variables by which programs do not ask the hub, and those with a proxy.
HUB_OFFLINE = frozenset(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
# Variables that name a folder for models.
MODEL_FOLDERS = frozenset(("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"))
PROXIES = frozenset(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
)


def download_of(words: Sequence[str], variables: Collection[str] = ()) -> str | None:
    """Return the part of a command that needs the internet; None: no such part is known.

    Args:
        words: the command; words with unknown parts do not match.
        variables: the variables that the job sets.

    >>> download_of(["python3", "-m", "pip", "install", "torch"])
    'pip install'
    >>> download_of(["pip", "install", "--no-index", "torch"])
    """
    if image := next((word for word in words if re.match(_IMAGE, word)), None):
        return image
    words = words[2:] if words[1:2] == ["-m"] or words[1:2] == ("-m",) else words
    name = words[0].rpartition("/")[2] if words else ""
    commands = _table()["commands"]
    if name in commands and set(words).isdisjoint(_table()["offline"]):
        verbs = commands[name].split()
        # Options of the program come before the subcommand.
        verb = next((word for word in words[1:4] if word in verbs), "")
        has_url = any(re.search(_URL, word) for word in words[1:])
        if (verb and name != "git") or (has_url and (verb or not verbs)):
            return f"{name} {verb}".strip()
    if HUB_OFFLINE.isdisjoint(variables) and (model := hub_name(words)):
        return model
    return None


def download_notes(
    profile: Profile,
    command: Sequence[str],
    image: str | None,
    variables: Collection[str],
) -> Iterator[Finding]:
    """Yield warnings on downloads that a node cannot make, and on models in small homes."""
    home, model = profile.home, hub_name(command)
    if home and model and MODEL_FOLDERS.isdisjoint(variables):
        message = (
            f"is stored in the home folder, with {home.quota} GB on {profile.name}"
        )
        fix = "--set HF_HOME=FOLDER, on a larger file system, or export it in the job"
        yield Finding("model-in-home", "warning", model, message, fix)
    internet = profile.internet
    if internet is None or not PROXIES.isdisjoint(variables):
        return
    words = [*command, image or ""]
    if subject := download_of(words, variables):
        message = f"needs the internet, which compute nodes of {profile.name} lack"
        fix = remedy(subject, internet.proxy)
        yield Finding("internet-needed", "warning", subject, message, fix)


def remedy(subject: str, proxy: str) -> str:
    """Return the remedy for a download in a job."""
    if proxy:
        return (
            f"--set https_proxy={proxy} for this command, or fetch it on a login node"
        )
    if re.fullmatch(_HUB_NAME, subject):
        return "fetch it on a login node, and set HF_HUB_OFFLINE=1 in the job"
    return "fetch it on a login node, before the job"


def hub_name(words: Sequence[str]) -> str | None:
    """Return the name of a model or data set at a hub in the options of a command."""
    for number, word in enumerate(words):
        option, equals, value = word.partition("=")
        value = value if equals else "".join(words[number + 1 : number + 2])
        if option in _table()["hub_options"] and re.fullmatch(_HUB_NAME, value):
            return value
    return None


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = load_kept_file("knowledge/downloads.yaml")
    return table
