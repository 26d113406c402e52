"""Compare a text with the reviewed one: in full for archetypes, as a digest for the others.

A digest has three lines: the name with the number of lines and a hash of the text, the
directives, and the variables. To see what a change does to the full texts, write them
before and after: ``pytest --all --texts FOLDER``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

_DIRECTIVE = re.compile(r"^#(?:SBATCH|PBS|flux:) (.*)$", re.M)
_VARIABLE = re.compile(
    r"^\W*(?:envcfg_set (?=[A-Z]\w+ )|(?!ENVCFG|IFS)(?=[A-Z]\w+=))([^#\n]*)", re.M
)


def compare_text(text: str, golden: Path, request: pytest.FixtureRequest) -> None:
    """Fail if *text* differs from the file *golden*, which ``--update-golden`` writes."""
    _write_text(text, golden.name, request)
    if request.config.getoption("--update-golden"):
        golden.write_text(text)
    assert text == golden.read_text()


def compare_digest(
    name: str, text: str, digests: Path, request: pytest.FixtureRequest
) -> None:
    """Fail if the digest of *text* differs from that of *name* in the file *digests*."""
    _write_text(text, name, request)
    known = read_digests(digests)
    digest = _make_digest(text)
    if request.config.getoption("--update-golden"):
        known[name] = digest
        blocks = [f"{key}: {block}" for key, block in sorted(known.items())]
        digests.write_text("\n".join(blocks) + "\n")
    assert digest == known.get(name), (
        "if the change is wanted: --update-golden; its text: --all --texts FOLDER"
    )


def read_digests(path: Path) -> dict[str, str]:
    """Return the digests of a file by their names."""
    blocks = re.split(r"\n(?=\S)", path.read_text().strip()) if path.exists() else []
    return {name: block for name, _, block in (each.partition(": ") for each in blocks)}


def _make_digest(text: str) -> str:
    sum_of_text = hashlib.sha256(text.encode()).hexdigest()[:16]
    directives = " ".join(_DIRECTIVE.findall(text))
    variables = "; ".join(sorted({line.strip() for line in _VARIABLE.findall(text)}))
    lines = [f"{text.count(chr(10))} lines, {sum_of_text}", directives, variables]
    return "\n".join([lines[0], *(f"  {line}".rstrip() or "  -" for line in lines[1:])])


def _write_text(text: str, name: str, request: pytest.FixtureRequest) -> None:
    folder = request.config.getoption("--texts")
    if folder:
        path = Path(folder, request.node.path.stem, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
