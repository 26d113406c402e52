"""``--fix`` and ``--diff`` of ``envcfg lint``: what mends scripts, written or shown."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.characters import one_line
from envcfg.errors import OutputError
from envcfg.failure import STDOUT, put_stream
from envcfg.lint.mending import ProfileOf, Texts, mend
from envcfg.lint.source import LARGEST
from envcfg.outputs import Output, write_outputs

_UNENDED = b"\\ No newline at end of file\n"


def read_unlike(texts: Texts) -> Texts:
    """Return *texts* without files that are there by another name already.

    Raises:
        OutputError: one was too large to be read whole.
    """
    kept: dict[object, str] = {}
    for path, data in texts.items():
        if len(data) > LARGEST:
            msg = f"{path}: is too large to be mended"
            raise OutputError(msg, hint=f"a script has at most {LARGEST:,} bytes")
        kept.setdefault(_identity(path), path)
    return {path: texts[path] for path in kept.values()}


def put_mended(
    texts: Texts, rules: Sequence[str], profile_of: ProfileOf, *, is_shown: bool
) -> Texts:
    """Mend *texts*: write the files anew, or show the difference.

    Args:
        texts: the bytes of each file, by its path; ``-`` is written to stdout.
        rules: ids of those whose faults are mended.
        profile_of: as ``mend`` takes it.
        is_shown: nothing is written but a unified diff, to stdout.

    Returns:
        what stands in the files then.

    Raises:
        OutputError: a file cannot be written; then none is.
    """
    mended = mend(texts, rules=rules, profile_of=profile_of)
    if is_shown:
        _show(_difference(texts, mended.texts))
        return texts
    _say(mended.rules)
    changed = [path for path in texts if texts[path] != mended.texts[path]]
    write_outputs(
        [
            (Output(path, "--fix", "envcfg lint --fix job.sh", force=True), data)
            for path, data in mended.texts.items()
            if path in changed or path == "-"
        ]
    )
    return mended.texts


def _say(rules: Mapping[str, Counter[str]]) -> None:
    for path, counts in rules.items():
        said = ", ".join(
            rule if count == 1 else f"{count} x {rule}"
            for rule, count in sorted(counts.items())
        )
        sys.stderr.write(f"envcfg: note: {one_line(path)}: mended {said}\n")


def _difference(before: Texts, after: Texts) -> Iterator[bytes]:
    """Yield the lines of a unified diff, as ``patch`` takes them."""
    from difflib import diff_bytes, unified_diff

    for path, data in before.items():
        if data != after[path]:
            name = one_line(path).encode("utf-8", "surrogateescape")
            old, new = _lines(data), _lines(after[path])
            for line in diff_bytes(unified_diff, old, new, name, name):
                yield line if line.endswith(b"\n") else line + b"\n" + _UNENDED


def _lines(data: bytes) -> list[bytes]:
    lines = [each + b"\n" for each in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _show(lines: Iterable[bytes]) -> None:
    if not sys.stdout.isatty():
        sys.stdout.flush()
        put_stream(STDOUT, b"".join(lines))
        return
    from envcfg.report.styled import put

    styles = {b"+": "green", b"-": "red", b"@": "cyan"}
    put(
        (styles.get(line[:1], ""), line.decode("utf-8", "replace").rstrip("\r\n"))
        for line in lines
    )


def _identity(path: str) -> object:
    if path == "-":
        return path
    status = os.stat(path)
    return status.st_dev, status.st_ino
