"""The page about the catalogue of warnings, docs/warnings.md."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from envcfg.common.datafile import read_text
from envcfg.log.read.catalogue import EFFECTS, FOLDER, PARTS, entries, libraries
from envcfg.log.read.rulebook import Rulebook, load_rules
from scripts.pages.markdown import code, table

_HEAD = """\
# Warnings that check-log can name

Made from `envcfg/log/read/warnings` by `scripts/derive`; `scripts/catalogue` writes those
files from the sources of each library.

`check-log` names a warning of NCCL, of RCCL and of their plugins for libfabric even if no
[rule](check-log.md) exists for it. It shows the releases that print the warning, and
whether the call that warns fails. Such a warning alone never makes a log
broken, degraded or ok.
`envcfg explain ID` gives the remedy.
"""
_DECIDES = """\
## Lines of level INFO that decide

These lines show the network, provider or transport in use, and whether GPU RDMA is used.
The last column names the rule that reads the line. Lines without a rule change no verdict.
"""
# What a line may hold where its format has this.
_FILLED = (
    (r"Using%s", "Using [0]ens1:10.1.1.1<0>"),
    (r"RDMA %s", "RDMA Enabled"),
    (r"protocol %s", "protocol RDMA"),
    (r"comm %x", "comm 0x1f"),
    (r"(?<=[sd)])%s", ""),
    (r"%[sdxf]", "1"),
)


def warnings_page() -> str:
    """Return the page as Markdown: releases, classes, and what INFO lines decide."""
    rows = [
        [
            f"[{repository}](https://github.com/{repository})",
            f"{first} to {last}",
            count,
            lic,
        ]
        for repository, first, last, lic, count in map(_read, libraries())
    ]
    parts = [
        _HEAD,
        *table(["library", "releases", "warnings", "license of the sources"], rows),
        "",
        *_classes(),
        "",
        _DECIDES,
        *table(["line", "library", "releases", "rule"], _decisions()),
    ]
    return "\n".join(parts) + "\n"


def _read(library: str) -> tuple[str, ...]:
    head = read_text(os.path.join(FOLDER, f"{library}.tsv")).split("\n", 1)[0]
    return (*head.removeprefix("# ").split("\t"), str(sum(1 for _ in entries(library))))


def _classes() -> Iterator[str]:
    """Yield a table: how many warnings each part of each library has, by effect."""
    known = libraries()
    counts = {name: Counter(each.rule for each in entries(name)) for name in known}
    classes = [f"warning-{part}{end}" for part in PARTS for end in EFFECTS.values()]
    yield from table(
        ["id", *known],
        [
            [code(name), *(str(counts[each][name]) for each in known)]
            for name in classes
        ],
    )


def _decisions() -> Iterator[list[str]]:
    rulebook = Rulebook(load_rules())
    for library in libraries():
        lines = read_text(os.path.join(FOLDER, f"{library}.tsv")).splitlines()[1:]
        for since, last, _, effect, _, words in (line.split("\t") for line in lines):
            said = words
            for pattern, filled in _FILLED:
                said = re.sub(pattern, filled, said)
            found = rulebook.match(said) if effect == "tells" else None
            rule = code(found.rule.id) if found else ""
            if effect == "tells":
                yield [code(words), library, f"{since} to {last}", rule]
