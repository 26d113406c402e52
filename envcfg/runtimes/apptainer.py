"""Apptainer, which was named Singularity."""

from __future__ import annotations

import re

from envcfg.bind import Bind, escape
from envcfg.runtimes.model import Runtime


def is_reference(text: str) -> bool:
    """Tell whether *text* is a URI or a transport of containers/image."""
    if ":" not in text:
        return False
    transports = "docker-archive|docker-daemon|oci|oci-archive|oci-sif"
    return bool(re.fullmatch(rf"[a-z][a-z0-9+-]*://.+|({transports}):.+", text))


def is_pulled(text: str) -> bool:
    """Tell whether *text* is a reference to more than a running instance."""
    return is_reference(text) and not text.startswith("instance:")


def misspelt(text: str) -> str | None:
    """Return the URI that *text* seems to mean, or None."""
    scheme = re.match(r"(docker|library|oras|shub|https?):", text)
    return scheme and f"{scheme[0]}//{text[scheme.end() :].lstrip('/')}"


def format_bind(bind: Bind) -> str:
    """Return the value of ``--bind``: its list is split at commas, each part at colons.

    Raises:
        ValueError: a path has a backslash where it would keep the next sign from splitting.
    """
    for path in (bind.source, bind.target):
        if any(sign in f"{path}:" for sign in ("\\:", "\\,")):
            msg = "it would take the backslash for one of its signs"
            raise ValueError(msg)
    fields = [each for each in (bind.source, bind.target) if each]
    if bind.options and not bind.target:
        fields.append(bind.source)
    options = ",".join(bind.options)
    return ":".join(escape(each, ":,") for each in fields) + (
        f":{options}" if options else ""
    )


RUNTIME = Runtime(
    name="apptainer",
    sign="apptainer",
    example="/images/pytorch.sif",
    opens_file=True,
    is_reference=is_reference,
    is_pulled=is_pulled,
    misspelt=misspelt,
    format_bind=format_bind,
    pull="pull it once before the job (apptainer pull image.sif URI), "
    "and give --container image.sif",
    unpacked=("bin", "usr", ".singularity.d"),
)
