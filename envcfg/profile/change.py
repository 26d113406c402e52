"""The difference between files and their trusted content, for review by a user."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from envcfg.common.characters import one_line
from envcfg.profile.project import with_named
from envcfg.profile.trust_records import Content, FileSet, last_record, record

_MOST_PAIRS = 4_000_000  # pairs of lines to compare: difflib needs a second for them


class Change:
    """The difference of one project or file, for the question whether to trust it.

    It implements the protocol ``Change`` of ``common/errors.py``. The files are read
    when the difference is first needed, and only once.
    """

    def __init__(self, files: FileSet, records: str) -> None:
        """Compare *files* and the files they name with their newest record."""
        self._files, self._records = files, records

    @property
    def root(self) -> str:
        """The argument of ``envcfg profiles trust``: a project's folder, or a file."""
        return self._files.root

    @property
    def is_first(self) -> bool:
        """Whether the user has not trusted any content of these files yet."""
        return self._old is None

    @cached_property
    def files(self) -> FileSet:
        """The files, together with the files they name.

        Raises:
            UsageError: they are more than a person can review.
        """
        is_single = "" in self._files.own
        return self._files if is_single else with_named(self._files)

    @cached_property
    def _old(self) -> FileSet | None:
        return last_record(self._records, self.root)

    def lines(self) -> list[str]:
        """Return a unified diff, safe for a terminal."""
        before, after = (self._old.contents if self._old else {}), self.files.contents
        return [
            one_line(line)
            for path in sorted({*before, *after})
            if before.get(path) != after.get(path)
            for line in _diff(path or self.root, before.get(path), after.get(path))
        ]

    def accept(self) -> None:
        """Record that the user trusts the content that ``lines`` showed.

        Raises:
            OSError: the record cannot be written.
        """
        record(self._records, self.files)


def _diff(name: str, old: Content, new: Content) -> Iterator[str]:
    import difflib

    first, then = ("/dev/null" if content is None else name for content in (old, new))
    before, after = _lines_of(old), _lines_of(new)
    if len(before) * len(after) > _MOST_PAIRS:
        yield from (f"--- {name}", f"+++ {name}: too long to compare: all of it")
        yield from (f"+{line}" for line in after)
        return
    yield from difflib.unified_diff(before, after, first, then, lineterm="")


def _lines_of(content: Content) -> list[str]:
    if content is None:
        return []
    if isinstance(content, list):
        return [f"{content[0]} bytes, too large to show; changed at {content[1]} ns"]
    if "\0" in content:
        from envcfg.common.provenance import sha256_of

        data = content.encode("utf-8", "surrogateescape")
        return [f"{len(data)} bytes that are no text, SHA-256 {sha256_of(data)}"]
    return content.split("\n") if content else [""]
