"""Apptainer, formerly Singularity."""

from __future__ import annotations

import re

from envcfg.backends.runtimes.runtime import Runtime
from envcfg.common.bind import Bind, escape


def is_reference(text: str) -> bool:
    """Return whether *text* is a URI or a transport of containers/image."""
    if ":" not in text:
        return False
    transports = "docker-archive|docker-daemon|oci|oci-archive|oci-sif"
    return bool(re.fullmatch(rf"[a-z][a-z0-9+-]*://.+|({transports}):.+", text))


def is_pulled(text: str) -> bool:
    """Return whether *text* is a reference to more than a running instance."""
    return is_reference(text) and not text.startswith("instance:")


def misspelt(text: str) -> str | None:
    """Return the URI that *text* probably means, or None."""
    if re.fullmatch(r"[a-z0-9][\w.-]*/[\w./-]+:[\w.-]+", text):  # as Docker has it
        return f"docker://{text}"
    scheme = re.match(r"(docker|library|oras|shub|https?):", text)
    return scheme and f"{scheme[0]}//{text[scheme.end() :].lstrip('/')}"


def format_bind(bind: Bind) -> str:
    """Return the value of ``--bind``, a list with commas whose parts have colons.

    Raises:
        ValueError: a backslash in a path would protect the next sign.
    """
    for path in (bind.source, bind.target):
        if any(sign in f"{path}:" for sign in ("\\:", "\\,")):
            msg = "it would take the backslash for one of its signs"
            raise ValueError(msg)
    fields = [path for path in (bind.source, bind.target) if path]
    if bind.options and not bind.target:
        fields.append(bind.source)
    options = ",".join(bind.options)
    return ":".join(escape(field, ":,") for field in fields) + (
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
