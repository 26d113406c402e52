"""The store of jobs: a database of SQLite, in a file or only for one command."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from envcfg.common.errors import OutputError
from envcfg.common.foreign_data import read_json
from envcfg.jobs.job_record import JobRecord
from envcfg.jobs.selection import COLUMNS, LISTS
from envcfg.log.verdict import WORST_FIRST

_KIND = 0x656E7663  # "envc", in the head of the file
_WAIT = 10.0  # seconds for which another command may use the file
_VERSION = 2  # of the tables; increased by incompatible changes
_ORDER = " ".join(f"WHEN '{word}' THEN {at}" for at, word in enumerate(WORST_FIRST))
WORST = f'CASE verdict {_ORDER} ELSE 9 END, coalesce(lost_hours, 0) DESC, id, "key"'
_MANY = "count(*) OVER (PARTITION BY verdict, fingerprint) DESC"
BY_CAUSE = f"CASE verdict {_ORDER} ELSE 9 END, {_MANY}, fingerprint, {WORST}"
_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_TABLES = f"""
CREATE TABLE jobs ({", ".join(f'"{name}"' for name in COLUMNS)}, PRIMARY KEY ("key"));
CREATE TABLE files (path, job, identity, marks, PRIMARY KEY (path));
CREATE INDEX job_of_file ON files (job);
CREATE INDEX cause_of_job ON jobs (fingerprint);
CREATE INDEX name_of_job ON jobs (name, user);
"""


class KnownFile(NamedTuple):
    """A file as an earlier run read it."""

    job: str  # key of its job
    identity: str  # of `LogFile`
    marks: str  # of `LogMarks`


NO_FILES: Mapping[str, KnownFile] = {}


class Store:
    """An open store."""

    def __init__(self, path: str = "", *, is_made: bool = False) -> None:
        """Open the store *path*, or a new one; empty: for this command only.

        Raises:
            OutputError: the file is no store, is damaged, or is in use; there is none,
                and *is_made* is true.
        """
        self.path = path
        self.where = "1"  # the jobs that questions are about: a condition of SQL
        self.values: list[str | float] = []  # and its values
        if is_made and not os.path.exists(path):
            hint = f"make it: envcfg jobs --store {path} FOLDER"
            message = "no such store"
            raise self._error(message, hint)
        with self._errors():
            if path:
                self._check_kind()
                # SQLite gives its other files the mode of this one.
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                os.close(os.open(path, flags, 0o600))
            # An empty name is a file that SQLite removes itself, so memory is bounded.
            self._base = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
            # Shared file systems have no shared memory, which other modes need.
            self._base.execute("PRAGMA journal_mode = DELETE")
            self._base.execute("BEGIN IMMEDIATE")
            self._base.execute("ROLLBACK")
            (kind,), (version,) = (
                self._base.execute(f"PRAGMA {name}").fetchone()
                for name in ("application_id", "user_version")
            )
            if self._base.execute("SELECT count(*) FROM sqlite_master").fetchone() == (
                0,
            ):
                self._base.executescript(
                    f"BEGIN; {_TABLES} PRAGMA application_id = {_KIND};"
                    f"PRAGMA user_version = {_VERSION}; COMMIT;"
                )
            elif kind != _KIND:
                message = "is no store of envcfg jobs"
                raise self._error(message, "name another file")
            elif version != _VERSION:
                message = f"has version {version}, and this envcfg reads {_VERSION}"
                raise self._error(message, "name a new file: all logs are read again")

    def known_files(self) -> dict[str, KnownFile]:
        """Return the files of earlier runs by path."""
        rows = self._all("SELECT path, job, identity, marks FROM files")
        return {path: KnownFile(*values) for path, *values in rows}

    def histories(self) -> dict[str, Sequence[str]]:
        """Return the attempts of jobs by key, each as ``attempt_texts`` wrote it."""
        rows = self._all("SELECT \"key\", history FROM jobs WHERE history != '[]'")
        return {key: read_json(texts) for key, texts in rows}

    def put(
        self, records: Iterable[JobRecord], files: Mapping[str, KnownFile] = NO_FILES
    ) -> None:
        """Store *records* and the *files* that were read for them, as one batch."""
        holes = ", ".join("?" * len(COLUMNS))
        rows = ((path, *file) for path, file in files.items())
        with self._errors():
            self._base.execute("BEGIN IMMEDIATE")
            self._base.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows
            )
            self._base.executemany(
                f"INSERT OR REPLACE INTO jobs VALUES ({holes})", map(_row_of, records)
            )
            self._base.execute("COMMIT")

    def forget(self, paths: Iterable[str]) -> None:
        """Delete files, and the jobs to which they belonged: they are read again."""
        with self._errors():
            self._base.execute("BEGIN IMMEDIATE")
            for path in paths:
                job = "(SELECT job FROM files WHERE path = ?)"
                self._base.execute(f'DELETE FROM jobs WHERE "key" = {job}', (path,))
                self._base.execute("DELETE FROM files WHERE path = ?", (path,))
            self._base.execute("COMMIT")

    def jobs_with_log(self) -> set[tuple[str, str]]:
        """Return cluster and id of each job with a log; forget such jobs without one."""
        own = "SELECT cluster, id FROM jobs WHERE files != '[]'"
        self.query(f"DELETE FROM jobs WHERE files = '[]' AND (cluster, id) IN ({own})")
        return {*self.query(own)}

    def records(self, order: str = WORST) -> Iterator[JobRecord]:
        """Yield the selected jobs, the worst first."""
        return self.find(f"{self.where} ORDER BY {order}", self.values)

    def find(self, where: str, values: Sequence[Any] = ()) -> Iterator[JobRecord]:
        """Yield the jobs that fulfil a condition of SQL."""
        lists = [at for at, name in enumerate(COLUMNS) if name in LISTS]
        for row in self._all(f"SELECT {_NAMES} FROM jobs WHERE {where}", values):
            fields = list(row)
            for at in lists:
                fields[at] = tuple(read_json(fields[at]))
            yield JobRecord(*fields)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that answer a question in SQL."""
        return [*self._all(sql, values)]

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows that answer a question in SQL, with the names of columns."""
        with self._errors():
            answer = self._base.execute(sql, values)
            names = [column[0] for column in answer.description]
            return [dict(zip(names, row, strict=True)) for row in answer]

    def _all(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            yield from self._base.execute(sql, values)

    def close(self) -> None:
        """Close the store."""
        self._base.close()

    def _check_kind(self) -> None:
        """Raise if the path exists and is no regular file."""
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            message = "is not a regular file"
            raise self._error(message, "as in --store jobs.db")

    def _error(self, message: str, hint: str) -> OutputError:
        return OutputError(f"{self.path}: {message}", hint=hint)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of SQLite with the remedy."""
        try:
            yield
        except sqlite3.OperationalError as err:
            if "locked" in str(err):
                message = "is in use by another command"
                raise self._error(message, "wait until it has ended") from err
            raise self._error(
                str(err), "is there space, and may you write it?"
            ) from err
        except sqlite3.DatabaseError as err:
            message = f"is damaged, or no store: {err}"
            hint = "move it away: the next run reads all logs again"
            raise self._error(message, hint) from err
        except OSError as err:
            message = str(err.strerror)
            raise self._error(message, "may you write it?") from err


def _row_of(record: JobRecord) -> list[object]:
    import json

    return [json.dumps(v) if isinstance(v, tuple) else v for v in record]
