"""A file of ``--part``: a job on each line, with the identity of its files."""

import re
from collections.abc import Iterable, Iterator, Mapping

from envcfg.common.characters import one_line
from envcfg.common.errors import OutputError
from envcfg.common.foreign_data import mapping, read_json, sequence
from envcfg.jobs.job_record import JobRecord
from envcfg.jobs.selection import COLUMNS, LISTS, NUMBERS
from envcfg.jobs.store import KnownFile, Store

_LONGEST = 1 << 22  # characters of a line


def with_identity(
    rows: Iterable[dict[str, object]], store: Store
) -> Iterator[dict[str, object]]:
    """Yield *rows* of jobs with the identity of their files in *store*."""
    by_job: dict[str, dict[str, object]] = {}
    for path, file in store.known_files().items():
        by_job.setdefault(file.job, {})[path] = file[1:]
    for row in rows:
        yield {**row, "identity": by_job.get(str(row["key"]), {})}


def read_part(path: str) -> Iterator[tuple[JobRecord, dict[str, KnownFile]]]:
    """Yield each job of a file, and its files by path.

    Raises:
        OutputError: the file cannot be read, or is of another kind.
    """
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            while line := file.readline(_LONGEST):
                number += 1
                value = mapping(read_json(line))
                record = JobRecord._make(_field(n, value) for n in COLUMNS)
                files = mapping(value.get("identity"))
                yield record, {n: _file(record.key, own) for n, own in files.items()}
    except (OSError, ValueError) as err:
        place = f"{path}, line {number}" if number else path
        msg = f"{place}: no output of envcfg jobs --part: {one_line(str(err))}"
        raise OutputError(msg, hint="envcfg jobs --part 1/4 FOLDER >1.ndjson") from err


def _field(name: str, value: Mapping[str, object]) -> object:
    given = value.get(name)
    if name in LISTS:
        given = tuple(sequence(given))
        is_valid = all(isinstance(entry, str) for entry in given)
    elif name in NUMBERS:
        is_number = type(given) in (int, float) and abs(given) < 1e15  # type: ignore[arg-type]
        is_valid = is_number or given is None
    else:
        is_valid = isinstance(given, str)
    if not is_valid:
        msg = f"{name} has a wrong value"
        raise ValueError(msg)
    return given


def _file(job: str, value: object) -> KnownFile:
    identity, marks = map(str, [*sequence(value), "", ""][:2])
    if not re.fullmatch(r"\d+ \d+ -?\d+", identity):
        msg = "a file has no identity"
        raise ValueError(msg)
    return KnownFile(job, identity, marks)
